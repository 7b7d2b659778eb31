r"""Conformal intervals: a finite-sample promise from rows that were not trained on.

An interval that leaves the probabilities a below and b above it, by the predicted
distribution, is widened or narrowed to one that leaves (1 - t) a and (1 - t) b, with
one t for all rows. Central intervals have a = b = (1 - coverage) / 2 (distributional
conformal prediction, Chernozhukov et al. 2021); shortest ones have what each row's own
shortest interval leaves (in the spirit of conformal histogram regression, Sesia and
Romano 2021). What is left stays positive for t < 1, so that an end in a tail is finite
unless all of the line is needed.

These intervals are nested: a greater t gives one that holds the others. The score of a
calibration row is the smallest t whose interval holds its y,

.. math:: 1 - \min(F(y) / a, (1 - F(y)) / b)

with the predicted cdf F, and t is the ceil((n + 1) coverage)-th smallest of the n
scores. If the rows to come are exchangeable with them, the interval covers with
probability at least the coverage asked for, and at most 1 / (n + 1) above it unless
scores are tied: the theorem of nested conformal prediction (Gupta, Kuchibhotla and
Ramdas 2022, "Nested conformal prediction and quantile out-of-bag ensemble methods").
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from histreg._checks import check_choice, check_fraction
from histreg._names import INTERVALS
from histreg.distribution import Histogram

HAIR = 1e-12  # of the probability that is left outside
ROUNDING = 4 * torch.finfo(torch.float64).eps  # of a level near one


def scores(
    distribution: Histogram, y: Tensor, coverage: float, method: str = "central"
) -> Tensor:
    """Return how far the interval of each row must grow to hold its y.

    Parameters
    ----------
    distribution : Histogram of batch shape (n,)
    y : Tensor of shape (n,)
    coverage : float in (0, 1)
    method : {"central", "shortest"}

    Returns
    -------
    Tensor of shape (n,)
        The t of the interval that ends at y: at most 1, negative where it may shrink;
        infinite for y outside the bins, which no interval within them can hold.
    """
    below, above = _left_outside(distribution, coverage, method)
    kept = torch.minimum(
        _ratio(distribution.cdf(y), below),
        _ratio(_survival(distribution, y), above),
    )
    outside = (y < distribution.bins.lowest) | (y > distribution.bins.highest)
    return (1 - kept).masked_fill(outside, math.inf)


def growth(score: Tensor, coverage: float) -> float:
    """Return the t of these scores: their ceil((n + 1) coverage)-th smallest.

    Infinite where there are too few rows to promise so much (n < coverage /
    (1 - coverage)), or too many with y outside the bins.
    """
    check_fraction("coverage", coverage)
    # 0.9 * 10 is 9.000000000000002 for some products: a hair must not cost a rank.
    rank = math.ceil((len(score) + 1) * coverage - 1e-9)
    if rank > len(score):
        return math.inf
    return score.sort().values[rank - 1].item()


def interval(
    distribution: Histogram, coverage: float, method: str, t: float
) -> tuple[Tensor, Tensor]:
    """Return the ends of the intervals grown by t, each of shape (n,).

    From t = 1 on they are the ends of the bins, which are infinite with tails; an
    infinite t gives infinite ends; a t so negative that nothing is left gives one
    quantile twice, that at a / (a + b).
    """
    below, above = _left_outside(distribution, coverage, method)
    if math.isinf(t):
        return torch.full_like(below, -math.inf), torch.full_like(above, math.inf)
    # A hair wider, so that the row whose score is t is inside despite rounding, and a
    # y in a gap without mass, where the cdf is flat, is not cut off.
    kept = min(max(1 - t, 0.0), 1 / (1 - coverage)) * (1 - HAIR)
    start, rest = below * kept, above * kept
    # Not so much wider that nothing is left, which would be an infinite end.
    largest = 1 - torch.finfo(torch.float64).eps / 2
    end = (1 - rest + ROUNDING).clamp(max=largest).masked_fill(rest <= 0, 1.0)
    end = torch.maximum(start, end)
    bins = distribution.bins
    # The quantile at level 0 is where the mass begins, that of 1 where it ends; an
    # interval of all levels is all of the bins.
    lower = distribution.icdf(start).masked_fill(start <= 0, bins.lowest)
    upper = distribution.icdf(end).masked_fill(end >= 1, bins.highest)
    return lower, upper


def _left_outside(
    distribution: Histogram, coverage: float, method: str
) -> tuple[Tensor, Tensor]:
    """Return the probability below and above each interval before calibration, (n,)."""
    check_fraction("coverage", coverage)
    check_choice("method", method, INTERVALS)
    if method == "shortest":
        lower, upper = distribution.interval(coverage, "shortest")
        return distribution.cdf(lower), _survival(distribution, upper)
    tail = torch.full(distribution.batch_shape, (1 - coverage) / 2, dtype=torch.float64)
    return tail, tail


def _survival(distribution: Histogram, y: Tensor) -> Tensor:
    """Return P(Y > y), small ones with all their digits."""
    return distribution._at(distribution._tail_at_borders, y)


def _ratio(probability: Tensor, left: Tensor) -> Tensor:
    """Return what share of the probability left on a side is beyond y.

    Infinite where none is left: the interval then has the end of the bins on that side
    whatever t is.
    """
    return (probability / left).masked_fill(left <= 0, math.inf)
