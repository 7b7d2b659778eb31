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
    censored : Tensor of shape (n, m), bool, optional
        Where y is a lower bound; None if it never is.
    """

    inputs: Inputs
    y: Tensor
    weight: Tensor
    censored: Tensor | None = None

    @property
    def targets(self) -> tuple[Tensor, ...]:
        """The targets of the loss: y, and the censoring flags if there are any."""
        return (self.y,) if self.censored is None else (self.y, self.censored)

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
            None if self.censored is None else self.censored.to(device),
        )


def batch_of(
    rows: TrainingRows[tuple[Tensor, ...]], index: Tensor
) -> TrainingRows[tuple[Tensor, ...]]:
    """Return some of the rows; ``index_select`` is faster than brackets."""
    return TrainingRows(
        tuple(tensor.index_select(0, index) for tensor in rows.inputs),
        rows.y.index_select(0, index),
        rows.weight.index_select(0, index),
        None if rows.censored is None else rows.censored.index_select(0, index),
    )


def rows_of(
    table: Table,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    censored: NDArray[np.bool_] | None = None,
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
    censored : ndarray of shape (n, m), bool, optional
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
    if censored is not None:
        columns.append(censored[present])
    content = np.concatenate(columns, axis=1) + 0.0  # no -0.0
    as_bytes = np.ascontiguousarray(content).view(
        np.dtype((np.void, content.shape[1] * content.itemsize))
    )
    order = np.argsort(as_bytes.ravel(), kind="stable")
    rows = present[order]
    flags = None if censored is None or not censored[rows].any() else censored[rows]
    return TrainingRows(
        table.at(rows),
        torch.from_numpy(y[rows]),
        torch.from_numpy(weight[order]),
        None if flags is None else torch.from_numpy(flags),
    )


def _codes(labels: NDArray[np.object_]) -> NDArray[np.float64]:
    """Return labels (n, c) as numbers in alphabetical order, -1 where missing."""
    codes = np.empty(labels.shape)
    for i, column in enumerate(labels.T):
        levels = sorted({label for label in column if label is not None})
        known = {label: code for code, label in enumerate(levels)}
        codes[:, i] = [known.get(label, -1) for label in column]
    return codes
