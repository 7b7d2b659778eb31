"""Censoring: what arguments mean, and what is learnt from intervals."""

import numpy as np
import pytest
import torch

from histreg import Bins, HistogramRegressor, InputError
from histreg.tabular.censoring import bounds_from, intervals_from

INF, NAN = np.inf, np.nan


def test_every_kind_of_interval_has_a_finite_end_and_another():
    y, other = intervals_from([2.0, 2.0, NAN, -INF, 2.0, 2.0], [2.0, NAN, 3, 3, INF, 5])
    assert y.tolist() == [2, 2, 3, 3, 2, 2]
    expected = [NAN, INF, -INF, -INF, INF, 5]
    np.testing.assert_array_equal(other, expected)


def test_lower_bounds_are_intervals_without_an_end():
    found = bounds_from([True, False], np.array([[1.0], [2.0]]), is_flat=True)
    np.testing.assert_array_equal(found, [[INF], [NAN]])


@pytest.mark.parametrize(
    "lower, upper, sentence",
    [
        ([1.0, 2.0], [1.0], r"y_upper must have shape \(2,\) like y, got shape \(1,\)"),
        ([1.0, 3.0], [1.0, 2.0], "y must not exceed y_upper, got 3.0 and 2.0 in row 2"),
        ([NAN], [INF], "y or y_upper must be finite, got neither in row 1"),
        ([INF], [INF], "y must not exceed y_upper"),
        (["a"], [1.0], "y must hold numbers, or NaN for no bound"),
        ([1.0], [None, "b"], "y_upper must hold numbers"),
        (1.0, 2.0, r"y must have shape \(n,\) or \(n, m\)"),
    ],
)
def test_wrong_intervals_are_refused(lower, upper, sentence):
    with pytest.raises(InputError, match=sentence):
        intervals_from(lower, upper)


