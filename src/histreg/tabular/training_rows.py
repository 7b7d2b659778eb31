"""Training rows: a table with its targets, weights and censoring flags.

`rows_of` takes them from a table, in an order of their own; `TrainingRows.with_inputs`
replaces the table by a network's inputs, on its device. `histreg.tabular.training`
trains on the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg._tensors import float64_on
from histreg.tabular.columns import Table

MAX_COPIES = 8  # per row, on average
LEAST_REPEATS = 0.01  # share of rows that repeat others, to be taken for copies
# Share of different rows that a column gives a value of their own. Of the development
# tables whose rows repeat by chance, the finest column does so for 0.73.
LEAST_VALUES = 0.8
Inputs = TypeVar("Inputs")


@dataclass(frozen=True, eq=False)
class TrainingRows(Generic[Inputs]):
    """Rows to train on.

    Parameters
    ----------
    inputs : Table, or a tuple of Tensors of shape (n, ...)
        The columns as read, or a network's inputs.
    y : Tensor of shape (n, m)
    weight : Tensor of shape (n,)
        Of mean 1.
    other_end : Tensor of shape (n, m), optional
        Where it is not NaN, the target is censored: it is known only to lie between y
        and this, which may be infinite. None if all targets are known.
    """

    inputs: Inputs
    y: Tensor
    weight: Tensor
    other_end: Tensor | None = None

    @property
    def targets(self) -> tuple[Tensor, ...]:
        """The targets of the loss: y, and the other ends if there are any."""
        return (self.y,) if self.other_end is None else (self.y, self.other_end)

    @property
    def finite_ends(self) -> Tensor:  # (n, m) or (2 n, m)
        """All y, and the other ends of intervals if there are any: where bins lie."""
        if self.other_end is None or not bool(self.other_end.isfinite().any()):
            return self.y
        other = torch.where(self.other_end.isfinite(), self.other_end, self.y)
        return torch.cat([self.y, other])

    def __len__(self) -> int:
        return len(self.y)

    def with_inputs(
        self, inputs: tuple[Tensor, ...], device: torch.device
    ) -> TrainingRows[tuple[Tensor, ...]]:
        """Return the same rows with other inputs, all on a device."""
        return TrainingRows(
            tuple(tensor.to(device) for tensor in inputs),
            self.y.to(device, float64_on(device)),
            self.weight.to(device, torch.float32),
            None
            if self.other_end is None
            else self.other_end.to(device, float64_on(device)),
        )


def batch_of(
    rows: TrainingRows[tuple[Tensor, ...]], index: Tensor
) -> TrainingRows[tuple[Tensor, ...]]:
    """Return some of the rows; ``index_select`` is faster than brackets."""
    return TrainingRows(
        tuple(tensor.index_select(0, index) for tensor in rows.inputs),
        rows.y.index_select(0, index),
        rows.weight.index_select(0, index),
        None if rows.other_end is None else rows.other_end.index_select(0, index),
    )


def rows_of(
    table: Table,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    other_end: NDArray[np.float64] | None = None,
) -> TrainingRows[Table]:
    """Return rows in an order that depends only on their content.

    A weight of 2 equals two rows, to the bit. Both become one row of weight 2 if rows
    do not repeat by chance (see `_are_copies`), so that no copy of a row is held out
    while another is learnt. If they do, whole-number weights become copies, up to
    `MAX_COPIES` per row on average. Other weights multiply the loss of their row. Rows
    of weight 0 are left out.

    Parameters
    ----------
    table : Table of n rows
    y : ndarray of shape (n, m)
    weight : ndarray of shape (n,)
    other_end : ndarray of shape (n, m), optional
        See `TrainingRows`.
    """
    present = np.flatnonzero(weight > 0)
    weight = weight[present]
    columns = [table.numbers[present], _codes(table.labels[present]), y[present]]
    if other_end is not None:
        columns.append(other_end[present])
    content = np.concatenate(columns, axis=1) + 0.0  # no -0.0
    content[np.isnan(content)] = np.nan  # all alike
    share = weight / weight.max()
    order = np.argsort(_as_bytes(np.column_stack([content, share])), kind="stable")
    content, present, weight = content[order], present[order], weight[order]
    as_bytes = _as_bytes(content)
    first = np.flatnonzero(np.r_[True, as_bytes[1:] != as_bytes[:-1]])  # of equal rows
    is_whole = bool((weight == np.floor(weight)).all())
    n_copies = float((weight / len(weight)).sum()) if is_whole else 1.0  # per row
    are_copies_given = n_copies <= MAX_COPIES
    n = (n_copies if are_copies_given else 1.0) * len(weight)
    if _are_copies(content[first], table, y.shape[1], n):
        _, exponent = np.frexp(weight.max())
        weight = np.ldexp(weight, -exponent)  # exactly, so that no sum is infinite
        present, weight = present[first], np.add.reduceat(weight, first)
    elif is_whole and are_copies_given:
        present = np.repeat(present, weight.astype(np.int64))
        weight = np.ones(len(present))
    weight = weight / weight.max()
    ends = None if other_end is None else other_end[present]
    if ends is not None and np.isnan(ends).all():
        ends = None
    return TrainingRows(
        table.at(present),
        torch.from_numpy(y[present]),
        torch.from_numpy(weight / weight.mean()),
        None if ends is None else torch.from_numpy(ends),
    )


def _are_copies(
    distinct: NDArray[np.float64], table: Table, n_targets: int, n: float
) -> bool:
    """Whether n rows of distinct content (k, c) repeat because some were copied.

    Rows of a few coarse columns repeat by chance, and so will new ones. Rows that a
    measurement tells apart do not: a column of numbers that is no grid of whole steps,
    or the target, unless it follows from the columns.

    Parameters
    ----------
    distinct : ndarray of shape (k, c)
        Sorted: the numbers and labels of the table, targets, and any other ends.
    table : Table
    n_targets : int
    n : float
        Rows with all copies.
    """
    k = len(distinct)
    if n - k < LEAST_REPEATS * n or n > MAX_COPIES * k:
        return False
    n_numbers = table.numbers.shape[1]
    n_features = n_numbers + table.labels.shape[1]
    columns = list(distinct[:, :n_numbers].T)
    features = _as_bytes(distinct[:, :n_features])
    if (features[1:] == features[:-1]).any():
        columns += list(distinct[:, n_features : n_features + n_targets].T)
    return any(_tells_apart(column, k, n) for column in columns)


def _tells_apart(column: NDArray[np.float64], k: int, n: float) -> bool:
    """Whether nearly all of k different rows have a value of their own by measurement.

    Values on a grid, such as whole numbers, are no measurement unless the grid has many
    more places than there are n rows.
    """
    values = np.unique(column[np.isfinite(column)])
    if len(values) < max(2, LEAST_VALUES * k):
        return False
    n_places = (values[-1] / 2 - values[0] / 2) / (np.diff(values).min() / 2) + 1
    return bool(n_places >= 2 * n)


def _as_bytes(rows: NDArray[np.float64]) -> NDArray[np.void]:  # (n,)
    """Return rows (n, c) as one item each."""
    rows = np.ascontiguousarray(rows)
    return rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()


def interval_of(y: Tensor, other_end: Tensor) -> tuple[Tensor, Tensor]:
    """Return lower and upper ends of targets: the whole line where they are known."""
    is_left = other_end == -torch.inf
    lower = torch.where(is_left, other_end, y).masked_fill(
        other_end.isnan(), -torch.inf
    )
    upper = torch.where(is_left, y, other_end).nan_to_num(
        nan=torch.inf, posinf=torch.inf, neginf=-torch.inf
    )
    return lower, upper


def _codes(labels: NDArray[np.object_]) -> NDArray[np.float64]:
    """Return labels (n, c) as numbers in alphabetical order, -1 where missing."""
    codes = np.empty(labels.shape)
    for i, column in enumerate(labels.T):
        levels = sorted({label for label in column if label is not None})
        known = {label: code for code, label in enumerate(levels)}
        codes[:, i] = [known.get(label, -1) for label in column]
    return codes
