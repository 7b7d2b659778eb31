"""Comparisons: paired differences between two conditions, and tests of their mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import stats

from histreg.study.analysis.estimates import Estimate

Alternative = Literal["less", "greater", "two-sided"]
"""What is tested: that the differences are below 0, above 0, or either."""


@dataclass(frozen=True)
class Comparison:
    """Differences between two conditions, one for each pair.

    Pairs are seeds, which fix the split, the first weights and the batches, so that
    what is left of a difference is the condition and its interplay with these; or they
    are games, whose differences are logarithms of ratios (`histreg.study.analysis
    .ratios`). Claims are decided by the intervals; p-values are for tables. That of the
    permutation test is exact and assumes no distribution, but of five pairs it cannot
    be below 1/16 (two-sided).

    Parameters
    ----------
    differences : tuple of float
        The first condition minus the second.

    Examples
    --------
    >>> lower = Comparison.of({1: 1.0, 2: 1.5, 3: 1.0}, {1: 2.0, 2: 2.5, 3: 2.5})
    >>> lower.mean
    -1.1666666666666667
    >>> lower.p_permutation("less")
    0.125
    """

    differences: tuple[float, ...]

    @classmethod
    def of(cls, a: Mapping[int, float], b: Mapping[int, float]) -> Comparison:
        """Compare numbers by seed; only seeds that both have count."""
        return cls(tuple(a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())))

    @property
    def n(self) -> int:
        """The number of pairs."""
        return len(self.differences)

    @property
    def n_lower(self) -> int:
        """The number of pairs in which the first condition is lower."""
        return sum(difference < 0 for difference in self.differences)

    @cached_property
    def estimate(self) -> Estimate:
        """The mean difference with its standard error."""
        return Estimate.of(self.differences)

    @property
    def mean(self) -> float:
        """The mean difference; NaN without pairs."""
        return self.estimate.mean

    @property
    def interval(self) -> tuple[float, float]:
        """Student's 95 % interval of the mean; NaN with fewer than two pairs."""
        half = self.estimate.half_interval
        return self.mean - half, self.mean + half

    @property
    def t(self) -> float:
        """The mean in standard errors; NaN with fewer than two pairs."""
        return self.estimate.apart(Estimate(0.0, 0.0))

    def p_permutation(self, alternative: Alternative) -> float:
        """Return p of the exact test that permutes the signs of the differences.

        The share, among all ways to give the differences signs, of means that are as
        low ("less") or as high ("greater") as the one observed; twice the smaller of
        these ("two-sided"). 1 without pairs, and where a difference is not finite.
        """
        if alternative == "two-sided":
            sides = (self.p_permutation("less"), self.p_permutation("greater"))
            return min(1.0, 2 * min(sides))
        if not any(self.differences):
            return 1.0
        if not all(map(math.isfinite, self.differences)):
            return 1.0  # comparisons with NaN are false, so SciPy would count none
        if self.n == 1:  # SciPy raises an error
            agrees = self.mean < 0 if alternative == "less" else self.mean > 0
            return 0.5 if agrees else 1.0
        result = stats.permutation_test(
            (np.array(self.differences),),
            np.mean,
            permutation_type="samples",
            n_resamples=100_000,  # exact up to 16 pairs
            alternative=alternative,
            rng=np.random.default_rng(0),  # for more
        )
        return float(result.pvalue)

    def p_t(self, alternative: Alternative) -> float:
        """Return p of Student's t-test of a mean of 0; NaN with fewer than two."""
        if self.n < 2:
            return math.nan
        if alternative == "two-sided":
            return 2 * float(stats.t.cdf(-abs(self.t), self.n - 1))
        t = self.t if alternative == "less" else -self.t
        return float(stats.t.cdf(t, self.n - 1))

    def p_sign(self, alternative: Alternative) -> float:
        """Return p of the exact sign test: as many pairs lower, or more ("less").

        Pairs without a difference are left out; 1 if there are no others.
        """
        n = sum(difference != 0 for difference in self.differences)
        if not n:
            return 1.0
        # The more pairs are lower, the lower the first condition.
        of_count = {"less": "greater", "greater": "less"}.get(alternative, alternative)
        return float(stats.binomtest(self.n_lower, n, alternative=of_count).pvalue)

    @property
    def lower_share_interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the share of pairs in which the first is lower.

        Clopper and Pearson's; pairs without a difference are left out. From 0 to 1 if
        there are no others.
        """
        n = sum(difference != 0 for difference in self.differences)
        if not n:
            return 0.0, 1.0
        interval = stats.binomtest(self.n_lower, n).proportion_ci(0.95)
        return float(interval.low), float(interval.high)

    @property
    def p_wilcoxon(self) -> float:
        """Two-sided p of Wilcoxon's signed-rank test.

        Exact for 50 pairs or fewer, if no two have the same size. Pairs without a
        difference are left out; 1 if there are no others.
        """
        moved = [difference for difference in self.differences if difference]
        return float(stats.wilcoxon(moved).pvalue) if moved else 1.0
