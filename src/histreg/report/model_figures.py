"""Figures of one model: each a function of numbers and an Axes."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from html import escape

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import ScalarFormatter, StrMethodFormatter
from numpy.typing import NDArray

from histreg._axes import draw_histogram, short_label, show_dates
from histreg.distribution import Histogram
from histreg.report.colours import BLACK, BLUE, GREY, ORANGE
from histreg.tabular.dependence import Dependence
from histreg.tabular.group_scores import GroupScores
from histreg.tabular.importance import Importance

MAX_POINTS = 700  # beyond which a scatter plot shows no more, and a page grows
PAGE_COLOURS = {
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREY: "var(--grey)",
    BLACK: "currentColor",
    "#ffffff": "var(--paper)",
}

Array = NDArray[np.float64]


def picture(
    draw: Callable[[Axes], None], label: str, *, height: float = 3.4, width: float = 5.2
) -> str:
    """Return a drawing as an SVG element for a page, in the colours of the page.

    Colours become variables of the page's style, and text has its font, so that a
    figure fits a light and a dark page.

    Parameters
    ----------
    draw : callable
    label : str
        What the figure shows, for readers who do not see it.
    height, width : float
        In inches at 72 points.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_visible(False)
    ax = figure.add_subplot()
    ax.patch.set_visible(False)
    ax.spines[["top", "right"]].set_visible(False)
    draw(ax)
    for axis in (ax.xaxis, ax.yaxis):
        _group_thousands(axis)
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a column may be called "cost $a"
    data = io.StringIO()
    with (
        rc_context({"svg.fonttype": "none", "svg.hashsalt": label}),
        warnings.catch_warnings(),
    ):
        # The browser may have glyphs that our font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(data, format="svg", metadata={"Date": None})
    return _for_page(data.getvalue(), label)


def _group_thousands(axis: Axis) -> None:
    """Write the ticks of an axis as the page writes numbers, if they are large."""
    low, high = axis.get_view_interval()
    is_large = 10_000 <= max(abs(low), abs(high)) < 1e9 and high - low >= 10
    if is_large and isinstance(axis.get_major_formatter(), ScalarFormatter):
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _for_page(svg: str, label: str) -> str:
    """Return an SVG file as an element of a page."""
    viewbox = re.search(r'viewBox="[^"]*"', svg)
    assert viewbox is not None  # matplotlib always writes it
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'<g id="[^"]*"', "<g", body)  # the same in every figure
    body = re.sub(r"font-family: [^;\"]*;? ?", "", body)
    body = re.sub(r"\s*\n\s*", "\n", body)
    body = body.replace(r"\$", "$")  # of plots that are drawn elsewhere too
    for colour, variable in PAGE_COLOURS.items():
        body = body.replace(colour, variable)
    return (
        f'<svg class="figure" role="img" aria-label="{escape(label)}" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink" {viewbox[0]}>{body}'
    )


def draw_predictions(ax: Axes, predicted: Array, y: Array, *, target: str) -> None:
    """Draw the truth over the prediction, with the line where they agree."""
    shown = np.random.default_rng(0).permutation(len(y))[:MAX_POINTS]
    ax.scatter(predicted[shown], y[shown], s=7, alpha=0.5, color=BLUE, lw=0)
    ends = [min(predicted.min(), y.min()), max(predicted.max(), y.max())]
    ax.plot(ends, ends, color=GREY, lw=1, ls="--")
    ax.set(xlabel=f"predicted mean of {target}", ylabel=f"true {target}")
    ax.locator_params(nbins=6)  # long numbers do not touch


def draw_distribution(ax: Axes, one: Histogram, y: float, *, target: str) -> None:
    """Draw the predicted density of a row, its mean, 90 % interval and the truth."""
    low, high = one.quantiles([0.001, 0.999]).tolist()
    room = (high - low) * 0.05
    start, end = min(low, y) - room, max(high, y) + room
    borders = one.bins.borders.numpy()
    # Only the bins that are shown: there may be hundreds more.
    first, last = np.searchsorted(borders, [start, end])
    shown = slice(max(first - 1, 0), max(last, 1))
    probs = one.probs.numpy()[shown]
    edges = borders[shown.start : shown.start + len(probs) + 1]
    draw_histogram(ax, probs, edges, color=BLUE)
    lower, upper = (end.item() for end in one.interval(0.9))
    ax.axvspan(lower, upper, color=GREY, alpha=0.15, lw=0)
    ax.axvline(one.mean.item(), color=BLUE, lw=1.2, ls="--")
    ax.axvline(y, color=ORANGE, lw=1.6)
    ax.set_xlim(start, end)
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=4)
    ax.set_xlabel(target)


