"""Conformal intervals: the scores, and the promise over many draws."""

import itertools
import math

import pytest
import torch

from histreg import Bins, Histogram
from histreg._names import INTERVALS
from histreg.tabular import conformal
from histreg.tails import Tail

BINS = Bins.uniform(-6.0, 6.0, 60)


def normal_histogram(mean, sigma):
    """Return the masses of normal distributions, (n,) each."""
    borders = BINS.borders
    z = (borders - mean[:, None]) / sigma[:, None]
    return Histogram(BINS, probs=torch.special.ndtr(z).diff(dim=-1).clamp(min=1e-12))


def draw(n, generator):
    """Return wrong predictions (half as wide as they should be) and what came."""
    mean = torch.randn(n, generator=generator, dtype=torch.float64)
    sigma = 0.3 + torch.rand(n, generator=generator, dtype=torch.float64)
    noise = torch.randn(n, generator=generator, dtype=torch.float64)
    y = mean + sigma * noise
    return normal_histogram(mean, sigma / 2), y


@pytest.mark.parametrize("method", INTERVALS)
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_the_score_is_the_least_growth_that_holds_y(method, coverage, generator):
    d, y = draw(50, generator)
    scores = conformal.scores(d, y, coverage, method)
    for i in range(len(y)):
        if scores[i].isinf():
            continue
        for change, holds in ((1e-6, True), (-1e-6, False)):
            t = scores[i].item() + change
            lower, upper = conformal.interval(d[i : i + 1], coverage, method, t)
            # Shrunk to nothing, an interval is its middle, which may be y.
            if (upper > lower).all():
                assert bool((lower <= y[i]) & (y[i] <= upper)) == holds


@pytest.mark.parametrize("method", INTERVALS)
def test_intervals_are_nested_in_the_growth(method, generator):
    d, _ = draw(20, generator)
    ends = [
        conformal.interval(d, 0.8, method, t) for t in (-0.6, -0.2, 0.0, 0.1, 0.5, 2.0)
    ]
    for (l_1, u_1), (l_2, u_2) in itertools.pairwise(ends):
        assert (l_2 <= l_1).all() and (u_1 <= u_2).all()


@pytest.mark.parametrize("method", INTERVALS)
def test_no_growth_is_the_interval_of_the_distribution(method, generator):
    d, _ = draw(20, generator)
    expected = d.interval(0.8, method)
    for end, other in zip(
        conformal.interval(d, 0.8, method, 0.0), expected, strict=True
    ):
        torch.testing.assert_close(end, other, rtol=0, atol=1e-6)


def test_the_growth_is_the_right_rank():
    scores = torch.arange(1, 10, dtype=torch.float64)  # nine of them
    assert conformal.growth(scores, 0.9) == 9  # ceil(10 * 0.9)
    assert conformal.growth(scores, 0.5) == 5
    assert conformal.growth(scores, 0.51) == 6
    assert conformal.growth(scores, 0.91) == math.inf  # too few rows to promise that


def test_y_outside_the_bins_takes_an_infinite_interval():
    d, _ = draw(2, torch.Generator().manual_seed(0))
    outside = torch.tensor([7.0, -6.5], dtype=torch.float64)
    assert conformal.scores(d, outside, 0.9).isinf().all()
    lower, upper = conformal.interval(d, 0.9, "central", math.inf)
    assert lower.isneginf().all() and upper.isposinf().all()


def test_a_y_in_a_gap_of_the_mass_is_covered_at_its_own_score():
    probs = torch.zeros(1, 60, dtype=torch.float64)
    probs[0, 5], probs[0, 50] = 0.95, 0.05
    d = Histogram(BINS, probs=probs)
    y = torch.tensor([0.1], dtype=torch.float64)  # the cdf is 0.95 here, and flat
    t = conformal.scores(d, y, 0.9).item()
    lower, upper = conformal.interval(d, 0.9, "central", t)
    assert lower <= y <= upper


