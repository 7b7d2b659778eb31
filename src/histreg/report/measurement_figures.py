"""Figures of measurements, which train nothing: targets, biases, bound, theorems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg.report.colours import BLUE, GREY, ORANGE
from histreg.report.measurement_tables import BIASES, SET_UPS
from histreg.report.panels import panels
from histreg.report.results import Results
from histreg.study.claims.theory import TOLERANCES
from histreg.study.datasets import dataset
from histreg.study.measurements import Measurement


def label_bias(results: Results) -> Figure:
    """Return Figures 5 and 16: label bias over sigma."""
    figure, axes = panels(len(results.records), 2)
    for ax, record in zip(axes, results.records, strict=True):
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


def targets(results: Results) -> Figure:
    """Return Figure 14: densities of the targets."""
    figure, axes = panels(len(results.records), 2)
    for ax, record in zip(axes, results.records, strict=True):
        assert isinstance(record.run, Measurement)
        curves = record.outcome.curves
        ax.stairs(
            curves["density"], curves["borders"], fill=True, color=BLUE, alpha=0.7
        )
        ax.set(title=dataset(record.run.dataset).title, xlabel="y", ylabel="density")
    return figure


def bias(results: Results) -> Figure:
    """Return Figure 13: the bias over place and sigma, and both means.

    A row for each set-up that has a record, with the means of the first in grey.
    """
    records = results.records
    figure = Figure(figsize=(12, 3.6 * len(records)), layout="constrained")
    axes = figure.subplots(len(records), 3, squeeze=False)
    first = records[0].outcome.curves
    for row, record in zip(axes, records, strict=True):
        assert isinstance(record.run, Measurement)
        curves, fits = record.outcome.curves, record.outcome.metrics
        _draw_surface(figure, row[0], curves)
        if len(records) > 1:
            row[0].set_title(f"as in the {SET_UPS[record.run.what]}", fontsize=10)
        for ax, (name, key), label in zip(
            row[1:], BIASES, ("sigma in bins", "padding in sigmas"), strict=True
        ):
            if curves is not first:
                height = first[f"{name} bias"]
                ax.plot(first[key], height, color=GREY, lw=1, label="authors' code")
            x, height = np.array(curves[key]), np.array(curves[f"{name} bias"])
            ax.plot(x, height, color=BLUE, lw=1.8, label="measured")
            fit = fits[f"{name} factor"] * np.exp(fits[f"{name} exponent"] * x**2)
            shown = fit > 1e-17
            ax.plot(
                x[shown], fit[shown], color=ORANGE, ls="--", lw=1.2, label="A exp(B x²)"
            )
            ax.set_yscale("log")
            ax.set(xlabel=label, ylabel=f"mean absolute {name} bias, in bins")
            ax.legend(fontsize=8, frameon=False)
        row[1].set_xlim(0, 3)
    return figure


def _draw_surface(figure: Figure, ax: Axes, curves: Mapping[str, Any]) -> None:
    """Draw the bias over the place in a bin and sigma."""
    surface = np.array(curves["surface bias"])
    limit = np.abs(surface).max()
    drawn = ax.pcolormesh(
        curves["surface offset"],
        np.log(curves["surface sigma_in_bins"]),
        surface,
        cmap="PuOr",
        vmin=-limit,
        vmax=limit,
        rasterized=True,
    )
    figure.colorbar(drawn, ax=ax, label="bias in bins")
    ax.set(xlabel="distance from the bin's center, in bins", ylabel="log sigma in bins")


def bound(results: Results) -> Figure:
    """Return Figure 12: the squared difference and both bounds over epsilon."""
    curves = results.records[0].outcome.curves
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


def theorems(results: Results) -> Figure:
    """Return the margin of each statement to its limit, in powers of ten."""
    values = results.records[0].outcome.metrics
    names = [name for name in TOLERANCES if name in values]
    figure = Figure(figsize=(9, 1 + 0.19 * len(names)), layout="constrained")
    ax = figure.subplots()
    ax.axvline(0, color="black", lw=1)
    for row, name in enumerate(names):
        # Zero has no logarithm; beyond 1e-6 the distance does not matter.
        margin = np.log10(max(values[name] / TOLERANCES[name], 1e-6))
        color = BLUE if margin <= 0 else ORANGE
        ax.barh(row, margin, color=color, height=0.6)
        ax.plot(margin, row, "o", color=color, ms=3.5)  # a bar may be short
        ax.text(
            1.01,
            row,
            f"{values[name]:.3g}",
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
