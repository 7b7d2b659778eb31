"""Panels: drawings side by side, and what they have in common."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from histreg.report.figures import BLUE, ORANGE
from histreg.study.statistics import Setting

GREEN, PURPLE, BLACK = "#3d8c40", "#8b3fa8", "#000000"
LOOKS = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "D"), (BLACK, "v"))
"""A colour and, for those who see none or print in grey, a mark."""
LOOK_OF = {"HL-Gauss": LOOKS[0], "l2": LOOKS[1], "HL-OneBin": LOOKS[2], "l1": LOOKS[3]}
"""Of the losses that figures have in common, so that they look alike in all."""
TOO_WIDE = 8.0  # ratio of errors beyond which an axis is logarithmic


def panels(
    n: int, n_columns: int, *, width: float = 4.0, height: float = 2.8
) -> tuple[Figure, list[Axes]]:
    """Return a figure with room for n drawings, so many a row."""
    n_rows = -(-n // n_columns)
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for unused in axes[n:]:
        unused.remove()
    return figure, axes[:n]


def add_legend(figure: Figure) -> None:
    """Say below all drawings, once, what their lines and marks are."""
    found: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        found = dict(zip(labels, handles, strict=True)) | found
    if not found:
        return
    inches = 0.6 + 0.065 * max(map(len, found))  # of a column
    n_columns = max(1, int(figure.get_figwidth() / inches))
    n_rows = -(-len(found) // n_columns)
    figure.set_figheight(figure.get_figheight() + 0.2 * n_rows)
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=n_columns,
        fontsize=8,
        frameon=False,
    )


def looks_of(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return colours and marks of losses, different ones for those of a figure."""
    each = list(dict.fromkeys(names))
    known = {name: LOOK_OF[name] for name in each if name in LOOK_OF}
    free = [look for look in LOOKS if look not in known.values()] or LOOKS
    others = (name for name in each if name not in LOOK_OF)
    return known | dict(zip(others, itertools.cycle(free), strict=False))


def set_log(axis: XAxis | YAxis) -> None:
    """Make an axis logarithmic, with numbers as people write them."""
    scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    scale("log")
    low, high = axis.get_view_interval()
    few = high > 100 * low  # decades alone are enough
    axis.set_major_locator(LogLocator(subs=(1,) if few else (1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def datasets_of(settings: Sequence[Setting]) -> list[str]:
    """Return the data sets, of which there must be one."""
    names = list(dict.fromkeys(each.dataset for each in settings))
    if not names:
        raise ValueError("a figure of errors must have finite runs, got none yet")
    return names