def inspected(n, seed=0):
    """Return Weibull times and the visits before and after each.

    Visits are up to four units apart; an event before the first has no lower bound, one
    after the last no upper bound.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    life = rng.weibull(2.0, size=n) * 5 * np.exp(0.7 * X[:, 0])
    visits = np.cumsum(rng.uniform(1.0, 4.0, size=(n, 4)), axis=1)
    ends = np.concatenate([np.full((n, 1), -INF), visits, np.full((n, 1), INF)], axis=1)
    place = (visits < life[:, None]).sum(axis=1)[:, None]
    lower = np.take_along_axis(ends, place, 1)[:, 0]
    return X, life, lower, np.take_along_axis(ends, place + 1, 1)[:, 0]


FREE = {
    "hidden_layer_sizes": (8,),
    "n_estimators": 1,
    "target": "one_bin",
    "early_stopping": False,
    "dropout": 0.0,
    "weight_decay": 0.0,
    "learning_rate_init": 1e-2,
    "batch_size": 500,
    "max_iter": 60,
    "random_state": 0,
}


def turnbull(lower, upper, borders, n_steps=3000):
    """Return the masses of bins that maximise the likelihood, by Turnbull's EM (1976).

    A slow reference: shares of bins within intervals, and fixed-point steps.
    """
    low, high = lower.clip(borders[0], borders[-2]), upper.clip(borders[1], borders[-1])
    share = (
        np.minimum(high[:, None], borders[1:]) - np.maximum(low[:, None], borders[:-1])
    ) / np.diff(borders)
    share = share.clip(0, 1)
    mass = np.full(len(borders) - 1, 1 / (len(borders) - 1))
    for _ in range(n_steps):
        weight = share * mass
        mass = (weight / weight.sum(axis=1, keepdims=True)).mean(axis=0)
    return mass


def test_one_group_has_the_estimator_of_turnbull():
    X, life, lower, upper = inspected(1500)
    assert np.isinf(lower).mean() > 0.05 < np.isinf(upper).mean()
    bins = Bins.uniform(0.0, 15.0, 15)
    model = HistogramRegressor(**FREE, bins=bins)
    model.fit(0 * X, lower, y_upper=upper)
    borders = bins.borders.numpy()
    expected = turnbull(lower, upper, borders).cumsum()
    found = model.predict_dist(X[:1]).cdf(bins.borders[1:]).numpy()
    # Steps of Adam do not come to rest.
    np.testing.assert_allclose(found, expected, atol=0.02)
    # lifelines 0.30.3 without bins: KaplanMeierFitter().fit_interval_censoring(lower,
    # upper) with 0 for no lower bound, its survival at 2, 4, 6, 8 and 10. Its steps lie
    # where visits do, which differs from even densities in bins by a few hundredths.
    elsewhere = [0.7815, 0.4852, 0.2728, 0.1594, 0.0773]
    np.testing.assert_allclose(1 - found[1:10:2], elsewhere, atol=0.035)
    # And both are near the truth: the share of 1,500 has a standard error of 0.013, and
    # intervals of two units and more know half as much; four of them.
    truth = (life[:, None] <= borders[1:]).mean(axis=0)
    assert np.abs(found - truth)[:8].max() < 0.1


def test_the_median_is_learnt_from_intervals_and_not_from_their_ends():
    X, _, lower, upper = inspected(1200)
    X_new, _, _, _ = inspected(500, seed=1)
    truth = 5 * np.exp(0.7 * X_new[:, 0]) * np.log(2) ** 0.5
    options = {"hidden_layer_sizes": (32,), "n_estimators": 1, "blend_with": ()}
    options |= {"max_iter": 25, "random_state": 0}
    model = HistogramRegressor(**options).fit(X, lower, y_upper=upper)
    error = model.predict(X_new, "median") - truth
    naive = HistogramRegressor(**options).fit(X, np.where(lower < 0, upper, lower))
    off = naive.predict(X_new, "median") - truth
    assert abs(error.mean()) < 0.4 < -off.mean()
    assert np.sqrt((error**2).mean()) < 0.8


def test_equal_ends_are_known_targets_and_no_upper_ends_are_lower_bounds():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    options = {**FREE, "target": "gaussian", "max_iter": 2}
    plain = HistogramRegressor(**options, blend_with=()).fit(X, y)
    equal = HistogramRegressor(**options).fit(X, y, y_upper=y)
    assert np.array_equal(plain.predict(X), equal.predict(X))
    flags = y > 0.5
    right = HistogramRegressor(**options).fit(X, y, censored=flags)
    ends = HistogramRegressor(**options).fit(X, y, y_upper=np.where(flags, INF, y))
    assert np.array_equal(right.predict(X), ends.predict(X))


def test_bins_reach_the_upper_ends():
    lower = np.arange(50.0)
    model = HistogramRegressor(**{**FREE, "max_iter": 1})
    model.fit(lower[:, None], lower, y_upper=lower + 100.0)
    assert model.bins_.high > 149


def test_what_cannot_be_fitted_is_refused():
    X, y = np.zeros((4, 1)), np.arange(4.0)
    model = HistogramRegressor(max_iter=1)
    with pytest.raises(InputError, match="give censored or y_upper, got both"):
        model.fit(X, y, censored=y > 1, y_upper=y)
    with pytest.raises(InputError, match="at least one known target or finite interv"):
        model.fit(X, y, y_upper=np.full(4, INF))
    with pytest.raises(InputError, match="y_upper needs loss='histogram'"):
        HistogramRegressor(loss="l2").fit(X, y, y_upper=y)
    with pytest.raises(InputError, match="tails cannot be combined with censored"):
        HistogramRegressor(tails="gpd").fit(X, y, y_upper=y + 1)


def test_a_stream_takes_intervals_too():
    X, _, lower, upper = inspected(200)
    model = HistogramRegressor((8,), n_estimators=1, random_state=0)
    model.partial_fit(X, lower, y_upper=upper).partial_fit(X, lower, y_upper=upper)
    assert torch.isfinite(model.predict_dist(X).mean).all()
