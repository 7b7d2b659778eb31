"""Training rows: a table with its targets, weights and censoring flags.

`rows_of` takes them from a table, in an order of their own; `TrainingRows.with_inputs`
replaces the table by a network's inputs, on its device. `histreg.tabular.training`
trains on the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg._tensors import float64_on
from histreg.tabular.columns import Table

MAX_COPIES = 8  # per row, on average
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

    Rows of weight 0 are left out. Weights that are whole numbers become copies, up to
    `MAX_COPIES` per row on average, so that a weight of 2 equals two rows to the bit.
    Other weights multiply the loss of their row.

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
    is_whole = (weight == np.floor(weight)).all()
    if is_whole and (weight / len(weight)).sum() <= MAX_COPIES:
        present = np.repeat(present, weight.astype(np.int64))
        weight = np.ones(len(present))
    weight = weight / weight.max()
    weight = weight / weight.mean()
    columns: list[NDArray[Any]] = [
        table.numbers[present],
        _codes(table.labels[present]),
        y[present],
        weight[:, None],
    ]
    if other_end is not None:
        columns.append(other_end[present])
    content = np.concatenate(columns, axis=1) + 0.0  # no -0.0
    as_bytes = np.ascontiguousarray(content).view(
        np.dtype((np.void, content.shape[1] * content.itemsize))
    )
    order = np.argsort(as_bytes.ravel(), kind="stable")
    rows = present[order]
    ends = None if other_end is None else other_end[rows]
    if ends is not None and np.isnan(ends).all():
        ends = None
    return TrainingRows(
        table.at(rows),
        torch.from_numpy(y[rows]),
        torch.from_numpy(weight[order]),
        None if ends is None else torch.from_numpy(ends),
    )


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
