"""Naive forecasts, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from histreg.study.datasets import SERIES, Table
from histreg.study.measurements import Measurement
from tests.study.made_up import Alone


def measured(what, name=""):
    (outcome,) = Measurement.compute([Measurement(what, name)], Alone())
    return outcome


def on_series(monkeypatch, y):
    """Return what naive forecasts are worth on a series of 30 moments a month."""

    def parse(content):  # noqa: ARG001
        x = np.random.default_rng(0).normal(size=(len(y), 7))
        x[:, -1] = y
        return Table(x, y.copy(), tuple("abcdefg"), "made")

    made = replace(
        SERIES["ETTh1"],
        name="made",
        files=(),  # so that there is no file to look for
        sha256=None,
        n_rows=len(y),
        rows_a_month=30,
        parse=parse,
    )
    monkeypatch.setitem(SERIES, "made", made)
    return measured("naive", "made")


def test_naive_forecasts_of_what_grows_steadily_are_off_by_the_steps(monkeypatch):
    """By hand: of y = t the last value is h behind, the mean of 96 h + 47.5."""
    outcome = on_series(monkeypatch, np.arange(620.0))
    deviation = math.sqrt((360**2 - 1) / 12)  # of 0 to 359, the months of train
    h = np.arange(1, 97)
    # The 25 windows that forecast within the test part, of 480 to 599.
    ahead = np.concatenate([np.arange(t, t + 96) for t in range(480, 505)]) - 179.5
    expected = {}
    for how, error in (
        ("last value", h),
        ("mean of inputs", h + 47.5),
        ("zero", ahead),
    ):
        expected[f"{how}, test MSE"] = np.mean((error / deviation) ** 2)
        expected[f"{how}, test MAE"] = np.mean(error / deviation)
    # Inputs are in float32, of order 4, and differ by a hundredth.
    assert outcome.metrics == pytest.approx(expected, rel=1e-5)
    assert outcome.data_sha256 == "made"


def test_naive_forecasts_of_the_level_of_train_are_all_right(monkeypatch):
    """A year at -1 and 1 in turn, which then is 0, the mean: no error is left."""
    y = np.where(np.arange(620) % 2, 1.0, -1.0)
    y[360:] = 0.0
    told = on_series(monkeypatch, y).metrics
    assert set(told.values()) == {0.0}
    assert len(told) == 6
