"""Shape scores: predictors beside each other, table by table, and what was promised."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from histreg.study.analysis.ratios import log_ratio
from histreg.study.analysis.statistics import ShapeSetting, shape_settings
from histreg.study.catalogue import HEAVY, LIGHT, SHAPE_SEEDS
from histreg.study.engine.runs import Record
from histreg.study.shapes.predictors import OTHERS, PREDICTORS

UNIFORM, AUTO, AUTO_OF_4 = "uniform bins", "auto bins", "auto bins, 4 networks"
CRPS, MAE, MAE_OF_MEDIAN = "test CRPS", "test MAE", "test MAE of the median"
CRPS_ALIKE = "test CRPS by quantiles"  # the only one that methods of quantiles have
COMPARED = (CRPS, MAE, MAE_OF_MEDIAN)
"""The second is of the mean, which of skewed targets is not what has the least MAE."""
MOST_WORSE = 1.02  # than uniform bins, on tables without a heavy tail
MOST_LOST = 2  # tables on which a method of others may have the lower CRPS
LEAST_AHEAD = 1.05  # of the best method of others, in the geometric mean


@dataclass(frozen=True, eq=False)
class ShapeScores:
    """What records say of predictors on tables.

    Parameters
    ----------
    settings : sequence of ShapeSetting
    """

    settings: Sequence[ShapeSetting]

    @classmethod
    def of(cls, records: Iterable[Record]) -> ShapeScores:
        """Return the scores of records, other kinds of which are passed over."""
        return cls(shape_settings(records))

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], ShapeSetting]:
        return {(each.run.dataset, each.run.method): each for each in self.settings}

    @property
    def tables(self) -> list[str]:
        """The tables that have records, heavy tails first, then any of one's own."""
        there = dict.fromkeys(each.run.dataset for each in self.settings)
        known = [name for name in (*HEAVY, *LIGHT) if name in there]
        return [*known, *(name for name in there if name not in known)]

    @property
    def predictors(self) -> list[str]:
        """The predictors that have records, in the order in which they are known."""
        there = dict.fromkeys(each.run.method for each in self.settings)
        known = [name for name in PREDICTORS if name in there]
        return [*known, *(name for name in there if name not in known)]

    def of_table(self, table: str) -> list[ShapeSetting]:
        """Return the predictors on a table."""
        found = (self._by_name.get((table, each)) for each in self.predictors)
        return [each for each in found if each is not None]

    def values(self, table: str, predictor: str, metric: str) -> dict[int, float]:
        """Return a metric by seed; nothing if it is not there."""
        found = self._by_name.get((table, predictor))
        return found.values(metric) if found else {}

    def ratio(
        self, table: str, predictor: str, metric: str, other: str = UNIFORM
    ) -> float:
        """Return a metric over that of another, the geometric mean over their seeds.

        NaN without seeds in common.
        """
        ours = self.values(table, predictor, metric)
        return math.exp(log_ratio(ours, self.values(table, other, metric)))

    def mean_ratio(
        self, tables: Iterable[str], predictor: str, metric: str, other: str = UNIFORM
    ) -> float:
        """Return the geometric mean of ratios over tables; NaN if one is missing."""
        ratios = [self.ratio(each, predictor, metric, other) for each in tables]
        return math.prod(ratios) ** (1 / len(ratios)) if ratios else math.nan

    def best(self, table: str, among: Sequence[str], metric: str = CRPS) -> str | None:
        """Return the predictor with the lowest mean; None unless all have all seeds."""
        if not all(self.is_whole(table, each, metric) for each in among):
            return None

        def total(predictor: str) -> float:
            found = self.values(table, predictor, metric)
            return math.fsum(found[seed] for seed in SHAPE_SEEDS)

        return min(among, key=total)

    def is_whole(self, table: str, predictor: str, metric: str) -> bool:
        """Whether all seeds are there, so that something may be concluded."""
        return self.values(table, predictor, metric).keys() >= {*SHAPE_SEEDS}


@dataclass(frozen=True)
class Promise:
    """Something that was to be reached, set before anything was run.

    Parameters
    ----------
    text : str
    told : str
        What came out.
    is_kept : bool or None
        None as long as runs are missing.
    """

    text: str
    told: str
    is_kept: bool | None


def promises_of(scores: ShapeScores) -> list[Promise]:
    """Return what was promised of bins that follow the targets, and what came of it."""
    return [
        *(_against_uniform(scores, each, LIGHT, MOST_WORSE) for each in COMPARED),
        *(_against_uniform(scores, each, HEAVY, 1.0) for each in COMPARED),
        *_against_others(scores, AUTO),
        *_against_others(scores, AUTO_OF_4),
    ]


def _against_others(scores: ShapeScores, ours: str) -> Iterator[Promise]:
    """Yield on how many tables ours has the lower CRPS, and how much it is ahead."""
    peers = {
        each: scores.best(each, tuple(OTHERS), CRPS_ALIKE) for each in (*HEAVY, *LIGHT)
    }
    ahead = {
        each: 1 / scores.ratio(each, ours, CRPS_ALIKE, peer)
        if peer is not None and scores.is_whole(each, ours, CRPS_ALIKE)
        else math.nan
        for each, peer in peers.items()
    }
    lost = [f"{each} {ratio - 1:+.1%}" for each, ratio in ahead.items() if ratio < 1]
    mean = math.prod(ahead.values()) ** (1 / len(ahead))
    is_whole = not math.isnan(mean)
    n_missing = sum(map(math.isnan, ahead.values()))
    missing = f"{n_missing} of {len(ahead)} tables are not finished"
    yield Promise(
        f"{ours}: lower CRPS than all methods of others, but on {MOST_LOST} tables at "
        "most",
        (f"behind on {', '.join(lost)}" if lost else "lowest on all")
        if is_whole
        else missing,
        len(lost) <= MOST_LOST if is_whole else None,
    )
    yield Promise(
        f"{ours}: by {LEAST_AHEAD - 1:.0%} in the geometric mean over tables, of the "
        "best of them on each",
        f"{mean - 1:+.1%}" if is_whole else missing,
        mean >= LEAST_AHEAD if is_whole else None,
    )


def _against_uniform(
    scores: ShapeScores, metric: str, tables: Sequence[str], limit: float
) -> Promise:
    ratios = {each: scores.ratio(each, AUTO, metric) for each in tables}
    is_kept: Callable[[float], bool] = (
        (lambda ratio: ratio < 1) if limit == 1 else (lambda ratio: ratio <= limit)
    )
    kind = "heavy" if tables is HEAVY else "light"
    wanted = "lower" if limit == 1 else f"at most {limit - 1:.0%} above"
    than = "than" if limit == 1 else "that of"
    text = f"{metric} {wanted} {than} {UNIFORM} on every {kind}-tailed table"
    n_missing = sum(
        not all(scores.is_whole(each, ours, metric) for ours in (AUTO, UNIFORM))
        for each in tables
    )
    if n_missing:
        told = f"{n_missing} of {len(ratios)} tables are not finished"
        return Promise(text, told, None)
    missed = [
        f"{each} {ratio - 1:+.1%}"
        for each, ratio in ratios.items()
        if not is_kept(ratio)
    ]
    mean = scores.mean_ratio(tables, AUTO, metric)
    told = f"missed on {', '.join(missed)}; " if missed else ""
    told += f"{mean - 1:+.1%} in the geometric mean"
    return Promise(text, told, not missed)
