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

from histreg import PRESETS, Bins, InputError, Tail, targets
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


def test_the_old_name_of_a_bin_coordinate_warns():
    bins, y = Bins([0.0, 1.0, 3.0]), torch.tensor([0.5, 2.0, 7.0])
    with pytest.warns(DeprecationWarning, match="use Bins.bin_coordinate"):
        assert bins.place_of(y).tolist() == [0.5, 1.5, 4.0]
    assert bins.bin_coordinate(y).tolist() == [0.5, 1.5, 4.0]


def test_divided_bins_have_the_old_borders_among_theirs():
    bins = Bins([0.0, 1.0, 4.0, 5.0])
    fine = bins.divided(4)
    assert fine.n_bins == 12
    assert torch.equal(fine.borders[::4], bins.borders)
    torch.testing.assert_close(fine.widths, bins.widths.repeat_interleave(4) / 4)
    assert bins.divided(1) == bins


def test_bins_with_tails_are_not_divided():
    bins = Bins([0.0, 1.0, 4.0]).with_tails(None, Tail(1.0, 0.1))
    assert bins.divided(1) == bins
    with pytest.raises(InputError, match="tails cannot be divided"):
        bins.divided(2)
    with pytest.raises(InputError, match="n must"):
        bins.divided(0)
