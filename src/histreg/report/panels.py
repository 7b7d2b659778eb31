"""Panels: figures with several axes, their legends, scales and labels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from histreg.errors import InputError
from histreg.study.analysis.statistics import TableSetting

NAME_SIZE = 7.0  # points
PLACES = ((1, 0), (-1, 0), (1, -1), (-1, 1), (0, 1), (0, -1), (1, 1), (-1, -1))
"""Of a name beside its dot, across and up, the best first."""
DISTANCES = (4, 12, 22, 34, 48)  # of a name from its dot, in points
TOO_WIDE = 8.0  # ratio of errors beyond which an axis is logarithmic


def panels(
    n: int, n_columns: int, *, width: float = 4.0, height: float = 2.8
) -> tuple[Figure, list[Axes]]:
    """Return a figure with n axes, `n_columns` in a row."""
    n_rows = -(-n // n_columns)
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for unused in axes[n:]:
        unused.remove()
    return figure, axes[:n]


def add_legend(figure: Figure) -> None:
    """Add one legend, below all axes, for their lines and marks."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True)) | entries
    if not entries:
        return
    inches = 0.6 + 0.065 * max(map(len, entries))  # of a column
    n_columns = max(1, int(figure.get_figwidth() / inches))
    n_rows = -(-len(entries) // n_columns)
    figure.set_figheight(figure.get_figheight() + 0.2 * n_rows)
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=n_columns,
        fontsize=8,
        frameon=False,
    )


def set_log(axis: XAxis | YAxis) -> None:
    """Make an axis logarithmic, with plain numbers as tick labels."""
    scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    scale("log")
    low, high = axis.get_view_interval()
    few = high > 100 * low  # decades alone are enough
    axis.set_major_locator(LogLocator(subs=(1,) if few else (1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def name_points(
    ax: Axes,
    points: Sequence[tuple[str, tuple[float, float]]],
    others: Sequence[tuple[float, float]] = (),
) -> None:
    """Write names beside dots, without hiding dots or earlier names.

    Where all places beside a dot are taken, the name stands further away, with a line
    to the dot. Call it after the layout is done: the size of a name is in points.

    Parameters
    ----------
    ax : Axes
    points : sequence of names and dots
    others : sequence of dots
        Dots without a name, which must not be hidden either.
    """
    pixels = ax.figure.dpi / 72  # of a point
    dots = [ax.transData.transform(point) for _, point in points]
    taken = [
        Bbox.from_extents(*(dot - room * pixels), *(dot + room * pixels))
        for room, group in ((3, dots), (2, map(ax.transData.transform, others)))
        for dot in group
    ]
    halo = patheffects.withStroke(linewidth=2, foreground="white")
    for (name, point), dot in zip(points, dots, strict=True):
        box, corner, distance = _free_place(ax, name, dot, taken)
        taken.append(box)
        is_far = distance > DISTANCES[0]
        ax.annotate(
            name,
            point,
            corner,
            textcoords="offset points",
            fontsize=NAME_SIZE,
            va="bottom",
            path_effects=[halo],
            arrowprops={"arrowstyle": "-", "lw": 0.5} if is_far else None,
        )


def _free_place(
    ax: Axes, name: str, dot: NDArray[np.float64], taken: Sequence[Bbox]
) -> tuple[Bbox, tuple[float, float], int]:
    """Return the first place for a name that is free, or the best one if none is.

    The box that the name takes, in pixels, the offset of its lower left corner from the
    dot, and its distance from the dot, both in points.
    """
    pixels = ax.figure.dpi / 72
    frame = ax.get_window_extent()
    width = TextPath((0, 0), name, size=NAME_SIZE).get_extents().width + 2
    height = 1.1 * NAME_SIZE
    places = []
    for distance, (across, up) in itertools.product(DISTANCES, PLACES):
        # From the dot to the middle of the name, in points.
        middle = np.array(
            [across * (distance + width / 2), up * (distance + height / 2)]
        )
        corner = middle - (width / 2, height / 2)
        left, low = dot + pixels * corner
        box = Bbox.from_bounds(left, low, pixels * width, pixels * height)
        places.append((box, tuple(corner), distance))
    free = (
        place
        for place in places
        if frame.contains(*place[0].min)
        and frame.contains(*place[0].max)
        and not any(place[0].overlaps(other) for other in taken)
    )
    return next(free, places[0])


def datasets_of(settings: Sequence[TableSetting]) -> list[str]:
    """Return the names of the data sets; raise an InputError if there are none."""
    names = list(dict.fromkeys(setting.dataset for setting in settings))
    if not names:
        raise InputError("a figure of errors must have finite runs, got none yet")
    return names
