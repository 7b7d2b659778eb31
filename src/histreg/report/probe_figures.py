"""Figures of probes: gradients in training, and sensitivity."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from histreg.errors import InputError
from histreg.report.colours import BLUE, GREY, ORANGE, PURPLE, looks_of
from histreg.report.panels import add_legend, datasets_of, panels, set_log
from histreg.report.results import Results
from histreg.study.analysis.statistics import TableSetting, settings_of
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Record
from histreg.study.methods.histograms import HistogramLossMethod
from histreg.study.tabular.curves import steepness
from histreg.study.tabular.runs import TabularRun

STYLES = {"HL-Gauss": "-", "l2": "--", "HL-OneBin": ":"}  # differ in grey print too
NORM = "gradient norm / excess loss"
SENSITIVITY_LABEL = "test sensitivity, in units of y"
MOMENTS = ((GREY, ":"), (PURPLE, "-."), (ORANGE, "--"), (BLUE, "-"))
"""Colours and lines of histograms from the first epoch to the last."""
PROBED = "test snapshots"
CURVES = ("train MAE", "train RMSE", NORM)


def training(results: Results) -> Figure:
    """Return Figures 8 and 21: errors and normalised gradients over epochs."""
    settings = [
        setting for setting in settings_of(results.records) if setting.estimates
    ]
    looks = looks_of(setting.method.name for setting in settings)
    wanted = [(name, curve) for name in datasets_of(settings) for curve in CURVES]
    figure, axes = panels(len(wanted), len(CURVES))
    for ax, (name, curve) in zip(axes, wanted, strict=True):
        of_set = [setting for setting in settings if setting.dataset == name]
        for setting in of_set:
            _draw_curve(ax, setting, curve, looks[setting.method.name][0])
        ax.set(title=dataset(name).title, xlabel="epoch", ylabel=curve)
        set_log(ax.xaxis)
        set_log(ax.yaxis)
    add_legend(figure)
    return figure


def _draw_curve(ax: Axes, setting: TableSetting, curve: str, color: str) -> None:
    """Draw the mean over seeds in a band from the lowest to the highest."""
    epochs = setting.finite[0].outcome.curves["epoch"]
    seeds = np.array(
        [_curve(record, curve) for record in setting.finite]
    )  # (seeds, epochs)
    ax.fill_between(
        epochs, seeds.min(axis=0), seeds.max(axis=0), color=color, alpha=0.2, lw=0
    )
    ax.plot(
        epochs,
        seeds.mean(axis=0),
        color=color,
        ls=STYLES.get(setting.method.name, "-."),
        lw=1.4,
        label=setting.method.label,
    )


def _curve(record: Record, name: str) -> NDArray[np.float64]:
    if name == NORM:
        return np.array(steepness(record))
    return np.array(record.outcome.curves[name])


def sensitivity(results: Results) -> Figure:
    """Return Figures 10 (right) and 24: errors over sensitivity, a mark for a run."""
    settings = [
        setting for setting in settings_of(results.records) if setting.estimates
    ]
    metrics = ("test MAE", "test RMSE")
    looks = looks_of(setting.method.name for setting in settings)
    wanted = [(name, metric) for name in datasets_of(settings) for metric in metrics]
    figure, axes = panels(len(wanted), len(metrics))
    for ax, (name, metric) in zip(axes, wanted, strict=True):
        of_set = [setting for setting in settings if setting.dataset == name]
        for setting in of_set:
            color, marker = looks[setting.method.name]
            ax.scatter(
                list(setting.values("test sensitivity").values()),
                list(setting.values(metric).values()),
                s=28,
                color=color,
                marker=marker,
                alpha=0.8,
                lw=0,
                label=setting.method.label,
            )
        ax.set(title=dataset(name).title, xlabel=SENSITIVITY_LABEL, ylabel=metric)
    add_legend(figure)
    return figure


def snapshots(results: Results) -> Figure:
    """Return the histograms predicted for some rows at a few epochs."""
    record = next((r for r in results.records if PROBED in r.outcome.curves), None)
    if record is None:
        raise InputError("a figure of histograms must have finite runs, got none yet")
    run, curves = record.run, record.outcome.curves
    assert isinstance(run, TabularRun)
    assert isinstance(run.method, HistogramLossMethod)
    borders = run.method.bins(*dataset(run.dataset).y_range).borders.numpy()
    spread = np.linspace(0, len(curves["epoch"]) - 1, len(MOMENTS))
    moments = np.unique(spread.round().astype(int))
    rows = curves[PROBED][0]
    figure, axes = panels(len(rows), min(3, len(rows)))
    for i, (ax, row) in enumerate(zip(axes, rows, strict=True)):
        for at, (color, style) in zip(moments, MOMENTS[-len(moments) :], strict=True):
            probs = curves[PROBED][at][i]["probs"]
            epoch = curves["epoch"][at]
            label = f"epoch {epoch:g}"
            ax.stairs(probs, borders, color=color, ls=style, lw=1.3, label=label)
        ax.axvline(row["y"], color="black", lw=1, label="truth")
        title = f"{dataset(run.dataset).title}, y = {row['y']:g}"
        ax.set(title=title, xlabel="y", ylabel="probability of a bin")
    add_legend(figure)
    return figure
