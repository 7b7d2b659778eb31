"""The sum of many trees in one compiled loop, if Numba is installed."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from histreg._numba import compiled, is_installed

BLOCK = 256  # rows whose codes stay in the cache, compared 16 to 64 at a time
FEW = 12  # rows; each then walks through the trees by itself
MOST_NODES = 255  # of a tree, so that places in a level are bytes
NO_CODE_IS_GREATER = 255


@functools.cache
def leaf_sums() -> Callable[..., None] | None:
    """Return `add_leaves` compiled, or None without Numba."""
    return compiled(add_leaves) if is_installed() else None


def add_leaves(
    codes: NDArray[np.uint8],
    columns: NDArray[np.int32],
    thresholds: NDArray[np.uint8],
    values: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Add the value of each row's leaf, of all trees in their order.

    A block of rows is compared with every node of a tree, byte by byte, because a
    processor compares many bytes at once; to look up the nodes that the rows have
    reached takes 5 to 9 times as long.

    Parameters
    ----------
    codes : ndarray of shape (c, n)
    columns, thresholds : ndarrays of shape (T, 2^D - 1)
        Of the nodes, level by level; greater codes go to the right.
    values : ndarray of shape (T, 2^D)
    total : ndarray of shape (n,)
        That is added to.
    """
    n_trees, n_nodes = columns.shape
    n = codes.shape[1]
    place = np.empty(BLOCK, dtype=np.uint8)  # of a row's node within its level
    is_right = np.empty(BLOCK, dtype=np.uint8)
    for start in range(0, n, BLOCK):
        n_rows = min(BLOCK, n - start)
        if n_rows < FEW or n_nodes > MOST_NODES:
            for i in range(start, start + n_rows):
                for tree in range(n_trees):
                    node = 0
                    while node < n_nodes:
                        code = codes[columns[tree, node], i]
                        node = 2 * node + 1 + (code > thresholds[tree, node])
                    total[i] += values[tree, node - n_nodes]
            continue
        # Views, so that the loops below have indices that cannot be negative.
        sums = total[start : start + n_rows]
        for tree in range(n_trees):
            for i in range(n_rows):
                place[i] = 0
            first, width = 0, 1  # of the level
            while first < n_nodes:
                for i in range(n_rows):
                    is_right[i] = 0
                for j in range(width):
                    threshold = thresholds[tree, first + j]
                    if threshold == NO_CODE_IS_GREATER:
                        continue
                    own = np.uint8(j)
                    code = codes[columns[tree, first + j], start : start + n_rows]
                    for i in range(n_rows):
                        is_right[i] |= np.uint8(
                            (place[i] == own) & (code[i] > threshold)
                        )
                for i in range(n_rows):
                    place[i] = np.uint8(place[i] + place[i] + is_right[i])
                first, width = 2 * first + 1, 2 * width
            leaves = values[tree]
            for i in range(n_rows):
                sums[i] += leaves[place[i]]
