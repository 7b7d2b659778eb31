"""The command line as a whole: help, exit codes, and what it writes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import QUICK, houses, invoke

FIT = ["fit", "-t", "price", "-o", "fitted"]
SAVE_HOLDOUT = [*QUICK, "--save-holdout"]


@pytest.mark.parametrize("command", ["fit", "predict", "inspect", "report"])
def test_every_command_helps_with_an_example(command):
    shown = invoke(command, "--help").stdout
    assert f"Example: histreg {command}" in " ".join(shown.split())


def test_a_missing_option_has_exit_code_2():
    result = invoke("fit", "t.csv", "--target", "y")
    assert result.exit_code == 2 and "--out" in result.stderr


def test_a_refusal_reaches_the_shell(tmp_path):
    arguments = ["fit", "no.csv", "--target", "y", "--out", "m"]
    result = subprocess.run(
        [sys.executable, "-W", "error", "-m", "histreg", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert result.returncode == 2
    assert result.stderr == "histreg: there is no file no.csv\n"


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
@pytest.mark.parametrize(
    "arguments",
    [
        [*FIT, "mine.csv", *SAVE_HOLDOUT, "mine.csv"],
        [*FIT, "mine.csv", *SAVE_HOLDOUT, "link.csv"],
        [*FIT, "link.csv", *SAVE_HOLDOUT, "mine.csv"],
        [*FIT, "mine.csv", *SAVE_HOLDOUT, "hard.csv"],
        ["predict", "../model", "mine.csv", "--out", "mine.csv"],
        ["predict", "../model", "mine.csv", "--out", "../inputs/mine.csv"],
        ["predict", "../model", "mine.csv", "--out", "weights.csv"],
        ["predict", "../model", "mine.csv", "--out", "described.csv"],
        ["report", "../model", "mine.csv", "--out", "mine.html"],
    ],
    ids=" ".join,
)
def test_no_command_writes_over_what_it_reads(place, monkeypatch, arguments, overwrite):
    inputs = place / "inputs"
    inputs.mkdir(exist_ok=True)
    monkeypatch.chdir(inputs)
    (weights,) = (place / "model").glob("*.safetensors")
    if not any(inputs.iterdir()):
        houses(60).to_csv("mine.csv", index=False)
        Path("link.csv").symlink_to("mine.csv")
        Path("hard.csv").hardlink_to("mine.csv")
        Path("mine.html").hardlink_to("mine.csv")
        Path("weights.csv").hardlink_to(weights)
        Path("described.csv").symlink_to(place / "model" / "model.json")

    def contents():
        files = [*inputs.iterdir(), *(place / "model").iterdir()]
        return {path: (path.is_symlink(), path.read_bytes()) for path in files}

    before = contents()
    result = invoke(*arguments, *overwrite)
    assert result.exit_code == 2
    assert "must not be a file that this command reads, got" in result.stderr
    assert contents() == before and not Path("fitted").exists()


@pytest.mark.parametrize(
    ("out", "arguments"),
    [
        ("h.csv", [*FIT, "houses.csv", *SAVE_HOLDOUT]),
        ("p2.csv", ["predict", "model", "test.csv", "--out"]),
        ("r3.html", ["report", "model", "test.csv", "--out"]),
    ],
)
def test_what_is_there_is_replaced_only_if_asked_for(
    place, monkeypatch, out, arguments
):
    monkeypatch.chdir(place)
    Path(out).write_text("mine")
    result = invoke(*arguments, out)
    assert result.exit_code == 2
    assert result.stderr == f"histreg: {out} exists already; --overwrite replaces it\n"
    assert Path(out).read_text() == "mine"
    result = invoke(*arguments, out, "--overwrite", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert len(Path(out).read_text().splitlines()) > 50


def test_a_full_disk_behind_standard_output_is_reported_in_one_sentence(place):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    for arguments in (["predict", "model", "test.csv"], ["inspect", "model"]):
        with Path("/dev/full").open("w") as full:
            result = subprocess.run(
                [sys.executable, "-m", "histreg", *arguments],
                cwd=place,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert result.returncode == 2
        assert result.stderr.startswith("histreg: standard output cannot be written: ")
        assert result.stderr.count("\n") == 1


def test_a_reader_that_goes_away_is_no_trouble(place):
    command = f"{sys.executable} -m histreg predict model houses.csv | head -n 1"
    result = subprocess.run(
        command, shell=True, cwd=place, capture_output=True, text=True
    )
    assert result.stdout.count("\n") == 1 and result.stderr == ""


def test_a_small_table_and_odd_names_are_no_trouble(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = houses(40).rename(columns={"price": "speed [/h] $a_$", "size": "len [red]"})
    table.drop(columns=["id", "sold"]).to_csv("t.csv", index=False)
    name = "speed [/h] $a_$"
    result = invoke("fit", "t.csv", "-t", name, "-o", "m", *QUICK)
    assert result.exit_code == 0, result.output
    assert name in result.stdout
    assert "len [red]" in invoke("inspect", "m").stdout
    page = ["report", "m", "t.csv", "--out", "r.html"]
    assert invoke(*page).exit_code == 0
