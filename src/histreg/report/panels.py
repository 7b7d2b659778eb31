"""Panels: drawings side by side, and what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

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


def add_legend(figure: Figure, *, n_columns: int) -> None:
    """Say below all drawings, once, what their lines and marks are."""
    found: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        found |= {
            label: handle
            for handle, label in zip(handles, labels, strict=True)
            if label not in found
        }
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=n_columns,
        fontsize=8,
        frameon=False,
    )


def look_of(name: str, i: int) -> tuple[str, str]:
    """Return the colour and the mark of a loss, the i-th of its figure."""
    return LOOK_OF.get(name, LOOKS[i % len(LOOKS)])


def datasets_of(settings: Sequence[Setting]) -> list[str]:
    """Return the data sets, of which there must be one."""
    names = list(dict.fromkeys(each.dataset for each in settings))
    if not names:
        raise ValueError("a figure of errors must have finite runs, got none yet")
    return names
