"""Predictions: what they are scored by."""

import numpy as np
import pytest
from scipy import integrate, stats

from histreg.study.shapes.predictions import LEVELS, Prediction, residual_crps


def crps_by_integration(cdf, y, ends):
    """Return the integral of (F(x) - [x >= y])² over a finite range."""
    below = integrate.quad(lambda x: cdf(x) ** 2, ends[0], y, limit=200)[0]
    above = integrate.quad(lambda x: (1 - cdf(x)) ** 2, y, ends[1], limit=200)[0]
    return below + above


def test_errors_are_those_of_the_point():
    told = Prediction(np.array([1.0, 5.0])).scores(np.array([2.0, 2.0]))
    assert told == {"test MAE": 2.0, "test RMSE": pytest.approx(5**0.5)}


def test_intervals_tell_what_lies_within_how_wide_they_are_and_what_lies_above():
    ends = np.array([0.0, 0.0, 0.0, 0.0]), np.array([1.0, 1.0, 1.0, 3.0])
    found = Prediction(np.zeros(4), intervals={0.9: ends})
    told = found.scores(np.array([-1.0, 0.0, 2.0, 2.0]))
    assert told["test coverage 0.9"] == 0.5
    assert told["test width 0.9"] == 1.5
    assert told["test above 0.95"] == 0.25


def test_calibrated_intervals_are_scored_by_what_lies_within():
    ends = np.zeros(4), np.array([1.0, 1.0, 1.0, 3.0])
    found = Prediction(np.zeros(4), calibrated=lambda: {0.9: ends})
    scores = found.scores(np.array([-1.0, 0.0, 2.0, 2.0]))
    assert scores["test calibrated coverage 0.9"] == 0.5
    assert "test coverage 0.9" not in scores


def test_the_crps_of_a_normal_is_its_integral():
    found = Prediction.of_normal(np.array([1.0]), np.array([2.0]))
    told = found.scores(np.array([2.5]))
    exact = crps_by_integration(stats.norm(1, 2).cdf, 2.5, (-30, 30))
    assert told["test CRPS"] == pytest.approx(exact, rel=1e-7)
    assert told["test MAE of the median"] == 1.5


def test_a_normals_intervals_hold_what_they_promise():
    loc = np.zeros(2)
    low, high = Prediction.of_normal(loc, np.array([1.0, 3.0])).intervals[0.9]
    np.testing.assert_allclose(high, stats.norm.ppf(0.95) * np.array([1, 3]))
    np.testing.assert_allclose(low, -high)


def test_the_crps_of_quantiles_is_nearly_that_of_their_distribution():
    quantiles = stats.norm.ppf(LEVELS)[None, :]
    told = Prediction.of_quantiles(quantiles).scores(np.array([0.4]))
    exact = crps_by_integration(stats.norm.cdf, 0.4, (-30, 30))
    # The midpoint rule over 20 levels: what is left is of the order of 1 / 20².
    assert told["test CRPS"] == pytest.approx(exact, abs=1 / 400)
    assert told["test MAE of the median"] == pytest.approx(0.4)


def test_distributions_are_scored_by_the_quantiles_of_others_too():
    found = Prediction.of_normal(np.array([0.0]), np.array([1.0]))
    of_quantiles = Prediction.of_quantiles(stats.norm.ppf(LEVELS)[None, :])
    y = np.array([0.4])
    alike = of_quantiles.scores(y)["test CRPS"]
    assert found.scores(y)["test CRPS by quantiles"] == pytest.approx(alike)
    assert of_quantiles.scores(y)["test CRPS by quantiles"] == alike


def test_quantiles_that_cross_are_put_into_order():
    quantiles = np.linspace(0, 19, 20)[None, :]
    right = Prediction.of_quantiles(quantiles)
    crossed = Prediction.of_quantiles(quantiles[:, ::-1])
    y = np.array([7.0])
    assert right.scores(y) == crossed.scores(y)


def test_quantiles_between_levels_are_interpolated():
    # Quantiles that are the levels themselves: a uniform distribution on [0, 1].
    found = Prediction.of_quantiles(LEVELS[None, :])
    low, high = found.intervals[0.8]
    assert (low[0], high[0]) == pytest.approx((0.1, 0.9))
    # Beyond the outermost level there is nothing to interpolate with.
    low, high = Prediction.of_quantiles(LEVELS[None, :]).intervals[0.95]
    assert (low[0], high[0]) == pytest.approx((0.025, 0.975))


def test_the_crps_of_residuals_is_that_of_their_step_function():
    residuals = np.sort(np.random.default_rng(0).normal(size=7))
    errors = np.array([-3.0, residuals[2], 0.1, 5.0])
    # E|R - e| - E|R - R'| / 2, all pairs written out.
    spread = np.abs(residuals[:, None] - residuals).mean() / 2
    exact = np.abs(residuals - errors[:, None]).mean(axis=1) - spread
    assert residual_crps(errors, residuals) == pytest.approx(exact.mean())


def test_residuals_lie_around_each_point():
    found = Prediction.of_residuals(np.array([10.0, 20.0]), np.arange(101.0) - 50)
    low, high = found.intervals[0.8]
    np.testing.assert_allclose(low, [-30, -20])
    np.testing.assert_allclose(high, [50, 60])
