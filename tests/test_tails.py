"""Tails: end bins without an end, in every reading of a distribution."""

import functools
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from histreg import Bins, Histogram, HistogramHead, HistogramLoss, losses, targets
from histreg.tails import MIN_TAIL_TARGETS, TAIL_SHARE, Tail, tails_of

INNER = Bins([-3.0, -2.0, -1.5, 0.0, 0.1, 1.0, 4.0, 6.0])
BINS = {
    "upper exponential": INNER.with_tails(upper=Tail(2.0)),
    "lower exponential": INNER.with_tails(lower=Tail(0.5)),
    "both": INNER.with_tails(Tail(0.7, 0.2), Tail(3.0, 0.4)),
    "heavy": INNER.with_tails(Tail(1.0), Tail(2.0, 0.6)),
}
some_bins = pytest.mark.parametrize("bins", BINS.values(), ids=BINS)
PROBS = torch.tensor([0.1, 0.2, 0.05, 0.3, 0.0, 0.15, 0.2], dtype=torch.float64)


@functools.cache
def parts(bins):
    """Return SciPy's distribution of each bin."""
    borders = bins.borders.numpy()
    each = [stats.uniform(a, b - a) for a, b in pairwise(borders)]
    if bins.upper_tail is not None:
        tail = bins.upper_tail
        each[-1] = stats.genpareto(tail.shape, borders[-2], tail.scale)
    if bins.lower_tail is not None:
        each[0] = Mirrored(bins.lower_tail, borders[1])
    return each


class Mirrored:
    """A generalised Pareto distribution downwards from a threshold."""

    def __init__(self, tail, threshold):
        self.upward = stats.genpareto(tail.shape, -threshold, tail.scale)

    def cdf(self, y):
        return self.upward.sf(-np.asarray(y))

    def pdf(self, y):
        return self.upward.pdf(-np.asarray(y))

    def mean(self):
        return -self.upward.mean()

    def var(self):
        return self.upward.var()

    def entropy(self):
        return self.upward.entropy()


def cdf(bins, y):
    return sum(
        p * part.cdf(y) for p, part in zip(PROBS.numpy(), parts(bins), strict=True)
    )


def pdf(bins, y):
    return sum(
        p * part.pdf(y) for p, part in zip(PROBS.numpy(), parts(bins), strict=True)
    )


# Off the borders, where SciPy closes bins on the other side.
Y = np.concatenate([np.linspace(-60, 80, 141) + 0.0123, [-1e6, 1e6, 4.5, -2.5]])


