"""The command that shows what a model is."""

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
        "0 of ",
        "on 40 rows",
    ):
        assert fact in shown
    assert "truncation bias" in shown and "held-out rows" in shown
    assert "Columns of numbers: size\nColumns of labels: kind, zone\n" in shown


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
        result = invoke("inspect", tmp_path / "m")
        assert result.exit_code == 0, result.output
        assert "truncation bias" in result.output


def test_a_damaged_model_is_refused(place, tmp_path):
    for path in (place / "model").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes()[:-3])
    result = invoke("inspect", tmp_path)
    assert result.exit_code == 2 and "is damaged" in result.stderr
