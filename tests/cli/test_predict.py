"""The command that predicts: columns that are added, and refused options."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from histreg import HistogramRegressor
from histreg.tabular import AdaptiveInterval
from tests.cli.running import assert_refused, histreg, houses, invoke


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["predict", "no", "houses.csv"], "must be a folder with a model.json"),
        (["predict", "model", "other.csv"], "it lacks 'size', 'kind', 'zone'"),
        (["predict", "model", "wrong.csv"], "column 'size' must hold numbers"),
        (
            ["predict", "model", "houses.csv", "--interval", "90"],
            "--interval must lie between 0 and 1",
        ),
        (
            ["predict", "model", "houses.csv", "--quantiles", "0.1;0.9"],
            "--quantiles must be comma-separated numbers, got 0.1;0.9",
        ),
        (
            ["predict", "model", "houses.csv", "--out", "p.txt"],
            "must be named .csv, .tsv or .parquet",
        ),
        (
            ["predict", "model", "infinite.csv"],
            "column 'size' must hold finite numbers, got inf in row 7",
        ),
        (
            ["predict", "model", "houses.csv", "--quantiles", "0.1,0.10"],
            "--quantiles must not repeat a number, got 0.1 twice",
        ),
        (
            ["predict", "model", "houses.csv", "--above", "0,-0.0"],
            "--above must not repeat a number, got 0 twice",
        ),
        (
            ["predict", "model", "houses.csv", "--above", ""],
            "--above must be comma-separated numbers, got nothing",
        ),
        (
            ["predict", "model", "houses.csv", "--above", "nan"],
            "--above must be comma-separated numbers, got nan",
        ),
        (
            ["predict", "model", "houses.csv", "--adaptive"],
            "--adaptive needs one coverage as --interval, and the method central",
        ),
        (
            ["predict", "model", "houses.csv", "--format", "xml"],
            "--format must be one of 'text', 'json', got --format='xml'",
        ),
        (
            ["predict", "model", "houses.csv", "--format", "json", "--out", "p.csv"],
            "--format json prints the predictions, so it cannot be combined with --out",
        ),
        (
            ["predict", "model", "houses.csv", "--out", "no/p.csv"],
            "there is no folder no",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(bad_tables, arguments, sentence):
    assert_refused(bad_tables, arguments, sentence)


def test_predict_keeps_rows_and_columns_and_adds_what_was_asked(place):
    new = houses(50).drop(columns="price").sample(frac=1, random_state=0)
    new.insert(0, "comment", "kept, as it is")
    new.to_csv(place / "new.csv", index=False)
    asked = ["--interval", "0.5,0.9", "--quantiles", "0.1,0.5", "--above", "1e5,2e5"]
    histreg("predict", "model", "new.csv", *asked, "--out", "p.csv", cwd=place)
    found = pd.read_csv(place / "p.csv")
    pd.testing.assert_frame_equal(
        found[new.columns], new.reset_index(drop=True), check_dtype=False
    )
    added = [name for name in found if name not in new.columns]
    assert added == [
        "price_mean",
        *("price_lower_50", "price_upper_50", "price_lower_90", "price_upper_90"),
        "price_q0.1",
        "price_q0.5",
        "price_above_100000",
        "price_above_200000",
    ]
    model = HistogramRegressor.load(place / "model")
    X = new[["size", "kind", "zone"]]
    np.testing.assert_allclose(found["price_mean"], model.predict(X))
    np.testing.assert_allclose(found["price_lower_90"], model.predict_interval(X)[0])
    upper = model.predict_interval(X, coverage=0.5)[1]
    np.testing.assert_allclose(found["price_upper_50"], upper)
    np.testing.assert_allclose(
        found["price_above_100000"], model.predict_proba_above(X, 1e5)
    )
    # The same on standard output.
    shown = histreg("predict", "model", "new.csv", *asked, cwd=place).stdout
    assert shown == (place / "p.csv").read_text()
    # And as JSON, the predictions alone.
    shown = histreg(
        "predict", "model", "new.csv", *asked, "--format", "json", cwd=place
    )
    document = json.loads(shown.stdout)
    assert document["target"] == "price"
    predictions = pd.DataFrame(document["predictions"])
    pd.testing.assert_frame_equal(predictions, found[added])


def test_quantiles_and_probabilities_can_be_calibrated(place):
    asked = ["--quantiles", "0.2", "--above", "1e5", "--calibrated", "--out", "c.csv"]
    histreg("predict", "model", "test.csv", *asked, cwd=place)
    found = pd.read_csv(place / "c.csv")
    model = HistogramRegressor.load(place / "model")
    one = model.predict_calibrated(found[["size", "kind", "zone"]])
    np.testing.assert_allclose(found["price_q0.2"], one.quantiles([0.2])[0])
    np.testing.assert_allclose(found["price_above_100000"], one.prob_above(1e5))


def test_intervals_can_adapt_to_the_rows_before(place):
    asked = ["--interval", "0.8", "--adaptive", "--out", "a.csv"]
    histreg("predict", "model", "test.csv", *asked, cwd=place)
    found = pd.read_csv(place / "a.csv")
    model = HistogramRegressor.load(place / "model")
    lower, upper = AdaptiveInterval(model, 0.8).run(
        found[["size", "kind", "zone"]], found.price
    )
    np.testing.assert_allclose(found["price_lower_80"], lower)
    np.testing.assert_allclose(found["price_upper_80"], upper)


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


def test_labels_mean_the_same_in_another_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    code = rng.choice(["01", "02", "A1"], size=300)
    y = np.where(code == "01", 5.0, -5.0) + 0.1 * rng.normal(size=300)
    pd.DataFrame({"code": code, "y": y}).to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "-t", "y", "-o", "m", "--epochs", "60", "--no-compare"]
    assert invoke(*fit).exit_code == 0
    Path("new.csv").write_text("code,note\n01,007\n02,1.10\n")
    result = invoke("predict", "m", "new.csv")
    rows = [line.split(",") for line in result.stdout.splitlines()]
    assert rows[1][:2] == ["01", "007"] and rows[2][:2] == ["02", "1.10"]
    assert float(rows[1][2]) > 3 and float(rows[2][2]) < -3
