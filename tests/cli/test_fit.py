"""The command that fits a model: its options, its scores, its files."""

import json
import os
import re
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from histreg import HistogramRegressor
from histreg.cli.fit import FitOptions
from histreg.errors import InputError
from tests.cli.running import QUICK, assert_refused, histreg, houses, invoke


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["fit", "no.csv", "--target", "y", "--out", "m"], "there is no file no.csv"),
        (
            ["fit", "houses.csv", "--target", "y", "--out", "m"],
            "column 'y', got 'id', ",
        ),
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
                "negative": "hold non-negative weights, got -1 in row 1",
                "missing": "hold non-negative weights, got nan in row 8",
                "zero": "have a positive weight in at least one training row, got 0",
            }.items()
        ],
        (
            ["fit", "infinite.csv", "-t", "price", "-o", "m"],
            "column 'size' must hold finite numbers, got inf in row 7",
        ),
        (
            ["fit", "nested.parquet", "-t", "y", "-o", "m"],
            "column 'x' holds list<element: int64> values, which are neither numbers",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "houses.csv/m"],
            "houses.csv/m cannot be written: Not a directory",
        ),
        (
            [
                "fit",
                "houses.csv",
                "-t",
                "price",
                "-o",
                "m.csv",
                "--save-holdout",
                "m.csv",
            ],
            "--save-holdout must differ from --out, got m.csv",
        ),
        (
            ["fit", "houses.csv", "--target", "sold", "--out", "m"],
            "column 'sold' must hold numbers, got dates",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "m", "--time", "size"],
            "--time must name a column without missing values, got 31 in 'size'",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "m", "--upper", "id"],
            "column 'id' must not be below 'price', got 0 and [0-9.e+]+ in row 1",
        ),
        (
            ["fit", "houses.csv", "-t", "price", "-o", "m", "--time", "kind"],
            "--time must name a column of times or numbers, got labels such as '",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(bad_tables, arguments, sentence):
    assert_refused(bad_tables, arguments, sentence)


def test_calibration_is_ignored_where_rows_are_censored():
    fields = {"table": Path("t.csv"), "target": "y", "out": Path("m")}
    fields |= {"holdout": 0.5, "calibration": 0.5}
    with pytest.raises(InputError, match="up to less than 1, got"):
        FitOptions(**fields)
    assert FitOptions(**fields, censored="c").special_columns == ["c"]


def test_fit_shows_held_out_scores_beside_baselines(place):
    shown = (place / "fit.txt").read_text()
    assert "80 held-out rows, in units of price" in shown
    assert shown.startswith("Better than a constant (skill ")
    simple = ("constant", "linear regression", "boosting", "networks with l2")
    for name in ("histreg", *simple):
        assert name in shown
    for column in ("skill", "CRPS", "MAE", "RMSE", "R²", "covers", "width"):
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
    assert notes["scores"]["histreg"]["mae"] == pytest.approx(expected)
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
    found = notes["scores"]["histreg"]
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
    result = invoke(
        *("report", tmp_path / "m", tmp_path / "lives.csv"),
        *("--out", tmp_path / "page.html"),
    )
    assert result.exit_code == 2
    assert "may be censored, by column 'alive'" in result.output


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({"alive": "perhaps"}, [], "must hold 0 or 1, or true or false, in every row"),
        ({"alive": 2}, [], "got 2.0 in row 1"),
        ({"alive": None}, [], "column 'alive' must hold 0 or 1"),
        ({"alive": True}, [], "two y whose order is known, got none among 60, 60"),
        ({"alive": True}, ["--holdout", "0"], "must leave at least one known target"),
        ({}, ["--loss", "l2"], "censored needs loss='histogram'"),
        ({}, ["--censored", "dead"], "the table must have the column 'dead'"),
    ],
)
def test_a_column_that_does_not_say_what_is_censored_is_refused(
    change, options, sentence, tmp_path
):
    lives().assign(**change).to_csv(tmp_path / "lives.csv", index=False)
    arguments = ["--target", "months", "--censored", "alive", *options, *QUICK]
    result = invoke("fit", tmp_path / "lives.csv", *arguments, "--out", tmp_path / "m")
    assert result.exit_code == 2
    assert sentence in result.output and "Traceback" not in result.output
    assert not (tmp_path / "m").exists()


def test_quiet_says_nothing_and_overwrite_replaces(place, monkeypatch):
    arguments = ["fit", "houses.csv", "--target", "price", "--out", "again", *QUICK]
    monkeypatch.chdir(place)
    for extra in ([], ["--overwrite"]):
        result = invoke(*arguments, "--quiet", *extra)
        assert result.exit_code == 0 and result.output == ""
    assert len(list((place / "again").iterdir())) == 2


