"""Comparisons: the same seeds under two conditions, by exact tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

LEVEL = 0.05
"""Of a one-sided test: with five seeds, all five must agree (1 of 32)."""


@dataclass(frozen=True)
class Comparison:
    """Differences between two conditions, one for each seed that both have.

    Seeds fix the split, the first weights and the batches, so that what is left of a
    difference is the condition and its interplay with these.

    Parameters
    ----------
    differences : tuple of float
        The first condition minus the second.

    Examples
    --------
    >>> found = Comparison.of({1: 1.0, 2: 1.5, 3: 1.0}, {1: 2.0, 2: 2.5, 3: 2.5})
    >>> found.mean
    -1.1666666666666667
    >>> found.p_lower
    0.125
    """

    differences: tuple[float, ...]

    @classmethod
    def of(cls, a: Mapping[int, float], b: Mapping[int, float]) -> Comparison:
        """Compare numbers by seed; a seed that only one has does not take part."""
        return cls(tuple(a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())))

    @property
    def n(self) -> int:
        """How many seeds there are."""
        return len(self.differences)

    @property
    def mean(self) -> float:
        """The mean difference; NaN without seeds."""
        return math.fsum(self.differences) / self.n if self.n else math.nan

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return Student's interval of the mean; NaN with fewer than two seeds."""
        if self.n < 2:
            return math.nan, math.nan
        half = stats.t.ppf((1 + level) / 2, self.n - 1) * stats.sem(self.differences)
        return self.mean - float(half), self.mean + float(half)

    @property
    def p_lower(self) -> float:
        """How probable so low a mean is if signs are chance: exact, one-sided.

        The share, among all ways to give the differences signs, of means that are as
        low or lower. 1 without seeds.
        """
        return self._p("less")

    @property
    def p_higher(self) -> float:
        """The same for so high a mean."""
        return self._p("greater")

    def _p(self, side: str) -> float:
        if not any(self.differences):
            return 1.0
        if not all(map(math.isfinite, self.differences)):
            return 1.0  # nothing compares with NaN, so that SciPy would find none
        if self.n == 1:  # which SciPy refuses
            is_so = self.mean < 0 if side == "less" else self.mean > 0
            return 0.5 if is_so else 1.0
        found = stats.permutation_test(
            (np.array(self.differences),),
            np.mean,
            permutation_type="samples",
            n_resamples=100_000,  # exact up to 16 seeds
            alternative=side,
            rng=np.random.default_rng(0),  # for more
        )
        return float(found.pvalue)
