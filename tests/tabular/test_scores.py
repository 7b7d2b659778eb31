"""Scores on held-out rows."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from histreg import Bins, Histogram, HistogramRegressor, metrics
from histreg.tabular.scores import (
    RowScores,
    censored_scores_of,
    check_orderable,
    normal_crps,
    row_scores_of_calibrated,
    row_scores_of_distribution,
    row_scores_of_normal,
    row_scores_of_point,
    sample_crps,
    scores_of,
)


@pytest.mark.parametrize("error", [0.0, 0.7, -3.0])
def test_the_crps_of_a_normal_is_its_integral(error):
    sigma = 1.5
    # y at 0, the normal around `error`.
    below, _ = quad(lambda x: norm.cdf(x, error, sigma) ** 2, -30, 0)
    above, _ = quad(lambda x: norm.sf(x, error, sigma) ** 2, 0, 30)
    found = normal_crps(torch.tensor(error, dtype=torch.float64), sigma)
    assert found.item() == pytest.approx(below + above, rel=1e-8)


def test_the_crps_of_a_sample_is_its_definition():
    rng = np.random.default_rng(0)
    sample = np.sort(rng.gamma(1, size=40).round(1))  # with ties
    y = np.concatenate([rng.normal(1, 2, size=50), sample[:5], [-10, 99]])
    spread = np.abs(sample[:, None] - sample).mean() / 2
    expected = np.abs(sample - y[:, None]).mean(axis=1) - spread
    np.testing.assert_allclose(sample_crps(sample, y), expected, rtol=1e-10)


def test_a_point_is_scored_with_its_residuals_as_distribution():
    y = norm.ppf((np.arange(2000) + 0.5) / 2000)
    rows = row_scores_of_point(np.zeros(2000), y, y)
    scores = rows.means()
    assert scores.mae == pytest.approx(np.sqrt(2 / np.pi), abs=1e-3)
    assert scores.rmse == pytest.approx(1, abs=2e-3)
    assert scores.r2 == pytest.approx(0, abs=1e-6)
    assert scores.crps == pytest.approx(1 / np.sqrt(np.pi), abs=1e-3)
    assert scores.coverage == pytest.approx(0.9, abs=2e-3)
    assert scores.width == pytest.approx(2 * norm.ppf(0.95), abs=5e-3)
    assert np.isnan(scores.skill) and rows.means(rows).skill == 0
    # Residuals that are all 1 move the median, and the interval with it.
    moved = row_scores_of_point(np.zeros(3), np.ones(3), np.ones(9)).means()
    assert (moved.mae, moved.mae_of_median, moved.crps) == (1, 0, 0)
    assert (moved.coverage, moved.width) == (1, 0)


def test_normal_distributions_are_scored_as_their_bins_would_be():
    rng = np.random.default_rng(0)
    mean, stddev = rng.normal(size=50), rng.uniform(0.5, 2, size=50)
    y = mean + stddev * rng.normal(size=50)
    borders = np.linspace(-20, 20, 4001)
    cdf = norm.cdf(borders, mean[:, None], stddev[:, None])
    fine = Histogram(Bins(borders), probs=torch.tensor(np.diff(cdf, axis=1)))
    binned = row_scores_of_distribution(fine, y)
    exact = row_scores_of_normal(mean, stddev, y)
    for name in ("error", "error_of_median", "crps", "covered", "width"):
        np.testing.assert_allclose(
            getattr(exact, name), getattr(binned, name), rtol=1e-4, atol=1e-4
        )
    certain = row_scores_of_normal(mean, np.zeros(50), y)
    np.testing.assert_allclose(certain.crps, np.abs(mean - y))


def test_scores_of_parts_are_joined():
    y = np.arange(6.0)
    parts = [row_scores_of_point(np.zeros(3), half, y) for half in (y[:3], y[3:])]
    joined, whole = RowScores.joined(parts), row_scores_of_point(np.zeros(6), y, y)
    np.testing.assert_array_equal(joined.crps, whole.crps)
    assert joined.means() == whole.means()


def test_the_scores_of_a_model_are_those_of_its_predictions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X[:, 0]
    model = HistogramRegressor((8,), max_iter=3, random_state=0).fit(X, y)
    scores = scores_of(model.predict_all(X), y)
    assert scores.mae == pytest.approx(np.abs(model.predict(X) - y).mean())
    median = model.predict_quantiles(X, [0.5])[:, 0]
    assert scores.mae_of_median == pytest.approx(np.abs(median - y).mean())
    lower, upper = model.predict_interval(X, 0.9)
    assert scores.coverage == ((lower <= y) & (y <= upper)).mean()
    assert scores.width == pytest.approx((upper - lower).mean())
    assert scores.crps < scores.mae
    model.calibrate(X, y)
    calibrated = row_scores_of_calibrated(model.predict_all(X), y)
    whole = model.predict_calibrated(X)
    expected = metrics.crps(whole.histogram(), y).numpy()
    np.testing.assert_array_equal(calibrated.crps, expected)
    medians = whole.quantiles([0.5])[0].numpy()
    np.testing.assert_array_equal(calibrated.error_of_median, medians - y)
    np.testing.assert_array_equal(calibrated.error, model.predict(X) - y)
    with pytest.raises(ValueError, match="one target can be scored, got 2"):
        both = np.stack([y, y], axis=1)
        scores_of(model.fit(X, both).predict_all(X), both[:, 0])


def test_censored_rows_are_scored_up_to_the_time_that_a_fifth_exceed():
    rng = np.random.default_rng(0)
    X, life = rng.normal(size=(100, 2)), rng.weibull(2, size=100)
    y, censored = life.clip(max=1.0), life > 1
    model = HistogramRegressor((8,), max_iter=3, random_state=0)
    model.fit(X, y, censored=censored)
    scores = censored_scores_of(model.predict_all(X), y, censored)
    assert scores.horizon == np.quantile(y, 0.8)
    assert scores.concordance == metrics.concordance(model.predict(X), y, censored)
    expected = metrics.censored_crps(
        model.predict_dist(X), y, censored, horizon=scores.horizon
    )
    assert scores.crps == pytest.approx(expected.mean().item())


def test_rows_whose_order_is_not_known_cannot_be_scored():
    check_orderable(np.array([1.0, 2.0]), np.array([False, True]))
    with pytest.raises(ValueError, match="two y whose order is known"):
        check_orderable(np.array([1.0, 2.0]), np.array([True, False]))
