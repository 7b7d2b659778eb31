"""Figures of games: their episodes, HL-Gauss against l2, and ours against the paper."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from histreg.errors import InputError
from histreg.report.colours import BLACK, BLUE, GREY, ORANGE
from histreg.report.panels import add_legend, name_points, panels, set_log
from histreg.report.results import Results
from histreg.report.value_tables import ERRORS, in_paper, size_of
from histreg.study.analysis.ratios import (
    ValuePair,
    geometric_mean,
    log_ratios_of,
    slope_through_origin,
    value_pairs,
)
from histreg.study.measurements import Measurement

TINT = "#a3c7de"
ROOM = 2.0  # beside the least and the largest error, as a factor: for names


def replays(results: Results) -> Figure:
    """Return the episodes along the file of each game, those of the test darker."""
    shown = {
        record.run.dataset: record.outcome
        for record in results.records
        if isinstance(record.run, Measurement)
    }
    size = (9.0, 0.9 + 0.28 * len(shown))
    figure = Figure(figsize=size, layout="constrained")
    ax = figure.subplots()
    for row, outcome in enumerate(shown.values()):
        curves = outcome.curves
        spans = [
            (start, stop - start)
            for start, stop in zip(curves["start"], curves["stop"], strict=True)
        ]
        n_test = int(outcome.metrics["test episodes"])
        for some, colour, part in (
            (spans[:n_test], BLUE, "test"),
            (spans[n_test:], TINT, "train"),
        ):
            ax.broken_barh(some, (row - 0.35, 0.7), facecolors=colour, label=part)
        ends = list(zip(curves["stop"], curves["is over"], strict=True))
        over = [stop for stop, is_over in ends if is_over]
        late = [stop for stop, is_over in ends[:-1] if not is_over]
        for places, colour, lw, said in (
            (over, BLACK, 0.5, "the game was over"),
            (late, ORANGE, 1.5, "its time was over"),
        ):
            ax.vlines(places, row - 0.42, row + 0.42, color=colour, lw=lw, label=said)
    ax.set_yticks(range(len(shown)), list(shown), fontsize=8)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.set_xlabel("frames of the file")
    ax.margins(x=0)
    add_legend(figure)
    return figure


def values(results: Results) -> Figure:
    """Return the errors of HL-Gauss against those of l2, one dot per game (Figure 11).

    For games that the paper has, also our log ratios against the paper's.
    """
    pairs = value_pairs(results.records)
    if not pairs:
        raise InputError(
            "a figure of values must have a game with both losses, got none yet"
        )
    known = [pair for pair in pairs if in_paper(pair) is not None]
    figure, axes = panels(3 if known else 2, 3 if known else 2, width=4.8, height=4.8)
    for ax, metric in zip(axes, ERRORS, strict=False):
        _draw_errors(ax, pairs, metric)
    if known:
        _draw_paper(axes[-1], known)
    add_legend(figure)
    changes = dict.fromkeys(", ".join(pair.l2.run.changes) for pair in pairs)
    size = size_of(pair.l2.run for pair in pairs)
    figure.suptitle("; ".join([size, *filter(None, changes)]), fontsize=10)
    figure.draw_without_rendering()  # fixes the positions of the dots
    for ax, metric in zip(axes, ERRORS, strict=False):
        dots = [(pair.game, pair.mean_errors(metric)) for pair in pairs]
        name_points(ax, dots, _seeds(pairs, metric))
    if known:
        name_points(axes[-1], [(pair.game, _both(pair)) for pair in known])
    return figure


def _seeds(pairs: Sequence[ValuePair], metric: str) -> list[tuple[float, float]]:
    """Return the errors of l2 and HL-Gauss of each game and seed."""
    return [both for pair in pairs for both in pair.errors(metric).values()]


def _draw_errors(ax: Axes, pairs: Sequence[ValuePair], metric: str) -> None:
    x, y = zip(*(pair.mean_errors(metric) for pair in pairs), strict=True)
    of_l2, of_hl = zip(*_seeds(pairs, metric), strict=True)
    low, high = min(*of_l2, *of_hl) / ROOM, max(*of_l2, *of_hl) * ROOM
    logs = log_ratios_of(pairs, metric)
    ratio = geometric_mean(logs)
    slope = slope_through_origin(x, y).mean
    for factor, colour, dashes, said in (
        (1.0, BLACK, "-", "both alike"),
        (ratio, BLUE, "--", "geometric mean of the ratios"),
        (slope, ORANGE, ":", "least-squares slope through the origin"),
    ):
        ends = [low, high], [factor * low, factor * high]
        ax.plot(*ends, color=colour, lw=1, ls=dashes, label=said)
    ax.scatter(of_l2, of_hl, s=7, color=GREY, lw=0, zorder=2, label="a seed")
    ax.scatter(x, y, s=26, color=BLUE, lw=0, zorder=3, label="a game")
    ax.set(xlim=(low, high), ylim=(low, high))
    set_log(ax.xaxis)
    set_log(ax.yaxis)
    ax.set(xlabel=f"l2, {metric}", ylabel=f"HL-Gauss, {metric}")
    ax.set_title(
        f"{metric}: HL-Gauss lower in {logs.n_lower} of {len(pairs)}\n"
        f"ratio {ratio:.3f}, slope {slope:.3f}",
        fontsize=9,
    )


def _draw_paper(ax: Axes, pairs: Sequence[ValuePair]) -> None:
    x, y = zip(*map(_both, pairs), strict=True)
    low, high = min(*x, *y, 0.0), max(*x, *y, 0.0)
    room = 0.08 * (high - low)
    ends = (low - room, high + room)
    ax.plot(ends, ends, color=BLACK, lw=1)
    for line in (ax.axhline, ax.axvline):
        line(0.0, color=GREY, lw=0.6)
    ax.scatter(x, y, s=26, color=BLUE, lw=0, zorder=3)
    ax.set(xlim=ends, ylim=ends)
    ax.set(xlabel="the paper's log ratio", ylabel="our log ratio")
    ax.set_title("test MAE: log(HL-Gauss / l2), below 0\nwhere it is lower", fontsize=9)


def _both(pair: ValuePair) -> tuple[float, float]:
    """Return the paper's log ratio, which must exist, and ours."""
    paper = in_paper(pair)
    assert paper is not None
    return paper, pair.log_ratio(ERRORS[0])
