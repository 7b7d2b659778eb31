"""Figures of errors: a row of dots for each setting, the paper's beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg.report.error_tables import Label, column_label, in_paper
from histreg.report.figures import BLUE, ORANGE
from histreg.report.panels import datasets_of, set_log
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.statistics import (
    Setting,
    best_settings,
    settings_of,
    validated_settings,
)
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Record
from histreg.study.tabular.representations import COLUMNS, column_of


def overall(records: Sequence[Record]) -> Figure:
    """Return the methods' test errors, with the paper's as open marks."""
    return _dots(best_settings(settings_of(records), "test MAE"))


def overall_validation(records: Sequence[Record]) -> Figure:
    """Return the same with settings chosen on validation rows."""
    return _dots(validated_settings(records))


def all_settings(records: Sequence[Record]) -> Figure:
    """Return the same of all settings, none of them chosen."""
    return _dots(settings_of(records))


def representation(records: Sequence[Record]) -> Figure:
    """Return the same by columns of Table 3; on log axes, as errors differ a lot."""
    settings = settings_of(records)
    settings.sort(key=lambda each: COLUMNS.index(column_of(each.run)))
    return _dots(settings, column_label, is_log=True)


def _dots(
    settings: Sequence[Setting],
    label: Label = attrgetter("label"),
    *,
    is_log: bool = False,
) -> Figure:
    names = datasets_of(settings)
    counts = [sum(each.dataset == name for each in settings) for name in names]
    heights = [0.9 + 0.3 * max(2, n) for n in counts]  # inches
    figure = Figure(figsize=(9, sum(heights)), layout="constrained")
    rows = figure.subplots(len(names), 2, squeeze=False, height_ratios=heights)
    for name, row in zip(names, rows, strict=True):
        of_set = [each for each in settings if each.dataset == name]
        for ax, metric in zip(row, ("test MAE", "test RMSE"), strict=True):
            _draw_dots(ax, of_set, metric, label, is_log=is_log)
            ax.set_title(dataset(name).title)
        row[1].set_yticklabels([])
    return figure


def _draw_dots(
    ax: Axes,
    settings: Sequence[Setting],
    metric: str,
    label: Label,
    *,
    is_log: bool,
) -> None:
    """Draw ours as filled and the paper's as open marks, linear regression left out.

    Its error is several times that of any network, and would squeeze the rest.
    """
    networks = [
        each
        for each in settings
        if each.method.name != "Linear Regression" and metric in each.estimates
    ]
    heights = range(len(networks), 0, -1)
    papers = [in_paper(each, metric) for each in networks]
    for height, each, paper in zip(heights, networks, papers, strict=True):
        ours = each.estimates[metric]
        ax.errorbar(
            ours.mean, height, xerr=ours.se, fmt="o", color=BLUE, ms=5, capsize=2
        )
        if paper is not None:
            ax.errorbar(
                paper.mean,
                height - 0.25,
                xerr=paper.se,
                fmt="D",
                color=ORANGE,
                mfc="white",
                ms=4,
                capsize=2,
            )
    ax.set_yticks(list(heights), [label(each) for each in networks], fontsize=7)
    ax.set_ylim(0.4, len(networks) + 0.6)  # all rows as wide as in the other drawings
    if is_log:
        set_log(ax.xaxis)
    else:
        _leave_out_failures(
            ax,
            heights,
            [each.estimates[metric] for each in networks],
            [paper for paper in papers if paper is not None],
        )
    ax.set_xlabel(f"{metric} (filled: ours, open: the paper's)")
    ax.grid(axis="x", alpha=0.3)


def _leave_out_failures(
    ax: Axes,
    heights: Sequence[int],
    ours: Sequence[Estimate],
    papers: Sequence[Estimate],
) -> None:
    """Keep those far beyond the others out of the scale, and say where they are."""
    limit = 3 * float(np.median([each.mean for each in ours])) if ours else np.inf
    if all(each.mean <= limit for each in ours):
        return
    shown = [each for each in (*ours, *papers) if each.mean <= limit]
    left = min(each.mean - np.nan_to_num(each.se) for each in shown)
    right = max(each.mean + np.nan_to_num(each.se) for each in shown)
    room = 0.1 * (right - left or right)
    ax.set_xlim(left - room, right + 2 * room)
    for height, each in zip(heights, ours, strict=True):
        if each.mean > limit:
            ax.text(
                right + 2 * room,
                height,
                f"{each.mean:.4g} → ",
                ha="right",
                va="center",
                fontsize=7,
            )
