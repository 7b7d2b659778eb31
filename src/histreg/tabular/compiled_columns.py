"""Columns of numbers to ranks and normal scores in compiled loops, if Numba is there.

The results have the same bits as those of `NumberScaling` and `TreeModel.codes`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from histreg._numba import compiled

Floats = NDArray[np.float64]


@functools.cache
def score_loop() -> Callable[..., None]:
    """Return `write_scores` compiled."""
    return compiled(write_scores, error_model="numpy")


@functools.cache
def level_loop() -> Callable[..., None]:
    """Return `write_levels` compiled."""
    return compiled(write_levels)


def write_scores(
    numbers: Floats,
    kept: NDArray[np.int64],
    flagged: NDArray[np.int64],
    knots: Floats,
    scores: Floats,
    scaled: NDArray[np.float32],
) -> None:
    """Write the normal scores of columns and the flags of their gaps.

    Parameters
    ----------
    numbers : ndarray of shape (n, d)
        NaN where missing.
    kept, flagged : ndarrays of shapes (c,), (f,)
    knots, scores : ndarrays of shape (c, K)
    scaled : ndarray of shape (n, c + f)
    """
    n_inner = knots.shape[1] - 2
    top = 1
    while 2 * top <= n_inner:
        top *= 2
    for column in range(len(kept)):
        own, own_scores = knots[column], scores[column]
        for row in range(len(numbers)):
            x = numbers[row, kept[column]]
            if np.isnan(x):
                scaled[row, column] = 0
                continue
            # The number of inner knots at or below x.
            lower, step = 0, top
            while step > 0:
                after = lower + step
                is_below = own[min(after, n_inner)] <= x  # without branches
                lower += step * ((after <= n_inner) & is_below)
                step //= 2
            width = own[lower + 1] - own[lower]
            share = (x - own[lower]) / (width if width > 0 else 1.0)
            share = min(max(share, 0.0), 1.0)
            score = own_scores[lower]
            scaled[row, column] = score + share * (own_scores[lower + 1] - score)
    for flag in range(len(flagged)):
        for row in range(len(numbers)):
            is_gap = np.isnan(numbers[row, flagged[flag]])
            scaled[row, len(kept) + flag] = 1 if is_gap else 0


def write_levels(numbers: Floats, borders: Floats, levels: NDArray[np.uint8]) -> None:
    """Write the levels of columns: 0 for a gap, else 1 and the borders below.

    Parameters
    ----------
    numbers : ndarray of shape (n, d)
    borders : ndarray of shape (d, b)
        Rising; b is at most 254.
    levels : ndarray of shape (d, n)
    """
    n_borders = borders.shape[1]
    top = 1
    while 2 * top <= n_borders:
        top *= 2
    for column in range(len(borders)):
        own = borders[column]
        for row in range(len(numbers)):
            x = numbers[row, column]
            below, step = 0, top
            while step > 0:
                after = below + step
                is_below = own[min(after, n_borders) - 1] < x
                below += step * ((after <= n_borders) & is_below)
                step //= 2
            levels[column, row] = 0 if np.isnan(x) else below + 1
