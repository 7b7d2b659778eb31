"""Where the bins lie."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from histreg import PRESETS, Bins, targets
from tests.registries import BINS

finite = st.floats(-1e8, 1e8)


def test_around_is_the_papers_formula():
    bins = Bins.around(0.0, 88.0, n_bins=100, sigma_in_bins=2.0, padding_in_sigmas=3.0)
    assert (bins.low, bins.high, bins.n_bins) == (-6.0, 94.0, 100)
    assert bins.width == 1.0


@pytest.mark.parametrize(
    ("name", "width", "padding"),
    [
        # spec 1.6: width and padding per side, in units of the range
        ("recommended", 1 / 88, 6 / 88),
        ("tabular", 1 / 80, 0.125),
        ("atari", 1 / 84, 8 / 84),
        ("synthetic", 1 / 100, 0.0),
        ("negligible", 1 / 76, 12 / 76),
    ],
)
def test_presets_have_the_widths_and_supports_of_the_paper(name, width, padding):
    bins = Bins.preset(name, 0.0, 1.0)
    assert bins.n_bins == PRESETS[name].n_bins == 100
    assert bins.width == pytest.approx(width, rel=1e-14)
    assert bins.low == pytest.approx(-padding, abs=1e-14)
    assert bins.high == pytest.approx(1 + padding, rel=1e-14)


def test_every_preset_is_tried_above():
    assert set(PRESETS) == {
        "recommended",
        "tabular",
        "atari",
        "synthetic",
        "negligible",
    }


def test_the_synthetic_preset_takes_the_support_itself():
    assert Bins.preset("synthetic", -1.5, 11.5) == Bins.uniform(-1.5, 11.5, 100)


def test_of_is_around_the_extremes():
    y = np.array([3.0, -2.0, 7.5], dtype=np.float32)
    assert Bins.of(y) == Bins.around(-2.0, 7.5)
    assert Bins.of(torch.tensor(y)) == Bins.of(list(y)) == Bins.of(y)
    assert Bins.of([1, 2, 3]) == Bins.around(1.0, 3.0)


@pytest.mark.parametrize(
    "y",
    [
        [0.0],
        [5.0],
        [-5.0, -5.0],
        [1e6] * 3,
        [1e300],
        [-1e-300],
        [5e-324],
        [0.0, 5e-324],
        [0.0, 1e-310],
        [1.0, 1.0 + 2e-16],
        [1e6, 1e6 + 1e-10],
        [1.0, 1.0 + 5 * 100 * 2.2e-16],  # five units in the last place to a bin
        [0.0, 1.0],
        [1e6, 1e6 + 1],
        [1.7e12, 1.7e12 + 1],
        [-1e307, 1e307],
    ],
)
def test_degenerate_y_still_has_bins_that_predict_it(y):
    bins = Bins.of(y)
    widths = bins.widths
    assert bool((widths > 0).all()) and bool(widths.isfinite().all())
    # A perfect fit to any of these y returns it, up to the truncation at the ends.
    y = torch.tensor(y, dtype=torch.float64)
    probs = targets.gaussian(y, bins, sigma=2 * bins.width)
    mean = y + (probs * (bins.centers - y.unsqueeze(-1))).sum(-1)
    assert bool(((mean - y).abs() <= 0.01 * bins.width).all())


def test_fewer_than_sixteen_units_in_the_last_place_to_a_bin_are_constant():
    eps = np.finfo(np.float64).eps
    assert Bins.of([1.0, 1.0 + 100 * 5 * eps]).width > 0.01
    assert Bins.of([1.0, 1.0 + 100 * 50 * eps]).width < 1e-12


def test_a_constant_y_is_in_the_middle_of_a_range_as_wide_as_it_is_large():
    bins = Bins.of([5.0, 5.0])
    assert (bins.low + bins.high) / 2 == pytest.approx(5.0, rel=1e-15)
    assert bins.width == pytest.approx(5.0 / 88)
    assert Bins.of([0.0]) == Bins.around(-0.5, 0.5)


def test_an_offset_of_a_million_keeps_the_width():
    assert Bins.of([1e6, 1e6 + 1]).width == pytest.approx(1 / 88, rel=1e-8)


@given(finite, st.floats(1e-3, 1e9), st.integers(13, 400))
def test_around_contains_the_range_with_the_padding_asked_for(y_min, spread, n_bins):
    bins = Bins.around(y_min, y_min + spread, n_bins=n_bins)
    assert bins.n_bins == n_bins
    assert bins.low <= y_min and y_min + spread <= bins.high
    padding = (y_min - bins.low) / bins.width
    # Positions carry 16 digits, and a width may be the 1e-13th part of a position.
    assert padding == pytest.approx(6.0, abs=1e-3 + 1e-15 * abs(y_min) / bins.width)


@given(st.floats(0.01, 100.0), st.lists(st.floats(1, 50), min_size=1, max_size=5))
def test_of_is_scale_equivariant(scale, y):
    wide, narrow = Bins.of(np.array(y) * scale), Bins.of(y)
    np.testing.assert_allclose(
        wide.borders, narrow.borders * scale, rtol=1e-9, atol=1e-9 * scale
    )


def test_given_borders_are_kept_exactly():
    borders = [0.1, 0.2, 0.7]
    assert Bins(borders).borders.tolist() == borders
    assert Bins(np.array(borders)) == Bins(torch.tensor(borders, dtype=torch.float64))


def test_centers_and_widths():
    bins = Bins([0.0, 1.0, 3.0])
    assert bins.centers.tolist() == [0.5, 2.0]
    assert bins.widths.tolist() == [1.0, 2.0]
    assert bins.narrowest == 1.0


def test_bins_cannot_be_changed():
    bins = Bins([0.0, 1.0, 2.0])
    with pytest.raises(AttributeError):
        bins.low = 3.0
    with pytest.raises(AttributeError):
        bins._borders = (1.0,)
    bins.borders[0] = 99.0  # a new tensor each time
    assert bins.low == 0.0


def test_bins_are_values():
    bins = Bins([0.0, 1.0, 2.0])
    assert bins == Bins.uniform(0.0, 2.0, 2) and hash(bins) == hash(Bins([0, 1, 2]))
    assert bins != Bins([0.0, 1.0, 2.5])
    assert pickle.loads(pickle.dumps(bins)) == copy.deepcopy(bins) == bins


def test_uniform_is_told_from_uneven():
    assert Bins.uniform(1e6, 1e6 + 1, 30).is_uniform
    assert not Bins([0.0, 1.0, 3.0]).is_uniform
    with pytest.raises(ValueError, match="equal width"):
        _ = Bins([0.0, 1.0, 3.0]).width
    assert "uneven" in repr(Bins([0.0, 1.0, 3.0]))


def test_a_float32_linspace_is_uniform_and_a_pattern_far_away_is_not():
    assert Bins(torch.linspace(0, 1, 101)).is_uniform
    assert Bins(np.linspace(5, 6, 101, dtype=np.float32)).is_uniform
    pattern = 1e15 + np.cumsum([0.0] + [0.5, 0.25] * 20)
    assert not Bins(pattern).is_uniform
    # A pattern of one part in a thousand is a pattern.
    assert not Bins([0.0, 1.0, 2.001]).is_uniform


def test_bins_stay_on_the_cpu_whatever_the_default_device():
    with torch.device("meta"):
        bins = Bins.of([0.0, 1.0])
        assert bins.borders.device.type == bins.centers.device.type == "cpu"


@pytest.mark.parametrize("bins", BINS.values(), ids=BINS)
def test_a_border_belongs_to_the_bin_above_it_and_the_last_bin_is_closed(bins):
    index = bins.index_of(bins.borders)
    assert index[:-1].tolist() == list(range(bins.n_bins))
    assert index[-1] == bins.n_bins - 1


def test_no_border_of_a_hundred_bins_is_misplaced_in_float32():
    # floor((y - low) / width) misplaces ten of them.
    bins = Bins(torch.linspace(0.0, 1.0, 101))  # borders that float32 can hold
    index = bins.index_of(bins.borders[:-1].float())
    assert index.tolist() == list(range(100))


def test_y_beyond_the_ends_is_in_the_end_bins():
    index = Bins.uniform(0.0, 1.0, 4).index_of(torch.tensor([-1e30, 1e30, -math.inf]))
    assert index.tolist() == [0, 3, 0]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Bins.around(0, 1, n_bins=10), "n_bins must exceed the 12 padding"),
        (lambda: Bins.around(0, 1, n_bins=12), "got n_bins=12"),
        (lambda: Bins.around(0, 1, n_bins=2.5), "n_bins must be a whole number"),
        (lambda: Bins.around(0, 1, n_bins=math.nan), "n_bins must be a whole number"),
        (lambda: Bins.around(0, 1, n_bins="100"), "n_bins must be a whole number"),
        (lambda: Bins.around(0, 1, n_bins=1), "at least 2, got n_bins=1"),
        (lambda: Bins.around(0, 1, sigma_in_bins=0), "sigma_in_bins must be finite"),
        (lambda: Bins.around(0, 1, padding_in_sigmas=-1), "padding_in_sigmas must"),
        (lambda: Bins.around(1, 0), "y_min must not exceed y_max"),
        (lambda: Bins.around(-1.7e308, 1.7e308), "their distance must be finite"),
        (lambda: Bins.around(0, math.nan), "y_min must not exceed y_max"),
        (lambda: Bins.of([1.7e308]), "must leave room for padding in float64"),
        (lambda: Bins.around(-8e307, 8e307), "must leave room for padding in float64"),
        (lambda: Bins.of([]), "y must hold at least one value"),
        (lambda: Bins.of([1.0, math.nan]), "y must be finite, got a range of nan"),
        (lambda: Bins.of([1.0, math.inf]), "y must be finite"),
        (lambda: Bins([0.0, 1.0]), "at least 3 numbers"),
        (lambda: Bins([[0.0, 1.0, 2.0]]), "got shape \\(1, 3\\)"),
        (lambda: Bins([0.0, 2.0, 1.0]), "borders\\[1\\]=2.0 and borders\\[2\\]=1.0"),
        (lambda: Bins([0.0, 1.0, 1.0]), "strictly increasing"),
        (lambda: Bins([0.0, 1.0, math.inf]), "borders must be finite"),
        (lambda: Bins.uniform(1.0, 1.0, 5), "low must be below high"),
        (lambda: Bins.uniform(1.0, 1.0 + 1e-15, 100), "strictly increasing"),
        (lambda: Bins.preset("best", 0, 1), "name must be one of 'recommended'"),
    ],
)
def test_bad_input_gets_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        make()
    assert "\n" not in str(error.value)


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
    places = new.place_of(torch.tensor(y, dtype=torch.float64))
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
        place = new.place_of(torch.tensor(each, dtype=torch.float64)).item()
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


@pytest.mark.parametrize("name", BINS)
@pytest.mark.parametrize("other", BINS)
def test_averaging_over_bins_is_an_integral(name, other):
    old, new = BINS[name], BINS[other]
    heights = torch.linspace(-1.0, 2.0, old.n_bins, dtype=torch.float64) ** 2
    # The slow way: the integral of the steps, from border to border.
    for i in range(0, new.n_bins, 7):
        start, end = new.borders[i].item(), new.borders[i + 1].item()
        cuts = [start, *(b for b in old.borders.tolist() if start < b < end), end]
        total = sum(
            (b - a) * heights[old.index_of(torch.tensor((a + b) / 2).double())].item()
            for a, b in itertools.pairwise(cuts)
        )
        averaged = (old.averaging_over(new) @ heights)[i].item()
        assert averaged == pytest.approx(total / (end - start), rel=1e-6, abs=1e-6)


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
