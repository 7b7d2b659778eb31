"""Splits: which rows of a table are for training, calibration and test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from histreg.errors import InputError


@dataclass(frozen=True)
class Parts:
    """Row numbers for training, for calibration and for the test."""

    learn: NDArray[np.int64]
    calibrate: NDArray[np.int64]
    test: NDArray[np.int64]


def parts_of(
    n: int,
    *,
    test: float,
    calibration: float,
    order: NDArray[np.int64] | None,
    groups: NDArray[np.int64] | None = None,
    seed: int,
) -> Parts:
    """Return a split of n rows by fractions.

    Parameters
    ----------
    n : int
    test, calibration : float in [0, 1)
        Fractions of the rows.
    order : ndarray of n row numbers, optional
        The last rows in this order are the test rows, those before them the
        calibration rows. Without it rows are drawn at random.
    groups : ndarray of n group numbers, optional
        The rows of a group are in one part; groups are drawn at random. The fractions
        are then met only roughly.
    seed : int
        For the random split.
    """
    if not (0 <= test < 1 and 0 <= calibration < 1 and test + calibration < 1):
        raise InputError(
            "the fractions of held-out and calibration rows must lie in [0, 1) and add "
            f"up to less than 1, got {test} and {calibration}"
        )
    n_test, n_calibrate = round(test * n), round(calibration * n)
    n_learn = n - n_test - n_calibrate
    if order is None:
        order = np.random.default_rng(seed).permutation(n)
        if groups is not None:
            return _parts_of_groups(order, groups, n_learn, n_calibrate)
    if n_learn < 1:
        raise InputError(f"the split must leave rows for training, got {n} rows")
    return Parts(
        order[:n_learn], order[n_learn : n_learn + n_calibrate], order[n - n_test :]
    )


def _parts_of_groups(
    order: NDArray[np.int64], groups: NDArray[np.int64], n_learn: int, n_calibrate: int
) -> Parts:
    """Return a split between groups, each at the place of its first row in the order.

    A group belongs to the part in which the larger share of its rows would be.
    """
    _, first = np.unique(groups[order], return_index=True)
    shuffled = groups[order][np.sort(first)]  # the groups, in random order
    sizes = np.bincount(groups)[shuffled]
    middles = np.cumsum(sizes) - sizes / 2
    # At least one group for every part that should have rows.
    ends = [n_learn, n_learn + n_calibrate]
    part_of_group = np.searchsorted(ends, middles, side="right")
    wanted = [0] * (n_learn > 0) + [1] * (n_calibrate > 0)
    wanted += [2] * (ends[1] < len(order))
    if len(shuffled) < len(wanted):
        raise InputError(
            f"there must be at least {len(wanted)} groups, one for each part of the "
            f"split, got {len(shuffled)}"
        )
    for i, part in enumerate(wanted):
        if part not in part_of_group:
            part_of_group[i - len(wanted)] = part
    part_of_row = np.empty(groups.max() + 1, dtype=np.int64)
    part_of_row[shuffled] = part_of_group
    by_part = [order[part_of_row[groups[order]] == part] for part in range(3)]
    return Parts(*by_part)
