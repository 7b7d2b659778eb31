r"""Conformal intervals: a finite-sample promise from rows that were not trained on.

Intervals are widened or narrowed in probability, not in units of y: an interval
between the levels a and b of the predicted cdf F becomes that between a - t and b + t,
with one t for all rows. Central intervals have a = (1 - coverage) / 2 and b = 1 - a
(distributional conformal prediction, Chernozhukov et al. 2021); shortest ones have
the levels of each row's own shortest interval (in the spirit of conformal histogram
regression, Sesia and Romano 2021).

The score of a calibration row is the smallest t whose interval holds its y,
max(a - F(y), F(y) - b), and t is the ceil((n + 1) coverage)-th smallest of the n
scores. If the rows to come are exchangeable with them, the interval covers with
probability at least the coverage asked for, and at most 1 / (n + 1) above it unless
scores are tied.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from histreg._checks import check_choice, check_fraction
from histreg.distribution import Histogram

METHODS = ("central", "shortest")
HAIR = 1e-12  # in probability


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
        In probability, negative where it may shrink; infinite for y outside the bins,
        which no interval within them can hold.
    """
    lower, upper = _levels(distribution, coverage, method)
    at_y = distribution.cdf(y)
    grown = torch.maximum(lower - at_y, at_y - upper)
    outside = (y < distribution.bins.lowest) | (y > distribution.bins.highest)
    return grown.masked_fill(outside, math.inf)


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

    Levels beyond 0 and 1 give the ends of the bins; an infinite t gives infinite
    ends; a t so negative that nothing is left gives the middle level twice.
    """
    lower, upper = _levels(distribution, coverage, method)
    if math.isinf(t):
        return torch.full_like(lower, -math.inf), torch.full_like(upper, math.inf)
    middle = (lower + upper) / 2
    # A hair wider, so that the row whose score is t is inside despite rounding, and a
    # y in a gap without mass, where the cdf is flat, is not cut off.
    start = torch.minimum(lower - t - HAIR, middle).clamp(min=0)
    end = torch.maximum(upper + t + HAIR, middle).clamp(max=1)
    bins = distribution.bins
    # The quantile at level 0 is where the mass begins, that of 1 where it ends; an
    # interval of all levels is all of the bins.
    below = distribution.icdf(start).masked_fill(start <= 0, bins.lowest)
    above = distribution.icdf(end).masked_fill(end >= 1, bins.highest)
    return below, above


def _levels(
    distribution: Histogram, coverage: float, method: str
) -> tuple[Tensor, Tensor]:
    check_fraction("coverage", coverage)
    check_choice("method", method, METHODS)
    if method == "shortest":
        lower, upper = distribution.interval(coverage, "shortest")
        return distribution.cdf(lower), distribution.cdf(upper)
    tail = torch.full(distribution.batch_shape, (1 - coverage) / 2, dtype=torch.float64)
    return tail, 1 - tail
