"""Summaries: what a pass over a table keeps of its columns, in bounded memory.

A `TableSummary` has seen every row and keeps, of each column of numbers, a quantile
sketch (KLL, of Apache DataSketches), and of each column of labels a sketch of its
frequent values. Columns and bins are learnt from these instead of from the rows.

Errors, as the library states them for the sizes used here: with a probability of 99 %,
a quantile has a rank that is off by at most `RANK_ERROR` of the rows. The smallest and
the largest value are exact, and so is everything in a column of up to `N_VALUES` rows.
The counts of labels are exact up to some 49,000 different ones in a column; above that
they are off by at most `COUNT_ERROR` of the rows.

The sketches draw random numbers that cannot be seeded, so that two passes over the same
rows may differ, within these errors.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg.errors import InputError
from histreg.tabular.columns import (
    MAX_LEVELS,
    LabelCodes,
    NumberScaling,
    Table,
    is_derived,
)

N_VALUES = 4096  # k of the sketches, and quantiles taken of them
RANK_ERROR = 0.00074  # of kll_doubles_sketch(4096), see its normalized_rank_error
LABELS_LOG2 = 16  # of the size of a sketch of labels
COUNT_ERROR = 5.4e-5  # of frequent_strings_sketch(16), see its epsilon


class TableSummary:
    """What is kept of the rows that were added.

    Parameters
    ----------
    kinds : tuple of str
        Of the columns, see `histreg.tabular.columns.kinds_of`.
    """

    def __init__(self, kinds: tuple[str, ...]) -> None:
        sketches = _datasketches()
        self.kinds = kinds
        self.n_rows = 0
        self.total_weight = 0.0
        self._sketches = sketches
        self._is_derived = is_derived(kinds)
        n_numbers = len(self._is_derived)
        self._numbers = [
            sketches.kll_doubles_sketch(N_VALUES) for _ in range(n_numbers)
        ]
        self._n_missing = np.zeros(n_numbers, dtype=np.int64)
        self._labels = [
            sketches.frequent_strings_sketch(LABELS_LOG2)
            for _ in range(kinds.count("label"))
        ]
        self._y = sketches.kll_doubles_sketch(N_VALUES)

    def add(
        self, table: Table, y: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> None:
        """Add rows: a Table of n rows, y (n,) and weights (n,)."""
        self.n_rows += len(y)
        self.total_weight += float(weight.sum())
        self._y.update(np.array(y))  # a copy: arrays may be read-only
        for i, column in enumerate(table.numbers.T):
            present = column[~np.isnan(column)]
            self._n_missing[i] += len(column) - len(present)
            if len(present):
                self._numbers[i].update(present)
        for sketch, labels in zip(self._labels, table.labels.T, strict=True):
            counts = Counter(label for label in labels if label is not None)
            for label, count in counts.items():
                sketch.update(label, count)

    @property
    def mean_weight(self) -> float:
        """The mean weight of the rows."""
        return self.total_weight / self.n_rows

    def targets(self) -> Tensor:  # (v, 1) float64
        """Return targets at equally spaced ranks, with the smallest and the largest."""
        return torch.from_numpy(_values_of(self._y)).unsqueeze(1)

    def n_outside(self, low: float, high: float) -> int:
        """Return how many targets lie outside [low, high], estimated."""
        if low <= self._y.get_min_value() and self._y.get_max_value() <= high:
            return 0
        below = self._y.get_rank(low, False)
        within = self._y.get_rank(high, True) - below
        return round((1 - within) * self.n_rows)

    def scaling(self) -> NumberScaling:
        """Return the scaling of the columns of numbers."""
        columns = [_values_of(sketch) for sketch in self._numbers]
        has_gaps = (self._n_missing > 0) & ~self._is_derived
        return NumberScaling.of_ordered(columns, has_gaps)

    def codes(self) -> LabelCodes:
        """Return the codes of the labels that occur more than once, frequent first.

        Of more labels than the sketch counts exactly, those that surely do.
        """
        kind = self._sketches.frequent_items_error_type.NO_FALSE_NEGATIVES
        levels = []
        for sketch in self._labels:
            # Of each label its name, its count as estimated, at least and at most.
            counts = [(i[0], i[2]) for i in sketch.get_frequent_items(kind)]
            ranked = sorted(counts, key=lambda item: (-item[1], item[0]))
            levels.append([label for label, least in ranked if least > 1][:MAX_LEVELS])
        return LabelCodes(levels)


def _values_of(sketch: Any) -> NDArray[np.float64]:
    """Return sorted values at equally spaced ranks, all of them if they are few."""
    n = min(sketch.n, N_VALUES)
    if not n:
        return np.empty(0)
    values = np.array(sketch.get_quantiles((np.arange(n) + 0.5) / n))
    values[0], values[-1] = sketch.get_min_value(), sketch.get_max_value()
    return values


def _datasketches() -> Any:
    try:
        import datasketches
    except ModuleNotFoundError as error:
        raise InputError(
            f"a streamed fit needs {error.name}: pip install 'histreg[stream]'"
        ) from error
    return datasketches