@some_bins
def test_cdf_and_density_are_scipys(bins):
    d = Histogram(bins, probs=PROBS)
    y = torch.from_numpy(Y)
    np.testing.assert_allclose(d.cdf(y), cdf(bins, Y), rtol=0, atol=1e-14)
    np.testing.assert_allclose(d.pdf(y), pdf(bins, Y), rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(
        d.prob(y - 0.3, y), cdf(bins, Y) - cdf(bins, Y - 0.3), rtol=0, atol=1e-14
    )


@some_bins
def test_quantiles_invert_the_cdf_to_infinity(bins):
    d = Histogram(bins, probs=PROBS)
    levels = torch.linspace(0.0005, 0.9995, 53, dtype=torch.float64)
    np.testing.assert_allclose(
        cdf(bins, d.quantiles(levels).numpy()), levels, atol=1e-12
    )
    ends = d.quantiles([0.0, 1.0]).tolist()
    assert ends == [bins.lowest, bins.highest]


@some_bins
def test_moments_are_those_of_the_parts(bins):
    d = Histogram(bins, probs=PROBS)
    p, each = PROBS.numpy(), parts(bins)
    mean = sum(a * part.mean() for a, part in zip(p, each, strict=True))
    second = sum(
        a * (part.var() + (part.mean() - mean) ** 2)
        for a, part in zip(p, each, strict=True)
    )
    assert d.mean.item() == pytest.approx(mean, rel=1e-12)
    second = second if bins is not BINS["heavy"] else math.inf  # of shape 0.6
    assert d.variance.item() == pytest.approx(second, rel=1e-12)
    assert d.stddev.item() == pytest.approx(math.sqrt(second), rel=1e-12)


def pieces(bins, *also):
    """Return the stretches between borders, and out to where nothing is left."""
    inner = bins.borders.numpy()[1:-1]
    far = [-1e9, -1e6, -1e4, -1e3, -100, 100, 1e3, 1e4, 1e6, 1e9]
    points = np.unique(np.concatenate([inner, [-3.0, 6.0], far, also]))
    return pairwise(points)


@some_bins
def test_the_entropy_is_that_of_choosing_a_part_and_of_the_part(bins):
    expected = sum(
        p * (part.entropy() - math.log(p))
        for p, part in zip(PROBS.tolist(), parts(bins), strict=True)
        if p > 0
    )
    assert Histogram(bins, probs=PROBS).entropy().item() == pytest.approx(expected)


@some_bins
@pytest.mark.parametrize("y", [-7.0, -2.0, 0.05, 3.0, 4.0, 4.2, 50.0])
def test_the_crps_is_the_integral(bins, y):
    def square(z):
        return (cdf(bins, z) - (z >= y)) ** 2

    total = sum(
        integrate.quad(square, a, b, limit=200, epsabs=1e-11)[0]
        for a, b in pieces(bins, y)
    )
    found = Histogram(bins, probs=PROBS).crps(torch.tensor(y, dtype=torch.float64))
    assert found.item() == pytest.approx(total, rel=1e-6)


@some_bins
def test_samples_follow_the_cdf(bins, generator):
    d = Histogram(bins, probs=PROBS)
    sample = d.sample((20_000,), generator=generator).numpy()
    assert stats.kstest(sample, lambda y: cdf(bins, y)).pvalue > 1e-3
    beyond = (sample > 6.0).mean(), (sample < -3.0).mean()
    assert beyond[0] == pytest.approx(1 - cdf(bins, 6.0), abs=0.01)
    assert beyond[1] == pytest.approx(cdf(bins, -3.0), abs=0.01)


@some_bins
def test_readings_have_finite_gradients(bins):
    logits = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    ends = (max(-9.0, bins.lowest + 0.1), min(30.0, bins.highest - 0.1))
    y = torch.tensor([ends[0], 0.5, ends[1]], dtype=torch.float64)

    def readings(logits):
        d = Histogram(bins, logits=logits)
        levels = torch.tensor([0.01, 0.5, 0.99], dtype=torch.float64)
        return d.crps(y), d.log_prob(y), d.cdf(y), d.icdf(levels), d.mean

    assert torch.autograd.gradcheck(readings, logits)


@some_bins
@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_the_shortest_interval_is_nearly_so(bins, coverage):
    d = Histogram(bins, probs=PROBS)
    starts = torch.linspace(1e-6, 1 - coverage - 1e-6, 20_001, dtype=torch.float64)
    lengths = d.quantiles(starts + coverage) - d.quantiles(starts)
    lower, upper = d.interval(coverage, "shortest")
    assert d.prob(lower, upper).item() == pytest.approx(coverage, abs=1e-9)
    assert (upper - lower).item() <= lengths.min().item() * 1.01


def test_the_mode_of_a_tail_is_where_it_begins():
    probs = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    assert Histogram(BINS["upper exponential"], probs=probs).mode == 4.0
    assert Histogram(BINS["lower exponential"], probs=probs.flip(0)).mode == -2.0


def test_without_mass_in_them_tails_change_nothing():
    probs = torch.tensor([0.0, 0.2, 0.05, 0.3, 0.25, 0.2, 0.0], dtype=torch.float64)
    plain, tailed = Histogram(INNER, probs=probs), Histogram(BINS["both"], probs=probs)
    y = torch.linspace(-1.9, 3.9, 31, dtype=torch.float64)
    for name in ("cdf", "log_prob", "crps"):
        torch.testing.assert_close(getattr(tailed, name)(y), getattr(plain, name)(y))
    torch.testing.assert_close(tailed.mean, plain.mean)
    torch.testing.assert_close(tailed.variance, plain.variance)


@some_bins
def test_bins_with_tails_survive_their_state(bins):
    assert Bins.from_state(bins.state()) == bins
    assert bins != INNER and hash(bins) != hash(INNER)
    head = HistogramHead(3, INNER)
    head.load_state_dict(HistogramHead(3, bins).state_dict())
    assert head.bins == bins
    loss = HistogramLoss(INNER)
    loss.load_state_dict(HistogramLoss(bins).state_dict())
    assert loss.bins == bins


def test_all_y_of_a_tail_are_its_mean_to_a_target():
    bins = BINS["both"]
    y = torch.tensor([4.0, 5.0, 1e3, 1e9, -2.1, -1e9], dtype=torch.float64)
    probs = targets.gaussian(y, bins, sigma_in_bins=1.0, keeps_mean=True)
    expected = torch.eye(7, dtype=torch.float64)[[-1, -1, -1, -1, 0, 0]]
    torch.testing.assert_close(probs, expected, rtol=0, atol=1e-9)
    loss = HistogramLoss(bins)
    logits = torch.randn(6, 7)
    loss(logits, y)
    assert loss.n_clipped == 0
    torch.testing.assert_close(
        HistogramLoss(bins, "one_bin")(logits, y),
        -(expected.float() * logits.log_softmax(-1)).sum(-1).mean(),
    )


@some_bins
def test_a_lower_bound_has_the_mass_of_the_tail_above_it(bins):
    y = np.array([-9.0, -2.5, 0.5, 3.9, 4.1, 30.0])
    # The last bin counts whole if it has no tail.
    end = math.inf if bins.upper_tail else bins.borders[-2].item()
    inside = torch.from_numpy(y[(y > bins.lowest) & (y < end)])
    logits = PROBS.log().expand(len(inside), 7)
    found = losses.survival_loss(logits.clamp(min=-700), inside, bins)
    expected = -np.log1p(-cdf(bins, inside.numpy()))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


def test_a_bound_far_in_a_tail_has_a_finite_loss():
    far = torch.tensor([1e6], dtype=torch.float64)
    logits = torch.zeros(1, 7, requires_grad=True)
    loss = losses.survival_loss(logits, far, BINS["upper exponential"])
    loss.backward()
    assert loss.isfinite() and logits.grad.isfinite().all()


@pytest.mark.parametrize("shape", [0.0, 0.3, 0.7])
def test_the_tail_of_a_large_sample_is_the_one_it_came_from(shape):
    drawn = stats.genpareto.rvs(shape, scale=3.0, size=20_000, random_state=1)
    tail = Tail.of(drawn, "gpd")
    # Four standard errors of the estimates, (1 + shape) / sqrt(n).
    assert tail.shape == pytest.approx(shape, abs=4 * (1 + shape) / 20_000**0.5)
    assert tail.scale == pytest.approx(3.0, rel=0.06)
    assert Tail.of(drawn, "exponential") == Tail(float(drawn.mean()))


def test_a_tail_that_would_end_is_exponential_and_one_without_a_mean_refused():
    drawn = stats.genpareto.rvs(-0.4, size=5000, random_state=1)
    assert Tail.of(drawn, "gpd").shape == 0.0
    drawn = stats.genpareto.rvs(1.5, size=5000, random_state=1)
    with pytest.raises(ValueError, match="shape below 1, got a shape of 1"):
        Tail.of(drawn, "gpd")


def test_bins_of_targets_leave_a_fiftieth_to_each_tail():
    y = np.random.default_rng(0).standard_t(3, 10_000)
    bins = Bins.of(y, tails="gpd")
    counts = Histogram(bins, probs=torch.ones(100) / 100).bins.index_of(torch.tensor(y))
    assert bins.n_bins == 100
    for end in (0, 99):
        assert (counts == end).double().mean().item() == pytest.approx(
            TAIL_SHARE, abs=2e-4
        )
    assert bins.upper_tail.shape == pytest.approx(1 / 3, abs=0.25)
    # The mean of the last bin is that of the targets in it, by its fit.
    beyond = y[y > bins.borders[-2].item()]
    assert bins.centers[-1].item() == pytest.approx(beyond.mean(), rel=0.1)


def test_targets_of_one_sign_have_no_tail_towards_zero():
    y = np.random.default_rng(0).lognormal(0, 1, 1000)
    for name in ("uniform", "log", "auto"):
        bins = Bins.of(y, tails="exponential", spacing=name)
        assert bins.lower_tail is None and bins.upper_tail is not None
    assert Bins.of(-y, tails="exponential").upper_tail is None
    assert Bins.of(y, tails=("clip", "clip")) == Bins.of(y)
    assert Bins.of(y, tails=("clip", "gpd")).lower_tail is None


def test_few_different_values_make_no_tail():
    y = np.random.default_rng(0).poisson(1.0, 1000).astype(float)
    assert tails_of(y, ("gpd", "gpd")) == (None, None)
    assert not Bins.of(y, tails="gpd").has_tails


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Tail(0.0), "scale must be finite and positive"),
        (lambda: Tail(1.0, 1.0), r"shape must lie in \[0, 1\)"),
        (
            lambda: Bins.of(np.arange(50.0), tails="gpd"),
            f"at least {4 * MIN_TAIL_TARGETS} targ",
        ),
        (lambda: Bins.of(np.arange(500.0), tails="fat"), "tails must be one of 'clip'"),
        (
            lambda: HistogramHead(3, BINS["both"]).rebin(INNER),
            "rebin needs bins without tails",
        ),
        (lambda: BINS["both"].grown(9.0), "grown needs bins without tails"),
    ],
)
def test_bad_input_gets_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e16, 1e30])
def test_tails_scale_with_y(scale):
    y = np.random.default_rng(0).lognormal(0, 1, 1000)
    bins, scaled = (Bins.of(each, tails="exponential") for each in (y, scale * y))
    np.testing.assert_allclose(scaled.borders / scale, bins.borders, rtol=1e-9)


