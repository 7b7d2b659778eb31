"""Ratios: the error of HL-Gauss over that of l2, game by game, and over games.

The logarithms of ratios are differences of logarithms: a `Comparison` whose pairs are
games. The games are the sample: tests and intervals are about games like these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from histreg.errors import InputError
from histreg.study.analysis.comparisons import Comparison
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.statistics import Setting, settings_over_seeds
from histreg.study.atari.runs import ValueRun
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


def geometric_mean(logs: Comparison) -> float:
    """Return the geometric mean of ratios, from their logarithms.

    Examples
    --------
    >>> round(geometric_mean(Comparison((-0.2, -0.3, -0.1, 0.2))), 4)
    0.9048
    """
    return math.exp(logs.mean)


def geometric_interval(logs: Comparison) -> tuple[float, float]:
    """Return the 95 % interval of the geometric mean, from that of the mean log."""
    low, high = logs.interval
    return math.exp(low), math.exp(high)


def median_ratio(logs: Comparison) -> float:
    """Return the median of ratios, from their logarithms; NaN if there are none."""
    ordered = sorted(logs.differences)
    if not ordered:
        return math.nan
    middle = ordered[(logs.n - 1) // 2], ordered[logs.n // 2]
    return math.exp(math.fsum(middle) / 2)


def distance_from_all(some: Comparison, every: Comparison) -> float:
    """Return the mean of some games minus that of all games, these among them.

    In standard deviations of the mean of as many games, drawn at random from all,
    without replacement. NaN if there is nothing to draw.
    """
    if not 1 <= some.n < every.n:
        return math.nan
    # The error of a mean of n is s / sqrt(n), and less as few are left out.
    spread = every.estimate.se * math.sqrt(every.n / some.n - 1)
    return (some.mean - every.mean) / spread


@dataclass(frozen=True, eq=False)
class ValuePair:
    """Both losses on one game, all else alike.

    Parameters
    ----------
    l2, hl : Setting of ValueRun
    """

    l2: Setting[ValueRun]
    hl: Setting[ValueRun]

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

        A seed counts only if both were trained on the same file of actions.
        """
        l2, hl = self.l2.by_seed(), self.hl.by_seed()
        both = {seed: (l2[seed].outcome, hl[seed].outcome) for seed in l2 if seed in hl}
        return {
            seed: (a.metrics[metric], b.metrics[metric])
            for seed, (a, b) in sorted(both.items())
            if a.data_sha256 == b.data_sha256
        }

    def mean_errors(self, metric: str) -> tuple[float, float]:
        """Return the mean errors of l2 and HL-Gauss over seeds; NaN without any."""
        both = list(self.errors(metric).values())
        l2, hl = (Estimate.of(errors[i] for errors in both).mean for i in (0, 1))
        return l2, hl

    def log_ratio(self, metric: str) -> float:
        """Return the log of HL-Gauss's error over l2's; NaN without seeds in common."""
        both = self.errors(metric)
        l2, hl = ({seed: errors[i] for seed, errors in both.items()} for i in (0, 1))
        return log_ratio(hl, l2)


def value_pairs(records: Iterable[Record]) -> list[ValuePair]:
    """Return both losses of each game that has a finite seed of both, in order."""
    settings = settings_over_seeds(records, ValueRun)
    of_l2 = {
        setting.run: setting
        for setting in settings
        if isinstance(setting.run.method, L2)
    }
    pairs = [
        ValuePair(of_l2[reference], setting)
        for setting in settings
        if isinstance(setting.run.method, HLGauss)
        and (reference := replace(setting.run, method=L2())) in of_l2
    ]
    return [pair for pair in pairs if pair.errors("test MAE")]


def log_ratios_of(pairs: Sequence[ValuePair], metric: str) -> Comparison:
    """Return the logs of the ratios of games; below 0 where HL-Gauss is lower."""
    return Comparison(tuple(pair.log_ratio(metric) for pair in pairs))


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
