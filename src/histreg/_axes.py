"""Axes to draw on, and the colours that all plots share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

LEAST_DENSITY = 0.05  # of the mass beside points, to be drawn
NARROW = 1e-3  # a bin of less, over the widest, is drawn as a point

# They differ in grey print and for colour-blind readers.
BLUE, ORANGE, GREY = "#0067a5", "#c65d00", "#6b6b6b"


def axes_or_new(ax: Axes | None, *, height: float = 3.6) -> Axes:
    """Return the given axes, or those of a new figure of pyplot (height in inches).

    A new figure appears in a notebook by itself, as with pandas' and scikit-learn's
    plots, and can be saved by ``axes.figure.savefig``.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plots need the extra: pip install 'histreg[plot]'"
        ) from error
    _, axes = pyplot.subplots(figsize=(5.2, height), layout="constrained")
    return axes


def show_dates(axis: Axis) -> None:
    """Label an axis, whose numbers are days, with at most six dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    # With matplotlib's five ticks at least, no interval fits spans such as three years.
    locator = AutoDateLocator(minticks=2, maxticks=6)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))


def draw_histogram(
    ax: Axes,
    probs: NDArray[np.float64],
    borders: NDArray[np.float64],
    *,
    color: str,
    alpha: float = 0.45,
    fill: bool = True,
) -> str:
    """Draw a density, or lines where bins are so narrow that they are points.

    If there are at most two points beside a density, each is a line over the whole
    height, with its probability.

    Parameters
    ----------
    ax : Axes
    probs : array of shape (k,)
    borders : array of shape (k + 1,)
    color : str
    alpha : float
    fill : bool
        Whether the area below the density is filled.

    Returns
    -------
    {"density", "probability"}
        What the vertical axis shows.
    """
    widths = np.diff(borders)
    is_point = widths < NARROW * widths.max()
    centers = (borders[1:] + borders[:-1]) / 2
    rest = probs[~is_point].sum() / probs.sum()
    if rest >= 0.5 or (is_point.sum() <= 2 and rest >= LEAST_DENSITY):
        density = np.where(is_point, 0, probs / widths)
        ax.stairs(density, borders, fill=fill, color=color, alpha=alpha)
        top = 1.1 * density.max()
        for at, mass in zip(centers[is_point], probs[is_point], strict=True):
            ax.vlines(at, 0, top, color=color, lw=2.5, alpha=0.8)
            ax.annotate(f" {mass:.0%}", (at, top), va="top", color=color)
        return "density"
    ax.vlines(centers[is_point], 0, probs[is_point], color=color, lw=2.5, alpha=0.8)
    return "probability"


def short_label(text: str, *, max_letters: int = 32) -> str:
    """Return a name as a label of a plot, shortened so that it leaves room."""
    shown = text if len(text) <= max_letters else f"{text[: max_letters - 1]}…"
    return plain(shown)


def plain(text: str) -> str:
    """Return a text for a plot in which no "$" begins a formula."""
    return text.replace("$", r"\$")