def test_equal_values_are_on_one_side_of_a_threshold():
    rng = np.random.default_rng(0)
    y = np.concatenate(
        [-rng.exponential(1, 300), np.zeros(690), rng.exponential(1, 15)]
    )
    bins = Bins.of(y, tails="exponential")
    smallest = y[y > 0].min()
    assert bins.borders[-2].item() == pytest.approx(smallest / 2)
    assert bins.upper_tail.scale == pytest.approx((y[y > 0] - smallest / 2).mean())
    in_tail = bins.index_of(torch.from_numpy(y)) == bins.n_bins - 1
    assert in_tail.sum() == 15


@pytest.mark.parametrize("n_below", [0, 25])
def test_ties_that_leave_nothing_between_thresholds_have_no_tails(n_below):
    rng = np.random.default_rng(0)
    far = rng.exponential(1, 75)
    y = np.concatenate([-rng.exponential(1, n_below), np.zeros(4900), far])
    assert Bins.of(y, tails="exponential") == Bins.of(y)


def test_bins_with_a_tail_are_never_even():
    bins = Bins.uniform(0.0, 10.0, 10).with_tails(upper=Tail(0.5))  # as wide as others
    assert bins.widths.std() < 1e-12 and not bins.is_uniform


def test_a_far_tail_keeps_its_digits():
    bins = Bins.uniform(0.0, 10.0, 10).with_tails(upper=Tail(3.0))
    d = Histogram(bins, probs=torch.full((10,), 0.1, dtype=torch.float64))
    for y in (12.0, 100.0, 130.0, 1000.0):
        expected = 0.1 * math.exp(-(y - 9) / 3)
        assert d.prob(y, math.inf).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("span", [1e-170, 1.0, 1e200])
