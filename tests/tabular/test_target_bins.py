"""Bins of the targets: laid, given, grown; and targets that they do not fit."""

import numpy as np
import pytest
import torch

from histreg import Bins, HistogramRegressor
from histreg.tabular.target_bins import n_outside
from tests.tabular.examples import SMALL, data

HEAVY = np.random.default_rng(0).lognormal(0, 1.5, 600)


def spread_over(low, spread, n=50):
    """Return targets from exactly low to low + spread, as float64 has it."""
    return low + spread * np.linspace(0, 1, n) ** 2


# 16 units in the last place for each of 100 bins, of numbers between 2**40 and 2**41:
# the limit is 1600 * eps * (2**40 + spread), which is 0.390625 to the tenth digit.
LIMIT = 1600 * np.finfo(np.float64).eps * 2.0**40


@pytest.mark.parametrize(
    ("low", "spread", "options", "remedy"),
    [
        (2.0**40, 0.99 * LIMIT, {}, r"subtract a constant such as 1.09951e\+12"),
        (-(2.0**40), 0.99 * LIMIT, {}, r"subtract a constant such as -1.09951e\+12"),
        (2.0**40, 0.99 * LIMIT, {"loss": "mdn"}, "subtract a constant"),
        (2.0**40, 1.5 * LIMIT, {"n_bins": 200}, "subtract a constant"),
        (1e14, 1.0, {}, r"subtract a constant such as 1e\+14 from y before"),
        (1e15, 1.0, {"loss": "l2"}, "subtract a constant"),
        (0.0, 0.99e-290, {}, "multiply y by a large constant before fitting"),
        (0.0, 1e-300, {"loss": "brier"}, "multiply y by a large constant"),
        (0.0, 5e-324, {}, "multiply y by a large constant"),
        (1e14, 1.0, {"y_range": (1e14, 1e14 + 1)}, "subtract a constant"),
    ],
)
def test_targets_too_close_for_float64_are_told_of(low, spread, options, remedy):
    X, _ = data(50)
    model = HistogramRegressor(**SMALL | {"max_iter": 1}, **options)
    with pytest.warns(UserWarning, match=rf"too little for float64.*{remedy}") as told:
        model.fit(X, spread_over(low, spread))
    assert len(told) == 1 and told[0].filename == __file__


@pytest.mark.parametrize(
    ("low", "spread", "options"),
    [
        (2.0**40, 1.01 * LIMIT, {}),
        (2.0**40, 0.6 * LIMIT, {"n_bins": 50}),
        (0.0, 1.01e-290, {}),
        (0.0, 1e-300, {"loss": "l2"}),
        (1e13, 1.0, {"loss": "l1"}),
        (1e14, 0.0, {}),
        (0.0, 0.0, {"loss": "l2"}),
        (1e14, 1.0, {"y_range": (0, 2e14)}),
        (1e14, 1.0, {"bins": Bins.uniform(0, 2e14, 50)}),
    ],
)
def test_targets_that_float64_resolves_or_that_are_equal_are_not_told_of(
    low, spread, options
):
    X, _ = data(50)
    HistogramRegressor(**SMALL | {"max_iter": 1}, **options).fit(
        X, spread_over(low, spread)
    )  # a warning would be an error


@pytest.mark.parametrize(("low", "spread"), [(2.0**40, 1.01 * LIMIT), (0.0, 1.01e-290)])
def test_targets_just_resolved_are_learnt(low, spread):
    X, y = data()
    y = (y - y.min()) / np.ptp(y)
    model = HistogramRegressor(**SMALL | {"max_iter": 20})
    plain = model.fit(X, y).predict(X)
    found = model.fit(X, low + spread * y).predict(X)
    assert np.corrcoef((found - low) / spread, plain)[0, 1] > 0.99


def test_the_column_that_is_too_close_is_named():
    X, y = data()
    with pytest.warns(UserWarning, match="column 1 of y varies by only"):
        HistogramRegressor(**SMALL).fit(X, np.stack([y, 1e15 + y], axis=1))


def test_bins_of_each_target_grow_by_themselves():
    X, y = data()
    both = np.stack([y, y], axis=1)
    model = HistogramRegressor((16,), random_state=0).partial_fit(X, both)
    first, second = model.bins_
    model.partial_fit(X, both * [1, 5])
    assert model.bins_[0] == first and model.n_growths_ == 1
    assert model.bins_[1] == second.grown(5 * y)
    model.partial_fit(X, both * [5, 1])
    assert model.bins_ == (second.grown(5 * y),) * 2 and model.n_growths_ == 2


