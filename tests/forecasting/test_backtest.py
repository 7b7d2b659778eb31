"""Scores of a backtest, by hand."""

import numpy as np
import pytest
import torch

from histreg import Bins, Histogram
from histreg.forecasting import Backtest, Forecast


def certain(location: list) -> Forecast:
    """Return distributions that are uniform within 0.5 of their location."""
    place = torch.tensor(location, dtype=torch.float64)
    logits = torch.zeros(*place.shape, 2, dtype=torch.float64)
    standard = Histogram(Bins([-0.5, 0.0, 0.5]), logits=logits)
    return Forecast(place, torch.ones_like(place), standard)


def test_scores_are_means_of_each_step_over_origins():
    forecasts = [certain([1.0, 2.0]), certain([3.0, 4.0])]
    y = np.array([[1.0, 4.0], [3.0, 8.0]])
    middle = np.array([[1.0, 2.0], [3.0, 4.0]])
    backtest = Backtest(np.array([5, 7]), forecasts, y, middle - 3, middle + 3, 0.9)
    scores = backtest.scores()
    assert scores["mae"] == pytest.approx([0.0, 3.0])
    assert scores["coverage"] == pytest.approx([1.0, 0.5])
    assert scores["width"] == pytest.approx([6.0, 6.0])
    # Of a uniform distribution of width 1: 1/12 at its middle, |error| - 1/6 beyond.
    assert scores["crps"] == pytest.approx([1 / 12, 3.0 - 1 / 6])
    assert "2 origins: crps 1.458" in repr(backtest)


def test_several_series_count_alike():
    forecasts = [certain([[1.0, 10.0]])]
    y = np.array([[[2.0, 13.0]]])
    scores = Backtest(np.array([5]), forecasts, y, y - 1, y + 1, 0.9).scores()
    assert scores["mae"] == pytest.approx([2.0])
    assert scores["coverage"].shape == (1,)
