"""The command that writes a page about a model."""

from pathlib import Path

import pytest

from tests.cli.running import QUICK, assert_refused, histreg, houses, invoke


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (
            ["report", "model", "houses.csv", "--out", "r.pdf"],
            "--out must be named .html",
        ),
        (
            ["report", "model", "houses.csv", "-t", "size", "--out", "r2.html"],
            "--target must not be a feature of the model, got 'size'",
        ),
        (
            ["report", "model", "infinite.csv", "--out", "r2.html"],
            "column 'size' must hold finite numbers, got inf in row 7",
        ),
        (
            ["report", "model", "houses.csv", "--by", "nope", "--out", "r2.html"],
            "the table must have the column 'nope'",
        ),
        (
            ["report", "model", "houses.csv", "--by", "price", "--out", "r2.html"],
            "--by must not name the target, got 'price'",
        ),
        (["report", "model", "houses.csv", "--out", "no/r.html"], "no folder no"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(bad_tables, arguments, sentence):
    assert_refused(bad_tables, arguments, sentence)


def test_report_writes_one_page(place):
    command = ("report", "model", "test.csv", "--target", "price", "--out", "r.html")
    histreg(*command, "--by", "id,kind", cwd=place)
    html = (place / "r.html").read_text()
    assert "trained on a table of this name" not in html
    assert "80 rows of test.csv" in html
    assert "How well is price predicted?" in html and "Which columns matter" in html
    # Those are by columns that the model does not have.
    assert "Over sold" in html and "<h3>id</h3>" in html and "<h3>zone</h3>" not in html
    assert "Better than a constant" in html and "linear regression" in html


@pytest.mark.parametrize("name", ["价格", "السعر", "prix 💶", "prix €"])
def test_a_target_in_any_script_is_reported_without_a_word(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = houses(60).drop(columns="id").rename(columns={"price": name})
    table.to_csv("t.csv", index=False)
    assert invoke("fit", "t.csv", "-t", name, "-o", "m", *QUICK).exit_code == 0
    result = invoke("report", "m", "t.csv", "--out", "r.html")
    assert (result.exit_code, result.stderr) == (0, "")
    page = Path("r.html").read_text(encoding="utf-8")
    assert f"How well is {name} predicted?" in page
