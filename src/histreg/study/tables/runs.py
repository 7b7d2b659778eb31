"""Table runs: a method on a fold of a development table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from histreg.study.datasets import frame
from histreg.study.engine.runs import Outcome, Run, RunContext
from histreg.study.tables.splits import LAST

EXPECTED_S = {
    "HistogramRegressor": 12.0,
    "CatBoost": 15.0,
    "CatBoost MultiQuantile": 20.0,
    "LightGBM": 1.0,
    "XGBoost": 1.0,
    "HistGradientBoosting": 2.0,
    "quantile forest": 3.0,
    "NGBoost": 12.0,
    "RealMLP": 90.0,
    "RealMLP quantiles": 50.0,
    "TabM": 450.0,
    "TabM quantiles": 300.0,
    "ridge regression": 0.5,
    "constant": 0.1,
}
"""Of a core, with ten thousand rows of few columns, residuals included.

By the records of the last folds, but for RealMLP and TabM by quantiles.
"""


@dataclass(frozen=True)
class TableRun(Run):
    """A method on a fold of a table.

    Parameters
    ----------
    dataset : str
        One of `FRAMES`.
    method : str
        One of `PEERS`.
    seed : int
        The fold: the part of the rows to test on, see `split_of`; also the seed of the
        method. 4 is the last fold.
    """

    kind: ClassVar[str] = "table"

    dataset: str
    method: str
    seed: int

    def moved_to(self, dataset: str) -> TableRun:
        """Return the same on another table."""
        return replace(self, dataset=dataset)

    @property
    def folder(self) -> tuple[str, ...]:
        """The table, then the method; those of the last fold are apart."""
        folder = (self.dataset, self.method)
        return ("last fold", *folder) if self.seed == LAST else folder

    @property
    def label(self) -> str:
        """Table, method and fold, in words."""
        fold = "last fold" if self.seed == LAST else f"fold {self.seed}"
        return f"{self.dataset}, {self.method}, {fold}"

    @property
    def stack_key(self) -> tuple[object, ...]:
        """Computed one by one."""
        return (self.kind, self.dataset, self.method, self.seed)

    @property
    def expected_s(self) -> float:
        """Estimated from the method and the numbers of rows and columns."""
        data = frame(self.dataset)
        of_rows = (data.n_rows + 1_000) / 11_000
        with_10_000 = EXPECTED_S.get(self.method, 30.0)
        return with_10_000 * of_rows * (1 + data.n_features / 100)

    @classmethod
    def compute(cls, runs: Sequence[TableRun], context: RunContext) -> list[Outcome]:
        """Fit and score each method."""
        from histreg.study.tables.execution import outcome_of

        return [outcome_of(run, context) for run in runs]
