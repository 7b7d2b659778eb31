"""Shape scores: predictors of targets of any shape, compared table by table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from histreg.study.analysis.method_scores import MethodScores
from histreg.study.analysis.statistics import settings_over_seeds
from histreg.study.engine.runs import Record
from histreg.study.shapes.predictors import PREDICTORS
from histreg.study.shapes.runs import ShapeRun
from histreg.study.shapes.tables import HEAVY, LIGHT, SHAPE_SEEDS, UNIFORM_BINS

CRPS = "test CRPS"


@dataclass(frozen=True, eq=False)
class ShapeScores(MethodScores):
    """The scores of predictors on tables: heavy tails first, then light tails."""

    table_order = (*HEAVY, *LIGHT)
    method_order = tuple(PREDICTORS)

    @classmethod
    def of(cls, records: Iterable[Record]) -> ShapeScores:
        """Return the scores of records; other kinds of records are ignored."""
        return cls(settings_over_seeds(records, ShapeRun))

    def ratio(
        self, table: str, method: str, metric: str, other: str = UNIFORM_BINS
    ) -> float:
        """Return a metric over that of another, by default of uniform bins."""
        return super().ratio(table, method, metric, other)

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
