"""Figures of forecasts: windows with their history, the truth and the forecast fan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg.errors import InputError
from histreg.report.figures import BLUE, ORANGE
from histreg.report.panels import BLACK, add_legend, panels
from histreg.study.forecasts import ForecastRun
from histreg.study.runs import Record

FANS = (
    ("0.05", "0.95", "#d1e3ef"),
    ("0.1", "0.9", "#a3c7de"),
    ("0.25", "0.75", "#6fa8cb"),
)
"""Lower and upper quantile, and a tint of blue: opaque, so that the legend has it."""
MOST_ROWS = 4
"""Of drawings; where there are more models than that, each has one drawing."""


def forecasts(records: Sequence[Record]) -> Figure:
    """Return some windows of each series and model: history, truth, fan, l2's line.

    Of the seed whose forecasts are kept; a row of drawings for each series and model,
    or, where that would be more than a page, the middle window of each.
    """
    by_place: dict[tuple[str, str], dict[str, Record]] = {}
    for record in records:
        run = record.run
        if isinstance(run, ForecastRun) and "forecasts" in record.outcome.curves:
            place = (f"{run.dataset}, {run.architecture}", ", ".join(run.changes))
            by_place.setdefault(place, {})[run.method.name] = record
    if not by_place:
        raise InputError("a figure of forecasts must have runs of seed 1, got none yet")
    n_windows = max(
        len(each.outcome.curves["forecasts"])
        for found in by_place.values()
        for each in found.values()
    )
    has_row = len(by_place) <= MOST_ROWS
    windows = range(n_windows) if has_row else [n_windows // 2]
    drawn = [(*place, found, j) for place, found in by_place.items() for j in windows]
    n_columns = n_windows if has_row else MOST_ROWS
    figure, axes = panels(len(drawn), n_columns, height=2.3)
    for ax, (model, changes, found, j) in zip(axes, drawn, strict=True):
        shown = {
            method: record.outcome.curves["forecasts"][j]
            for method, record in found.items()
        }
        number = next(iter(shown.values()))["window"]
        _draw_window(ax, shown)
        # The changes have a line of their own, or titles run into each other.
        title = f"{model}, window {number}\n{changes}".rstrip()
        ax.set_title(title, fontsize=9)
    for ax in axes[::n_columns]:
        ax.set_ylabel("standardised OT")
    for ax in axes[-n_columns:]:
        ax.set_xlabel("moments ahead")
    add_legend(figure)
    return figure


def _draw_window(ax: Axes, shown: Mapping[str, Mapping[str, Any]]) -> None:
    one = next(iter(shown.values()))
    n = len(one["history"])
    ahead = range(1, 1 + len(one["truth"]))
    ax.plot(range(1 - n, 1), one["history"], color=BLACK, lw=0.8, label="history")
    ax.plot(ahead, one["truth"], color=BLACK, lw=1.6, label="truth")
    ax.axvline(0.5, color=BLACK, lw=0.5, ls=":")
    for method, told in shown.items():
        quantiles = told.get("quantiles")
        if quantiles is None:
            ax.plot(ahead, told["mean"], color=ORANGE, ls="--", lw=1.2, label=method)
            continue
        for low, high, tint in FANS:
            ax.fill_between(
                ahead,
                quantiles[low],
                quantiles[high],
                color=tint,
                lw=0,
                label=f"{method}, {100 * (float(high) - float(low)):.0f} %",
            )
        ax.plot(ahead, told["mean"], color=BLUE, lw=1.2, label=f"{method}, mean")