def test_bins_that_were_given_grow_if_told_to():
    X, y = data()
    given = Bins.uniform(-15, 15, 50)
    for options in ({"bins": given}, {"y_range": (-12, 12)}, {"bins_grow": False}):
        model = HistogramRegressor((16,), random_state=0, **options).partial_fit(X, y)
        bins = model.bins_
        with pytest.warns(UserWarning, match="of 200 targets lie outside"):
            model.partial_fit(X, 5 * y)
        n_clipped = model.n_clipped_
        model.partial_fit(X, 5 * y)  # told once
        assert model.bins_ == bins and model.n_growths_ == 0
        assert 0 < model.n_clipped_ == 2 * n_clipped and model.n_seen_ == 600
    growing = HistogramRegressor((16,), bins=given, bins_grow=True).partial_fit(X, y)
    assert growing.partial_fit(X, 5 * y).bins_ == given.grown(5 * y)
    assert growing.n_clipped_ == 0
    with pytest.raises(ValueError, match="bins_grow must be True, False or 'auto'"):
        HistogramRegressor(bins_grow="maybe").partial_fit(X, y)


def test_a_little_beyond_what_came_first_uses_the_padding():
    X, y = data()
    model = HistogramRegressor((16,), random_state=0).partial_fit(X, y)
    bins = model.bins_  # with six bins of padding
    borders = bins.borders.tolist()
    model.partial_fit(X, np.clip(1.5 * y, borders[3], borders[-4]))
    assert model.bins_ == bins
    model.partial_fit(X, np.clip(1.5 * y, borders[2], borders[-4]))
    assert model.bins_ == bins.grown([borders[2], borders[-4]])


def test_a_known_range_is_kept_and_what_lies_outside_is_told():
    X, y = data()
    model = HistogramRegressor(**SMALL, y_range=(-20, 20)).fit(X, y)
    assert model.bins_.low < -20 and model.bins_.high > 20 and model.n_clipped_ == 0
    narrow = HistogramRegressor(**SMALL, y_range=(-1, 1))
    with pytest.warns(UserWarning, match=r"\d+ of 200 targets lie outside the bins"):
        narrow.fit(X, y)
    assert narrow.n_clipped_ > 50
    own = HistogramRegressor(**SMALL, bins=Bins.uniform(-30, 30, 50)).fit(X, y)
    assert own.bins_ == Bins.uniform(-30, 30, 50)


def test_targets_that_drift_into_a_tail_are_told_of():
    X = np.random.default_rng(0).normal(size=(len(HEAVY), 2))
    model = HistogramRegressor(**SMALL, tails="exponential").partial_fit(X, HEAVY)
    with pytest.warns(UserWarning, match="targets lie in the tail bin"):
        model.partial_fit(X, 1000 * HEAVY)
    assert model.n_growths_ == 0


def test_targets_outside_their_own_bins_are_counted():
    bins = (Bins.uniform(0, 1, 4), Bins.uniform(10, 20, 4))
    y = torch.tensor([[0.0, 9.0], [1.0, 20.0], [1.1, 15.0]], dtype=torch.float64)
    assert n_outside(y, bins) == 2


def test_bins_are_asked_once_whether_they_grow(monkeypatch):
    X, y = data()
    model = HistogramRegressor(**SMALL).partial_fit(X, y)
    calls, grown = [], Bins.grown

    def counted(self, *args, **options):
        calls.append(options)
        return grown(self, *args, **options)

    monkeypatch.setattr(Bins, "grown", counted)
    model.partial_fit(X, 5 * y)
    assert len(calls) == 1 and model.n_growths_ == 1


def test_there_is_one_bins_for_each_target_or_one_for_all():
    X, y = data()
    given = [Bins.uniform(-20, 20, 40)] * 3
    both = np.stack([y, y], axis=1)
    with pytest.raises(ValueError, match="one for each of the 2 columns of y, got 3"):
        HistogramRegressor(**SMALL, bins=given).fit(X, both)
    one = HistogramRegressor(**SMALL, bins=given[0]).fit(X, both)
    assert one.bins_ == (given[0], given[0])


@pytest.mark.parametrize(
    ("loss", "consequence"),
    [
        ("histogram", "they are clipped for training"),
        ("brier", "they are clipped for training"),
        ("crps", "predicted distributions do not reach them"),
    ],
)
def test_the_warning_says_what_targets_outside_the_bins_lead_to(loss, consequence):
    X, y = data(50)
    model = HistogramRegressor(**SMALL, loss=loss, bins=Bins.uniform(0.0, 1.0, 20))
    with pytest.warns(UserWarning, match=rf"outside the bins \[0, 1\]: {consequence}"):
        model.fit(X, y)
