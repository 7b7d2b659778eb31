"""Figures of forecasts: windows with their history, the truth and the forecast fan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg.report.figures import BLUE, ORANGE
from histreg.report.panels import BLACK, add_legend, panels
from histreg.study.forecasts import ForecastRun
from histreg.study.runs import Record

FANS = (("0.05", "0.95", 0.18), ("0.1", "0.9", 0.22), ("0.25", "0.75", 0.3))
"""Lower and upper quantile, and how dark."""


def forecasts(records: Sequence[Record]) -> Figure:
    """Return some windows of each series and model: history, truth, fan, l2's line.

    Of the seed whose forecasts are kept.
    """
    by_place: dict[tuple[str, str], dict[str, Record]] = {}
    for record in records:
        run = record.run
        if isinstance(run, ForecastRun) and "forecasts" in record.outcome.curves:
            place = (run.dataset, run.architecture)
            by_place.setdefault(place, {})[run.method.name] = record
    if not by_place:
        raise ValueError("a figure of forecasts must have runs of seed 1, got none yet")
    n_windows = max(
        len(each.outcome.curves["forecasts"])
        for found in by_place.values()
        for each in found.values()
    )
    figure, axes = panels(len(by_place) * n_windows, n_windows)
    for i, ((name, body), found) in enumerate(by_place.items()):
        for j in range(n_windows):
            ax = axes[i * n_windows + j]
            shown = {
                method: record.outcome.curves["forecasts"][j]
                for method, record in found.items()
            }
            _draw_window(ax, shown)
            ax.set(title=f"{name}, {body}", xlabel="moment", ylabel="standardised OT")
    add_legend(figure)
    return figure


def _draw_window(ax: Axes, shown: Mapping[str, Mapping[str, Any]]) -> None:
    one = next(iter(shown.values()))
    n = len(one["history"])
    ahead = range(len(one["truth"]))
    ax.plot(range(-n, 0), one["history"], color=BLACK, lw=0.8, label="history")
    ax.plot(ahead, one["truth"], color=BLACK, lw=1.6, label="truth")
    ax.axvline(-0.5, color=BLACK, lw=0.5, ls=":")
    for method, told in shown.items():
        quantiles = told.get("quantiles")
        if quantiles is None:
            ax.plot(ahead, told["mean"], color=ORANGE, ls="--", lw=1.2, label=method)
            continue
        for low, high, dark in FANS:
            ax.fill_between(
                ahead,
                quantiles[low],
                quantiles[high],
                color=BLUE,
                alpha=dark,
                lw=0,
                label=f"{method}, {float(high) - float(low):.0%}",
            )
        ax.plot(ahead, told["mean"], color=BLUE, lw=1.2, label=f"{method}, mean")
