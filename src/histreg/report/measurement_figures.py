"""Figures of what is measured without data sets' methods, and of the sines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg.report.figures import BLUE, GREY, ORANGE
from histreg.report.panels import panels
from histreg.study.claims.theory import TOLERANCES
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Record
from histreg.study.measurements import Measurement
from histreg.study.sines.curves import BestRate, best_rates
from histreg.study.sines.execution import sine
from histreg.study.sines.runs import SineRun

FITS_SHOWN = {"l2": 1e-3, "HL-Gauss": 1e-2}  # learning rates, as in the paper
STYLES = {"l2": (ORANGE, "--"), "HL-Gauss": (BLUE, "-")}
WIDTHS = (0.8, 1.6, 2.6)  # of lines whose order matters, so that grey print tells


def sines(records: Sequence[Record]) -> Figure:
    """Return Figure 3: two fits, and errors over iterations for both parts.

    Without a record of an offset, for the first.
    """
    best = best_rates(records)
    parts = [(_frequency_part(best), "alpha", "frequency (beta 0)")]
    if any(each.beta for each in best):
        parts.append((_offset_part(best), "beta", "offset (alpha 10)"))
    figure, (left, *others) = panels(1 + len(parts), 1 + len(parts), height=3.8)
    _draw_fits(left, records)
    for ax, (part, symbol, title) in zip(others, parts, strict=True):
        values = sorted({getattr(each, symbol) for each in part})
        for each in part:
            color, line = STYLES[each.method]
            width = WIDTHS[values.index(getattr(each, symbol)) % len(WIDTHS)]
            label = f"{each.method}, {symbol} {getattr(each, symbol):g}"
            ax.plot(
                each.iterations, each.curve, color=color, ls=line, lw=width, label=label
            )
        ax.set(xlabel="iteration", ylabel="train MSE", ylim=(0, 0.6), title=title)
        if part:
            ax.legend(fontsize=7, frameon=False)
    return figure


def _draw_fits(ax: Axes, records: Sequence[Record]) -> None:
    x, y = sine(10.0, 0.0)
    ax.plot(x[:, 0], y, color="black", lw=1, label="target")
    for record in records:
        run = record.run
        if not isinstance(run, SineRun) or "fit" not in record.outcome.curves:
            continue
        near = run.value_range[1] <= 1.5  # the narrow support, or none
        rate = FITS_SHOWN.get(run.method.name)
        is_shown = (run.alpha, run.beta, run.seed) == (10.0, 0.0, 0) and near
        if is_shown and run.learning_rate == rate:
            fit = record.outcome.curves["fit"]
            grid = np.linspace(-np.pi, np.pi, len(fit))
            color, line = STYLES[run.method.name]
            ax.plot(grid, fit, color=color, ls=line, lw=1.4, label=run.method.name)
    ax.set(xlabel="x", ylabel="y", title="fits after the last iteration")
    ax.legend(fontsize=7, frameon=True, loc="upper right")


def _frequency_part(best: Sequence[BestRate]) -> list[BestRate]:
    return [e for e in best if e.beta == 0 and e.value_range[1] <= 1.5]


def _offset_part(best: Sequence[BestRate]) -> list[BestRate]:
    return [
        e for e in best if e.alpha == 10 and (e.value_range[1] > 1.5 or not e.has_bins)
    ]


def label_bias(records: Sequence[Record]) -> Figure:
    """Return Figures 5 and 16: label bias over sigma."""
    figure, axes = panels(len(records), 2)
    for ax, record in zip(axes, records, strict=True):
        assert isinstance(record.run, Measurement)
        sigmas = record.outcome.curves["sigma_in_bins"]
        biases = record.outcome.curves["label bias"]
        ax.plot(sigmas[1:], biases[1:], color=BLUE, marker="o", ms=3, label="HL-Gauss")
        ax.axhline(biases[0], color=GREY, ls="--", lw=1, label="HL-OneBin")
        ax.set_xscale("log", base=2)
        ax.set(
            title=dataset(record.run.dataset).title,
            xlabel="sigma in bins",
            ylabel="mean absolute label bias",
        )
        ax.legend(fontsize=7, frameon=False)
    return figure


def targets(records: Sequence[Record]) -> Figure:
    """Return Figure 14: densities of the targets."""
    figure, axes = panels(len(records), 2)
    for ax, record in zip(axes, records, strict=True):
        assert isinstance(record.run, Measurement)
        curves = record.outcome.curves
        ax.stairs(
            curves["density"], curves["borders"], fill=True, color=BLUE, alpha=0.7
        )
        ax.set(title=dataset(record.run.dataset).title, xlabel="y", ylabel="density")
    return figure


def bias(records: Sequence[Record]) -> Figure:
    """Return Figure 13: the bias over place and sigma, and both means."""
    curves, told = records[0].outcome.curves, records[0].outcome.metrics
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    surface = np.array(curves["surface bias"])
    limit = np.abs(surface).max()
    drawn = left.pcolormesh(
        curves["surface offset"],
        np.log(curves["surface sigma_in_bins"]),
        surface,
        cmap="PuOr",
        vmin=-limit,
        vmax=limit,
        rasterized=True,
    )
    figure.colorbar(drawn, ax=left, label="bias in bins")
    left.set(
        xlabel="distance from the bin's center, in bins", ylabel="log sigma in bins"
    )
    for ax, name, key, label in (
        (middle, "discretisation", "sigma_in_bins", "sigma in bins"),
        (right, "truncation", "padding_in_sigmas", "padding in sigmas"),
    ):
        x, height = np.array(curves[key]), np.array(curves[f"{name} bias"])
        ax.plot(x, height, color=BLUE, lw=1.8, label="measured")
        fit = told[f"{name} factor"] * np.exp(told[f"{name} exponent"] * x**2)
        shown = fit > 1e-17
        ax.plot(
            x[shown], fit[shown], color=ORANGE, ls="--", lw=1.2, label="A exp(B x²)"
        )
        ax.set_yscale("log")
        ax.set(xlabel=label, ylabel=f"mean absolute {name} bias, in bins")
        ax.legend(fontsize=8, frameon=False)
    middle.set_xlim(0, 3)
    return figure


def bound(records: Sequence[Record]) -> Figure:
    """Return Figure 12: the squared difference and both bounds over epsilon."""
    curves = records[0].outcome.curves
    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    ax = figure.subplots()
    for name, color, line in (
        ("squared difference", "black", "-"),
        ("Pinsker", ORANGE, "--"),
        ("Bretagnolle-Huber", BLUE, "-."),
    ):
        ax.plot(curves["epsilon"], curves[name], color=color, ls=line, label=name)
    ax.set(xlabel="epsilon", ylabel="squared difference of means", ylim=(0, 8))
    ax.legend(frameon=False)
    return figure


def theorems(records: Sequence[Record]) -> Figure:
    """Return how many powers of ten each statement is away from being violated."""
    told = records[0].outcome.metrics
    names = [name for name in TOLERANCES if name in told]
    figure = Figure(figsize=(9, 1 + 0.19 * len(names)), layout="constrained")
    ax = figure.subplots()
    ax.axvline(0, color="black", lw=1)
    for row, name in enumerate(names):
        # Zero has no logarithm, and far from the line is far from the line.
        margin = np.log10(max(told[name] / TOLERANCES[name], 1e-6))
        color = BLUE if margin <= 0 else ORANGE
        ax.barh(row, margin, color=color, height=0.6)
        ax.plot(margin, row, "o", color=color, ms=3.5)  # a bar may be short
        ax.text(
            1.01,
            row,
            f"{told[name]:.3g}",
            color=color,
            fontsize=7,
            va="center",
            transform=ax.get_yaxis_transform(),
        )
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(left=-6.2, right=max(1.0, ax.get_xlim()[1]))
    ax.set_xlabel("log10 (value / tolerance), not below -6: right of 0 is a violation")
    ax.set_title("values", loc="right", fontsize=7)
    ax.grid(axis="x", alpha=0.3)
    return figure
