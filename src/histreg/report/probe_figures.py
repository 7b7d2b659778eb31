"""Figures of what probes have measured: gradients in training, and sensitivity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from histreg.report.panels import add_legend, datasets_of, look_of, panels
from histreg.study.datasets import dataset
from histreg.study.runs import Record
from histreg.study.statistics import Setting, settings_of
from histreg.study.training_curves import normalised_norms

LINES = ("-", "--", ":")  # of losses, so that grey print tells
NORM = "gradient norm / excess loss"
CURVES = ("train MAE", "train RMSE", NORM)


def training(records: Sequence[Record]) -> Figure:
    """Return Figures 8 and 21: errors and normalised gradients over epochs."""
    settings = [each for each in settings_of(records) if each.estimates]
    wanted = [(name, curve) for name in datasets_of(settings) for curve in CURVES]
    figure, axes = panels(len(wanted), len(CURVES))
    for ax, (name, curve) in zip(axes, wanted, strict=True):
        of_set = [each for each in settings if each.dataset == name]
        for i, each in enumerate(of_set):
            _draw_curve(ax, each, curve, i)
        ax.set(title=dataset(name).title, xlabel="epoch", ylabel=curve)
        ax.set_xscale("log")
        ax.set_yscale("log")
    add_legend(figure, n_columns=3)
    return figure


def _draw_curve(ax: Axes, setting: Setting, curve: str, i: int) -> None:
    """Draw the mean over seeds in a band from the lowest to the highest."""
    epochs = setting.finite[0].outcome.curves["epoch"]
    seeds = np.array(
        [_curve(each, curve) for each in setting.finite]
    )  # (seeds, epochs)
    color, _ = look_of(setting.method.name, i)
    ax.fill_between(
        epochs, seeds.min(axis=0), seeds.max(axis=0), color=color, alpha=0.2, lw=0
    )
    ax.plot(
        epochs,
        seeds.mean(axis=0),
        color=color,
        ls=LINES[i % len(LINES)],
        lw=1.4,
        label=setting.method.label,
    )


def _curve(record: Record, name: str) -> NDArray[np.float64]:
    if name == NORM:
        return normalised_norms(record)
    return np.array(record.outcome.curves[name])


def sensitivity(records: Sequence[Record]) -> Figure:
    """Return Figures 10 (right) and 24: errors over sensitivity, a mark for a run."""
    settings = [each for each in settings_of(records) if each.estimates]
    metrics = ("test MAE", "test RMSE")
    wanted = [(name, metric) for name in datasets_of(settings) for metric in metrics]
    figure, axes = panels(len(wanted), len(metrics))
    for ax, (name, metric) in zip(axes, wanted, strict=True):
        of_set = [each for each in settings if each.dataset == name]
        for i, each in enumerate(of_set):
            color, marker = look_of(each.method.name, i)
            ax.scatter(
                list(each.values("test sensitivity").values()),
                list(each.values(metric).values()),
                s=28,
                color=color,
                marker=marker,
                alpha=0.8,
                lw=0,
                label=each.method.label,
            )
        ax.set(title=dataset(name).title, xlabel="test sensitivity", ylabel=metric)
    add_legend(figure, n_columns=4)
    return figure
