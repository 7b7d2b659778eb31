"""Spacings: the coordinates in which bins lie evenly.

A spacing is a strictly increasing function of y and its inverse, chosen by a name and
from training targets alone. Bins that are even in the coordinate are narrow where it
is steep.

``"uniform"``
    y itself.
``"sqrt"``
    the square root, with the sign of y: for counts.
``"log"``
    the logarithm, for positive y.
``"symlog"``
    the area hyperbolic sine of y over the median of its magnitudes: linear around zero,
    logarithmic far from it, for y of either sign and for zeros.
``"quantile"``
    the distribution function of the targets, mixed with a tenth of a uniform one, so
    that no bin becomes wide because nothing lies there; equal values share a step.
``"auto"``
    the first of those above, in this order, that resolves the targets: no twentieth of
    them may lie within a single bin, unless the bins are as fine as their values. If
    none does, the first of those that leave the least unresolved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histreg._checks import check_choice
from histreg._names import SPACINGS
from histreg.errors import InputError

__all__: list[str] = []  # the names above, for `Bins.of`

Array = NDArray[np.float64]
UNIFORM_SHARE = 0.1  # of the coordinate "quantile"
END = 0.05  # of its range, by whose slope it goes on beyond the ends
N_PARTS = 20  # of the targets, each to be resolved by "auto"
TIED = 1e-12  # of its magnitude, to which a value may differ from another by rounding


class Spacing(NamedTuple):
    """A coordinate: ``to`` of y, and ``back`` to it."""

    to: Callable[[Array], Array]
    back: Callable[[Array], Array]


def spacing_of(name: str, y: Array) -> Spacing:
    """Return the spacing of a name for training targets.

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
                f"smallest {y.min():g}"
            )
        return Spacing(np.log, np.exp)
    if name == "symlog":
        scale = np.median(np.abs(y[y != 0]))
        return Spacing(lambda y: np.arcsinh(y / scale), lambda t: scale * np.sinh(t))
    return _of_quantiles(y)


def _of_quantiles(y: Array) -> Spacing:
    values, counts = _different(y)
    share = (np.cumsum(counts) - counts / 2) / len(y)  # below, and half of equal ones
    share = (share - share[0]) / (share[-1] - share[0])
    even = (values - values[0]) / (values[-1] - values[0])
    places = (1 - UNIFORM_SHARE) * share + UNIFORM_SHARE * even
    return Spacing(_line(values, places), _line(places, values))


def _different(y: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the values of y and how many there are of each.

    0.3 and 0.1 + 0.2 are one: no borders fit between them. Where all of y are so near,
    their differences are what there is to resolve.
    """
    values, counts = np.unique(y, return_counts=True)
    allowed = TIED * np.abs(values)
    if values[-1] - values[0] <= 1000 * allowed.max():
        return values, counts
    first = np.append(0, 1 + np.flatnonzero(np.diff(values) > allowed[1:]))
    return values[first], np.add.reduceat(counts, first)


def resolving(y: Array, borders_of: Callable[[str], Array]) -> Array:
    """Return the borders that ``"auto"`` takes, of those that a name has.

    Those of ``"uniform"``, whatever they are, if none are finite and increase.

    Parameters
    ----------
    y : array of shape (n,)
    borders_of : callable, name -> array of shape (k + 1,)
    """
    found = []
    for name in SPACINGS[:-1]:
        if name == "log" and not y.min() > 0:
            continue
        borders = borders_of(name)
        if not (np.isfinite(borders).all() and (np.diff(borders) > 0).all()):
            continue  # beyond float64, for y of hundreds of powers of ten
        found.append((share_unresolved(borders, y), borders))
        if found[-1][0] == 0:
            break
    return min(found, key=lambda each: each[0])[1] if found else borders_of(SPACINGS[0])


def share_unresolved(borders: Array, y: Array) -> float:
    """Return the share of the targets whose twentieth lies within a single bin.

    Except where bins are as fine as the values themselves: a twentieth of equal values,
    or of neighbouring whole numbers, asks for no more than a bin for two of them.

    Parameters
    ----------
    borders : array of shape (k + 1,)
    y : array of shape (n,)
        Those beyond the borders count as at them.
    """
    y = y.clip(borders[0], borders[-1])
    values, _ = _different(y)
    levels = np.quantile(y, np.linspace(0, 1, N_PARTS + 1), method="inverted_cdf")
    places = np.interp(levels, borders, np.arange(len(borders)))
    # To the right, since a level may be a rounding above its value.
    first, last = np.searchsorted(values, (levels[:-1], levels[1:]), side="right")
    n_steps = last - first  # between different values of a part
    n_bins = np.diff(places)
    return float(((n_bins < 1) & (2 * n_bins < n_steps)).mean())


def _line(x: Array, y: Array) -> Callable[[Array], Array]:
    """Return the line through increasing points, beyond its ends as near to them."""
    inner = np.interp([x[0] + END * (x[-1] - x[0]), x[-1] - END * (x[-1] - x[0])], x, y)

    def at(wanted: Array) -> Array:
        wanted = np.asarray(wanted)
        run = END * (x[-1] - x[0])
        below = (wanted - x[0]) * (inner[0] - y[0]) / run
        above = (wanted - x[-1]) * (y[-1] - inner[1]) / run
        return np.interp(wanted, x, y) + np.minimum(below, 0) + np.maximum(above, 0)

    return at
