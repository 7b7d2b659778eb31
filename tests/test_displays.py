"""Displays: what they compute is what they draw."""

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from histreg import Bins, Histogram, displays, metrics

BINS = Bins.uniform(-12.0, 12.0, 480)


@pytest.fixture
def right():
    """Return predictions that are right: normal ones, and draws from them."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=400)
    cdf = torch.special.ndtr(BINS.borders - torch.tensor(mean)[:, None])
    y = mean + rng.normal(size=400)
    return Histogram(BINS, probs=cdf.diff(dim=-1).clamp(min=1e-300)), y


class Estimator:
    def __init__(self, distribution):
        self.distribution = distribution

    def predict_dist(self, X):
        return self.distribution[: len(X)]


def test_coverage_is_the_share_of_rows_inside(right):
    d, y = right
    ax = Figure().add_subplot()
    display = displays.CoverageDisplay.from_estimator(Estimator(d), y, y, ax=ax)
    for coverage, share in zip(display.coverages, display.shares, strict=True):
        lower, upper = d.interval(coverage)
        inside = (lower.numpy() <= y) & (y <= upper.numpy())
        assert share == pytest.approx(inside.mean())
        # Of 400 rows: four standard deviations, nine times.
        assert abs(share - coverage) < 4 * np.sqrt(coverage * (1 - coverage) / 400)
    assert np.array_equal(ax.lines[-1].get_ydata(), display.shares)


def test_pit_is_drawn_as_shares_that_add_up(right):
    d, y = right
    ax = Figure().add_subplot()
    display = displays.PITDisplay.from_predictions(d, y, ax=ax)
    assert np.array_equal(display.pit, metrics.pit(d, y))
    heights = ax.patches[0].get_data().values
    assert len(heights) == 20 and heights.sum() == pytest.approx(1)


def test_a_fan_has_its_rows_in_the_order_of_their_medians(right):
    d, y = right
    ax = Figure().add_subplot()
    display = displays.FanDisplay.from_predictions(d, y, ax=ax)
    assert (np.diff(display.quantiles[2]) >= 0).all()
    assert sorted(display.y) == sorted(y)
    i = int(np.argsort(d.median.numpy(), kind="stable")[7])
    assert display.y[7] == y[i] and display.quantiles[2, 7] == d.median[i].item()


def test_y_of_another_length_is_refused(right):
    d, y = right
    for display in (displays.PITDisplay, displays.FanDisplay, displays.CoverageDisplay):
        with pytest.raises(ValueError, match="must have shape"):
            display.from_predictions(d, y[:3], ax=Figure().add_subplot())
