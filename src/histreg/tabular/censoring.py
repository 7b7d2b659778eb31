"""Censoring: targets of which only an interval is known, as arguments give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from histreg.errors import InputError

Array = NDArray[np.float64]


def bounds_from(censored: Any, y: Array, *, is_flat: bool) -> Array:
    """Return the other ends of targets (n, m), infinite where y is a lower bound.

    Parameters
    ----------
    censored : bool array-like of the shape of y
    y : ndarray of shape (n, m)
    is_flat : bool
        Whether y was given in shape (n,).
    """
    flags = np.asarray(censored)
    shape = y.shape[:1] if is_flat else y.shape
    if flags.shape != shape:
        raise InputError(
            f"censored must have shape {shape} like y, got shape {flags.shape}"
        )
    if flags.dtype != np.bool_:
        raise InputError(
            "censored must hold bool, True where y is a lower bound, got values "
            f"of type {flags.dtype}"
        )
    return np.where(flags.reshape(y.shape), np.inf, np.nan)


def intervals_from(lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
    """Return a finite end of each target and its other end, of the shape of lower.

    The other end is NaN where the target is known, inf or -inf where it is not bounded.

    Parameters
    ----------
    lower, upper : array-like of shape (n,) or (n, m)
        NaN or infinite where there is no bound; equal where the target is known.
    """
    low, high = _numbers("y", lower), _numbers("y_upper", upper)
    if low.shape != high.shape:
        raise InputError(
            f"y_upper must have shape {low.shape} like y, got shape {high.shape}"
        )
    low = np.where(np.isnan(low), -np.inf, low)
    high = np.where(np.isnan(high), np.inf, high)
    wrong = ~(low <= high) | np.isposinf(low) | np.isneginf(high)
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        raise InputError(
            f"y must not exceed y_upper, got {low[row]} and {high[row]} in row "
            f"{row + 1}"
        )
    unknown = np.isinf(low) & np.isinf(high)
    if unknown.any():
        row = int(np.argwhere(unknown)[0][0])
        raise InputError(f"y or y_upper must be finite, got neither in row {row + 1}")
    y = np.where(np.isinf(low), high, low)
    other = np.where(np.isinf(low), -np.inf, high)
    return y, np.where(low == high, np.nan, other)


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers, or NaN for no bound") from error
    if numbers.ndim not in (1, 2):
        raise InputError(
            f"{name} must have shape (n,) or (n, m), got shape {numbers.shape}"
        )
    return numbers
