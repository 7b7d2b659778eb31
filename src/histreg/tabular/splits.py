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
    seed : int
        For the random split.
    """
    if not (0 <= test < 1 and 0 <= calibration < 1 and test + calibration < 1):
        raise InputError(
            "the fractions of held-out and calibration rows must lie in [0, 1) and add "
            f"up to less than 1, got {test} and {calibration}"
        )
    if order is None:
        order = np.random.default_rng(seed).permutation(n)
    n_test, n_calibrate = round(test * n), round(calibration * n)
    n_learn = n - n_test - n_calibrate
    if n_learn < 1:
        raise InputError(f"the split must leave rows for training, got {n} rows")
    return Parts(
        order[:n_learn], order[n_learn : n_learn + n_calibrate], order[n - n_test :]
    )
