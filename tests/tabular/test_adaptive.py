"""Adaptive intervals: the bound that holds for every series."""

import json

import numpy as np
import pytest

from histreg import HistogramRegressor, InputError
from histreg.tabular import AdaptiveInterval
from tests.tabular.examples import TINY, counts, data


@pytest.fixture(scope="module")
def model():
    X, y = data(150)
    return HistogramRegressor(**TINY).fit(X, y).calibrate(*data(100, seed=1))


def drifting(n):
    """Return rows whose noise grows to five times what it was in training."""
    X, y = data(n, seed=2)
    centre = 10 * np.sin(2 * X[:, 0]) + X[:, 1]
    return X, centre + np.linspace(1, 5, n) * (y - centre)


def coverage_of(lower, upper, y):
    return ((lower <= y) & (y <= upper)).mean()


def test_coverage_is_within_the_bound_of_the_theorem_for_a_drifting_series(model):
    X, y = drifting(1000)
    intervals = AdaptiveInterval(model, 0.9, rate=0.05)
    lower, upper = intervals.run(X, y)
    covered = coverage_of(lower, upper, y)
    assert covered == 1 - intervals.n_missed / 1000
    # Proposition 4.1 of Gibbs and Candès: (0.9 + 0.05) / (0.05 * 1000) = 0.019.
    assert intervals.bound == pytest.approx(0.019)
    assert abs(covered - 0.9) <= intervals.bound
    assert coverage_of(*model.predict_interval(X, 0.9), y) < 0.9 - 3 * intervals.bound


@pytest.mark.parametrize("y_always", [1e9, 0.0])
def test_an_opponent_cannot_break_the_bound(model, y_always):
    X, _ = data(400, seed=3)
    y = np.full(400, y_always)  # far outside the bins, and in their middle
    intervals = AdaptiveInterval(model, 0.8, rate=0.1)
    for start in range(0, 400, 100):
        intervals.update(X[start : start + 100], y[start : start + 100])
        share = intervals.n_missed / intervals.n_seen
        assert abs(share - 0.2) <= intervals.bound


def test_intervals_of_counts_end_at_counts():
    X, y = counts(300, seed=0)
    model = HistogramRegressor(**TINY | {"blend_with": ["linear"]}).fit(X, y)
    model.calibrate(*counts(200, seed=1))
    assert model.model_.atoms is not None
    X, y = counts(600, seed=2)
    intervals = AdaptiveInterval(model, 0.9, rate=0.05)
    for ends in (intervals.predict(X), intervals.run(X, y)):
        finite = np.concatenate(ends)[np.isfinite(np.concatenate(ends))]
        assert np.isin(finite, np.arange(20.0)).mean() > 0.95
    # Scores of new rows are those of calibration rows: half of the mass at a count.
    [new] = AdaptiveInterval(model.calibrate(X[:1], y[:1]), 0.9)._latest
    intervals.run(X[:1], y[:1])
    assert intervals._latest[-1] == pytest.approx(new, rel=1e-12)


def test_the_level_follows_the_rule(model):
    X, y = data(30, seed=4)
    intervals = AdaptiveInterval(model, 0.8, rate=0.02)
    alpha = 0.2
    for i in range(30):
        lower, upper = intervals.predict(X[i : i + 1])
        intervals.update(X[i : i + 1], y[i : i + 1])
        error = not lower[0] <= y[i] <= upper[0]
        alpha += 0.02 * (0.2 - error)
        assert intervals.miscoverage == pytest.approx(alpha)


def test_rows_at_once_are_rows_one_by_one_and_unknown_y_change_nothing(model):
    X, y = data(20, seed=5)
    y[7] = np.nan
    at_once, one_by_one = AdaptiveInterval(model), AdaptiveInterval(model)
    lower, upper = at_once.run(X, y)
    for i in range(20):
        before = one_by_one.miscoverage
        assert one_by_one.run(X[i : i + 1], y[i : i + 1]) == (lower[i], upper[i])
        assert (one_by_one.miscoverage == before) == (i == 7)
    assert at_once.n_seen == 19


def test_a_window_forgets_and_a_state_continues(model):
    X, y = drifting(60)
    intervals = AdaptiveInterval(model, window=20)
    intervals.update(X[:40], y[:40])
    state = json.loads(json.dumps(intervals.state()))
    assert len(state["scores"]) == 20
    again = AdaptiveInterval.from_state(model, state)
    for one, two in zip(
        intervals.run(X[40:], y[40:]), again.run(X[40:], y[40:]), strict=True
    ):
        assert np.array_equal(one, two)
    with pytest.raises(InputError, match="state must come from state"):
        AdaptiveInterval.from_state(model, {"scores": []})


def test_bad_input_is_refused(model):
    X, y = data(10)
    plain = HistogramRegressor(**TINY).fit(X, y)
    with pytest.raises(InputError, match="calibrated without groups"):
        AdaptiveInterval(plain)
    with pytest.raises(InputError, match="rate must be finite and positive"):
        AdaptiveInterval(model, rate=0)
    with pytest.raises(InputError, match=r"y must have shape \(10,\)"):
        AdaptiveInterval(model).run(X, y[:3])
    with pytest.raises(InputError, match="finite numbers, or NaN"):
        AdaptiveInterval(model).run(X, np.full(10, np.inf))
