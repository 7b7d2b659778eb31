"""Row groups: which rows are calibrated together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from histreg.errors import InputError

MISSING = "missing"  # the group of rows whose value is missing


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The groups of calibration rows, by number.

    Parameters
    ----------
    levels : sequence of g str
        The names of the groups, without duplicates.
    codes : Tensor of shape (n,), int64
        The number of each row's group, 0 to g - 1.
    column : str, optional
        The column of the table that says the group; if None, the caller does.
    """

    levels: Sequence[str]
    codes: Tensor
    column: str | None = None

    @classmethod
    def of(cls, names: Sequence[str], column: str | None = None) -> RowGroups:
        """Return the groups of rows with these names, in alphabetical order."""
        levels = sorted(set(names))
        groups = cls(levels, torch.empty(0, dtype=torch.int64), column)
        return cls(levels, groups.codes_of(names), column)

    @property
    def n(self) -> int:
        """The number of groups, g."""
        return len(self.levels)

    def codes_of(self, names: Sequence[str]) -> Tensor:
        """Return the numbers of the groups of other rows; g for a new group."""
        known = {level: code for code, level in enumerate(self.levels)}
        return torch.tensor([known.get(name, self.n) for name in names])

    def checked(self, codes: Tensor | None) -> Tensor:
        """Return the codes of rows to predict for; raise if they are not known."""
        if codes is None:
            raise InputError(
                "groups must be given for calibrated predictions, because the model "
                "was calibrated by groups, got None"
            )
        return codes


def group_names(groups: ArrayLike, n: int) -> list[str]:
    """Return the names of the groups of n rows from values of any type."""
    values = np.asarray(groups)
    if values.shape != (n,):
        raise InputError(
            f"groups must have shape ({n},), one per row of X, got shape {values.shape}"
        )
    return names_of_values(values)


def names_of_values(values: NDArray[Any]) -> list[str]:
    """Return values as text: 3, 3.0 and "3" are the same group."""
    return [_name_of(value) for value in values.tolist()]


def _name_of(value: Any) -> str:
    if value is None or value != value:
        return MISSING
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
