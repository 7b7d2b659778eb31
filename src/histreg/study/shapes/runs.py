"""Shape runs: predictors on targets with and without heavy tails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from histreg.study.datasets import table
from histreg.study.engine.runs import Outcome, Run, RunContext

EXPECTED_S = {
    "auto bins, 4 networks": 60.0,
    "l2 of logarithms": 36.0,
    "HistGradientBoosting": 12.0,
    "CatBoost": 60.0,
    "NGBoost": 28.0,
}
"""Of a core, with ten thousand rows of few columns; of others of ours
`EXPECTED_OF_OURS_S`. A hundred columns double it, and the smallest table takes what a
thousand rows more would."""
EXPECTED_OF_OURS_S = 30.0


@dataclass(frozen=True)
class ShapeRun(Run):
    """A predictor on a table.

    Parameters
    ----------
    dataset : str
        One of `TABLES`.
    method : str
        One of `PREDICTORS`.
    seed : int
        The eighth of the rows to test on, 0 to 7; also the seed of the predictor.
    """

    kind: ClassVar[str] = "shape"

    dataset: str
    method: str
    seed: int

    def moved_to(self, dataset: str) -> ShapeRun:
        """Return the same on another table."""
        return replace(self, dataset=dataset)

    @property
    def folder(self) -> tuple[str, ...]:
        """The table, then the predictor."""
        return (self.dataset, self.method)

    @property
    def label(self) -> str:
        """Table, predictor and seed, in words."""
        return f"{self.dataset}, {self.method}, seed {self.seed}"

    @property
    def stack_key(self) -> tuple[object, ...]:
        """Computed one by one."""
        return (self.kind, self.dataset, self.method, self.seed)

    @property
    def expected_s(self) -> float:
        """Estimated from the predictor and the numbers of rows and columns."""
        data = table(self.dataset)
        with_10_000 = EXPECTED_S.get(self.method, EXPECTED_OF_OURS_S)
        of_rows = (data.n_rows + 1_000) / 11_000
        return with_10_000 * of_rows * (1 + data.n_features / 100)

    @property
    def time_key(self) -> tuple[object, ...]:
        """The predictor, then the table."""
        return (self.kind, self.method, self.dataset)

    @classmethod
    def compute(cls, runs: Sequence[ShapeRun], context: RunContext) -> list[Outcome]:
        """Fit and score each predictor."""
        from histreg.study.shapes.execution import outcome_of

        return [outcome_of(run, context) for run in runs]
