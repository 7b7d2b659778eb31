"""Spacings: the coordinates in which bins have equal widths.

A spacing is a strictly increasing function of y with its inverse, determined by a name
and the training targets. Bins of equal widths in the coordinate are narrow in y where
the function is steep.

``"uniform"``
    y itself.
``"sqrt"``
    the square root, with the sign of y: for counts.
``"log"``
    the logarithm, for positive y.
``"symlog"``
    the inverse hyperbolic sine of y divided by its median magnitude: linear around
    zero, logarithmic far from it, for y of either sign and for zeros.
``"quantile"``
    the distribution function of the targets, mixed with a uniform one of weight 0.1, so
    that bins do not become too wide where there are few targets; equal values share a
    step.
``"auto"``
    the first of the above, in this order, that resolves the targets: of the 20 groups
    between their 5 % quantiles, none may lie within a single bin, unless the bins are
    as fine as the values. If no spacing resolves them, the first of those with the
    smallest unresolved share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histreg._checks import check_choice
from histreg._names import SPACINGS
from histreg.errors import InputError

__all__: list[str] = []  # spacings are chosen by name, in `Bins.of`

Array = NDArray[np.float64]
UNIFORM_SHARE = 0.1  # weight of the uniform part of "quantile"
END_SHARE = 0.05  # of the range, whose mean slope extrapolates beyond the end
N_GROUPS = 20  # groups of targets, each to be resolved by "auto"
TIE_TOLERANCE = 1e-12  # relative difference up to which two values count as equal


class Spacing(NamedTuple):
    """A coordinate: ``to`` maps y to it, ``back`` maps it to y."""

    to: Callable[[Array], Array]
    back: Callable[[Array], Array]


def spacing_of(name: str, y: Array) -> Spacing:
    """Return the spacing of this name for training targets.

    Parameters
    ----------
    name : {"uniform", "sqrt", "log", "symlog", "quantile"}
    y : array of shape (n,)
        Finite; at least two different values.
    """
    check_choice("spacing", name, SPACINGS[:-1])
    if name == "uniform":
        return Spacing(lambda y: y, lambda t: t)
    if name == "sqrt":
        return Spacing(
            lambda y: np.sign(y) * np.sqrt(np.abs(y)), lambda t: np.sign(t) * t**2
        )
    if name == "log":
        if not y.min() > 0:
            raise InputError(
                'the spacing "log" needs positive targets ("symlog" takes any), got a '
                f"minimum of {y.min():g}"
            )
        return Spacing(np.log, np.exp)
    if name == "symlog":
        scale = np.median(np.abs(y[y != 0]))
        return Spacing(lambda y: np.arcsinh(y / scale), lambda t: scale * np.sinh(t))
    return _of_quantiles(y)


def _of_quantiles(y: Array) -> Spacing:
    values, counts = _distinct(y)
    share = (np.cumsum(counts) - counts / 2) / len(y)  # below, plus half of the ties
    share = (share - share[0]) / (share[-1] - share[0])
    even = (values - values[0]) / (values[-1] - values[0])
    coordinates = (1 - UNIFORM_SHARE) * share + UNIFORM_SHARE * even
    return Spacing(_polyline(values, coordinates), _polyline(coordinates, values))


def _distinct(y: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the distinct values of y and their counts.

    Values that differ only by rounding, such as 0.3 and 0.1 + 0.2, count as one: no
    borders fit between them. If all of y are that close, every difference counts.
    """
    values, counts = np.unique(y, return_counts=True)
    tolerance = TIE_TOLERANCE * np.abs(values)
    if values[-1] - values[0] <= 1000 * tolerance.max():
        return values, counts
    first = np.append(0, 1 + np.flatnonzero(np.diff(values) > tolerance[1:]))
    return values[first], np.add.reduceat(counts, first)


def resolving(y: Array, borders_of: Callable[[str], Array]) -> Array:
    """Return the borders of the spacing that ``"auto"`` chooses.

    If no spacing has finite, increasing borders, those of ``"uniform"`` are returned.

    Parameters
    ----------
    y : array of shape (n,)
    borders_of : callable, name -> array of shape (k + 1,)
    """
    candidates = []
    for name in SPACINGS[:-1]:
        if name == "log" and not y.min() > 0:
            continue
        borders = borders_of(name)
        if not (np.isfinite(borders).all() and (np.diff(borders) > 0).all()):
            continue  # y spans hundreds of orders of magnitude, beyond float64
        unresolved = share_unresolved(borders, y)
        if unresolved == 0:
            return borders
        candidates.append((unresolved, borders))
    if not candidates:
        return borders_of(SPACINGS[0])
    return min(candidates, key=lambda candidate: candidate[0])[1]


def share_unresolved(borders: Array, y: Array) -> float:
    """Return the share of 20 equal groups of targets that lie within a single bin.

    Groups are those between the 5 % quantiles. A group of equal values or of
    neighbouring integers counts as resolved if it has at least one bin for two values.

    Parameters
    ----------
    borders : array of shape (k + 1,)
    y : array of shape (n,)
        Targets beyond the borders are clipped to them.
    """
    y = y.clip(borders[0], borders[-1])
    values, _ = _distinct(y)
    levels = np.quantile(y, np.linspace(0, 1, N_GROUPS + 1), method="inverted_cdf")
    coordinates = np.interp(levels, borders, np.arange(len(borders)))
    # side="right", because a level may exceed its value by a rounding error.
    first, last = np.searchsorted(values, (levels[:-1], levels[1:]), side="right")
    n_steps = last - first  # between distinct values of a group
    n_bins = np.diff(coordinates)
    return float(((n_bins < 1) & (2 * n_bins < n_steps)).mean())


def _polyline(x: Array, y: Array) -> Callable[[Array], Array]:
    """Return the polyline through increasing points, extrapolated linearly."""
    run = END_SHARE * (x[-1] - x[0])
    inner = np.interp([x[0] + run, x[-1] - run], x, y)

    def at(points: Array) -> Array:
        points = np.asarray(points)
        below = (points - x[0]) * (inner[0] - y[0]) / run
        above = (points - x[-1]) * (y[-1] - inner[1]) / run
        return np.interp(points, x, y) + np.minimum(below, 0) + np.maximum(above, 0)

    return at
