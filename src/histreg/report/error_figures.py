"""Figures of errors: a row of dots for each setting, the paper's beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg.report.beside_paper import in_paper
from histreg.report.colours import BLUE, ORANGE
from histreg.report.panels import datasets_of, set_log
from histreg.report.results import Results
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.statistics import TableSetting
from histreg.study.datasets import dataset
from histreg.study.tabular.representations import COLUMNS, column_of

Label = Callable[[TableSetting], str]


def errors(results: Results) -> Figure:
    """Return the test errors, one row per setting; open marks are the paper's."""
    return _dots(results.tabular_settings, results.experiment.label)


def representation(results: Results) -> Figure:
    """Return the same by columns of Table 3, on log axes, as errors differ widely."""
    settings = sorted(
        results.tabular_settings,
        key=lambda setting: COLUMNS.index(column_of(setting.run)),
    )
    return _dots(settings, results.experiment.label, is_log=True)


def _dots(
    settings: Sequence[TableSetting], label: Label, *, is_log: bool = False
) -> Figure:
    names = datasets_of(settings)
    counts = [sum(setting.dataset == name for setting in settings) for name in names]
    heights = [0.9 + 0.3 * max(2, n) for n in counts]  # inches
    figure = Figure(figsize=(9, sum(heights)), layout="constrained")
    rows = figure.subplots(len(names), 2, squeeze=False, height_ratios=heights)
    for name, row in zip(names, rows, strict=True):
        of_set = [setting for setting in settings if setting.dataset == name]
        for ax, metric in zip(row, ("test MAE", "test RMSE"), strict=True):
            _draw_dots(ax, of_set, metric, label, is_log=is_log)
            ax.set_title(dataset(name).title)
        row[1].set_yticklabels([])
    return figure


def _draw_dots(
    ax: Axes,
    settings: Sequence[TableSetting],
    metric: str,
    label: Label,
    *,
    is_log: bool,
) -> None:
    """Draw our errors as filled and the paper's as open marks.

    Linear regression is left out: its error is several times that of any network.
    """
    networks = [
        setting
        for setting in settings
        if setting.method.name != "Linear Regression" and metric in setting.estimates
    ]
    heights = range(len(networks), 0, -1)
    ours = [setting.estimates[metric] for setting in networks]
    papers = [in_paper(setting, metric) for setting in networks]
    for height, estimate, paper in zip(heights, ours, papers, strict=True):
        _draw_dot(ax, estimate, height, fmt="o", color=BLUE, ms=5)
        if paper is not None:
            _draw_dot(
                ax, paper, height - 0.25, fmt="D", color=ORANGE, mfc="white", ms=4
            )
    ax.set_yticks(list(heights), [label(setting) for setting in networks], fontsize=7)
    ax.set_ylim(0.4, len(networks) + 0.6)  # rows as high as in the other axes
    if is_log:
        set_log(ax.xaxis)
    else:
        known = [paper for paper in papers if paper is not None]
        _leave_out_failures(ax, heights, ours, known)
    is_beside = any(paper is not None for paper in papers)
    ax.set_xlabel(metric + is_beside * " (filled: ours, open: the paper's)")
    ax.grid(axis="x", alpha=0.3)


def _draw_dot(ax: Axes, estimate: Estimate, height: float, **look: Any) -> None:
    ax.errorbar(estimate.mean, height, xerr=estimate.se, capsize=2, **look)


def _leave_out_failures(
    ax: Axes,
    heights: Sequence[int],
    ours: Sequence[Estimate],
    papers: Sequence[Estimate],
) -> None:
    """Print errors far beyond the others as numbers at the end of the axis."""
    limit = (
        3 * float(np.median([estimate.mean for estimate in ours])) if ours else np.inf
    )
    if all(estimate.mean <= limit for estimate in ours):
        return
    shown = [estimate for estimate in (*ours, *papers) if estimate.mean <= limit]
    left = min(estimate.mean - np.nan_to_num(estimate.se) for estimate in shown)
    right = max(estimate.mean + np.nan_to_num(estimate.se) for estimate in shown)
    room = 0.1 * (right - left or right)
    ax.set_xlim(left - room, right + 2 * room)
    for height, estimate in zip(heights, ours, strict=True):
        if estimate.mean > limit:
            ax.text(
                right + 2 * room,
                height,
                f"{estimate.mean:.4g} → ",
                ha="right",
                va="center",
                fontsize=7,
            )
