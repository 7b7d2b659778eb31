"""Simple models that are mixed with the networks: what both kinds have in common.

A simple model predicts one number for a row, for one target; a forest predicts one for
each of its trees. It is fitted once on the rows outside of each fold, which gives a
prediction for every training row by a model that has not seen it; for new rows the
models of all folds are averaged. A forest needs no folds: its trees leave rows out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

N_FOLDS = 5
BLOCK = 32  # rows
AT_ONCE = 8 * BLOCK  # whose products stay in the cache
ALIGNED = 8  # float64 of 64 bytes


class SimpleInputs(NamedTuple):
    """The columns of n rows, as simple models read them."""

    numbers: Tensor  # (n, d) float64, NaN where missing
    scaled: Tensor  # (n, d') float32, normal scores and flags of gaps
    codes: Tensor  # (n, c) int64, labels

    def at(self, rows: Tensor) -> SimpleInputs:
        """Return some of the rows."""
        return SimpleInputs(*(part.index_select(0, rows) for part in self))


class SimpleModel(nn.Module, ABC):
    """A model that predicts one number; its buffers are all that it has learnt."""

    @abstractmethod
    def forward(self, inputs: SimpleInputs) -> Tensor:
        """Return predictions of shape (n,), of a forest (n, T), float64."""

    def described(self) -> dict[str, int]:
        """Return the sizes that the columns of a table do not imply."""
        return {}

    @abstractmethod
    def check(self) -> None:
        """Raise if what was loaded makes no sense."""


class Fitted(NamedTuple):
    """A model, and its predictions for its training rows by folds."""

    model: SimpleModel | None  # None for the networks, by their mean
    held_out: Tensor  # (n,) float64, each by models that have not seen the row;
    # of a forest (n, T), NaN of trees that have

    @property
    def points(self) -> Tensor:
        """One number for each row, (n,): of a forest, the mean of its trees."""
        return self.held_out if self.held_out.ndim == 1 else self.held_out.nanmean(1)

    def at(self, rows: Tensor) -> Fitted:
        """Return the same with predictions for some of the rows."""
        return Fitted(self.model, self.held_out[rows])


def in_blocks(of_block: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """Return a function of rows (n, p) that rounds the same for each in any company."""
    return torch.cat([of_block(some)[:n] for some, n in whole_blocks(rows)])


def whole_blocks(rows: Tensor) -> Iterator[tuple[Tensor, int]]:
    """Yield rows (n, p), some at a time, and how many of those it yields they are.

    A product of matrices may round differently for other numbers of rows, so the last
    row is repeated until there are whole blocks of `BLOCK`; see also `aligned`.
    """
    n = len(rows)
    whole = torch.arange(-(-n // BLOCK) * BLOCK).clamp(max=n - 1)
    for start, some in zip(
        range(0, max(n, 1), AT_ONCE), rows[whole].split(AT_ONCE), strict=True
    ):
        yield some, min(AT_ONCE, n - start)


def aligned(matrix: Tensor) -> Tensor:
    """Return a matrix (n, p) with columns of zeros, until all rows start alike.

    A product may round differently for rows that do not start at a multiple of the
    size of a vector register.
    """
    return F.pad(matrix, (0, -matrix.shape[1] % ALIGNED))


def folds_of(n: int, generator: torch.Generator | None) -> Tensor:  # (n,) int64
    """Return the fold of each of n rows, at random, in equal numbers up to one."""
    order = torch.randperm(n, generator=generator)
    folds = torch.empty(n, dtype=torch.int64)
    folds[order] = torch.arange(n) % min(N_FOLDS, n)
    return folds
