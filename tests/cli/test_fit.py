"""The command line as a user runs it: files in, files out, sentences on refusal."""

import json
import os
import re
import subprocess
import sys
from datetime import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from histreg import HistogramRegressor
from histreg.cli import app

QUICK = ["--epochs", "3", "--no-compare"]
SAVE = ["--save-holdout"]


def histreg(*arguments, cwd=None, check=True):
    result = subprocess.run(
        [sys.executable, "-W", "error", "-m", "histreg", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"},
    )
    if check:
        assert result.returncode == 0, result.stderr
    return result


def refused(*arguments):
    """Run a command that is to be refused, in this process and folder."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def houses(n=400):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "size": rng.gamma(3, 30, size=n).round(1),
            "kind": rng.choice(["flat", "house"], size=n),
            "sold": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "zone": rng.integers(1, 4, size=n),
        }
    )
    price = 1000 * table["size"] + 20000 * (table["kind"] == "house")
    table["price"] = (price + 5000 * rng.normal(size=n)).round()
    table.loc[::13, "size"] = np.nan
    table.loc[3, "price"] = np.nan
    return table


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with a table and a model of it."""
    folder = tmp_path_factory.mktemp("place")
    houses().to_csv(folder / "houses.csv", index=False)
    result = histreg(
        *("fit", "houses.csv", "--target", "price", "--out", "model"),
        *("--drop", "id", "--label", "zone", "--time", "sold"),
        *("--estimators", "2", "--epochs", "30", "--save-holdout", "test.csv"),
        cwd=folder,
    )
    (folder / "fit.txt").write_text(result.stdout)
    (folder / "fit.err").write_text(result.stderr)
    return folder


def test_fit_shows_held_out_scores_beside_two_baselines(place):
    shown = (place / "fit.txt").read_text()
    assert "80 held-out rows, in units of price" in shown
    for name in ("histogram", "the same network, l2", "linear regression"):
        assert name in shown
    for column in ("MAE", "median", "RMSE", "CRPS", "90 % covers", "width"):
        assert column in shown
    assert (
        "1 of 400 rows have no price and were left out"
        in (place / "fit.err").read_text()
    )


def test_the_model_was_learnt_from_the_right_rows_and_columns(place):
    model = HistogramRegressor.load(place / "model")
    assert list(model.feature_names_in_) == ["size", "kind", "zone"]
    assert model.model_.kinds == ("number", "label", "label")
    notes = model.notes_
    assert (notes["n_learnt"], notes["n_calibrated"], notes["n_tested"]) == (
        279,
        40,
        80,
    )
    # The held-out rows are the last in time: their scores can be had again.
    test = houses().dropna(subset="price").sort_values("sold").tail(80)
    predicted = model.predict(test[["size", "kind", "zone"]])
    expected = np.abs(predicted - test["price"]).mean()
    assert notes["scores"]["histogram"]["mae"] == pytest.approx(expected)
    lines = (place / "houses.csv").read_text().splitlines()
    held_out = [lines[0], *(lines[i + 1] for i in test.index)]
    assert (place / "test.csv").read_text().splitlines() == held_out  # as they were


def lives(n=300):
    rng = np.random.default_rng(0)
    dose = rng.uniform(0, 1, size=n).round(3)
    life, limit = 20 * np.exp(dose) * rng.weibull(2, size=n), rng.uniform(0, 60, size=n)
    table = pd.DataFrame({"dose": dose, "months": np.minimum(life, limit).round(2)})
    return table.assign(alive=limit < life)


def test_censored_rows_are_fitted_and_scored_as_such(tmp_path):
    table = lives()
    table.to_csv(tmp_path / "lives.csv", index=False)
    fit = ["fit", "lives.csv", "--target", "months", "--censored", "alive"]
    shown = histreg(*fit, "--out", "m", "--epochs", "10", cwd=tmp_path).stdout
    for words in ("60 held-out rows", "concordance", "CRPS up to", "bounds taken for"):
        assert words in shown
    model = HistogramRegressor.load(tmp_path / "m")
    assert list(model.feature_names_in_) == ["dose"]
    notes = model.notes_
    assert (notes["n_learnt"], notes["n_calibrated"], notes["n_tested"]) == (240, 0, 60)
    found = notes["scores"]["histogram"]
    assert 0.5 < found["concordance"] <= 1 and found["horizon"] < table["months"].max()
    # The same column in other words, and in Parquet: the same model.
    table.assign(alive=table["alive"].astype(int)).to_parquet(tmp_path / "l.parquet")
    fit[1] = "l.parquet"
    histreg(*fit, "--out", "n", "--epochs", "10", "--no-compare", cwd=tmp_path)
    again = HistogramRegressor.load(tmp_path / "n")
    np.testing.assert_array_equal(
        model.predict(table[["dose"]]), again.predict(table[["dose"]])
    )
    assert "concordance" in histreg("inspect", "m", cwd=tmp_path).stdout
    result = refused(
        *("report", tmp_path / "m", tmp_path / "lives.csv"),
        *("--out", tmp_path / "page.html"),
    )
    assert result.exit_code == 2
    assert "may be censored, by column 'alive'" in result.output


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({"alive": "perhaps"}, [], "must hold 0 or 1, or true or false, throughout"),
        ({"alive": 2}, [], "got 2.0 in row 1"),
        ({"alive": None}, [], "column 'alive' must hold 0 or 1"),
        ({"alive": True}, [], "two y whose order is known, got none among 60, 60"),
        ({"alive": True}, ["--holdout", "0"], "must leave targets that are known"),
        ({}, ["--loss", "l2"], "censored needs loss='histogram'"),
        ({}, ["--censored", "dead"], "the table must have the column 'dead'"),
    ],
)
def test_a_column_that_does_not_say_what_is_censored_is_refused(
    change, options, sentence, tmp_path
):
    lives().assign(**change).to_csv(tmp_path / "lives.csv", index=False)
    arguments = ["--target", "months", "--censored", "alive", *options, *QUICK]
    result = refused("fit", tmp_path / "lives.csv", *arguments, "--out", tmp_path / "m")
    assert result.exit_code == 2
    assert sentence in result.output and "Traceback" not in result.output
    assert not (tmp_path / "m").exists()


