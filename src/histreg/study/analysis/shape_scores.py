"""Shape scores: predictors of targets of any shape, compared table by table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from histreg.study.analysis.ratios import log_ratio
from histreg.study.analysis.statistics import Setting, settings_over_seeds
from histreg.study.engine.runs import Record
from histreg.study.shapes.predictors import PREDICTORS
from histreg.study.shapes.runs import ShapeRun
from histreg.study.shapes.tables import HEAVY, LIGHT, SHAPE_SEEDS, UNIFORM_BINS

CRPS = "test CRPS"

ShapeSetting = Setting[ShapeRun]


@dataclass(frozen=True, eq=False)
class ShapeScores:
    """The scores of predictors on tables, over their seeds.

    Parameters
    ----------
    settings : sequence of Setting of ShapeRun
    """

    settings: Sequence[ShapeSetting]

    @classmethod
    def of(cls, records: Iterable[Record]) -> ShapeScores:
        """Return the scores of records; other kinds of records are ignored."""
        return cls(settings_over_seeds(records, ShapeRun))

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], ShapeSetting]:
        return {
            (setting.run.dataset, setting.run.method): setting
            for setting in self.settings
        }

    @property
    def tables(self) -> list[str]:
        """The tables that have records: heavy tails, light tails, then any others."""
        present = dict.fromkeys(setting.run.dataset for setting in self.settings)
        known = [name for name in (*HEAVY, *LIGHT) if name in present]
        return [*known, *(name for name in present if name not in known)]

    @property
    def predictors(self) -> list[str]:
        """The predictors that have records, in the order of `PREDICTORS`."""
        present = dict.fromkeys(setting.run.method for setting in self.settings)
        known = [name for name in PREDICTORS if name in present]
        return [*known, *(name for name in present if name not in known)]

    def of_table(self, table: str) -> list[ShapeSetting]:
        """Return the predictors on a table."""
        settings = (self._by_name.get((table, name)) for name in self.predictors)
        return [setting for setting in settings if setting is not None]

    def values(self, table: str, predictor: str, metric: str) -> dict[int, float]:
        """Return a metric by seed; nothing if it is not there."""
        setting = self._by_name.get((table, predictor))
        return {} if setting is None else setting.values(metric)

    def ratio(
        self, table: str, predictor: str, metric: str, other: str = UNIFORM_BINS
    ) -> float:
        """Return a metric over that of another, the geometric mean over their seeds.

        NaN without seeds in common.
        """
        ours = self.values(table, predictor, metric)
        return math.exp(log_ratio(ours, self.values(table, other, metric)))

    def mean_ratio(
        self,
        tables: Iterable[str],
        predictor: str,
        metric: str,
        other: str = UNIFORM_BINS,
    ) -> float:
        """Return the geometric mean of ratios over tables; NaN if one is missing."""
        ratios = [self.ratio(table, predictor, metric, other) for table in tables]
        return math.prod(ratios) ** (1 / len(ratios)) if ratios else math.nan

    def best(self, table: str, among: Sequence[str], metric: str = CRPS) -> str | None:
        """Return the predictor with the lowest mean; None unless all have all seeds."""
        if not all(self.is_complete(table, method, metric) for method in among):
            return None

        def total(predictor: str) -> float:
            by_seed = self.values(table, predictor, metric)
            return math.fsum(by_seed[seed] for seed in SHAPE_SEEDS)

        return min(among, key=total)

    def is_complete(self, table: str, predictor: str, metric: str) -> bool:
        """Return whether all seeds have a record; without one nothing is concluded."""
        return self.values(table, predictor, metric).keys() >= {*SHAPE_SEEDS}