def test_the_spread_of_a_tail_of_any_size(span):
    bins = Bins.uniform(0.0, 10.0, 10).with_tails(upper=Tail(3.0, 0.2))
    probs = torch.full((10,), 0.1, dtype=torch.float64)
    scaled = Bins(span * bins.borders).with_tails(upper=Tail(3.0 * span, 0.2))
    expected = Histogram(bins, probs=probs).stddev.item()
    found = Histogram(scaled, probs=probs).stddev.item() / span
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_density_has_the_dtype_of_its_parameters():
    d = Histogram(BINS["both"], probs=PROBS.float())
    assert d.log_prob(torch.tensor([1.0, 50.0])).dtype == torch.float32


@some_bins
def test_a_bound_in_a_tail_is_counted_where_it_is(bins):
    y = torch.tensor([-9.0, -2.5, 0.05, 4.5, 12.0, 60.0], dtype=torch.float64)
    y = y.clamp(bins.lowest, bins.highest)
    logits = (PROBS + 0.01).log().expand(len(y), -1)
    censored = torch.ones(len(y), dtype=torch.bool)
    found = HistogramLoss(bins, reduction="none")(logits, y, censored=censored)
    exact = -Histogram(bins, logits=logits).prob(y, math.inf).log()
    if bins.upper_tail is None:  # the last bin counts whole
        exact[3:] = -logits.log_softmax(-1)[0, -1]
    torch.testing.assert_close(found, exact)


@pytest.mark.parametrize("tails", [("gpd",), None, 5, ("clip", "clip", "clip")])
def test_tails_that_are_no_name_nor_pair_are_refused(tails):
    with pytest.raises(ValueError, match="tails must be a name or a pair of names"):
        Bins.of([1.0, 2.0], tails=tails)


def test_too_few_bins_for_two_tails_are_refused():
    y = np.random.default_rng(0).standard_t(3, 1000)
    with pytest.raises(ValueError, match="n_bins must leave bins between the tails"):
        Bins.of(y, n_bins=2, padding_in_sigmas=0, tails="exponential")