def test_predict_keeps_rows_and_columns_and_adds_what_was_asked(place):
    new = houses(50).drop(columns="price").sample(frac=1, random_state=0)
    new.insert(0, "comment", "kept, as it is")
    new.to_csv(place / "new.csv", index=False)
    asked = ["--interval", "0.9", "--quantiles", "0.1,0.5", "--above", "1e5,2e5"]
    histreg("predict", "model", "new.csv", *asked, "--out", "p.csv", cwd=place)
    found = pd.read_csv(place / "p.csv")
    pd.testing.assert_frame_equal(
        found[new.columns], new.reset_index(drop=True), check_dtype=False
    )
    added = [name for name in found if name not in new.columns]
    assert added == [
        "price_mean",
        "price_lower_90",
        "price_upper_90",
        "price_q0.1",
        "price_q0.5",
        "price_above_100000",
        "price_above_200000",
    ]
    model = HistogramRegressor.load(place / "model")
    X = new[["size", "kind", "zone"]]
    np.testing.assert_allclose(found["price_mean"], model.predict(X))
    np.testing.assert_allclose(found["price_lower_90"], model.predict_interval(X)[0])
    np.testing.assert_allclose(
        found["price_above_100000"], model.predict_proba_above(X, 1e5)
    )
    # The same on standard output.
    shown = histreg("predict", "model", "new.csv", *asked, cwd=place).stdout
    assert shown == (place / "p.csv").read_text()


def test_columns_are_named_by_exactly_what_was_asked_for(place):
    asked = ["--above", "1000001,1000002,1000000", "--interval", "0.9999999"]
    asked += ["--quantiles", "0.9999999,0.99999995,0.10"]
    shown = histreg("predict", "model", "test.csv", *asked, cwd=place).stdout
    assert shown.splitlines()[0].split(",")[-9:] == [
        "price_mean",
        "price_lower_99.99999",
        "price_upper_99.99999",
        "price_q0.9999999",
        "price_q0.99999995",
        "price_q0.1",
        "price_above_1000001",
        "price_above_1000002",
        "price_above_1e+06",
    ]


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "mine.csv", "-t", "price", "-o", "m", *QUICK, *SAVE, "mine.csv"],
        ["fit", "mine.csv", "-t", "price", "-o", "m", *QUICK, *SAVE, "link.csv"],
        ["fit", "link.csv", "-t", "price", "-o", "m", *QUICK, *SAVE, "mine.csv"],
        ["fit", "mine.csv", "-t", "price", "-o", "m", *QUICK, *SAVE, "hard.csv"],
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
    result = refused(*arguments, *overwrite)
    assert result.exit_code == 2
    assert "must not be a file that this command reads, got" in result.stderr
    assert contents() == before and not Path("m").exists()


