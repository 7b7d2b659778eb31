"""Histogram: the predicted distribution."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from torch.distributions import Distribution, kl_divergence
from torch.func import vmap

from histreg import Bins, Histogram, InputError
from histreg.tails import Tail
from tests import references
from tests.registries import BINS, DISTRIBUTION_NAMES, distributions

names = pytest.mark.parametrize("name", DISTRIBUTION_NAMES)
LEVELS = torch.tensor([0.001, 0.05, 0.25, 0.5, 0.6, 0.9, 0.999], dtype=torch.float64)


def singles(name, dtype):
    """Return each histogram of a batch by itself."""
    batch = distributions(dtype)[name]
    return [
        Histogram(batch.bins, probs=row)
        for row in batch.probs.reshape(-1, batch.bins.n_bins)
    ]


def levels_for(d: Histogram) -> torch.Tensor:
    return LEVELS.view(-1, *[1] * len(d.batch_shape))


# What a location (mean, quantile) can be wrong by: the rounding of the number itself.
def place(d: Histogram, dtype) -> float:
    largest = max(abs(d.bins.low), abs(d.bins.high))
    return 8 * torch.finfo(dtype).eps * largest


@names
def test_moments_quantiles_and_density_are_scipys(name, dtype):
    d = distributions(dtype)[name]
    rows = singles(name, dtype)
    reference = [references.density(row) for row in rows]
    shape = d.batch_shape
    span = d.bins.high - d.bins.low
    eps = torch.finfo(dtype).eps

    def expected(function):
        values = torch.tensor([function(each) for each in reference])
        return values.reshape(shape).double()

    # SciPy integrates moments about zero, so an offset of 1e6 costs it six digits of
    # the mean and all of the variance: our own laws below cover that case.
    if name != "far away":
        error = (d.mean.double() - expected(lambda r: r.mean())).abs().max()
        assert error <= 64 * eps * span
        error = (d.variance.double() - expected(lambda r: r.var())).abs().max()
        assert error <= 64 * eps * span**2
        entropy = expected(lambda r: r.entropy())
        torch.testing.assert_close(
            d.entropy().double(), entropy, rtol=0, atol=max(64 * eps, 1e-12)
        )
    # Off the borders, where SciPy closes bins on the other side.
    y = torch.linspace(d.bins.low - span / 9, d.bins.high + span / 9, 29).double()
    y = y + span * 1.234e-5
    grid = y.view(-1, *[1] * len(shape)).expand(29, *shape)
    for ours, theirs in ((d.cdf, "cdf"), (d.pdf, "pdf")):
        values = np.stack([getattr(r, theirs)(y.numpy()) for r in reference], -1)
        values = torch.tensor(values).reshape(29, *shape)
        scale = 1.0 if theirs == "cdf" else 1 / d.bins.narrowest
        assert (ours(grid).double() - values).abs().max() <= 64 * eps * scale
    # A quantile moves by (error of the CDF) / density; compare where density is.
    if name not in ("holes", "one bin"):
        values = np.stack([r.ppf(LEVELS.numpy()) for r in reference], -1)
        values = torch.tensor(values).reshape(len(LEVELS), *shape)
        flattest = (d.probs.double() / d.bins.widths).min().item()
        error = (d.icdf(levels_for(d)).double() - values).abs().max()
        assert error <= 64 * eps / flattest + place(d, dtype) + 1e-9 * span


def test_values_by_hand(dtype, close):
    # Two bins, [0, 1) with 1/4 and [1, 3] with 3/4.
    d = Histogram(Bins([0.0, 1.0, 3.0]), probs=torch.tensor([0.25, 0.75], dtype=dtype))
    close(d.mean, 0.25 * 0.5 + 0.75 * 2.0)
    close(d.variance, (0.25 * 1 / 3 + 0.75 * 13 / 3) - 1.625**2)
    close(d.stddev, math.sqrt((0.25 * 1 / 3 + 0.75 * 13 / 3) - 1.625**2))
    close(d.median, 1 + 2 * (0.25 / 0.75))
    close(d.mode, 2.0)
    close(d.entropy(), -0.25 * math.log(0.25) - 0.75 * math.log(0.75 / 2))
    close(d.cdf(torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 9.0])),
          [0, 0, 0.125, 0.25, 0.625, 1, 1])  # fmt: skip
    close(d.pdf(torch.tensor([-1.0, 0.5, 1.0, 3.0, 3.1])), [0, 0.25, 0.375, 0.375, 0])
    close(d.icdf(torch.tensor([0.0, 0.125, 0.25, 0.625, 1.0])), [0, 0.5, 1, 2, 3])
    close(d.prob(0.5, 2.0), 0.5)
    close(d.prob(-math.inf, math.inf), 1.0)


def test_the_mode_is_the_densest_bin_not_the_fullest(dtype):
    # The wide bin holds more and is thinner.
    d = Histogram(Bins([0.0, 1.0, 9.0]), probs=torch.tensor([0.4, 0.6], dtype=dtype))
    assert d.mode == 0.5


@names
def test_cdf_of_a_quantile_is_the_level(name, dtype):
    d = distributions(dtype)[name]
    if name == "far away" and dtype == torch.float32:
        pytest.skip("float32 cannot write down a quantile near 1e6 to a tenth of a bin")
    q = levels_for(d).expand(-1, *d.batch_shape)
    # A rounded quantile moves the CDF by (rounding) x density.
    steepest = (d.probs.double() / d.bins.widths).max().item()
    error = (d.cdf(d.icdf(q)).double() - q).abs().max()
    assert error <= 8 * torch.finfo(dtype).eps + place(d, dtype) * steepest


@names
def test_the_density_is_the_slope_of_the_cdf(name):
    d = distributions(torch.float64)[name]
    inside = d.bins.borders[:-1] + 0.37 * d.bins.widths
    y = inside.view(-1, *[1] * len(d.batch_shape)).expand(-1, *d.batch_shape)
    step = 1e-3 * d.bins.widths.view_as(inside).view(y.shape[0], *[1] * (y.dim() - 1))
    slope = (d.cdf(y + step) - d.cdf(y - step)) / (2 * step)
    torch.testing.assert_close(d.pdf(y), slope, rtol=1e-6, atol=1e-9)


@names
def test_the_density_integrates_to_one(name, dtype, close):
    d = distributions(dtype)[name]
    centers = d.bins.centers.view(-1, *[1] * len(d.batch_shape))
    widths = d.bins.widths.view_as(centers)
    total = (d.pdf(centers.expand(-1, *d.batch_shape)).double() * widths).sum(0)
    close(total, torch.ones_like(total))


@names
def test_the_cdf_is_zero_below_and_one_above(name, dtype):
    d = distributions(dtype)[name]
    assert bool((d.cdf(d.bins.low - 1.0) == 0).all())
    assert bool((d.cdf(d.bins.low) == 0).all())
    assert bool((d.cdf(d.bins.high) == 1).all())
    assert bool((d.cdf(math.inf) == 1).all())


def test_the_mean_of_one_bin_is_its_center(dtype, close):
    for bins in BINS.values():
        d = Histogram(bins, probs=torch.eye(bins.n_bins, dtype=dtype))
        # Sums are taken about the middle of the bins, so the span is the unit.
        rounding = torch.finfo(dtype).eps * max(bins.high - bins.low, abs(bins.high))
        close(d.mean, bins.centers, rtol=0, atol=rounding)
        close(d.mode, bins.centers, rtol=0, atol=rounding)


def test_quantiles_are_right_when_the_first_or_the_last_bin_has_the_mass(dtype, close):
    # gluonts #535: mass in the first bin was ignored.
    bins = Bins.uniform(0.0, 4.0, 4)
    d = Histogram(bins, probs=torch.eye(4, dtype=dtype)[[0, 3]])
    close(d.icdf(torch.tensor([[0.0], [0.25], [1.0]])), [[0, 3], [0.25, 3.25], [1, 4]])


def test_level_zero_is_the_lower_end_of_the_mass_and_one_the_upper(dtype):
    d = distributions(dtype)["holes"]
    assert d.icdf(0.0).tolist() == [-1.5, -2.0]
    assert d.icdf(1.0).tolist() == [4.0, 4.5]


def test_an_empty_bin_is_jumped_over(dtype):
    d = distributions(dtype)["holes"][1]  # half in [-2, -1.5], half in [4, 4.5]
    assert d.icdf(0.5) == -1.5  # the smallest y with cdf >= 1/2
    assert d.icdf(0.5 + 1e-6) > 4.0
    assert d.log_prob(0.5) == -math.inf


def test_the_variance_is_not_hurt_by_an_offset_of_a_million(dtype, close, generator):
    logits = torch.randn(9, 20, generator=generator, dtype=dtype)
    here = Histogram(Bins.uniform(0.0, 10.0, 20), logits=logits)
    there = Histogram(Bins.uniform(1e6, 1e6 + 10.0, 20), logits=logits)
    # The borders at 1e6 carry 1e-10; nothing else is lost.
    close(there.variance, here.variance, atol=1e-8 + 1e-5 * (dtype == torch.float32))
    close(there.entropy(), here.entropy(), atol=1e-6)
    y = torch.linspace(0, 10, 9, dtype=torch.float64)
    close(there.crps(y + 1e6), here.crps(y), atol=1e-6)
    if dtype == torch.float64:
        close(there.mean - 1e6, here.mean, atol=1e-8)


@names
@pytest.mark.parametrize("where", [-0.5, 0.0, 0.13, 0.5, 0.77, 1.0, 1.8])
def test_crps_is_the_integral_of_its_definition(name, where):
    d = distributions(torch.float64)[name]
    y = d.bins.low + where * (d.bins.high - d.bins.low)
    expected = [references.crps(row, y) for row in singles(name, torch.float64)[:4]]
    actual = d.crps(y).reshape(-1)[:4]
    span = d.bins.high - d.bins.low
    np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-8 * span)


@pytest.mark.parametrize("name", ["single", "batch", "geometric", "wide ends"])
def test_float64_has_the_digits_of_rational_arithmetic(name):
    rows = singles(name, torch.float64)
    exact = [references.ExactHistogram(row) for row in rows]
    bins = rows[0].bins
    d = Histogram(bins, probs=torch.stack([row.probs for row in rows]))
    within = 1e-12 * (bins.high - bins.low)

    def check(values, expected):
        np.testing.assert_allclose(
            values, [float(value) for value in expected], rtol=1e-12, atol=within
        )

    check(d.mean, [row.mean() for row in exact])
    for share in (-0.2, 0.0, 0.3, 0.77, 1.0, 1.4):
        y = bins.low + share * (bins.high - bins.low)
        check(d.crps(y), [row.crps(y) for row in exact])
    for level in (0.0, 0.05, 0.5, 0.9, 1.0):
        check(d.icdf(level), [row.quantile(level) for row in exact])
    for coverage in (0.1, 0.5, 0.9):
        lower, upper = d.interval(coverage, "shortest")
        check(upper - lower, [row.shortest_length(coverage) for row in exact])


TAILED = Bins([-3.0, -1.0, 0.0, 0.5, 2.0, 6.0]).with_tails(Tail(1.0), Tail(2.0, 0.25))


@pytest.mark.parametrize("bins", [BINS["uneven"], TAILED], ids=["uneven", "tails"])
@pytest.mark.parametrize("parameter", ["logits", "probs"])
def test_blocks_of_rows_change_nothing(bins, parameter, dtype, generator, monkeypatch):
    logits = 3 * torch.randn(7, 3, bins.n_bins, generator=generator, dtype=dtype)
    logits[4, 1] = math.nan
    given = logits if parameter == "logits" else logits.softmax(dim=-1)
    y = 4 * torch.randn(5, 7, 3, generator=generator, dtype=dtype)

    def results():
        d = Histogram(bins, **{parameter: given}, validate_args=False)
        return [
            d.mean,
            d.variance,
            d.stddev,
            d.median,
            d.mode,
            d.entropy(),
            *(
                f(value)
                for f in (d.cdf, d.log_prob, d.crps)
                for value in (y, y[0], 0.3)
            ),
            d.crps(y[0, :, :1]),
            d.prob(-1.0, y.clamp(min=-1)),
            d.quantiles([0.0, 0.1, 0.9, 1.0]),
            d.icdf(torch.full((3,), 0.2)),
            *d.interval(0.8),
            *d.interval(0.8, "shortest"),
        ]

    whole = results()
    monkeypatch.setattr("histreg.distribution._BLOCK", 2 * bins.n_bins)
    for a, b in zip(results(), whole, strict=True):
        assert a.dtype == b.dtype == dtype
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def test_crps_of_a_sharp_forecast_is_nearly_the_absolute_error(dtype):
    bins = Bins.uniform(0.0, 10.0, 1000)
    d = Histogram(bins, probs=torch.eye(1000, dtype=dtype)[250])
    # A bin of width 0.01 around 2.505.
    assert d.crps(7.0).item() == pytest.approx(7.0 - 2.505, abs=0.01)
    assert d.crps(-5.0).item() == pytest.approx(7.505, abs=0.01)


@names
def test_crps_is_smallest_in_expectation_for_the_true_distribution(name, generator):
    # Properness, by sampling: P(fails) < 1e-6 at six standard errors.
    d = distributions(torch.float64)[name]
    y = d.sample((20000,), generator=generator)
    other = Histogram(d.bins, probs=(d.probs + 1 / d.bins.n_bins) / 2)
    gain = other.crps(y) - d.crps(y)
    mean, error = gain.mean(0), gain.std(0) / 20000**0.5
    assert bool((mean > -6 * error).all())
    # And it does tell them apart: on average over the batch it gains.
    assert mean.mean() > 6 * error.mean() / mean.numel() ** 0.5


def test_samples_have_the_distribution(generator):
    d = distributions(torch.float64)["batch"]
    samples = d.sample((20000,), generator=generator)
    assert samples.shape == (20000, 5)
    # Kolmogorov-Smirnov at 20,000: the statistic exceeds 0.0195 with P < 1e-6.
    pit = d.cdf(samples).sort(0).values
    grid = torch.arange(20000, dtype=torch.float64).unsqueeze(-1)
    statistic = torch.maximum((grid + 1) / 20000 - pit, pit - grid / 20000).amax(0)
    assert statistic.max() < 0.0195


def test_samples_are_reproducible_and_inside(dtype):
    d = distributions(dtype)["batch"]
    seeds = [torch.Generator().manual_seed(1) for _ in range(2)]
    first, second = (d.sample((50,), generator=each) for each in seeds)
    assert torch.equal(first, second) and first.dtype == dtype
    assert bool(((first >= d.bins.low) & (first <= d.bins.high)).all())


def test_samples_can_be_differentiated():
    logits = torch.randn(6, dtype=torch.float64, requires_grad=True)

    def draw(logits):
        d = Histogram(BINS["uneven"], logits=logits)
        return d.rsample((40,), generator=torch.Generator().manual_seed(5))

    assert torch.autograd.gradcheck(draw, logits)


@names
@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("method", ["central", "shortest"])
def test_an_interval_has_its_coverage(name, coverage, method):
    d = distributions(torch.float64)[name]
    lower, upper = d.interval(coverage, method)
    assert lower.shape == upper.shape == d.batch_shape
    inside = d.prob(lower, upper)
    # An end on an empty bin may sit at either side of it; the mass is the same. A
    # float64 place near 1e6 is good to 1e-10.
    assert (inside - coverage).abs().max() <= 1e-9


@names
@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.9])
def test_no_interval_is_shorter_than_the_shortest(name, coverage):
    d = distributions(torch.float64)[name]
    lower, upper = d.interval(coverage, "shortest")
    central = d.interval(coverage)
    span = d.bins.high - d.bins.low
    assert bool((upper - lower <= central[1] - central[0] + 1e-9 * span).all())
    # Brute force over 2,001 left tails.
    tails = torch.linspace(0, 1 - coverage, 2001, dtype=torch.float64)
    tails = tails.view(-1, *[1] * len(d.batch_shape))
    lengths = d.icdf(tails + coverage) - d.icdf(tails)
    assert bool((upper - lower <= lengths.amin(0) + 1e-9 * span).all())


@given(
    st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4).filter(
        lambda p: sum(p) > 0.1
    ),
    st.floats(0.01, 0.99),
)
def test_any_histogram_keeps_the_laws(probs, q):
    probs = torch.tensor(probs, dtype=torch.float64)
    d = Histogram(Bins([-1.0, 0.0, 0.5, 4.0, 4.25]), probs=probs / probs.sum())
    y = d.icdf(q)
    assert d.cdf(y).item() == pytest.approx(q, abs=1e-12)
    assert d.bins.low <= d.mean <= d.bins.high
    assert d.variance >= 0 and d.crps(y) >= 0
    lower, upper = d.interval(q, "shortest")
    assert d.prob(lower, upper).item() == pytest.approx(q, abs=1e-11)


@pytest.mark.parametrize("parameter", ["logits", "probs"])
def test_batches_are_joined_to_the_bit(parameter, generator):
    logits = torch.randn(5, 4, generator=generator)
    given = logits if parameter == "logits" else logits.softmax(dim=-1)
    d = Histogram(Bins.uniform(0, 1, 4), **{parameter: given})
    joined = Histogram.concatenated([d[:2], d[2:]])
    assert joined.batch_shape == (5,) and joined.bins == d.bins
    assert torch.equal(joined.probs, d.probs) and torch.equal(joined.logits, d.logits)
    assert torch.equal(joined.mean, d.mean)
    with pytest.raises(ValueError, match="at least one histogram, got none"):
        Histogram.concatenated([])
    other = Histogram(Bins.uniform(0, 2, 4), logits=logits)
    with pytest.raises(ValueError, match="must share their bins"):
        Histogram.concatenated([d, other])


def test_a_mixture_is_the_average_of_densities_and_means(dtype, close):
    parts = [distributions(dtype)["batch"], Histogram(
        BINS["uneven"], probs=torch.full((5, 6), 1 / 6, dtype=dtype))]  # fmt: skip
    mixed = Histogram.mixture(parts, weights=[3, 1])
    close(mixed.mean, 0.75 * parts[0].mean + 0.25 * parts[1].mean)
    close(mixed.cdf(0.3), 0.75 * parts[0].cdf(0.3) + 0.25 * parts[1].cdf(0.3))
    close(
        Histogram.mixture(parts).pdf(1.0), (parts[0].pdf(1.0) + parts[1].pdf(1.0)) / 2
    )
    # Law of total variance: more than the average of the variances.
    between = 0.75 * 0.25 * (parts[0].mean - parts[1].mean) ** 2
    within = 0.75 * parts[0].variance + 0.25 * parts[1].variance
    close(mixed.variance, within + between)


@names
@pytest.mark.parametrize("bins", BINS.values(), ids=BINS)
def test_rebinning_keeps_the_cdf_at_every_new_border(name, bins, dtype):
    d = distributions(dtype)[name]
    rebinned = d.rebinned(bins)
    assert rebinned.bins == bins and rebinned.batch_shape == d.batch_shape
    inner = bins.borders[1:-1].view(-1, *[1] * len(d.batch_shape))
    torch.testing.assert_close(rebinned.cdf(inner), d.cdf(inner), rtol=0, atol=1e-6)


@names
def test_rebinning_to_finer_bins_changes_nothing(name, dtype, close):
    d = distributions(dtype)[name]
    finer = Bins(torch.cat([d.bins.borders, d.bins.centers]).sort().values)
    close(d.rebinned(finer).mean, d.mean)
    close(d.rebinned(finer).variance, d.variance)
    close(d.rebinned(finer).rebinned(d.bins).probs, d.probs)


def test_logits_and_probs_are_two_ways_to_say_the_same(dtype, close, generator):
    logits = torch.randn(3, 16, generator=generator, dtype=dtype)
    by_logits = Histogram(BINS["even"], logits=logits + 7.0)
    by_probs = Histogram(BINS["even"], probs=logits.softmax(-1))
    close(by_logits.probs, by_probs.probs)
    close(by_logits.logits, by_probs.logits)
    close(by_logits.log_prob(0.3), by_probs.log_prob(0.3))


def test_ten_and_more_bins_are_not_sorted_as_words():
    # Class names sorted as strings put bin 10 before bin 2.
    bins = Bins.uniform(0.0, 12.0, 12)
    d = Histogram(bins, probs=torch.eye(12, dtype=torch.float64))
    assert d.mean.tolist() == [i + 0.5 for i in range(12)]


@names
def test_expanding_and_indexing_keep_the_distribution(name, dtype):
    d = distributions(dtype)[name]
    wide = d.expand((4, *d.batch_shape))
    assert isinstance(wide, Histogram) and wide.batch_shape == (4, *d.batch_shape)
    assert torch.equal(wide[2].probs, d.probs)
    torch.testing.assert_close(wide[-1].cdf(0.3), d.cdf(0.3))
    assert wide.expand((4, *d.batch_shape)).mean.shape == (4, *d.batch_shape)
    mask = torch.tensor([True, False, True, False])
    assert wide[mask].batch_shape == (2, *d.batch_shape)
    assert wide[..., None].batch_shape == (4, *d.batch_shape, 1)


def test_a_single_histogram_cannot_be_indexed_into_its_bins():
    d = distributions(torch.float64)["single"]
    with pytest.raises(IndexError):
        d[0]


def test_samples_lead_and_values_broadcast(dtype):
    d = distributions(dtype)["matrix"]  # (2, 3)
    y = torch.linspace(0, 3, 7, dtype=dtype).view(7, 1, 1)
    for function in (d.cdf, d.pdf, d.log_prob, d.crps):
        values = function(y)
        assert values.shape == (7, 2, 3) and values.dtype == dtype
        assert torch.equal(values[4], function(y[4].expand(2, 3)))
    assert d.icdf(torch.rand(5, 2, 3)).shape == (5, 2, 3)
    assert d.icdf(torch.rand(2, 1)).shape == (2, 3)
    single = distributions(dtype)["single"]
    assert single.icdf(torch.rand(4, 2)).shape == (4, 2)


def test_the_mean_over_uneven_bins_is_in_units_of_y(dtype, close):
    # symexp(E[symlog y]) of half 0 and half 100 would be 9.05.
    bins = Bins([-0.5, 0.5, 10.0, 99.5, 100.5])
    d = Histogram(bins, probs=torch.tensor([0.5, 0.0, 0.0, 0.5], dtype=dtype))
    close(d.mean, 50.0)


@names
def test_everything_stays_on_the_device_of_the_parameters(name):
    # A tensor left on the CPU cannot meet one on the device without values.
    here = distributions(torch.float32)[name]
    d = Histogram(here.bins, logits=here.logits.to("meta"))
    y = torch.zeros(d.batch_shape, device="meta")
    results = [
        d.mean,
        d.variance,
        d.median,
        d.mode,
        d.entropy(),
        d.cdf(y),
        d.log_prob(y),
        d.crps(y),
        d.prob(0.0, 1.0),
        d.icdf(0.3),
        d.sample(),
        *d.interval(0.9),
        *d.interval(0.9, "shortest"),
        Histogram.mixture([d, d]).mean,
        kl_divergence(d, d),
    ]
    for result in results:
        assert result.device.type == "meta" and result.shape == d.batch_shape


@names
def test_a_device_without_float64_gets_float32(name, monkeypatch):
    expected = distributions(torch.float64)[name]
    for module in ("bins", "distribution"):
        monkeypatch.setattr(f"histreg.{module}.float64_on", lambda _: torch.float32)
    d = Histogram(expected.bins, probs=expected.probs.float())
    assert d._cdf_at_borders.dtype == torch.float32
    span = d.bins.high - d.bins.low
    # What float32 leaves of a place, and of a quantile where there is density.
    place = 1e-5 * span + 2e-7 * abs(d.bins.high)
    y = d.bins.low + 0.4321 * span
    torch.testing.assert_close(d.mean.double(), expected.mean, rtol=0, atol=place)
    torch.testing.assert_close(d.crps(y).double(), expected.crps(y), rtol=0, atol=place)
    steepest = (expected.probs / expected.bins.widths).max().item()
    error = (d.cdf(y).double() - expected.cdf(y)).abs().max()
    assert error <= place * steepest + 1e-6
    assert bool(d.icdf(0.3).isfinite().all())


@pytest.mark.parametrize(
    "bins",
    [Bins.around(0, 100), Bins.uniform(0, 0.1, 10), Bins.uniform(1e6, 1e6 + 0.3, 10)],
    ids=str,
)
def test_its_own_quantiles_and_samples_have_density(bins, dtype, generator):
    # The ends are no float32 numbers, and rounding must not push anything out.
    d = Histogram(bins, logits=torch.zeros(bins.n_bins, dtype=dtype))
    own = [d.icdf(torch.tensor([0.0, 1.0])), d.sample((2000,), generator=generator)]
    for y in [*own, torch.tensor([bins.low, bins.high], dtype=dtype)]:
        assert bool(d.log_prob(y).isfinite().all())
    assert d.log_prob(bins.high) > -math.inf
    assert d.log_prob(bins.high + 1e-3 * (bins.high - bins.low)) == -math.inf


def test_a_row_of_nan_spoils_only_itself():
    logits = torch.zeros(4, 16)
    logits[2] = math.nan
    d = Histogram(BINS["even"], logits=logits)
    values = [
        d.mean,
        d.median,
        d.mode,
        d.stddev,
        d.entropy(),
        d.sample(),
        d.prob(0.0, 1.0),
        d.crps(0.3),
        d.log_prob(0.3),
        *d.interval(0.9),
        *d.interval(0.9, "shortest"),
        Histogram.mixture([d, d]).mean,
    ]
    for value in values:
        assert value.isnan().tolist() == [False, False, True, False]


def test_small_numbers_survive_beside_a_wide_bin(dtype):
    # Relative to half the span of 1e4, float32 centers of 1e-4 would be zero.
    bins = Bins(np.geomspace(1e-4, 1e4, 101))
    rows = torch.full((100, 100), -1e4, dtype=dtype).fill_diagonal_(0)
    d = Histogram(bins, logits=rows)
    eps = torch.finfo(dtype).eps
    # A sum about the middle of 5,000 carries 1e-12 in float64.
    for value in (d.mean, d.mode):
        np.testing.assert_allclose(value, bins.centers, rtol=4 * eps, atol=2e-12)
    np.testing.assert_allclose(d.stddev, bins.widths / 12**0.5, rtol=4 * eps)
    assert bool(d.log_prob(d.mode).isfinite().all())


def test_a_range_whose_square_is_infinite_has_an_infinite_variance():
    d = Histogram(Bins.of([0.0, 1e200]), logits=torch.zeros(100, dtype=torch.float64))
    assert d.variance == math.inf and 1e199 < d.stddev < 1e200


def test_infinity_is_outside_also_where_an_end_rounds_to_it():
    d = Histogram(Bins.uniform(0.0, 1e5, 4), logits=torch.zeros(4))
    assert d.log_prob(torch.tensor(math.inf, dtype=torch.float16)) == -math.inf


@pytest.mark.parametrize("span", [1e-25, 1.0, 1e25])
def test_the_standard_deviation_survives_where_its_square_does_not(span):
    d = Histogram(Bins.uniform(0.0, span, 10), logits=torch.zeros(10))
    assert d.stddev.item() == pytest.approx(span / 12**0.5, rel=1e-5)


def test_both_tails_keep_their_digits(dtype):
    # exp(-60) on the outer bins: 1 - (1 - 8.8e-27) would be zero.
    bins = Bins.uniform(0.0, 3.0, 3)
    d = Histogram(bins, logits=torch.tensor([-60.0, 0.0, -60.0], dtype=dtype))
    below, above = d.prob(-math.inf, 1.0).item(), d.prob(2.0, math.inf).item()
    assert below == pytest.approx(math.exp(-60), rel=1e-4)
    assert above == pytest.approx(below, rel=1e-6)


def test_a_distribution_is_moved_to_floats_only():
    d = Histogram(BINS["even"], logits=torch.randn(3, 16))
    with pytest.raises(TypeError, match="must be floating point"):
        d.to(torch.int64)
    assert d.to(torch.bfloat16).mean.dtype == torch.float32


def test_an_empty_batch_is_fine():
    d = Histogram(BINS["even"], logits=torch.zeros(0, 16))
    assert d.mean.shape == d.median.shape == d.crps(torch.zeros(0)).shape == (0,)
    assert d.interval(0.9, "shortest")[0].shape == (0,)


@names
def test_quantiles_are_levels_in_front_whatever_the_batch(name, dtype):
    d = distributions(dtype)[name]
    levels = [0.1, 0.5, 0.9]
    quantiles = d.quantiles(levels)
    assert quantiles.shape == (3, *d.batch_shape)
    for row, level in zip(quantiles, levels, strict=True):
        assert torch.equal(row, d.icdf(level))


def test_a_distribution_can_be_detached_and_moved():
    logits = torch.randn(3, 16, requires_grad=True)
    d = Histogram(BINS["even"], logits=logits)
    assert d.mean.requires_grad and not d.detach().mean.requires_grad
    assert d.detach().mean.numpy().shape == (3,)
    assert d.to(torch.float64).mean.dtype == torch.float64
    assert d.to("meta").mean.device.type == "meta"
    torch.testing.assert_close(d.to(torch.float64).probs.float(), d.probs)


def test_quantiles_of_many_rows_search_each_row_once(monkeypatch):
    # 9 levels of 100,000 rows of 100 bins: the search must not repeat the rows.
    d = Histogram(Bins.around(0.0, 1.0), logits=torch.randn(100_000, 100))
    searched = []
    search = torch.searchsorted
    monkeypatch.setattr(
        torch,
        "searchsorted",
        lambda rows, values, **options: (
            searched.append(rows.shape) or search(rows, values, **options)
        ),
    )
    quantiles = d.icdf(torch.linspace(0.1, 0.9, 9).view(9, 1))
    assert sum(n_rows for n_rows, _ in searched) == 100_000
    assert quantiles.shape == (9, 100_000)
    assert bool((quantiles.diff(dim=0) > 0).all())


def test_it_speaks_torch_distributions():
    d = distributions(torch.float64)["batch"]
    assert isinstance(d, Distribution) and d.has_rsample and d.event_shape == ()
    independent = torch.distributions.Independent(d, 1)
    y = torch.full((5,), 0.5, dtype=torch.float64)
    assert independent.log_prob(y).shape == ()
    assert d.perplexity().shape == (5,)
    assert "batch_shape=(5,)" in repr(d)


def test_kl_divergence_is_registered(dtype, close):
    bins = Bins([0.0, 1.0, 3.0])
    p = Histogram(bins, probs=torch.tensor([0.25, 0.75], dtype=dtype))
    q = Histogram(bins, probs=torch.tensor([0.5, 0.5], dtype=dtype))
    close(kl_divergence(p, q), 0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    point = Histogram(bins, probs=torch.tensor([0.0, 1.0], dtype=dtype))
    close(kl_divergence(point, q), math.log(2.0))
    assert kl_divergence(q, point) == math.inf
    close(kl_divergence(p, p), 0.0)


def test_methods_work_under_vmap(generator):
    logits = torch.randn(4, 16, generator=generator, dtype=torch.float64)
    y = torch.rand(4, generator=generator, dtype=torch.float64) * 4 - 1
    whole = Histogram(BINS["even"], logits=logits)

    def each(logits, y):
        d = Histogram(BINS["even"], logits=logits)
        return d.mean, d.variance, d.cdf(y), d.log_prob(y), d.crps(y)

    mapped = vmap(each)(logits, y)
    expected = (
        whole.mean,
        whole.variance,
        whole.cdf(y),
        whole.log_prob(y),
        whole.crps(y),
    )
    for a, b in zip(mapped, expected, strict=True):
        torch.testing.assert_close(a, b)


def test_half_precision_is_evaluated_in_float32():
    d = Histogram(BINS["even"], logits=torch.randn(3, 16, dtype=torch.bfloat16))
    assert d.mean.dtype == torch.float32
    assert (d.probs.sum(-1) - 1).abs().max() < 1e-6


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda b: Histogram(b), "either logits or probs, got neither"),
        (
            lambda b: Histogram(b, logits=torch.zeros(2), probs=torch.ones(2) / 2),
            "got both",
        ),
        (lambda b: Histogram(b, logits=torch.zeros(3)), r"2, got shape \(3,\)"),
        (lambda b: Histogram(b, probs=torch.tensor([-0.1, 1.1])), "non-negative"),
        (lambda b: Histogram(b, probs=torch.ones(2)), "sum to one .* got a sum of 2"),
        (lambda b: Histogram(b, logits=torch.zeros(2)).icdf(1.5), r"\[0, 1\], got 1.5"),
        (
            lambda b: Histogram(b, logits=torch.zeros(2)).cdf(math.nan),
            "value must not be NaN, got 1 of 1",
        ),
        (
            lambda b: Histogram(b, logits=torch.zeros(3, 2)).crps(torch.zeros(4)),
            r"y must broadcast with the batch shape \(3,\), got shape \(4,\)",
        ),
        (lambda b: Histogram(b, logits=torch.zeros(2)).interval(1.0), "coverage must"),
        (
            lambda b: Histogram(b, logits=torch.zeros(2)).interval(0.5, "hdi"),
            "method must be one of 'central', 'shortest'",
        ),
        (
            lambda b: Histogram(b, logits=torch.zeros(2)).prob(2, 1),
            "upper, got it 1 larger",
        ),
        (lambda b: Histogram.mixture([]), "at least one"),
        (
            lambda b: Histogram.mixture(
                [Histogram(b, logits=torch.zeros(2)) for _ in range(2)], [1.0]
            ),
            "one non-negative number per histogram",
        ),
        (
            lambda b: Histogram.mixture(
                [Histogram(b, logits=torch.zeros(2)) for _ in range(2)], [math.nan, 1]
            ),
            "one non-negative number per histogram",
        ),
        (
            lambda b: Histogram.mixture(
                [
                    Histogram(b, logits=torch.zeros(2)),
                    Histogram(Bins([0, 1, 2]), logits=torch.zeros(2)),
                ]
            ),
            "share their bins",
        ),
        (
            lambda b: kl_divergence(
                Histogram(b, logits=torch.zeros(2)),
                Histogram(Bins([0, 1, 2]), logits=torch.zeros(2)),
            ),
            "the same bins",
        ),
    ],
)
def test_bad_input_gets_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        make(Bins([0.0, 1.0, 3.0]))
    assert "\n" not in str(error.value)


def test_probs_are_checked_after_a_compilation_has_changed_the_default_of_torch():
    usual = Distribution._validate_args
    Distribution.set_default_validate_args(False)  # as torch.compile does
    try:
        with pytest.raises(ValueError, match="sum to one"):
            Histogram(Bins([0.0, 1.0, 3.0]), probs=torch.ones(2))
    finally:
        Distribution.set_default_validate_args(usual)
    skipped = Histogram(Bins([0.0, 1.0, 3.0]), probs=torch.ones(2), validate_args=False)
    assert skipped.probs.tolist() == [0.5, 0.5]


def test_methods_do_not_care_about_the_default_device():
    d = distributions(torch.float64)["batch"]
    y = torch.full((5,), 0.5)
    expected = [d.log_prob(y), d.quantiles([0.1, 0.9]), d.median, d.crps(y), d.mode]
    with torch.device("meta"):
        again = d.expand(d.batch_shape)  # nothing is cached in it
        found = [
            again.log_prob(y),
            again.quantiles([0.1, 0.9]),
            again.median,
            again.crps(y),
            again.mode,
        ]
    for a, b in zip(found, expected, strict=True):
        assert torch.equal(a, b)


def test_bins_must_be_bins():
    with pytest.raises(TypeError, match=r"bins must be a Bins .* got Tensor"):
        Histogram(torch.linspace(0, 1, 5), logits=torch.zeros(4))


def test_parameters_must_be_floating_tensors():
    with pytest.raises(TypeError, match="logits must be a Tensor, got list"):
        Histogram(BINS["two"], logits=[0.0, 1.0])
    with pytest.raises(TypeError, match="logits must be floating point"):
        Histogram(BINS["two"], logits=torch.tensor([0, 1]))


def test_a_plot_shows_density_mean_interval_and_y():
    d = Histogram(Bins([0.0, 1.0, 3.0]), probs=torch.tensor([[0.5, 0.5]] * 2))
    ax = d[0].plot(Figure().add_subplot(), y=2.5)
    assert ax.patches[0].get_data().values.tolist() == [
        0.5,
        0.25,
    ]  # probability / width
    assert [line.get_xdata()[0] for line in ax.lines] == [1.25, 2.5]
    span = ax.patches[1].get_x(), ax.patches[1].get_width()
    lower, upper = d[0].interval(0.9)
    assert span == pytest.approx((lower.item(), (upper - lower).item()))
    ax = d.plot(Figure().add_subplot())
    assert len(ax.patches) == 2  # lines only, without an interval


def test_a_plot_of_many_or_of_none_is_refused():
    d = Histogram(Bins([0.0, 1.0, 3.0]), logits=torch.zeros(13, 2))
    with pytest.raises(InputError, match=r"from 1 to 12 histograms, got batch shape"):
        d.plot()
    with pytest.raises(InputError, match=r"from 1 to 12 histograms"):
        d[:0].plot()