def test_central_intervals_move_both_levels_alike(generator):
    """With t = 0.4, a coverage of 0.9 leaves 0.6 of 0.05 on each side: 0.94."""
    d, _ = draw(20, generator)
    found = conformal.interval(d, 0.9, "central", 0.4)
    for end, expected in zip(found, d.interval(0.94), strict=True):
        torch.testing.assert_close(end, expected)


def heavy(n, generator):
    """Return too narrow predictions with tails without end, and skewed y."""
    bins = BINS.with_tails(Tail(0.5, 0.4), Tail(2.0, 0.6))
    mean = torch.randn(n, generator=generator, dtype=torch.float64)
    y = mean + torch.rand(n, generator=generator, dtype=torch.float64) ** -0.7 - 2
    z = (bins.borders - mean[:, None]) / 0.5
    probs = torch.special.ndtr(z).diff(dim=-1).clamp(min=1e-12)
    return Histogram(bins, probs=probs / probs.sum(-1, keepdim=True)), y


@pytest.mark.parametrize("method", INTERVALS)
def test_intervals_in_heavy_tails_are_finite_and_cover(method, generator):
    """Calibrated on 999 rows, tested on 4,000.

    The share covered has a standard deviation of sqrt(0.09 / 1001 + 0.09 / 4000) =
    0.0106; four of them fail once in 16,000.
    """
    coverage = 0.9
    d, y = heavy(999, generator)
    t = conformal.growth(conformal.scores(d, y, coverage, method), coverage)
    assert 0.5 < t < 1  # much too narrow before
    d, y = heavy(4000, generator)
    lower, upper = conformal.interval(d, coverage, method, t)
    assert lower.isfinite().all() and upper.isfinite().all()
    covered = ((lower <= y) & (y <= upper)).double().mean().item()
    assert abs(covered - coverage) < 0.0424


def test_a_side_of_which_hardly_anything_is_left_has_a_finite_end():
    probs = torch.full((1, 60), 1e-16, dtype=torch.float64)
    probs[0, 30] = 1
    for bins in (BINS.with_tails(upper=Tail(1.0)), BINS.with_tails(lower=Tail(1.0))):
        d = Histogram(bins, probs=probs / probs.sum())
        for t in (0.0, 0.5, 1 - 1e-9):
            for end in conformal.interval(d, 0.9, "shortest", t):
                assert end.isfinite().all()


@pytest.mark.parametrize("method", INTERVALS)
def test_coverage_is_kept_over_many_draws(method, generator):
    """Exact: over calibration and test draws it is in [c, c + 1 / (n + 1)].

    4,000 draws of n = 39 and one test row: a standard deviation of 0.0047 at c = 0.9;
    four of them fail once in 16,000. Before calibration these cover 59 %.
    """
    n, repeats, coverage = 39, 4000, 0.9
    d, y = draw(repeats * (n + 1), generator)
    scores = conformal.scores(d, y, coverage, method).view(repeats, n + 1)
    lower = torch.empty(repeats)
    held = 0
    for i in range(repeats):
        t = conformal.growth(scores[i, :n], coverage)
        held += bool(scores[i, n] <= t)
        lower[i] = t
    deviation = math.sqrt(coverage * (1 - coverage) / repeats)
    share = held / repeats
    assert coverage - 4 * deviation < share < coverage + 1 / (n + 1) + 4 * deviation
    before = (scores <= 0).double().mean().item()
    assert before < 0.7


def test_growths_are_those_of_each_target_and_computed_once(monkeypatch):
    bins = [Bins.uniform(0, 1, 4), Bins.uniform(0, 100, 4)]
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(30, 2, 4, generator=generator, dtype=torch.float64)
    y = torch.rand(30, 2, generator=generator, dtype=torch.float64) * torch.tensor(
        [1.0, 100.0]
    )
    calibration = conformal.Calibration(bins, logits, y)
    found = calibration.growths(0.8, "shortest")
    for i, each in enumerate(bins):
        d = Histogram(each, logits=logits[:, i])
        scores = conformal.scores(d, y[:, i], 0.8, "shortest")
        assert found[i] == conformal.growth(scores, 0.8)
    assert calibration.growths(0.8, "central") != found
    monkeypatch.setattr(conformal, "scores", None)
    assert calibration.growths(0.8, "shortest") == found
