"""Figures of forecasts: windows with their forecast fans, and errors by reading."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg.errors import InputError
from histreg.report.colours import BLACK, BLUE, LOOK_OF, ORANGE
from histreg.report.panels import TOO_WIDE, add_legend, panels, set_log
from histreg.report.results import Results
from histreg.study.analysis.paper import published_forecast
from histreg.study.analysis.statistics import Setting, settings_over_seeds
from histreg.study.engine.runs import Record
from histreg.study.methods import L2
from histreg.study.series.runs import FIRST_WEIGHTS, LINEAR_HEADS, READING, ForecastRun

FANS = (
    ("0.05", "0.95", "#d1e3ef"),
    ("0.1", "0.9", "#a3c7de"),
    ("0.25", "0.75", "#6fa8cb"),
)
"""Lower and upper quantile, and a tint of blue: opaque, so that the legend has it."""
MOST_ROWS = 4
"""Of drawings; where there are more models than that, each has one drawing."""
METRIC = "test MSE"
READINGS = tuple(product(LINEAR_HEADS, FIRST_WEIGHTS))
"""Heads with their first weights, in the order they are drawn."""
TITLE_WIDTH = 45
"""Number of letters that fit above a drawing."""

ForecastSetting = Setting[ForecastRun]


def forecasts(results: Results) -> Figure:
    """Return windows of each series and model: history, truth, fan and l2 forecast.

    They come from the seed whose forecasts are kept. Each series and model has a row of
    axes or, if that takes more than a page, only its middle window.
    """
    by_model = _records_by_model(results)
    n_windows = max(
        len(record.outcome.curves["forecasts"])
        for by_method in by_model.values()
        for record in by_method.values()
    )
    has_row = len(by_model) <= MOST_ROWS
    windows = range(n_windows) if has_row else [n_windows // 2]
    n_columns = n_windows if has_row else MOST_ROWS
    wanted = [(*item, window) for item in by_model.items() for window in windows]
    figure, axes = panels(len(wanted), n_columns, height=2.3)
    for ax, ((model, changes), by_method, window) in zip(axes, wanted, strict=True):
        shown = {
            method: record.outcome.curves["forecasts"][window]
            for method, record in by_method.items()
        }
        _draw_window(ax, shown)
        number = next(iter(shown.values()))["window"]
        # The changes have lines of their own, or titles run into each other.
        lines = [f"{model}, window {number}", *textwrap.wrap(changes, TITLE_WIDTH)]
        ax.set_title("\n".join(lines), fontsize=9)
    for ax in axes[::n_columns]:
        ax.set_ylabel("standardised OT")
    for ax in axes[-n_columns:]:
        ax.set_xlabel("moments ahead")
    add_legend(figure)
    return figure


def _records_by_model(results: Results) -> dict[tuple[str, str], dict[str, Record]]:
    """Return the records with forecasts by model and changes, then by method."""
    by_model: dict[tuple[str, str], dict[str, Record]] = {}
    for record in results.records:
        run = record.run
        if isinstance(run, ForecastRun) and "forecasts" in record.outcome.curves:
            model = (f"{run.dataset}, {run.architecture}", ", ".join(run.changes))
            by_model.setdefault(model, {})[run.method.name] = record
    if not by_model:
        raise InputError("a figure of forecasts must have runs of seed 1, got none yet")
    return by_model


def readings(results: Results) -> Figure:
    """Return the test MSE of each reading of the paper's text, and the paper's own.

    A drawing for each series and model, with a row for each head and its first weights,
    that of `READING` in bold; open marks are stopped by the validation loss. Lines are
    the paper's means, bands their 95 % intervals.
    """
    by_model: dict[tuple[str, str], list[ForecastSetting]] = {}
    for setting in settings_over_seeds(results.records, ForecastRun):
        run = setting.run
        if run.is_of_paper and METRIC in setting.estimates:
            by_model.setdefault((run.dataset, run.architecture), []).append(setting)
    if not by_model:
        raise InputError("a figure of readings must have finite runs, got none yet")
    figure, axes = panels(len(by_model), 2, width=5.0, height=2.8)
    for ax, (model, settings) in zip(axes, by_model.items(), strict=True):
        _draw_readings(ax, settings)
        ax.set_title(", ".join(model), fontsize=9)
        ax.set_xlabel(METRIC)
    add_legend(figure)
    return figure


def _draw_readings(ax: Axes, settings: Sequence[ForecastSetting]) -> None:
    height = {reading: i for i, reading in enumerate(READINGS)}
    errors = []
    for method in dict.fromkeys(setting.run.method.name for setting in settings):
        run = next(
            setting.run for setting in settings if setting.run.method.name == method
        )
        paper = published_forecast(run.dataset, run.architecture, method, METRIC)
        if paper is None:
            continue
        colour = LOOK_OF[method][0]
        half = paper.half_interval
        ax.axvspan(paper.mean - half, paper.mean + half, color=colour, alpha=0.2, lw=0)
        ax.axvline(paper.mean, color=colour, lw=0.8, label=f"{method}, paper")
        errors.append(paper.mean)
    for setting in settings:
        run = setting.run
        colour, mark = LOOK_OF[run.method.name]
        is_by_loss = run.validation == "loss" and not isinstance(run.method, L2)
        mean = setting.estimates[METRIC].mean
        ax.plot(
            [mean],
            [height[run.head, run.first_weights]],
            mark,
            color=colour,
            mfc="none" if is_by_loss else colour,
            ms=5,
            label=run.method.name + (", stopped by loss" if is_by_loss else ""),
        )
        errors.append(mean)
    names = [f"{head}, {FIRST_WEIGHTS[weights]}" for head, weights in READINGS]
    ax.set_yticks(range(len(names)), names, fontsize=8)
    usual = READINGS.index((READING["head"], READING["first_weights"]))
    ax.get_yticklabels()[usual].set_fontweight("bold")
    ax.set_ylim(len(names) - 0.5, -0.5)  # the first above
    if max(errors) > TOO_WIDE * min(errors):
        set_log(ax.xaxis)
    else:
        ax.set_xlim(left=0)


def _draw_window(ax: Axes, shown: Mapping[str, Mapping[str, Any]]) -> None:
    one = next(iter(shown.values()))
    n = len(one["history"])
    ahead = range(1, 1 + len(one["truth"]))
    ax.plot(range(1 - n, 1), one["history"], color=BLACK, lw=0.8, label="history")
    ax.plot(ahead, one["truth"], color=BLACK, lw=1.6, label="truth")
    ax.axvline(0.5, color=BLACK, lw=0.5, ls=":")
    for method, forecast in shown.items():
        mean, quantiles = forecast["mean"], forecast.get("quantiles")
        if quantiles is None:
            ax.plot(ahead, mean, color=ORANGE, ls="--", lw=1.2, label=method)
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
        ax.plot(ahead, mean, color=BLUE, lw=1.2, label=f"{method}, mean")
