"""Shape runs: predictors on targets of any shape, heavy tails and none."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from histreg.study.datasets import table
from histreg.study.engine.runs import Outcome, Run, Workplace
from histreg.study.shapes.predictors import PREDICTORS

N_PARTS = 8
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

Rows = npt.NDArray[np.int64]


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
        Which eighth of the rows is tested on, 0 to 7; also that of the predictor.
    """

    kind: ClassVar[str] = "shape"

    dataset: str
    method: str
    seed: int

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> ShapeRun:
        """Return the run that `to_json` described."""
        return cls(description["dataset"], description["method"], description["seed"])

    def moved_to(self, dataset: str) -> ShapeRun:
        """Return the same on another table."""
        return replace(self, dataset=dataset)

    @property
    def folder(self) -> tuple[str, ...]:
        """The table, then the predictor."""
        return (self.dataset, self.method)

    @property
    def label(self) -> str:
        """What it is, in words."""
        return f"{self.dataset}, {self.method}, seed {self.seed}"

    @property
    def stack(self) -> tuple[object, ...]:
        """Each by itself."""
        return (self.kind, self.dataset, self.method, self.seed)

    @property
    def expected_s(self) -> float:
        """By the predictor, the rows and the columns."""
        data = table(self.dataset)
        with_10_000 = EXPECTED_S.get(self.method, EXPECTED_OF_OURS_S)
        of_rows = (data.n_rows + 1_000) / 11_000
        return with_10_000 * of_rows * (1 + data.n_features / 100)

    @classmethod
    def compute(cls, runs: Sequence[ShapeRun], workplace: Workplace) -> list[Outcome]:
        """Fit and score each."""
        return [run._computed(workplace) for run in runs]

    def _computed(self, workplace: Workplace) -> Outcome:
        data = table(self.dataset).load(workplace.data_dir)
        learnt, tested = rows_of(len(data.y), self.seed)
        workplace.report(0.0)
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")  # of others about their convergence
            started = time.process_time()
            predict = PREDICTORS[self.method](data.X[learnt], data.y[learnt], self.seed)
            fit_s = time.process_time() - started
            found = predict(data.X[tested])
        told = {
            **found.scores(data.y[tested]),
            "fit seconds": fit_s,
            "train rows": float(len(learnt)),
            "test rows": float(len(tested)),
        }
        return Outcome(told, data_sha256=data.sha256)


def parts_of(n: int) -> list[Rows]:
    """Return the rows in eight parts by one shuffle, the same for all seeds.

    What is a default of ours was chosen on parts 3 to 7 (``benchmarks/regressor.py``);
    0, 1 and 2 are to be tested on.
    """
    from sklearn.model_selection import KFold  # slow to import

    shuffled = KFold(N_PARTS, shuffle=True, random_state=0).split(np.arange(n))
    return [part for _, part in shuffled]


def rows_of(n: int, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to learn from, in an order of the seed's, and those to test on.

    >>> learnt, tested = rows_of(80, seed=1)
    >>> len(learnt), len(tested), len({*learnt, *tested})
    (70, 10, 80)
    """
    parts = parts_of(n)
    learnt = np.concatenate([*parts[:seed], *parts[seed + 1 :]])
    return np.random.default_rng(seed).permutation(learnt), parts[seed]