@pytest.mark.parametrize(
    ("out", "arguments"),
    [
        ("h.csv", ["fit", "houses.csv", "-t", "price", "-o", "h", *QUICK, *SAVE]),
        ("p2.csv", ["predict", "model", "test.csv", "--out"]),
        ("r3.html", ["report", "model", "test.csv", "--out"]),
    ],
)
def test_what_is_there_is_replaced_only_if_asked_for(
    place, monkeypatch, out, arguments
):
    monkeypatch.chdir(place)
    Path(out).write_text("mine")
    result = refused(*arguments, out)
    assert result.exit_code == 2
    assert result.stderr == f"histreg: {out} exists already; --overwrite replaces it\n"
    assert Path(out).read_text() == "mine"
    result = refused(*arguments, out, "--overwrite", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert len(Path(out).read_text().splitlines()) > 50


def test_a_wide_table_shows_the_names_that_may_be_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wide = pd.DataFrame(np.zeros((2, 10_000))).add_prefix("column_")
    wide.assign(Price=1.0).to_csv("wide.csv", index=False)
    result = refused("fit", "wide.csv", "-t", "prise", "-o", "m")
    assert result.exit_code == 2
    assert result.stderr == (
        "histreg: the table must have the column 'prise', got 10,001 columns, of which "
        "these are spelt most alike: Price\n"
    )
    result = refused("fit", "wide.csv", "-t", "Price", "-o", "m", "--drop", "?!")
    assert "got 10,001 columns, such as column_0, column_1, column_2" in result.stderr
    drop = ",".join(f"no_{i}" for i in range(5000))
    result = refused("fit", "wide.csv", "-t", "Price", "-o", "m", "--drop", drop)
    assert "'no_9' and 4,990 more" in result.stderr and len(result.stderr) < 600


@pytest.mark.parametrize("kind", ["missing", "dates"])
def test_a_table_without_numbers_or_labels_is_compared_with_the_mean(
    kind, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    dates = pd.date_range("2020-01-01", periods=60).strftime("%Y-%m-%d")
    x = {"missing": [np.nan] * 60, "dates": dates}[kind]
    y = np.arange(60.0)
    pd.DataFrame({"x": x, "y": y}).to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "-t", "y", "-o", "m", "--epochs", "1", "--time", "y2"]
    pd.DataFrame({"x": x, "y": y, "y2": y}).to_csv("t.csv", index=False)
    result = refused(*fit)
    assert result.exit_code == 0, result.output
    scores = json.loads(Path("m/model.json").read_text())["notes"]["scores"]
    # Learnt from 0 to 41, tested on 48 to 59.
    assert scores["linear regression"]["mae"] == pytest.approx(53.5 - 20.5)


def test_notes_of_ones_own_are_no_trouble(place, tmp_path):
    model = HistogramRegressor.load(place / "model")
    for notes in (
        {},
        {"scores": "good", "y_percentiles": "many", "n_tested": 3},
        {"scores": {"mine": {"mae": 1.0}}, "n_tested": 3, "target": 7},
        {"scores": {"mine": 1.0}, "n_tested": "3", "y_percentiles": [None]},
    ):
        model.notes_ = notes
        model.save(tmp_path / "m")
        result = refused("inspect", tmp_path / "m")
        assert result.exit_code == 0, result.output
        assert "truncation bias" in result.output


@pytest.mark.parametrize("name", ["价格", "السعر", "prix 💶", "prix €"])
def test_a_target_in_any_script_is_reported_without_a_word(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = houses(60).drop(columns="id").rename(columns={"price": name})
    table.to_csv("t.csv", index=False)
    assert refused("fit", "t.csv", "-t", name, "-o", "m", *QUICK).exit_code == 0
    result = refused("report", "m", "t.csv", "--out", "r.html")
    assert (result.exit_code, result.stderr) == (0, "")
    page = Path("r.html").read_text(encoding="utf-8")
    assert f"How well is {name} predicted?" in page


def test_a_full_disk_behind_standard_output_is_told_in_one_sentence(place):
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


def test_inspect_tells_what_the_model_is(place):
    shown = histreg("inspect", "model", cwd=place).stdout
    for fact in (
        "price",
        "1 of numbers, 2 of labels",
        "Bins(n_bins=100",
        "0 of ",
        "on 40 rows",
    ):
        assert fact in shown
    assert "truncation bias" in shown and "held-out rows" in shown
    assert "Columns of numbers: size\nColumns of labels: kind, zone\n" in shown


def test_report_writes_one_page(place):
    histreg(
        *("report", "model", "test.csv", "--target", "price", "--out", "r.html"),
        cwd=place,
    )
    html = (place / "r.html").read_text()
    assert "learnt from a table of this name" not in html
    assert "80 rows of test.csv" in html
    assert "How well is price predicted?" in html and html.count("<img") == 10


@pytest.mark.parametrize("command", ["fit", "predict", "inspect", "report"])
def test_every_command_helps_with_an_example(command):
    shown = CliRunner().invoke(app, [command, "--help"]).stdout
    assert f"Example: histreg {command}" in " ".join(shown.split())


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["fit", "no.csv", "--target", "y", "--out", "m"], "there is no file no.csv"),
        (["fit", "houses.csv", "--target", "y", "--out", "m"], "column 'y', got id, "),
        (
            ["fit", "houses.csv", "--target", "kind", "--out", "m"],
            "column 'kind' must hold numbers, got '(flat|house)' in row 1",
        ),
        (
            ["fit", "houses.csv", "--target", "price", "--out", "model"],
            "model holds a model already; --overwrite replaces it",
        ),
        (
            ["fit", "houses.csv", "--target", "price", "--out", "houses.csv"],
            "--out must be a folder, got file houses.csv",
        ),
        (
            ["fit", "houses.csv", "--target", "price", "--out", "m", "--drop", "a,b"],
            "the table must have the columns 'a', 'b'",
        ),
        (
            ["fit", "houses.csv", "--target", "price", "--out", "m", "--loss", "l3"],
            "--loss must be one of",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "m", "--spacing", "lgo"],
            "--spacing must be one of .*, got --spacing='lgo'",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "m", "--epochs", "0"],
            "--epochs must be a whole number of at least 1, got --epochs=0",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "m", "--bins", "12"],
            "--bins must be a whole number of at least 13, got --bins=12",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "m", "--range", "5", "5"],
            "--range must have LOW below HIGH, both finite, got --range 5 5",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "m", "--drop", "id,price"],
            "--drop must not name the target, got 'price'",
        ),
        (
            ["fit", "houses.csv", "--target", "price", "--out", "m", "--holdout", "1"],
            "add up to less than 1",
        ),
        (
            ["fit", "endless.csv", "--target", "y", "--out", "m"],
            "column 'y' must hold finite numbers, got -inf in row 3",
        ),
        (["predict", "no", "houses.csv"], "must be a folder with a model.json"),
        (["predict", "model", "other.csv"], "it lacks 'size', 'kind', 'zone'"),
        (["predict", "model", "wrong.csv"], "column 'size' must hold numbers"),
        (
            ["predict", "model", "houses.csv", "--interval", "90"],
            "--interval must lie between 0 and 1",
        ),
        (
            ["predict", "model", "houses.csv", "--quantiles", "0.1;0.9"],
            "--quantiles must be numbers by commas, got 0.1;0.9",
        ),
        (
            ["predict", "model", "houses.csv", "--out", "p.txt"],
            "must be named .csv, .tsv or .parquet",
        ),
        (
            ["report", "model", "houses.csv", "--out", "r.pdf"],
            "--out must be named .html",
        ),
        (["inspect", "."], "must be a folder with a model.json"),
        (
            ["report", "model", "houses.csv", "-t", "size", "--out", "r2.html"],
            "--target must not be a column that the model predicts from, got 'size'",
        ),
        *[
            (
                ["fit", "houses.csv", "-t", "price", "-o", "m", "--seed", seed],
                f"--seed must lie from 0 to 4294967295, got --seed={seed}",
            )
            for seed in (-1, 2**32, 10**30)
        ],
        *[
            (
                ["fit", "weights.csv", "-t", "price", "-o", "m", "--weight", name],
                f"column '{name}' must {sentence}",
            )
            for name, sentence in {
                "negative": "hold weights that are not negative, got -1 in row 1",
                "missing": "hold weights that are not negative, got nan in row 8",
                "zero": "have a weight above 0 in a row to learn from, got 0 in all",
            }.items()
        ],
        (
            ["fit", "infinite.csv", "-t", "price", "-o", "m"],
            "column 'size' must hold finite numbers, got inf in row 7",
        ),
        (
            ["predict", "model", "infinite.csv"],
            "column 'size' must hold finite numbers, got inf in row 7",
        ),
        (
            ["report", "model", "infinite.csv", "--out", "r2.html"],
            "column 'size' must hold finite numbers, got inf in row 7",
        ),
        (
            ["fit", "nested.parquet", "-t", "y", "-o", "m"],
            "column 'x' holds list<element: int64> values, which are neither numbers",
        ),
        (
            ["predict", "model", "houses.csv", "--quantiles", "0.1,0.10"],
            "--quantiles must have each number once, got 0.1 twice",
        ),
        (
            ["predict", "model", "houses.csv", "--above", "0,-0.0"],
            "--above must have each number once, got 0 twice",
        ),
        (
            ["predict", "model", "houses.csv", "--above", ""],
            "--above must be numbers by commas, got nothing",
        ),
        (
            ["predict", "model", "houses.csv", "--above", "nan"],
            "--above must be numbers by commas, got nan",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "houses.csv/m"],
            "houses.csv/m cannot be written: Not a directory",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "m.csv", *SAVE, "m.csv"],
            "--save-holdout must be another path than --out, got m.csv",
        ),
        (
            ["fit", "houses.csv", "--target", "sold", "--out", "m"],
            "column 'sold' must hold numbers, got dates",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "m", "--time", "size"],
            "--time must name a column without gaps, got 31 in 'size'",
        ),
        (
            ["predict", "model", "houses.csv", "--out", "no/p.csv"],
            "there is no folder no",
        ),
        (["report", "model", "houses.csv", "--out", "no/r.html"], "no folder no"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(place, monkeypatch, arguments, sentence):
    monkeypatch.chdir(place)
    (place / "other.csv").write_text("x,y\n1,2\n")
    (place / "wrong.csv").write_text("size,kind,zone\nlarge,flat,1\n")
    (place / "endless.csv").write_text("x,y\n1,2\n2,\n3,-inf\n")
    odd = houses().assign(negative=-1, missing=1.0, zero=0)
    odd.loc[7, "missing"] = np.nan
    odd.to_csv(place / "weights.csv", index=False)
    odd.loc[6, "size"] = np.inf
    odd.to_csv(place / "infinite.csv", index=False)
    nested = pd.DataFrame({"x": [[1]] * 60, "y": range(60)})
    nested.to_parquet(place / "nested.parquet")
    before = sorted(place.iterdir())
    result = refused(*arguments)
    assert result.exit_code == 2
    assert re.search(sentence, result.stderr), result.stderr
    assert result.stderr.count("\n") == 1 and "Traceback" not in result.stderr
    assert sorted(place.iterdir()) == before


def test_a_damaged_model_is_refused(place, tmp_path):
    for path in (place / "model").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes()[:-3])
    result = refused("inspect", tmp_path)
    assert result.exit_code == 2 and "is damaged" in result.stderr


