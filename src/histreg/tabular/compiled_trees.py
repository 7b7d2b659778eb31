"""The sum of many trees in one compiled loop, if Numba is installed."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from histreg._numba import compiled, is_installed

BLOCK = 64  # rows whose codes stay in the cache, and which do not wait for each other


@functools.cache
def leaf_sums() -> Callable[..., None] | None:
    """Return `add_leaves` compiled, or None without Numba."""
    return compiled(add_leaves) if is_installed() else None


def is_compiled() -> bool:
    """Whether this process has the compiled loop already."""
    return leaf_sums.cache_info().currsize > 0


def add_leaves(
    codes: NDArray[np.uint8],
    columns: NDArray[np.int32],
    thresholds: NDArray[np.uint8],
    values: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Add the value of each row's leaf, of all trees in their order.

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
    nodes = np.empty(BLOCK, dtype=np.int64)
    for start in range(0, n, BLOCK):
        n_rows = min(BLOCK, n - start)
        for tree in range(n_trees):
            for i in range(n_rows):
                nodes[i] = 0
            first = 0  # of the level
            while first < n_nodes:
                for i in range(n_rows):
                    node = nodes[i]
                    code = codes[columns[tree, node], start + i]
                    nodes[i] = 2 * node + 1 + (code > thresholds[tree, node])
                first = 2 * first + 1
            for i in range(n_rows):
                total[start + i] += values[tree, nodes[i] - n_nodes]