def peaks_at_end(one: Histogram) -> bool:
    """Whether the first or last bin of a row holds much more than the one beside it.

    Such a bin has the mass of all that is predicted beyond the bins, at least 1 %.
    """
    masses, widths = one.probs.numpy(), np.diff(one.bins.borders.numpy())
    densities = masses / widths
    return any(
        masses[end] > 0.01 and densities[end] > 2 * densities[beside]
        for end, beside in ((0, 1), (-1, -2))
    )


def draw_pit(ax: Axes, pit: Array, *, n_bars: int = 20) -> None:
    """Draw the probability integral transform; flat if the model is calibrated."""
    counts, edges = np.histogram(pit, bins=n_bars, range=(0, 1))
    share = 1 / n_bars
    spread = 1.96 * np.sqrt(share * (1 - share) / len(pit))
    ax.stairs(counts / len(pit), edges, fill=True, color=BLUE, alpha=0.6)
    ax.axhline(share, color=GREY, lw=1, ls="--")
    ax.axhspan(share - spread, share + spread, color=GREY, alpha=0.2, lw=0)
    ax.set(xlabel="predicted probability below the true value", ylabel="share of rows")
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
    ax.locator_params(nbins=5)  # long numbers do not touch


def _root_mean_square(values: Array) -> float:
    """Return the root mean square, also where squares would overflow."""
    largest = float(np.abs(values).max())
    return largest * float(np.sqrt(np.mean((values / (largest or 1.0)) ** 2)))


def draw_coverage_by_spread(
    ax: Axes, spread: Array, covered: Array, *, coverage: float, n_groups: int = 8
) -> None:
    """Draw the share of intervals that hold the truth, by predicted spread."""
    groups = np.array_split(
        np.argsort(spread, kind="stable"), min(n_groups, len(spread))
    )
    shares = np.array([covered[group].mean() for group in groups])
    # 95 % of the shares of calibrated groups lie in the band, by their binomial.
    size = min(len(group) for group in groups)
    half = 1.96 * np.sqrt(coverage * (1 - coverage) / size)
    ax.axhspan(coverage - half, min(1.0, coverage + half), color=GREY, alpha=0.2, lw=0)
    ax.axhline(coverage, color=GREY, lw=1, ls="--")
    ax.plot(np.arange(1, len(groups) + 1), shares, color=BLUE, marker="o", ms=4)
    ax.set(
        xlabel="groups of rows, by increasing predicted spread",
        ylabel=f"share in the {100 * coverage:.0f} % interval",
        ylim=(min(0.5, shares.min() - 0.05), 1.02),
    )


def draw_coverage_by_group(ax: Axes, by: GroupScores, *, coverage: float) -> None:
    """Draw the share of intervals that hold the truth in each group of rows."""
    groups = by.groups[::-1]  # the first one on top
    places = np.arange(len(groups))
    low = np.array([coverage - group.chance for group in groups])
    high = np.array([min(1.0, coverage + group.chance) for group in groups])
    ax.barh(places, high - low, left=low, color=GREY, alpha=0.2, height=0.6, lw=0)
    ax.axvline(coverage, color=GREY, lw=1, ls="--")
    for place, group in zip(places, groups, strict=True):
        colour, mark = (ORANGE, "s") if group.is_off else (BLUE, "o")
        ax.plot(group.scores.coverage, place, color=colour, marker=mark, ms=5)
    ax.set_yticks(places, [short_label(group.name) for group in groups])
    lowest = min(low.min(), *(group.scores.coverage for group in groups))
    ax.set(
        xlabel=f"share in the {100 * coverage:.0f} % interval",
        xlim=(max(-0.02, lowest - 0.03), 1.02),
        ylim=(-0.6, len(groups) - 0.4),
    )
    ax.locator_params(axis="x", nbins=6)


def draw_importance(importance: Importance, ax: Axes, *, of: str, n_bars: int) -> None:
    """Draw a bar for each of the most important columns."""
    importance.plot(ax, of=of, max_columns=n_bars)


def draw_dependence(dependence: Dependence, ax: Axes) -> None:
    """Draw the average prediction over the value of a column, without a legend."""
    dependence.plot(ax)
    legend = ax.get_legend()
    if legend is not None:
        legend.remove()  # the page says what is drawn, and nothing is covered


def draw_time(
    ax: Axes, seconds: Array, predicted: Array, y: Array, *, n_groups: int = 40
) -> None:
    """Draw the mean truth and the mean prediction of successive groups of rows."""
    groups = np.array_split(np.argsort(seconds, kind="stable"), min(n_groups, len(y)))
    days = [seconds[group].mean() / 86_400 for group in groups]  # matplotlib's unit
    for values, colour, name in ((y, ORANGE, "true"), (predicted, BLUE, "predicted")):
        means = [values[group].mean() for group in groups]
        ax.plot(days, means, color=colour, lw=1.4, label=name)
    show_dates(ax.xaxis)
    ax.legend(frameon=False)
    ax.set(ylabel="mean of successive rows")
