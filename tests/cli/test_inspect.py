"""The command that shows what a model is."""

import json

import numpy as np
import pandas as pd
import pytest

from histreg import HistogramRegressor
from tests.cli.running import assert_refused, histreg, invoke


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["inspect", "."], "must be a folder with a model.json"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(bad_tables, arguments, sentence):
    assert_refused(bad_tables, arguments, sentence)


def test_inspect_shows_what_the_model_is(place):
    shown = histreg("inspect", "model", cwd=place).stdout
    for fact in (
        "price",
        "1 of numbers, 2 of labels",
        "Bins(n_bins=100",
        "calibrated on 40 rows",
        "in training, half of it at most",
        "\u00a0% networks",
    ):
        assert fact in shown
    assert "truncation bias" not in shown and "held-out rows" in shown
    assert "Columns of numbers: size\nColumns of labels: kind, zone\n" in shown
    assert "truncation bias" in histreg("inspect", "model", "--bins", cwd=place).stdout


@pytest.mark.parametrize("width", [80, 140])
def test_what_matters_comes_first_and_fits(place, width):
    lines = histreg("inspect", "model", cwd=place, width=width).stdout.splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0] == "model"
    assert lines[1].startswith("Better than a constant (skill ")
    assert not any("…" in line for line in lines)


def test_json_has_facts_columns_and_scores(place):
    result = histreg("inspect", "model", "--format", "json", cwd=place)
    document = json.loads(result.stdout)
    assert document["facts"]["target"].startswith("price, ")
    assert document["details"]["loss"] == "histogram"
    assert document["columns"] == {"numbers": ["size"], "labels": ["kind", "zone"]}
    assert document["scores"]["constant"]["skill"] == 0
    assert document["skill"]["low"] <= document["skill"]["value"]


def test_times_are_shown_with_their_calendar(tmp_path):
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=30)})
    model = HistogramRegressor(8, n_estimators=1, max_iter=1, random_state=0)
    model.fit(days, np.arange(30.0)).save(tmp_path / "m")
    shown = " ".join(histreg("inspect", tmp_path / "m").stdout.split())
    assert "times: day (as time, time of day, weekday, day of year)" in shown


def test_notes_of_a_user_are_no_trouble(place, tmp_path):
    model = HistogramRegressor.load(place / "model")
    for notes in (
        {},
        {"scores": "good", "y_percentiles": "many", "n_tested": 3},
        {"scores": {"mine": {"mae": 1.0}}, "n_tested": 3, "target": 7},
        {"scores": {"mine": 1.0}, "n_tested": "3", "y_percentiles": [None]},
    ):
        model.notes_ = notes
        model.save(tmp_path / "m")
        result = invoke("inspect", tmp_path / "m", "--bins")
        assert result.exit_code == 0, result.output
        assert "truncation bias" in result.output


def test_a_damaged_model_is_refused(place, tmp_path):
    for path in (place / "model").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes()[:-3])
    result = invoke("inspect", tmp_path)
    assert result.exit_code == 2 and "is damaged" in result.stderr
