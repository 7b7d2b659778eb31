"""Figures of one model: each a function of numbers and an Axes."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable
from unicodedata import bidirectional

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager, get_font
from matplotlib.text import Text
from numpy.typing import NDArray

from histreg.distribution import Histogram
from histreg.report.colours import BLUE, GREY, ORANGE

MAX_POINTS = 2000  # beyond which a scatter plot shows no more

Array = NDArray[np.float64]


def picture(draw: Callable[[Axes], None], *, height: float = 3.6) -> str:
    """Return a drawing as a data URL with an SVG, for the ``src`` of an ``img``."""
    figure = Figure(figsize=(5.2, height), layout="constrained")
    draw(figure.add_subplot())
    data = io.BytesIO()
    texts = figure.findobj(Text)
    for text in texts:
        text.set_parse_math(False)  # a column may be called "cost $a"
    # Outlines look the same everywhere; the browser may have glyphs our font lacks.
    is_outlined = all(_has_outlines(text.get_text()) for text in texts)
    with (
        rc_context({"svg.fonttype": "path" if is_outlined else "none"}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(data, format="svg", dpi=150, metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(data.getvalue()).decode()


def _has_outlines(text: str) -> bool:
    """Return whether our font can draw a text letter by letter, from the left."""
    font = get_font(fontManager.findfont(FontProperties()))
    return all(
        font.get_char_index(ord(letter)) and bidirectional(letter) not in ("R", "AL")
        for letter in text
        if letter.isprintable()
    )


def draw_predictions(ax: Axes, predicted: Array, y: Array, *, target: str) -> None:
    """Draw the truth over the prediction, with the line where they agree."""
    shown = np.random.default_rng(0).permutation(len(y))[:MAX_POINTS]
    ax.scatter(
        predicted[shown], y[shown], s=6, alpha=0.4, color=BLUE, rasterized=True, lw=0
    )
    ends = [min(predicted.min(), y.min()), max(predicted.max(), y.max())]
    ax.plot(ends, ends, color=GREY, lw=1, ls="--")
    ax.set(xlabel=f"predicted mean of {target}", ylabel=f"true {target}")


def draw_distribution(ax: Axes, one: Histogram, y: float, *, target: str) -> None:
    """Draw the predicted density of a row, its mean, 90 % interval and the truth."""
    borders = one.bins.borders.numpy()
    ax.stairs(
        one.probs.numpy() / np.diff(borders), borders, fill=True, color=BLUE, alpha=0.45
    )
    lower, upper = (end.item() for end in one.interval(0.9))
    ax.axvspan(lower, upper, color=GREY, alpha=0.15, lw=0)
    ax.axvline(one.mean.item(), color=BLUE, lw=1.2, ls="--")
    ax.axvline(y, color=ORANGE, lw=1.6)
    low, high = one.quantiles([0.001, 0.999]).tolist()
    room = (high - low) * 0.05
    ax.set_xlim(min(low, y) - room, max(high, y) + room)
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=4)
    ax.set_xlabel(target)


def draw_pit(ax: Axes, pit: Array, *, n_bars: int = 20) -> None:
    """Draw the probability integral transform; flat if the model is calibrated."""
    counts, edges = np.histogram(pit, bins=n_bars, range=(0, 1))
    share = 1 / n_bars
    spread = 1.96 * np.sqrt(share * (1 - share) / len(pit))
    ax.stairs(counts / len(pit), edges, fill=True, color=BLUE, alpha=0.6)
    ax.axhline(share, color=GREY, lw=1, ls="--")
    ax.axhspan(share - spread, share + spread, color=GREY, alpha=0.2, lw=0)
    ax.set(
        xlabel="predicted probability of less than the truth", ylabel="share of rows"
    )
    ax.set_xlim(0, 1)


def draw_reliability(ax: Axes, levels: Array, coverage: dict[str, Array]) -> None:
    """Draw the share of intervals that contain the truth over the nominal coverage."""
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
    styles = [(BLUE, "o"), (ORANGE, "s")]
    for (name, shares), (color, marker) in zip(coverage.items(), styles, strict=False):
        ax.plot(levels, shares, color=color, marker=marker, ms=4, label=name)
    ax.set(
        xlabel="coverage asked for", ylabel="coverage found", xlim=(0, 1), ylim=(0, 1)
    )
    if len(coverage) > 1:
        ax.legend(frameon=False)


def draw_error_by_spread(
    ax: Axes, spread: Array, error: Array, *, target: str, n_groups: int = 10
) -> None:
    """Draw the error of groups of rows over their predicted standard deviation."""
    groups = np.array_split(
        np.argsort(spread, kind="stable"), min(n_groups, len(spread))
    )
    x = np.array([_root_mean_square(spread[group]) for group in groups])
    height = np.array([_root_mean_square(error[group]) for group in groups])
    top = max(x.max(), height.max()) * 1.05
    ax.plot([0, top], [0, top], color=GREY, lw=1, ls="--")
    ax.plot(x, height, color=BLUE, marker="o", ms=4)
    ax.set(
        xlabel=f"predicted standard deviation of {target}",
        ylabel="root mean squared error",
        xlim=(0, top),
        ylim=(0, top),
    )


def _root_mean_square(values: Array) -> float:
    """Return the root mean square, also where squares would overflow."""
    largest = float(np.abs(values).max())
    return largest * float(np.sqrt(np.mean((values / (largest or 1.0)) ** 2)))
