"""The command that shows how far a study is."""

import pytest

from tests.cli.study.running import assert_refused, study


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["status", "bound", "--store", "file"], "the store must be a folder, got"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence, place):
    assert_refused(place, arguments, sentence)


def test_the_status_of_everything_leaves_out_what_lacks_a_method():
    printed = study("status", "--methods", "HL-Projected")
    assert "projected" in printed and "sines" not in printed
    assert "must be one of" in study("status", "--methods", "magic", code=2)


def test_the_status_of_everything_on_one_series():
    printed = study("status", "--datasets", "ETTh1")
    assert "ETTh1" in printed and "theorems" in printed
    assert "forecasts-of-change" in printed and "overall" not in printed


def test_the_status_of_everything_on_one_data_set():
    printed = study("status", "--datasets", "pole")
    assert "pole" in printed
    assert "theorems" in printed