def test_a_missing_option_is_told_with_exit_code_2():
    result = refused("fit", "t.csv", "--target", "y")
    assert result.exit_code == 2 and "--out" in result.stderr


def test_labels_mean_the_same_in_another_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    code = rng.choice(["01", "02", "A1"], size=300)
    y = np.where(code == "01", 5.0, -5.0) + 0.1 * rng.normal(size=300)
    pd.DataFrame({"code": code, "y": y}).to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "-t", "y", "-o", "m", "--epochs", "60", "--no-compare"]
    assert CliRunner().invoke(app, fit).exit_code == 0
    Path("new.csv").write_text("code,note\n01,007\n02,1.10\n")
    result = CliRunner().invoke(app, ["predict", "m", "new.csv"])
    rows = [line.split(",") for line in result.stdout.splitlines()]
    assert rows[1][:2] == ["01", "007"] and rows[2][:2] == ["02", "1.10"]
    assert float(rows[1][2]) > 3 and float(rows[2][2]) < -3


def test_a_small_table_and_odd_names_are_no_trouble(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = houses(40).rename(columns={"price": "speed [/h] $a_$", "size": "len [red]"})
    table.drop(columns=["id", "sold"]).to_csv("t.csv", index=False)
    name = "speed [/h] $a_$"
    result = CliRunner().invoke(app, ["fit", "t.csv", "-t", name, "-o", "m", *QUICK])
    assert result.exit_code == 0, result.output
    assert name in result.stdout
    assert "len [red]" in CliRunner().invoke(app, ["inspect", "m"]).stdout
    page = ["report", "m", "t.csv", "--out", "r.html"]
    assert CliRunner().invoke(app, page).exit_code == 0


def test_a_cell_that_makes_labels_of_numbers_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},{i % 7},{'ab'[i % 2]},{3 * i}" for i in range(60)]
    rows[8] = "?,1,a,24"
    Path("t.csv").write_text("\n".join(["x,zone,kind,y", *rows, "60,none,b,"]))
    arguments = ["fit", "t.csv", "-t", "y", "-o", "m", "--label", "zone", *QUICK]
    shown = CliRunner().invoke(app, arguments).stderr
    assert "column 'x' is taken as labels" in shown and "'?' in row 9" in shown
    assert "'kind'" not in shown and "'zone'" not in shown  # as they should be