def test_other_losses_ranges_and_formats(place, monkeypatch):
    monkeypatch.chdir(place)
    houses().to_parquet(place / "houses.parquet")
    arguments = ["houses.parquet", "--target", "price", *QUICK, "--loss", "l2"]
    histreg("fit", *arguments, "--out", "l2", cwd=place)
    histreg("predict", "l2", "houses.parquet", "--out", "p.parquet", cwd=place)
    assert len(pd.read_parquet(place / "p.parquet")) == 400
    result = invoke("predict", "l2", "houses.csv", "--interval", "0.9")
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


def test_a_narrow_range_is_warned_about_in_a_sentence(tmp_path, monkeypatch):
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
    result = invoke(*arguments)
    assert result.exit_code == 0
    assert re.search(r"^histreg: \d+ of \d+ targets lie outside", result.stderr, re.M)


# The command, pressing Ctrl-C on itself in the second epoch of training.
INTERRUPTED = """
import os, signal
from histreg.cli import run
from histreg.tabular.regressor import HistogramRegressor

# A job in the background ignores it, and its children with it.
signal.signal(signal.SIGINT, signal.default_int_handler)
report = HistogramRegressor._report

def report_and_stop(self, epoch):
    report(self, epoch)
    if epoch.number == 2:
        os.kill(os.getpid(), signal.SIGINT)

HistogramRegressor._report = report_and_stop
run()
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


def test_another_table_is_tested_on_and_scores_are_json(tmp_path):
    table = houses()
    table.iloc[:300].to_csv(tmp_path / "train.csv", index=False)
    table.iloc[300:].to_csv(tmp_path / "test.csv", index=False)
    fit = ("fit", "train.csv", "-t", "price", "--drop", "id", *QUICK, "--out", "m")
    options = ("--eval", "test.csv", "--format", "json", "--estimators", "1")
    document = json.loads(histreg(*fit, *options, cwd=tmp_path).stdout)
    assert document["n_tested"] == 100 and document["model"] == "m"
    model = HistogramRegressor.load(tmp_path / "m")
    assert model.notes_["tested_on"] == "test.csv"
    assert model.notes_["n_learnt"] + model.notes_["n_calibrated"] == 299
    y = table["price"].to_numpy()
    known = np.delete(y[:300], 3)
    spread = np.abs(known[:, None] - known).mean() / 2
    constant = document["scores"]["constant"]["crps"]
    expected = np.mean([np.abs(known - one).mean() for one in y[300:]]) - spread
    # The constant learns from nine tenths of the table, the others calibrate.
    assert constant == pytest.approx(expected, rel=0.02)
    sentence = "--save-holdout cannot be combined with --eval"
    with pytest.raises(InputError, match=sentence):
        FitOptions(
            Path("a.csv"), "y", Path("m"), evaluate=Path("b"), save_holdout=Path("c")
        )


def test_a_table_of_other_columns_cannot_be_tested_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    houses().to_csv("train.csv", index=False)
    houses().drop(columns="size").to_csv("few.csv", index=False)
    houses().assign(size="large").to_csv("text.csv", index=False)
    fit = ["fit", "train.csv", "-t", "price", "--drop", "id", "-o", "m", *QUICK]
    for name, sentence in (
        (
            "few.csv",
            "few.csv must have the columns of the other table, it lacks 'size'",
        ),
        ("text.csv", "column 'size' of text.csv must hold numbers, as in train.csv"),
    ):
        assert_refused(tmp_path, [*fit, "--eval", name], sentence)


def test_groups_are_on_one_side_of_the_split(tmp_path):
    table = houses().assign(street=[f"street {i % 37}" for i in range(400)])
    table.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", "t.csv", "-t", "price", "--drop", "id", *QUICK, "--out", "m")
    options = ("--groups", "street", "--save-holdout", "test.csv", "--estimators", "1")
    histreg(*fit, *options, cwd=tmp_path)
    held_out = pd.read_csv(tmp_path / "test.csv")
    learnt = table[~table["id"].isin(held_out["id"])]
    assert len(held_out) > 40
    assert not set(held_out["street"]) & set(learnt["street"])
    model = HistogramRegressor.load(tmp_path / "m")
    assert "street" not in model.feature_names_in_


def test_the_column_of_time_is_a_feature_if_asked_for(tmp_path):
    houses(60).to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", "t.csv", "-t", "price", "--drop", "id", "--time", "sold", *QUICK)
    shown = histreg(*fit, "--keep-time", "--out", "m", cwd=tmp_path).stdout
    model = HistogramRegressor.load(tmp_path / "m")
    assert list(model.feature_names_in_)[-2:] == ["sold", "zone"]
    assert model.model_.kinds[-2:] == ("time", "number")
    assert model.notes_["time"] == "sold"
    assert "Next: histreg predict m new.csv --interval 0.9" in shown
    with chdir(tmp_path):
        assert_refused(
            tmp_path,
            ["fit", "t.csv", "-t", "price", "-o", "n", "--keep-time"],
            "--keep-time needs --time, got none",
        )
