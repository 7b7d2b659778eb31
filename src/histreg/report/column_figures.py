"""Figures of columns: the errors of linear regression on each split."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg.report.colours import BLUE, ORANGE
from histreg.report.column_tables import (
    ERRORS,
    OVER_ALL,
    in_paper,
    rmse_by_split,
    rmse_of_paper,
    whole_of,
)
from histreg.report.panels import add_legend, panels
from histreg.report.results import Results
from histreg.study.analysis.statistics import TableSetting
from histreg.study.datasets import dataset

TRAIN = ERRORS[0]


def columns(results: Results) -> Figure:
    """Return a dot for each split, by the choice of columns, beside the paper's mean.

    Left the training MAE, right the RMSE over all rows, which varies far less.
    """
    settings = [each for each in results.tabular_settings if each.estimates]
    names = list(dict.fromkeys(whole_of(setting.dataset) for setting in settings))
    figure, axes = panels(2 * len(names), 2, height=1.9)
    for i, name in enumerate(names):
        of_set = [each for each in settings if whole_of(each.dataset) == name]
        train, over_all = axes[2 * i : 2 * i + 2]
        _draw(train, of_set, [list(each.values(TRAIN).values()) for each in of_set])
        _draw(over_all, of_set, [rmse_by_split(each) for each in of_set])
        paper = in_paper(of_set[0], TRAIN)
        if paper is not None:
            ends = paper.mean - paper.se, paper.mean + paper.se
            train.axvspan(*ends, color=ORANGE, alpha=0.25, lw=0)
            train.axvline(paper.mean, color=ORANGE, label="the paper's mean")
        mean = rmse_of_paper(of_set[0])
        if mean is not None:
            over_all.axvline(mean, color=ORANGE, label="the paper's mean")
        for ax, metric in ((train, TRAIN), (over_all, OVER_ALL)):
            ax.set(title=dataset(name).title, xlabel=metric)
    add_legend(figure)
    return figure


def _draw(
    ax: Axes, settings: Sequence[TableSetting], errors: Sequence[Sequence[float]]
) -> None:
    """Draw the errors of splits, a row for each choice of columns."""
    rows = range(len(settings))
    for row, numbers in zip(rows, errors, strict=True):
        ax.plot(numbers, [row] * len(numbers), "o", color=BLUE, ms=4, label="a split")
    labels = [f"{dataset(each.dataset).n_features} columns" for each in settings]
    ax.set_yticks(rows, labels)
    ax.set_ylim(len(settings) - 0.5, -0.5)
    ax.ticklabel_format(axis="x", useOffset=False)
    ax.locator_params(axis="x", nbins=4)
