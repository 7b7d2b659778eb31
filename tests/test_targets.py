"""Targets: y becomes a probability vector over the bins."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Laplace
from torch.func import vmap

from histreg import Bins, targets
from tests import references
from tests.registries import BINS, TARGETS

all_targets = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
all_bins = pytest.mark.parametrize("bins", BINS.values(), ids=BINS)

# Sums of a hundred float32 numbers are good to 1e-6.
SUM = {torch.float32: 1e-6, torch.float64: 1e-12}


def some_y(bins: Bins, dtype: torch.dtype, n: int = 40) -> torch.Tensor:
    """Return y spread over the bins and beyond, all borders and centers among them."""
    span = bins.high - bins.low
    spread = torch.linspace(bins.low - span, bins.high + span, n, dtype=torch.float64)
    far = torch.tensor([-1e30, 1e30], dtype=torch.float64)
    return torch.cat([spread, bins.borders, bins.centers, far]).to(dtype)


@all_targets
@all_bins
def test_a_target_is_a_probability_vector_for_every_y(target, bins, dtype):
    probs = target(some_y(bins, dtype), bins)
    assert probs.dtype == dtype
    assert bool(probs.isfinite().all()) and bool((probs >= 0).all())
    total = probs.double().sum(-1)
    assert (total - 1).abs().max() <= SUM[dtype]


@all_targets
@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (2, 3), (2, 1, 4)])
def test_any_leading_shape_is_the_flat_one_reshaped(target, shape, dtype, generator):
    y = torch.rand(shape, generator=generator, dtype=dtype) * 4 - 1
    probs = target(y, BINS["even"])
    assert probs.shape == (*shape, 16)
    flat = target(y.flatten(), BINS["even"])
    torch.testing.assert_close(probs.reshape(-1, 16), flat, rtol=0, atol=0)


@all_targets
@given(
    y=st.floats(-1e300, 1e300),
    borders=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=40, unique=True),
)
def test_no_y_and_no_bins_break_a_target(target, y, borders):
    bins = Bins(sorted(borders))
    probs = target(torch.tensor(y, dtype=torch.float64), bins)
    assert bool(probs.isfinite().all()) and bool((probs >= 0).all())
    assert probs.sum().item() == pytest.approx(1, abs=1e-9)


@all_targets
@given(shift=st.sampled_from([-8.0, 0.5, 1024.0]), scale=st.sampled_from([0.25, 8.0]))
def test_a_target_moves_and_stretches_with_y_and_the_bins(target, shift, scale):
    # Powers of two, so that the moved borders are exact.
    bins = BINS["uneven"]
    y = torch.linspace(-3.0, 6.0, 37, dtype=torch.float64)
    moved = Bins(bins.borders * scale + shift)
    torch.testing.assert_close(
        target(y * scale + shift, moved), target(y, bins), rtol=1e-9, atol=1e-12
    )


@all_targets
def test_a_mirrored_y_has_the_reversed_vector(target, dtype, close):
    bins = Bins.uniform(-2.0, 2.0, 10)
    # Off the borders, which belong to the bin above them on either side.
    y = torch.tensor([-1.93, -0.11, 0.0567, 1.3, 2.7], dtype=dtype)
    close(target(-y, bins), target(y, bins).flip(-1))


@all_bins
@pytest.mark.parametrize("sigma_in_spans", [0.01, 0.1, 1.0])
def test_gaussian_is_scipys_truncated_normal(bins, sigma_in_spans, dtype):
    sigma = sigma_in_spans * (bins.high - bins.low)
    y = torch.linspace(bins.low, bins.high, 23, dtype=torch.float64).to(dtype)
    y = y.clamp(bins.low, bins.high)
    expected = [
        references.gaussian_target(each, bins.borders.numpy(), sigma)
        for each in y.tolist()
    ]
    probs = targets.gaussian(y, bins, sigma=sigma).double()
    # SciPy's CDF carries about 1e-14 itself.
    tolerance = references.rounding(bins, sigma, dtype) + 3e-14
    np.testing.assert_allclose(probs, np.array(expected), rtol=0, atol=tolerance)


@pytest.mark.parametrize("y", [-1.0, 0.0, 0.3, 3.0, 3.1, 5.0, 40.0, 1e3, -1e5])
def test_truncate_is_right_to_fourteen_digits_at_any_distance(y):
    bins = BINS["even"]
    probs = targets.gaussian(
        torch.tensor(y, dtype=torch.float64), bins, sigma=0.3, out_of_range="truncate"
    )
    expected = references.exact_gaussian_target(y, bins.borders.numpy(), 0.3)
    np.testing.assert_allclose(probs, expected, rtol=1e-11, atol=1e-300)


def test_truncate_leans_on_the_end_far_away_but_not_nearby():
    bins = Bins.uniform(0.0, 1.0, 10)
    y = torch.tensor([1.0, 1.5, 1e200, -1e200], dtype=torch.float64)
    probs = targets.gaussian(y, bins, sigma=1.0, out_of_range="truncate")
    assert probs[0, -1] < probs[1, -1] < 0.15
    assert probs[2].tolist() == [0.0] * 9 + [1.0]
    assert probs[3].tolist() == [1.0] + [0.0] * 9


@all_bins
def test_gaussian_becomes_one_bin_as_sigma_vanishes(bins, dtype):
    y = (bins.borders[:-1] + 0.3 * bins.widths).to(dtype)
    if bins.low > 1e5 and dtype == torch.float32:
        y = bins.centers.float()  # a third of a bin is not a float32 number there
    for sigma in (1e-5 * bins.narrowest, 1e-200, 5e-324):
        probs = targets.gaussian(y, bins, sigma=sigma)
        torch.testing.assert_close(probs, targets.one_bin(y, bins))


@all_bins
def test_gaussian_becomes_the_share_of_the_width_as_sigma_grows(bins, dtype):
    y = some_y(bins, dtype)
    share = bins.widths / (bins.high - bins.low)
    for out_of_range in ("clip", "truncate"):
        # Of the y among these that are outside, "truncate" sees the far ones from afar.
        y = y.clamp(bins.low, bins.high)
        probs = targets.gaussian(y, bins, sigma=1e300, out_of_range=out_of_range)
        torch.testing.assert_close(
            probs.double(), share.expand_as(probs), rtol=0, atol=SUM[dtype]
        )


def test_y_on_a_border_is_split_in_halves_by_gaussian():
    # At sigma -> 0 the limits do not commute: one_bin gives it to the bin above.
    bins = Bins.uniform(0.0, 4.0, 4)
    probs = targets.gaussian(torch.tensor(2.0), bins, sigma=1e-9)
    assert probs.tolist() == [0.0, 0.5, 0.5, 0.0]


def test_a_sigma_each_is_each_sigma(dtype, close):
    bins = BINS["uneven"]
    y = torch.tensor([-1.0, 0.5, 4.2], dtype=dtype)
    sigma = torch.tensor([0.1, 1.0, 30.0], dtype=dtype)
    expected = [
        targets.gaussian(a, bins, sigma=b.item()) for a, b in zip(y, sigma, strict=True)
    ]
    close(targets.gaussian(y, bins, sigma=sigma), torch.stack(expected))


@all_bins
def test_one_bin_is_one_at_the_bin_of_y(bins, dtype):
    probs = targets.one_bin(bins.centers.to(dtype), bins)
    assert torch.equal(probs, torch.eye(bins.n_bins, dtype=dtype))


def test_a_border_goes_to_the_bin_above_and_the_last_to_the_last():
    bins = BINS["even"]
    probs = targets.one_bin(bins.borders, bins)
    assert probs.argmax(-1).tolist() == [*range(16), 15]


def test_uniform_without_weight_is_one_bin(dtype):
    y = some_y(BINS["even"], dtype)
    probs = targets.uniform(y, BINS["even"], epsilon=0.0)
    assert torch.equal(probs, targets.one_bin(y, BINS["even"]))


def test_uniform_is_the_mixture_of_the_text():
    # k = 4, epsilon = 0.2: 0.8 + 0.05 in the bin of y, 0.05 elsewhere.
    probs = targets.uniform(torch.tensor(0.6), Bins.uniform(0, 1, 4), epsilon=0.2)
    torch.testing.assert_close(probs, torch.tensor([0.05, 0.05, 0.85, 0.05]))


def test_the_per_bin_form_is_the_same_mixture():
    y, bins = torch.tensor([0.1, 0.6]), Bins.uniform(0, 1, 4)
    torch.testing.assert_close(
        targets.uniform(y, bins, epsilon_per_bin=0.05),
        targets.uniform(y, bins, epsilon=0.2),
    )
    # The largest, 1 / (k - 1), leaves nothing in the bin of y.
    probs = targets.uniform(y, bins, epsilon_per_bin=1 / 3)
    torch.testing.assert_close(probs[0], torch.tensor([0.0, 1 / 3, 1 / 3, 1 / 3]))


@all_bins
def test_projected_keeps_the_mean_exactly(bins, dtype):
    first, last = bins.centers[0].item(), bins.centers[-1].item()
    y = torch.linspace(first, last, 301, dtype=torch.float64)
    probs = targets.projected(y, bins)
    distance = (probs * (bins.centers - y.unsqueeze(-1))).sum(-1)
    assert distance.abs().max() <= 1e-12 * (bins.high - bins.low)
    assert bool((targets.projected(y.to(dtype), bins) > 0).sum(-1).le(2).all())


def test_projected_beyond_the_outer_centers_is_the_end_bin():
    bins = Bins.uniform(0.0, 4.0, 4)
    probs = targets.projected(torch.tensor([0.2, -3.0, 4.0, 9.0]), bins)
    assert probs[:, 0].tolist() == [1, 1, 0, 0]
    assert probs[:, 3].tolist() == [0, 0, 1, 1]


def test_from_cdf_is_any_distribution(dtype, close):
    bins = Bins([0.0, 1.0, 3.0])
    y = torch.tensor([1.0, 2.0], dtype=dtype)
    probs = targets.from_cdf(Laplace(y.double().unsqueeze(-1), 1.0).cdf, bins, like=y)
    # By hand: F is exp(z)/2 below y, 1 - exp(-z)/2 above.
    below = (0.5 - math.exp(-1) / 2, 0.5 - math.exp(-2) / 2)
    above = (math.exp(-1) / 2 - math.exp(-2) / 2, 1 - math.exp(-1))
    expected = [
        [below[0] / sum(below), below[1] / sum(below)],
        [above[0] / sum(above), above[1] / sum(above)],
    ]
    assert probs.dtype == dtype
    close(probs, expected)


def test_from_cdf_of_a_normal_is_gaussian():
    bins, y = BINS["uneven"], torch.linspace(-2, 4, 9, dtype=torch.float64)
    normal = torch.distributions.Normal(y.unsqueeze(-1), 0.8)
    torch.testing.assert_close(
        targets.from_cdf(normal.cdf, bins, like=y),
        targets.gaussian(y, bins, sigma=0.8),
        rtol=1e-11,
        atol=1e-13,
    )


def test_from_cdf_without_mass_inside_takes_the_end_on_its_side():
    bins, y = Bins.uniform(0, 1, 3), torch.tensor([-1e9, 1e9])
    probs = targets.from_cdf(Laplace(y.unsqueeze(-1), 1.0).cdf, bins, like=y)
    assert probs.tolist() == [[1, 0, 0], [0, 0, 1]]


@all_targets
@pytest.mark.parametrize("dtype", [torch.int64, torch.bfloat16, torch.float16])
def test_integers_and_half_precision_give_float32(target, dtype):
    y = torch.tensor([0, 2])
    probs = target(y.to(dtype), BINS["even"])
    assert probs.dtype == torch.float32
    # A sigma of half precision is what it is: 0.4 is 0.3999 or 0.4004.
    torch.testing.assert_close(
        probs, target(y.float(), BINS["even"]), rtol=0, atol=2e-3
    )


def test_a_wide_bin_below_does_not_blur_the_fine_ones():
    # Measured from the far end of the wide bin in float32, errors reached 0.15.
    bins = BINS["wide ends"]
    y = torch.linspace(-0.99, 0.99, 25)
    single = targets.gaussian(y, bins, sigma=0.1)
    for probs, each in zip(single, y.tolist(), strict=True):
        expected = references.exact_gaussian_target(
            each, bins.borders.numpy(), 0.1, digits=40
        )
        np.testing.assert_allclose(probs, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
def test_an_offset_costs_nothing(offset):
    bins = Bins.around(offset, offset + 1.0)
    y = offset + torch.linspace(0, 1, 9, dtype=torch.float64)
    probs = targets.gaussian(y, bins, sigma=2 * bins.width)
    for each, found in zip(y.tolist(), probs, strict=True):
        expected = references.exact_gaussian_target(
            each, bins.borders.numpy(), 2 * bins.width, digits=40
        )
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@all_targets
def test_targets_work_under_vmap(target, generator):
    y = torch.rand(5, 3, generator=generator, dtype=torch.float64) * 6 - 2
    mapped = vmap(lambda each: target(each, BINS["uneven"]))(y)
    torch.testing.assert_close(mapped, target(y, BINS["uneven"]), rtol=0, atol=0)


@pytest.mark.parametrize("out_of_range", ["clip", "truncate"])
def test_gaussian_can_be_differentiated_in_y(out_of_range):
    y = torch.tensor([-0.9, 0.3, 1.0, 2.8], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda y: targets.gaussian(
            y, BINS["even"], sigma=0.4, out_of_range=out_of_range
        ),
        y,
    )


def test_clip_is_the_target_of_the_nearest_end(dtype):
    bins = BINS["even"]
    outside = torch.tensor([-7.0, 99.0], dtype=dtype)
    ends = torch.tensor([bins.low, bins.high], dtype=dtype)
    for name in ("gaussian", "one_bin", "uniform", "projected"):
        assert torch.equal(TARGETS[name](outside, bins), TARGETS[name](ends, bins))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda y, b: targets.one_bin(y, b, out_of_range="error"),
            r"y must lie within the bins \[-1, 3\], got 1 of 2 outside, the first 5",
        ),
        (
            lambda y, b: targets.gaussian(y, b, sigma=1.0, out_of_range="error"),
            "got 1 of 2 outside",
        ),
        (
            lambda y, b: targets.projected(y, b, out_of_range="ignore"),
            "out_of_range must be one of 'clip', 'truncate', 'error'",
        ),
        (lambda y, b: targets.gaussian(y, b, sigma=0.0), "sigma must be finite and"),
        (lambda y, b: targets.gaussian(y, b, sigma=-1.0), "got sigma=-1.0"),
        (lambda y, b: targets.gaussian(y, b, sigma=math.nan), "got sigma=nan"),
        (lambda y, b: targets.gaussian(y, b, sigma=0 * y), "positive everywhere"),
        (
            lambda y, b: targets.gaussian(y, b, sigma=torch.ones(3, 1)),
            r"sigma must broadcast to the shape of y, \(2,\), got shape \(3, 1\)",
        ),
        (lambda y, b: targets.one_bin(1 / y, b), "y must be finite, got 1 of 2"),
        (lambda y, b: targets.gaussian(y * math.nan, b, sigma=1.0), "the first nan"),
        (lambda y, b: targets.uniform(y, b), "either epsilon or epsilon_per_bin"),
        (lambda y, b: targets.uniform(y, b, epsilon=1.5), r"lie in \[0, 1\]"),
        (
            lambda y, b: targets.uniform(y, b, epsilon_per_bin=0.07),
            r"epsilon_per_bin must lie in \[0, 0.0666667\]",
        ),
        (
            lambda y, b: targets.from_cdf(lambda z: z[:3], b, like=y),
            "one value per border, 17",
        ),
        (
            lambda y, b: targets.from_cdf(lambda z: -z, b, like=y),
            "must not decrease between borders, got a step of -0.25",
        ),
    ],
)
def test_bad_input_gets_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        make(torch.tensor([0.0, 5.0]), BINS["even"])
    assert "\n" not in str(error.value)


def test_y_must_be_a_tensor():
    with pytest.raises(TypeError, match="y must be a Tensor, got float"):
        targets.one_bin(0.5, BINS["even"])


def test_large_integers_are_compared_exactly():
    # float32 cannot tell 2^24 from 2^24 + 1.
    y, bins = torch.tensor([2**24 + 1]), Bins.uniform(0, 2**24, 4)
    with pytest.raises(ValueError, match="y must lie within the bins"):
        targets.one_bin(y, bins, out_of_range="error")


def test_bins_must_be_bins():
    borders = torch.linspace(0, 1, 5)
    for call in (
        lambda: targets.gaussian(torch.zeros(2), borders, sigma=1.0),
        lambda: targets.from_cdf(lambda z: z, borders, like=borders),
    ):
        with pytest.raises(TypeError, match=r"bins must be a Bins .* got Tensor"):
            call()


BY_NAME = {
    "gaussian": ({"sigma": 0.3}, lambda y, b: targets.gaussian(y, b, sigma=0.3)),
    "one_bin": ({}, targets.one_bin),
    "uniform": ({"epsilon": 0.2}, lambda y, b: targets.uniform(y, b, epsilon=0.2)),
    "projected": ({}, targets.projected),
}


def test_every_target_by_name_is_tried_below():
    assert set(BY_NAME) == set(targets.TARGETS)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_target_by_name_is_that_of_its_function(name, dtype):
    options, function = BY_NAME[name]
    bins = BINS["even"]
    target = targets.target_of(name, **options)
    y = some_y(bins, dtype)
    assert torch.equal(target.probs(y, bins), function(y, bins))
    windows = target.windows(bins, dtype, torch.device("cpu"))
    assert (windows is None) == (name == "uniform")
    if windows is not None:
        inside = y.double().clamp(bins.low, bins.high)
        torch.testing.assert_close(
            windows(inside).dense(bins.n_bins), function(inside, bins).to(dtype)
        )


@pytest.mark.parametrize(
    ("keeps_mean", "bins", "tilts"),
    [
        (None, "even", False),
        (None, "uneven", True),
        (True, "even", True),
        (False, "uneven", False),
    ],
)
def test_a_gaussian_is_tilted_on_uneven_bins_unless_told_otherwise(
    keeps_mean, bins, tilts
):
    target = targets.target_of("gaussian", sigma_in_bins=2.0, keeps_mean=keeps_mean)
    y = BINS[bins].centers[2:4]
    expected = targets.gaussian(y, BINS[bins], sigma_in_bins=2.0, keeps_mean=tilts)
    assert torch.equal(target.probs(y, BINS[bins]), expected)


def test_a_function_gets_y_within_the_bins():
    bins, seen = BINS["even"], []

    def function(y, bins):
        seen.append(y)
        return targets.one_bin(y, bins)

    y = torch.tensor([-1e9, 1e9])
    targets.target_of(function).probs(y, bins)
    targets.target_of(function, out_of_range="truncate").probs(y, bins)
    assert seen[0].tolist() == [bins.low, bins.high]
    assert seen[1].tolist() == [-1e9, 1e9]