def test_a_narrow_range_is_told_as_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    houses().to_csv("t.csv", index=False)
    arguments = [
        "fit",
        "t.csv",
        "-t",
        "price",
        "-o",
        "m",
        *QUICK,
        "--range",
        "0",
        "9e4",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert re.search(r"^histreg: \d+ of \d+ targets lie outside", result.stderr, re.M)


def test_a_refusal_reaches_the_shell(tmp_path):
    arguments = ["fit", "no.csv", "--target", "y", "--out", "m"]
    result = histreg(*arguments, cwd=tmp_path, check=False)
    assert result.returncode == 2
    assert result.stderr == "histreg: there is no file no.csv\n"


def test_quiet_says_nothing_and_overwrite_replaces(place, monkeypatch):
    arguments = ["fit", "houses.csv", "--target", "price", "--out", "again", *QUICK]
    monkeypatch.chdir(place)
    for extra in ([], ["--overwrite"]):
        result = CliRunner().invoke(app, [*arguments, "--quiet", *extra])
        assert result.exit_code == 0 and result.output == ""
    assert len(list((place / "again").iterdir())) == 2


def test_other_losses_ranges_and_formats(place, monkeypatch):
    monkeypatch.chdir(place)
    houses().to_parquet(place / "houses.parquet")
    arguments = ["houses.parquet", "--target", "price", *QUICK, "--loss", "l2"]
    histreg("fit", *arguments, "--out", "l2", cwd=place)
    histreg("predict", "l2", "houses.parquet", "--out", "p.parquet", cwd=place)
    assert len(pd.read_parquet(place / "p.parquet")) == 400
    result = refused("predict", "l2", "houses.csv", "--interval", "0.9")
    assert result.exit_code == 2 and "a distribution needs a loss" in result.stderr
    weighted = houses().assign(w=1.0)
    weighted.to_csv(place / "w.csv", index=False)
    histreg(
        *("fit", "w.csv", "--target", "price", "--out", "w", "--weight", "w", *QUICK),
        *("--range", "0", "500000", "--holdout", "0", "--calibration", "0"),
        cwd=place,
    )
    notes = json.loads((place / "w" / "model.json").read_text())
    assert notes["options"]["y_range"] == [0, 500000]
    assert "w" not in notes["feature_names"]


# The command, pressing Ctrl-C on itself in the second epoch of training.
INTERRUPTED = """
import os, signal
from histreg.cli import app as cli
from histreg.tabular.regressor import HistogramRegressor

# A job in the background ignores it, and its children with it.
signal.signal(signal.SIGINT, signal.default_int_handler)
report = HistogramRegressor._report

def report_and_stop(self, epoch):
    report(self, epoch)
    if epoch.number == 2:
        os.kill(os.getpid(), signal.SIGINT)

HistogramRegressor._report = report_and_stop
cli.run()
"""


def test_ctrl_c_leaves_no_half_written_model(place):
    arguments = ["fit", "houses.csv", "--target", "price", "--out", "stopped"]
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *arguments],
        cwd=place,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert result.returncode == 130
    assert "stopped, nothing was written" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (place / "stopped").exists()


