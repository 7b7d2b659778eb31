"""Growth: as many bins that reach further."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from histreg import Bins
from tests.registries import BINS

_POSITIVE = np.random.default_rng(0).lognormal(0.0, 2.0, 500)
GROWING = {
    **BINS,
    **{
        spacing: Bins.of(_POSITIVE, spacing=spacing)
        for spacing in ("uniform", "sqrt", "log", "symlog", "quantile")
    },
    "one wide bin": Bins([*np.linspace(0.0, 10.0, 100), 1e4]),
}
growing = st.sampled_from(sorted(GROWING))
padding_shares = st.sampled_from([0.0, 0.06, 0.25])
reals = st.floats(-1e9, 1e9)


@given(growing, st.lists(reals, min_size=1, max_size=3), padding_shares)
def test_grown_bins_are_as_many_and_hold_y_and_the_old_ones(name, y, share):
    old = GROWING[name]
    padding = int(share * old.n_bins)
    new = old.grown(y, padding_in_bins=padding)
    assert new.n_bins == old.n_bins
    assert new.low <= old.low and old.high <= new.high
    places = new.bin_coordinate(torch.tensor(y, dtype=torch.float64))
    assert padding - 1e-9 <= places.min()
    assert places.max() <= new.n_bins - padding + 1e-9
    assert new.grown(y, padding_in_bins=padding) is new


@given(growing, reals, padding_shares)
def test_grown_bins_are_neighbours_merged(name, y, share):
    old = GROWING[name]
    new = old.grown(y, padding_in_bins=int(share * old.n_bins))
    inner = [b for b in new.borders.tolist() if old.low <= b <= old.high]
    places = [old.borders.tolist().index(b) for b in inner]  # not one has moved
    steps = {b - a for a, b in itertools.pairwise(places)}
    assert len(steps) <= 1  # always the same number of them,
    for step in steps:
        assert step & (step - 1) == 0  # a power of two


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=3),
    st.sampled_from([24, 51, 100]),
)
def test_even_bins_grow_no_further_than_needed(y, n_bins):
    old = Bins.uniform(0.0, 10.0, n_bins)
    new = old.grown(y)
    assert new.is_uniform
    if new is old:
        return
    # Half as wide, wherever they began, they would miss y or what was there; up to two
    # old bins, as both ends move by whole ones.
    half = new.width / 2
    low, high = min(0.0, min(y) - 6 * half), max(10.0, max(y) + 6 * half)
    assert n_bins * half < high - low + 2.001 * old.width


def test_room_on_both_sides_takes_no_more_doublings_than_on_one():
    # 50 bins of 0.2; of 0.8 each they span 40, and [-11, 20] with 6 of them on each
    # side takes 40.6; of 1.6 each they do.
    new = Bins.uniform(0.0, 10.0, 50).grown([-11.0, 20.0])
    assert new.width == pytest.approx(1.6)
    # 21 + 6 * 1.6 = 20.6 beyond the old ends below, 19.6 above, 80 - 10 to share.
    assert new.low == pytest.approx(-70 * 20.6 / 40.2, abs=0.2)


@pytest.mark.parametrize("power", [9.5, 12.0, 16.0])
def test_geometric_bins_reach_twice_as_many_powers(power):
    old = Bins([2.0**i for i in range(9)])
    new = old.grown(2.0**power, padding_in_bins=0)
    expected = [2.0 ** (2 * i) for i in range(9)]
    np.testing.assert_allclose(new.borders, expected, rtol=1e-12)
    mirrored = Bins(-old.borders.flip(0)).grown(-(2.0**power), padding_in_bins=0)
    np.testing.assert_allclose(-mirrored.borders.flip(0), expected, rtol=1e-12)
    towards_zero = old.grown(2.0 ** (8 - power), padding_in_bins=0)
    np.testing.assert_allclose(
        towards_zero.borders, [2.0 ** (2 * i - 8) for i in range(9)], rtol=1e-12
    )


@given(growing, st.floats(-1e30, 1e30))
def test_uneven_bins_keep_every_second_border_however_far_y_is(name, y):
    old = GROWING[name]
    new = old.grown(y, padding_in_bins=int(0.06 * old.n_bins))
    kept = set(old.borders.tolist()) & set(new.borders.tolist())
    assert old.is_uniform or len(kept) >= old.n_bins // 2


@given(st.lists(reals, min_size=1, max_size=60), padding_shares)
def test_even_bins_grow_as_often_as_the_range_of_y_doubles(stream, share):
    bins = Bins.uniform(0.0, 10.0, 100)
    n_growths = 0
    for y in stream:
        new = bins.grown(y, padding_in_bins=int(share * 100))
        n_growths += new is not bins
        bins = new
    # A growth doubles the range at least. Before the last one, y was within a quarter
    # of it from one end, and had been so from the other when that end last moved, by
    # half of it or less: y spans an eighth of it, a sixteenth of what it became.
    spanned = max([10.0, *stream]) - min([0.0, *stream])
    assert n_growths <= math.log2(16 * spanned / 10)


def test_geometric_bins_grow_once_for_a_hundred_times_as_far():
    bins = Bins([2.0**i for i in range(9)])
    n_growths = 0
    for power in range(500):
        new = bins.grown(2.0**power, padding_in_bins=2)
        n_growths += new is not bins
        bins = new
    # Or for twice as many powers, as long as that is less; and each comes before y has
    # used up the last quarter.
    assert n_growths <= 3 + 500 / math.log2(100)


@given(
    st.sampled_from(["sqrt", "log", "symlog", "quantile"]),
    st.lists(reals, min_size=1, max_size=4),
)
def test_uneven_bins_reach_at_most_a_hundred_times_as_far_as_needed(name, y):
    old = GROWING[name]
    for each in y:
        new = old.grown(each, padding_in_bins=6)
        needed = max(old.high, each) - min(old.low, each)
        place = new.bin_coordinate(torch.tensor(each, dtype=torch.float64)).item()
        # At each end; or no further than to have the padding beyond y, which is long
        # where bins have to become wide fast.
        is_far = new.high - new.low > 201 * needed
        assert not is_far or min(place, new.n_bins - place) < 7
        old = new


def test_a_y_that_no_ratio_reaches_does_not_let_the_other_end_run_away():
    # Below zero a logarithm never comes; above, y is one bin beyond.
    old = Bins(np.exp(np.linspace(-2.0, 2.25, 101)))
    new = old.grown([-0.5, 1.05 * old.high])
    assert new.low < -0.5 and new.high < 10 * old.high
    steep = Bins(np.exp(np.linspace(0.0, 8.36, 11)))
    assert steep.grown([-100.0, 5810.0], padding_in_bins=1.87).low < -100


def test_bins_that_reach_far_enough_do_not_grow():
    bins = Bins.uniform(0.0, 10.0, 50)
    assert bins.grown([]) is bins and bins.grown([1.25, 8.75]) is bins
    assert bins.grown(10.0, padding_in_bins=0) is bins
    assert bins.grown([1.15]).low == -10.0


@pytest.mark.parametrize(
    ("grow", "sentence"),
    [
        (lambda b: b.grown(float("nan")), "y must be finite"),
        (lambda b: b.grown(float("inf")), "y must be finite"),
        (lambda b: b.grown(1.7e308), "y must leave room for bins around it"),
        (lambda b: b.grown(1.0, padding_in_bins=13), "a quarter of the 50 bins"),
        (lambda b: b.grown(1.0, padding_in_bins=-1), "a quarter of the 50 bins"),
        (lambda b: Bins(b.borders**2).grown(-1e308), "y must leave room for bins"),
        (lambda b: Bins(b.borders**2).grown([-1e308, 1e308]), "y must leave room"),
    ],
)
def test_what_cannot_grow_gets_one_sentence(grow, sentence):
    with pytest.raises(ValueError, match=sentence):
        grow(Bins.uniform(0.0, 10.0, 50))


def test_bins_grow_when_less_than_the_least_padding_is_left():
    bins = Bins.uniform(0.0, 50.0, 50)
    options = {"padding_in_bins": 6, "min_padding_in_bins": 3}
    assert bins.grown([10.0, 47.0], **options) is bins
    grown = bins.grown([10.0, 47.5], **options)
    assert grown == bins.grown([10.0, 47.5], padding_in_bins=6) != bins
    with pytest.raises(ValueError, match="min_padding_in_bins must lie between 0 and"):
        bins.grown([10.0], padding_in_bins=2, min_padding_in_bins=3)
