r"""Conformal intervals: finite-sample coverage, from rows that were not trained on.

An interval that leaves the probabilities a below and b above it, by the predicted
distribution, is widened or narrowed to one that leaves (1 - t) a and (1 - t) b, with
one t for all rows. Central intervals have a = b = (1 - coverage) / 2 (distributional
conformal prediction, Chernozhukov et al. 2021); shortest ones have what each row's own
shortest interval leaves (similar to conformal histogram regression, Sesia and
Romano 2021). What is left stays positive for t < 1, so that an end in a tail is finite
unless the whole line is needed.

These intervals are nested: that of a greater t contains the others. The score of a
calibration row is the smallest t whose interval contains its y,

.. math:: 1 - \min(F(y) / a, (1 - F(y)) / b)

with the predicted cdf F, and t is the ceil((n + 1) coverage)-th smallest of the n
scores. If the rows to come are exchangeable with them, the interval covers with
probability at least the coverage asked for, and at most 1 / (n + 1) above it unless
scores are tied: the theorem of nested conformal prediction (Gupta, Kuchibhotla and
Ramdas 2022, "Nested conformal prediction and quantile out-of-bag ensemble methods").

With groups, each has its own t, from its own calibration rows. The same theorem then
holds within every group, if its rows are exchangeable (Mondrian conformal prediction:
Vovk, Gammerman and Shafer 2005, "Algorithmic learning in a random world", Section 4.5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from histreg._checks import check_choice, check_fraction
from histreg._names import INTERVALS
from histreg._tensors import as_float64
from histreg.bins import Bins
from histreg.distribution import Histogram
from histreg.tabular.row_groups import RowGroups

MARGIN = 1e-12  # relative, of the probability that is left outside
ROUNDING = 4 * torch.finfo(torch.float64).eps  # of a level near one


@dataclass(frozen=True, eq=False)
class Calibration:
    """The calibration rows: their predictions and their y.

    Parameters
    ----------
    bins : sequence of m Bins
    logits : Tensor of shape (n, m, k), float64
        With all their digits, so that equal scores are equal to those of predictions.
    y : Tensor of shape (n, m), float64
    groups : RowGroups, optional
        The group of each row, if each is to be calibrated by itself.
    """

    bins: Sequence[Bins]
    logits: Tensor
    y: Tensor
    groups: RowGroups | None = None
    _growths: dict[tuple[float, str], list[float]] = field(
        default_factory=dict, init=False, repr=False
    )
    _group_growths: dict[tuple[float, str], list[Tensor]] = field(
        default_factory=dict, init=False, repr=False
    )

    def distribution(self, i: int) -> Histogram:
        """Return the predictions of the i-th target."""
        return Histogram(self.bins[i], logits=self.logits[:, i])

    def growths(self, coverage: float, method: str) -> list[float]:
        """Return the t of each target, see `growth`; kept for the next call."""
        key = (coverage, method)
        if key not in self._growths:
            self._growths[key] = [
                growth(score, coverage) for score in self._scores(coverage, method)
            ]
        return self._growths[key]

    def growths_of(
        self, coverage: float, method: str, codes: Tensor | None
    ) -> Sequence[float | Tensor]:
        """Return the t of each target, one for all rows or (n,) by their groups.

        Parameters
        ----------
        coverage : float in (0, 1)
        method : {"central", "shortest"}
        codes : Tensor of shape (n,), optional
            Of the rows to predict for, see `RowGroups.codes_of`.

        Raises
        ------
        InputError
            If there are groups, and those of the rows are not known.
        """
        if self.groups is None:
            return self.growths(coverage, method)
        codes = self.groups.checked(codes)
        key = (coverage, method)
        if key not in self._group_growths:
            own = self.groups.codes
            # One more for groups without calibration rows: nothing can be promised.
            self._group_growths[key] = [
                as_float64(
                    [growth(s[own == g], coverage) for g in range(self.groups.n)]
                    + [math.inf]
                )
                for s in self._scores(coverage, method)
            ]
        return [by_group[codes] for by_group in self._group_growths[key]]

    def _scores(self, coverage: float, method: str) -> list[Tensor]:  # m of (n,)
        return [
            scores(self.distribution(i), self.y[:, i], coverage, method)
            for i in range(len(self.bins))
        ]


def scores(
    distribution: Histogram, y: Tensor, coverage: float, method: str = "central"
) -> Tensor:
    """Return how far the interval of each row must grow to contain its y.

    Parameters
    ----------
    distribution : Histogram of batch shape (n,)
    y : Tensor of shape (n,)
    coverage : float in (0, 1)
    method : {"central", "shortest"}

    Returns
    -------
    Tensor of shape (n,)
        The t of the interval that ends at y: at most 1, negative where it may shrink,
        and infinite for y outside the bins.
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

    Infinite with too few rows for this coverage (n < coverage / (1 - coverage)), or too
    many y outside the bins.
    """
    check_fraction("coverage", coverage)
    # Products such as 0.9 * 10 may come out as 9.000000000000002.
    rank = math.ceil((len(score) + 1) * coverage - 1e-9)
    if rank > len(score):
        return math.inf
    return score.sort().values[rank - 1].item()


def interval(
    distribution: Histogram, coverage: float, method: str, t: float | Tensor
) -> tuple[Tensor, Tensor]:
    """Return the ends of the intervals grown by t (one, or one per row), each (n,).

    From t = 1 on they are the ends of the bins, which are infinite with tails; an
    infinite t gives infinite ends; a t so negative that nothing is left gives one
    quantile twice, that at a / (a + b).
    """
    below, above = _left_outside(distribution, coverage, method)
    t = as_float64(t).expand(below.shape)
    start, end = _levels(below, above, coverage, t)
    bins = distribution.bins
    # The quantile at level 0 is where the mass begins, and that at 1 where it ends; an
    # interval of all levels must be all of the bins.
    lower = distribution.icdf(start).masked_fill(start <= 0, bins.lowest)
    upper = distribution.icdf(end).masked_fill(end >= 1, bins.highest)
    endless = t == math.inf
    return lower.masked_fill(endless, -math.inf), upper.masked_fill(endless, math.inf)


def central_levels(coverage: float, t: float) -> Tensor:  # (2,)
    """Return the levels of the quantiles that a central interval ends at.

    NaN from t = 1 on, where it ends with the bins or not at all.
    """
    tail = as_float64([(1 - coverage) / 2])
    levels = torch.cat(_levels(tail, tail, coverage, as_float64([t])))
    return levels if t < 1 else torch.full_like(levels, math.nan)


def _levels(
    below: Tensor, above: Tensor, coverage: float, t: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the levels at which intervals grown by t begin and end, (n,) each.

    ``below`` and ``above`` is what they leave outside before.
    """
    # Slightly wider, so that the row whose score is t is inside despite rounding, and
    # so that a y in a gap without mass, where the cdf is flat, is not cut off.
    kept = (1 - t).clamp(0.0, 1 / (1 - coverage)) * (1 - MARGIN)
    start, rest = below * kept, above * kept
    # But not so wide that nothing is left outside, which would be an infinite end.
    largest = 1 - torch.finfo(torch.float64).eps / 2
    end = (1 - rest + ROUNDING).clamp(max=largest).masked_fill(rest <= 0, 1.0)
    return start, torch.maximum(start, end)


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
    """Return P(Y > y), accurate also where it is small."""
    return distribution._at(distribution._tail_at_borders, y)


def _ratio(probability: Tensor, left: Tensor) -> Tensor:
    """Return the share of the probability left on a side that is beyond y.

    Infinite where none is left: on that side the interval ends with the bins for any t.
    """
    return (probability / left).masked_fill(left <= 0, math.inf)