@pytest.mark.parametrize("name, target", [("bike/hour.csv", "cnt")])
def test_real_data_from_file_to_interval(name, target, tmp_path):
    data = os.environ.get("HISTREG_DATA")
    if not data or not (Path(data) / name).exists():
        pytest.skip(f"needs {name} in the folder of HISTREG_DATA")
    histreg(
        *("fit", Path(data) / name, "--target", target, "--out", tmp_path / "m"),
        *("--drop", "instant,casual,registered", "--time", "dteday", *QUICK),
    )
    result = histreg("predict", tmp_path / "m", Path(data) / name, "--interval", "0.9")
    lines = result.stdout.splitlines()
    assert len(lines) == 17380
    assert lines[0].endswith("cnt_mean,cnt_lower_90,cnt_upper_90")


def european(table):
    """Return a table as Excel writes it where commas are decimal marks."""
    return table.to_csv(index=False, sep=";", decimal=",")


def sizes(n=120):
    rng = np.random.default_rng(0)
    size = rng.uniform(30, 150, size=n).round(2)
    days = pd.date_range("2020-01-01", periods=n)
    price = (1000.5 * size).round(1)
    return pd.DataFrame({"size": size, "day": days, "price": price})


def test_a_european_table_is_the_same_model_and_keeps_its_spelling(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = sizes().drop(columns="day")
    table.to_csv("us.csv", index=False)
    Path("eu.csv").write_bytes(b"\xef\xbb\xbf" + european(table).encode())
    for name in ("us", "eu"):
        fit = ["fit", f"{name}.csv", "-t", "price", "-o", name, *QUICK]
        result = refused(*fit, "--save-holdout", f"{name}_test.csv")
        assert result.exit_code == 0, result.output
    understood = (
        "eu.csv is read with delimiter ';'; columns 'size', 'price' with decimal"
    )
    assert result.stderr.startswith(understood) and result.stderr.count("\n") == 1
    lines = european(table).splitlines()
    held_out = Path("eu_test.csv").read_text().splitlines()
    assert held_out[0] == lines[0] and set(held_out) < set(lines)
    predicted = {
        name: refused("predict", name, f"{name}_test.csv", "--quiet").stdout
        for name in ("us", "eu")
    }
    assert predicted["eu"].replace(",", ".").replace(";", ",") == predicted["us"]
    # Both tables are understood by both models.
    crossed = refused("predict", "us", "eu_test.csv", "--quiet").stdout
    assert crossed == predicted["eu"]
    page = refused("report", "eu", "eu_test.csv", "--out", "r.html", "--quiet")
    assert page.exit_code == 0 and page.output == ""


def test_the_fit_tells_what_an_ambiguous_row_means(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("eu.csv").write_text(european(sizes().assign(day=lambda t: t.day.dt.day)))
    arguments = ["fit", "eu.csv", "-t", "price", "-o", "m", *QUICK]
    assert refused(*arguments).exit_code == 0
    predicted = []
    for cell in ("1.040", "1040,0", "1040"):
        Path("one.csv").write_text(f"size;day\n{cell};3\n")
        predicted.append(refused("predict", "m", "one.csv").stdout.split(";")[-1])
    assert len(set(predicted)) == 1
    told = refused("predict", "m", "one.csv", "--decimal", "!")
    assert told.exit_code == 2 and "--decimal must be one of" in told.stderr
    told = refused("predict", "m", "one.csv", "--delimiter", "::")
    assert told.exit_code == 2 and "--delimiter must be one character" in told.stderr


TIMES = ["%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%dT%H%M%S", "%Y/%m/%d"]


@pytest.mark.parametrize("form", TIMES)
def test_dates_of_every_form_are_times(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = sizes()
    table.assign(day=table.day.dt.strftime(form)).to_csv("t.csv", index=False)
    result = refused("fit", "t.csv", "-t", "price", "-o", "m", *QUICK)
    assert result.exit_code == 0, result.output
    model = HistogramRegressor.load("m")
    assert model.model_.kinds == ("number", "time")
    says_order = "month first" in result.stderr or "day first" in result.stderr
    assert says_order == (form in ("%d.%m.%Y", "%m/%d/%Y"))
    assert "Columns of times: day" in refused("inspect", "m").stdout
    # One row, whose order is open by itself.
    day = pd.Timestamp("2020-03-04")
    pd.DataFrame({"size": [50.5], "day": [day.strftime(form)]}).to_csv(
        "one.csv", index=False
    )
    predicted = refused("predict", "m", "one.csv").stdout.strip().split(",")[-1]
    expected = model.predict(pd.DataFrame({"size": [50.5], "day": [day]}))
    assert float(predicted) == pytest.approx(expected[0])


def test_dates_and_numbers_do_not_stand_for_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sizes().to_csv("t.csv", index=False)
    assert refused("fit", "t.csv", "-t", "price", "-o", "m", *QUICK).exit_code == 0
    Path("dates.csv").write_text("size,day\n2020-01-01,2020-01-01\n")
    result = refused("predict", "m", "dates.csv")
    assert result.exit_code == 2
    assert (
        "column 'size' must hold numbers, as it did in fit, got '2020" in result.stderr
    )
    Path("numbers.csv").write_text("size,day\n50,18262\n")
    result = refused("predict", "m", "numbers.csv")
    assert result.exit_code == 2
    assert "column 'day' must hold times, as it did in fit, got '18262" in result.stderr
    Path("gaps.csv").write_text("size,day\n50,\n")
    assert refused("predict", "m", "gaps.csv").exit_code == 0


def test_dates_of_open_order_are_doubted_and_can_be_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = sizes().assign(day="05/06/2020")
    table.to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "-t", "price", "-o", "m", *QUICK]
    shown = refused(*fit).stderr
    assert "column 'day' is taken as labels: its dates, such as" in shown
    assert "--day-first or --month-first says which" in shown
    told = refused(*fit, "--overwrite", "--day-first")
    assert "day first ('05/06/2020' is 2020-06-05)" in told.stderr
    assert HistogramRegressor.load("m").notes_["spelling"]["day_first"] is True


def test_numbers_with_a_sign_beside_them_are_doubted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = sizes().assign(rate=lambda t: t["size"].map("{:g} %".format))
    table.to_csv("t.csv", index=False)
    shown = refused("fit", "t.csv", "-t", "price", "-o", "m", *QUICK).stderr
    assert "column 'rate' is taken as labels: its numbers have '%' beside" in shown


def test_parquet_of_any_type_is_fitted_predicted_or_refused_by_column(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = sizes()
    n = len(table)
    usable = {
        "day": table.day.dt.date,
        "clock": [time(i % 24, 5) for i in range(n)],
        "exact": [Decimal(i) / 4 for i in range(n)],
        "span": pd.to_timedelta(np.arange(n), unit="min"),
        "zone": table.day.dt.tz_localize("Europe/Berlin"),
        "truth": pd.array([True, False, None, True] * (n // 4), dtype="boolean"),
        "large": np.arange(n, dtype=np.uint64) + 2**63,
        "count": pd.array([1, None, 3, 4] * (n // 4), dtype="Int32"),
        "code": pd.Categorical(["a", "b"] * (n // 2)),
    }
    table.assign(**usable).to_parquet("t.parquet")
    fit = ["fit", "t.parquet", "-t", "price", "-o", "m", "--epochs", "3"]
    result = refused(*fit)
    assert result.exit_code == 0, result.output
    names = ["size", *usable]
    kinds = dict(zip(names, HistogramRegressor.load("m").model_.kinds, strict=True))
    of_time = {name: kind for name, kind in kinds.items() if kind != "number"}
    assert of_time == {
        **{"day": "time", "clock": "duration", "span": "duration"},
        **{"zone": "time", "code": "label"},
    }
    first = refused("predict", "m", "t.parquet", "--out", "p.parquet")
    assert first.exit_code == 0, first.output
    # The same as text.
    assert refused("predict", "m", "t.parquet", "--out", "p.csv").exit_code == 0
    written = pd.read_csv("p.csv", dtype=str).rename(columns={"price_mean": "before"})
    written["truth"] = written["truth"].map({"True": "1", "False": "0"})
    written.to_csv("again.csv", index=False)
    result = refused("predict", "m", "again.csv", "--out", "q.csv")
    assert result.exit_code == 0, result.output
    after = pd.read_csv("q.csv")
    np.testing.assert_allclose(after["price_mean"], after["before"])
    unusable = {
        "bytes": [b"x"] * n,
        "struct": [{"a": 1}] * n,
        "list": [[1]] * n,
    }
    table.assign(**unusable).to_parquet("t.parquet")
    fit.append("--overwrite")
    for name in unusable:
        others = ",".join(other for other in unusable if other != name)
        result = refused(*fit, "--drop", others)
        assert result.exit_code == 2 and result.stderr.count("\n") == 1
        assert f"t.parquet: column '{name}' holds" in result.stderr
        assert "--drop" in result.stderr
    result = refused(*fit, "--no-compare", "--drop", ",".join(unusable))
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("cell", ["1" * 400, "inf", "-1e999"])
@pytest.mark.parametrize("column", ["size", "price"])
def test_a_number_that_is_too_large_is_refused_by_column(
    cell, column, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = sizes().astype({column: object})
    table.loc[7, column] = cell
    table.to_csv("t.csv", index=False)
    result = refused("fit", "t.csv", "-t", "price", "-o", "m", *QUICK)
    assert result.exit_code == 2 and "Traceback" not in result.stderr
    assert f"column '{column}' must hold finite numbers" in result.stderr
    assert "in row 8" in result.stderr
