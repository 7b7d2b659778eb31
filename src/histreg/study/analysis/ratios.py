"""Ratios: the error of HL-Gauss over that of l2, game by game, and over games."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from scipy import stats

from histreg.errors import InputError
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.statistics import (
    ValueSetting,
    value_settings,
)
from histreg.study.engine.runs import Record
from histreg.study.methods import L2, HLGauss


def log_ratio(a: Mapping[int, float], b: Mapping[int, float]) -> float:
    r"""Return the mean, over the seeds that both have, of :math:`\log(a / b)`.

    The mean of logs rather than the log of means: with one seed it is the paper's
    number, and with more its expectation stays the same, while the log of a mean over
    seeds grows with their number (Jensen's inequality), and is most of all that of the
    worst seed. Seeds are paired, since they fix the first weights and the batches.

    Parameters
    ----------
    a, b : mapping of int to float
        Errors by seed, which must be positive.

    Returns
    -------
    float
        NaN without seeds in common.

    Examples
    --------
    >>> round(log_ratio({1: 2.0, 2: 1.0, 3: 9.0}, {1: 1.0, 2: 8.0}), 4)  # of 2 and 1/8
    -0.6931
    """
    common = sorted(a.keys() & b.keys())
    if not all(a[seed] > 0 and b[seed] > 0 for seed in common):
        raise InputError(f"errors must be positive to have a ratio, got {a} and {b}")
    logs = [math.log(a[seed] / b[seed]) for seed in common]
    return math.fsum(logs) / len(logs) if logs else math.nan


@dataclass(frozen=True)
class Ratios:
    """Logs of ratios of errors, one for each game, and what they say together.

    The games are the sample: tests and intervals are about games like these.

    Parameters
    ----------
    logs : tuple of float
        Below 0 where HL-Gauss has the lower error.

    Examples
    --------
    >>> found = Ratios((-0.2, -0.3, -0.1, 0.2))
    >>> found.n_lower
    3
    >>> round(found.geometric_mean, 4)
    0.9048
    """

    logs: tuple[float, ...]

    @property
    def n(self) -> int:
        """How many games there are."""
        return len(self.logs)

    @property
    def n_lower(self) -> int:
        """In how many HL-Gauss has the lower error."""
        return sum(each < 0 for each in self.logs)

    @cached_property
    def estimate(self) -> Estimate:
        """The mean with its standard error."""
        return Estimate.of(self.logs)

    @property
    def interval(self) -> tuple[float, float]:
        """Student's 95 % interval of the mean; NaN with fewer than two games."""
        mean, half = self.estimate.mean, self.estimate.half_interval
        return mean - half, mean + half

    @property
    def t(self) -> float:
        """The mean in standard errors; NaN with fewer than two games."""
        return self.estimate.apart(Estimate(0.0, 0.0))

    @property
    def p_lower(self) -> float:
        """Of the one-sided t-test: how probable so low a mean is if 0 is the truth."""
        return self._tail(self.t)

    @property
    def p_higher(self) -> float:
        """The same for so high a mean."""
        return self._tail(-self.t)

    @property
    def p(self) -> float:
        """Of the two-sided t-test."""
        return 2 * self._tail(-abs(self.t))

    def _tail(self, t: float) -> float:
        return float(stats.t.cdf(t, self.n - 1)) if self.n > 1 else math.nan

    @property
    def p_wilcoxon(self) -> float:
        """Of Wilcoxon's signed-rank test, two-sided.

        Exact of 50 games or fewer, if no two have the same size. Games without a
        difference do not take part; 1 if there are no others.
        """
        moved = [each for each in self.logs if each]
        return float(stats.wilcoxon(moved).pvalue) if moved else 1.0

    @property
    def p_sign(self) -> float:
        """Of the exact sign test, two-sided; games without a difference are left out.

        1 if there are no others.
        """
        return self._signs("two-sided")

    @property
    def p_most_lower(self) -> float:
        """Of the same, one-sided: as many games lower, or more, by chance."""
        return self._signs("greater")

    @property
    def p_most_higher(self) -> float:
        """The same for as few, or fewer."""
        return self._signs("less")

    def _signs(self, side: str) -> float:
        n = sum(each != 0 for each in self.logs)
        if not n:
            return 1.0
        return float(stats.binomtest(self.n_lower, n, alternative=side).pvalue)

    @property
    def geometric_mean(self) -> float:
        """Of the ratios."""
        return math.exp(self.estimate.mean)

    @property
    def geometric_interval(self) -> tuple[float, float]:
        """Its 95 % interval, that of the mean log."""
        low, high = self.interval
        return math.exp(low), math.exp(high)

    @property
    def median(self) -> float:
        """Of the ratios."""
        ordered = sorted(self.logs)
        if not ordered:
            return math.nan
        middle = ordered[(self.n - 1) // 2], ordered[self.n // 2]
        return math.exp(math.fsum(middle) / 2)

    def apart_as_drawn(self, every: Ratios) -> float:
        """Return this mean minus that of all games, these among them.

        In standard deviations of the mean of as many games, drawn from all by chance
        and none twice. NaN if there is nothing to draw.
        """
        if not 1 <= self.n < every.n:
            return math.nan
        # The error of a mean of n is s / sqrt(n), and less as few are left out.
        spread = every.estimate.se * math.sqrt(every.n / self.n - 1)
        return (self.estimate.mean - every.estimate.mean) / spread


@dataclass(frozen=True, eq=False)
class ValuePair:
    """Both losses on one game, all else alike.

    Parameters
    ----------
    l2, hl : ValueSetting
    """

    l2: ValueSetting
    hl: ValueSetting

    @property
    def game(self) -> str:
        """The name of the game."""
        return self.l2.run.dataset

    @property
    def label(self) -> str:
        """The game, and what differs from the protocol."""
        return ", ".join([self.game, *self.l2.run.changes])

    def errors(self, metric: str) -> dict[int, tuple[float, float]]:
        """Return the errors of l2 and HL-Gauss by seed, of those that both have.

        Of a seed both must have seen the same actions, which may have been recorded
        anew.
        """
        l2, hl = self.l2.by_seed(), self.hl.by_seed()
        both = {seed: (l2[seed].outcome, hl[seed].outcome) for seed in l2 if seed in hl}
        return {
            seed: (a.metrics[metric], b.metrics[metric])
            for seed, (a, b) in sorted(both.items())
            if a.data_sha256 == b.data_sha256
        }

    def mean_errors(self, metric: str) -> tuple[float, float]:
        """Return their means over these seeds; NaN without any."""
        both = list(self.errors(metric).values())
        l2, hl = (Estimate.of(each[i] for each in both).mean for i in (0, 1))
        return l2, hl

    def log_ratio(self, metric: str) -> float:
        """Return that of HL-Gauss over l2; NaN without seeds in common."""
        both = self.errors(metric)
        l2, hl = ({seed: each[i] for seed, each in both.items()} for i in (0, 1))
        return log_ratio(hl, l2)


def value_pairs(records: Iterable[Record]) -> list[ValuePair]:
    """Return both losses of each game that has a finite seed of both, in order."""
    settings = value_settings(records)
    of_l2 = {each.run: each for each in settings if isinstance(each.run.method, L2)}
    pairs = [
        ValuePair(of_l2[reference], each)
        for each in settings
        if isinstance(each.run.method, HLGauss)
        and (reference := replace(each.run, method=L2())) in of_l2
    ]
    return [each for each in pairs if each.errors("test MAE")]


def ratios_of(pairs: Sequence[ValuePair], metric: str) -> Ratios:
    """Return the ratios of games."""
    return Ratios(tuple(each.log_ratio(metric) for each in pairs))


def slope_through_origin(x: Sequence[float], y: Sequence[float]) -> Estimate:
    r"""Return the least-squares slope of y against x on a line through the origin.

    .. math:: \hat b = \sum x y / \sum x^2, \quad
        \mathrm{se}^2 = \frac{\sum (y - \hat b x)^2}{(n - 1) \sum x^2}

    As the paper's Figure 11 has it, of HL-Gauss against l2: the games with the largest
    errors decide it. Its error has n - 1 degrees of freedom, as that of a mean of n.

    Examples
    --------
    >>> slope_through_origin([1.0, 2.0], [2.0, 4.0])
    Estimate(mean=2.0, se=0.0, n=2)
    """
    both = list(zip(x, y, strict=True))
    squares = math.fsum(a * a for a in x)
    if not squares:
        return Estimate(math.nan, math.nan)
    slope = math.fsum(a * b for a, b in both) / squares
    if len(both) == 1:
        return Estimate(slope, math.nan, 1)
    left = math.fsum((b - slope * a) ** 2 for a, b in both)
    return Estimate(slope, math.sqrt(left / (len(both) - 1) / squares), len(both))
