"""Splits: the five parts of a table's rows, and which of them a run uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # functions that split import it, a list of runs needs none
    import numpy as np
    import numpy.typing as npt

N_PARTS = 5
FOLDS = (0, 1, 2, 3)
"""Development folds, each named after the part that it tests on."""
LAST = 4
"""The part that no choice may see; only the last fold uses it, to test on."""


def parts_of(n: int) -> list[npt.NDArray[np.int64]]:
    """Return the numbers of n rows in five parts, by one shuffle.

    >>> sorted(len(part) for part in parts_of(12))
    [2, 2, 2, 3, 3]
    """
    import numpy as np

    return np.array_split(np.random.default_rng(0).permutation(n), N_PARTS)


def split_of(n: int, fold: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rows to learn from and those to test on.

    A development fold tests on its own part and learns from the three other development
    parts. The last fold (`LAST`) tests on the last part and learns from all others.

    >>> [len(rows) for rows in split_of(100, fold=0)]
    [60, 20]
    >>> [len(rows) for rows in split_of(100, LAST)]
    [80, 20]
    """
    import numpy as np

    parts = parts_of(n)
    learnt = [parts[i] for i in FOLDS if i != fold]
    return np.concatenate(learnt), parts[fold]
