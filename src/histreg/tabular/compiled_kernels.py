"""The sum of a Gaussian process over its landmarks in a compiled loop, with Numba."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from histreg._numba import compiled, is_installed
from histreg.tabular.polynomials import (
    E3,
    E4,
    E5,
    E6,
    E7,
    E8,
    E9,
    E10,
    E11,
    E12,
    E13,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    ROUNDING,
)

Floats = NDArray[np.float64]
LANES = 8  # as in `compiled_blends`
FARTHEST = 700.0  # whose exponential is no subnormal number


@functools.cache
def kernel_sums() -> Callable[..., None] | None:
    """Return `write_sums` compiled, or None without Numba."""
    if not is_installed():
        return None
    return compiled(write_sums, fastmath={"contract"}, error_model="numpy")


def write_sums(
    products: Floats,
    squares: Floats,
    landmark_squares: Floats,
    weight: Floats,
    amplitude: float,
    slope: float,
    sums: Floats,
) -> None:
    """Write the weighted sum of the covariances of n rows with m landmarks.

    Parameters
    ----------
    products : ndarray of shape (n, m)
        Inner products of features over lengths.
    squares, landmark_squares : ndarrays of shape (n,), (m,)
        Squared norms of these features.
    weight : ndarray of shape (m,)
    amplitude, slope : float
    sums : ndarray of shape (n,)
    """
    n, m = products.shape
    distance, poly = np.empty(m), np.empty(m)
    power = np.empty(m)
    power_bits = power.view(np.int64)
    lane_sums, lanes = np.empty(LANES), m - m % LANES
    for row in range(n):
        for j in range(m):
            square = squares[row] + landmark_squares[j] - 2 * products[row, j]
            distance[j] = min(np.sqrt(5 * max(square, 0.0)), FARTHEST)
        # exp(-r), in steps without branches; see `compiled_blends.mix`.
        for j in range(m):
            x = -distance[j]
            rounded = x * LOG2_E + ROUNDING
            whole = rounded - ROUNDING
            r = (x - whole * LN2_HIGH) - whole * LN2_LOW
            p = E9 + r * (E10 + r * (E11 + r * (E12 + r * E13)))
            p = E4 + r * (E5 + r * (E6 + r * (E7 + r * (E8 + r * p))))
            poly[j] = 1.0 + r * (1.0 + r * (0.5 + r * (E3 + r * p)))
            power[j] = rounded
        for j in range(m):
            power_bits[j] = (power_bits[j] + 1023) << 52
        for j in range(m):
            r = distance[j]
            matern = (1.0 + r + r * r * (1 / 3)) * poly[j] * power[j]
            poly[j] = weight[j] * (amplitude * matern + slope * products[row, j])
        lane_sums[:] = 0.0
        for j in range(0, lanes, LANES):
            for lane in range(LANES):
                lane_sums[lane] += poly[j + lane]
        total = 0.0
        for lane in range(LANES):
            total += lane_sums[lane]
        for j in range(lanes, m):
            total += poly[j]
        sums[row] = total
