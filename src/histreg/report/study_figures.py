"""The study's figures: records in, a drawing out, as the paper describes its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg._checks import check_choice
from histreg.report.figures import BLUE, GREY, ORANGE
from histreg.report.study_tables import in_paper
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.claims.theory import TOLERANCES
from histreg.study.datasets import dataset
from histreg.study.measurements import Measurement
from histreg.study.methods import HLUniform
from histreg.study.runs import Record
from histreg.study.sine_curves import BestRate, best_rates
from histreg.study.sines import SineRun, sine
from histreg.study.statistics import (
    Estimate,
    Setting,
    best_settings,
    settings_of,
    validated_settings,
)

FITS_SHOWN = {"l2": 1e-3, "HL-Gauss": 1e-2}  # learning rates, as in the paper
STYLES = {"l2": (ORANGE, "--"), "HL-Gauss": (BLUE, "-")}
WIDTHS = (0.8, 1.6, 2.6)  # of lines whose order matters, so that grey print tells


def figure_of(name: str, records: Sequence[Record]) -> Figure:
    """Return the figure of an experiment; one of somebody's own has that of all errors.

    Parameters
    ----------
    name : str
    records : sequence of Record
        As many as there are; without any it is refused.
    """
    check_choice("figure", name, EXPERIMENTS)
    if not records:
        raise ValueError(f"the figure {name} must have records, got none yet")
    return FIGURES.get(name, projected)(records)


def sines(records: Sequence[Record]) -> Figure:
    """Return Figure 3: two fits, and errors over iterations for both parts."""
    figure = Figure(figsize=(12, 3.8), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _draw_fits(left, records)
    best = best_rates(records)
    for ax, part, symbol in (
        (middle, _frequency_part(best), "alpha"),
        (right, _offset_part(best), "beta"),
    ):
        values = sorted({getattr(each, symbol) for each in part})
        for each in part:
            color, line = STYLES[each.method]
            width = WIDTHS[values.index(getattr(each, symbol)) % len(WIDTHS)]
            label = f"{each.method}, {symbol} {getattr(each, symbol):g}"
            ax.plot(
                each.iterations, each.curve, color=color, ls=line, lw=width, label=label
            )
        ax.set(xlabel="iteration", ylabel="train MSE", ylim=(0, 0.6))
        if part:
            ax.legend(fontsize=7, frameon=False)
    middle.set_title("frequency (beta 0)")
    right.set_title("offset (alpha 10)")
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


def overall(records: Sequence[Record]) -> Figure:
    """Return the methods' test errors, with the paper's as open marks."""
    return _dots(best_settings(settings_of(records), "test MAE"))


def overall_validation(records: Sequence[Record]) -> Figure:
    """Return the same with settings chosen on validation rows."""
    return _dots(validated_settings(records))


def projected(records: Sequence[Record]) -> Figure:
    """Return the same of all settings."""
    return _dots(settings_of(records))


def _dots(settings: Sequence[Setting]) -> Figure:
    names = _names(settings)
    most = max(sum(each.dataset == name for each in settings) for name in names)
    figure = Figure(
        figsize=(9, max(2.2, 0.9 + 0.3 * most) * len(names)), layout="constrained"
    )
    for name, row in zip(
        names, figure.subplots(len(names), 2, squeeze=False), strict=True
    ):
        of_set = [each for each in settings if each.dataset == name]
        for ax, metric in zip(row, ("test MAE", "test RMSE"), strict=True):
            _draw_dots(ax, of_set, metric)
            ax.set_title(dataset(name).title)
        row[1].set_yticklabels([])
    return figure


def _names(settings: Sequence[Setting]) -> list[str]:
    """Return the data sets, of which there must be one."""
    names = list(dict.fromkeys(each.dataset for each in settings))
    if not names:
        raise ValueError("a figure of errors must have finite runs, got none yet")
    return names


def _draw_dots(ax: Axes, settings: Sequence[Setting], metric: str) -> None:
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
    ax.set_yticks(list(heights), [each.label for each in networks], fontsize=7)
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


def uniform(records: Sequence[Record]) -> Figure:
    """Return Figures 4 and 15: errors over epsilon; train dotted, test solid."""
    settings = [each for each in settings_of(records) if each.estimates]
    names = _names(settings)
    figure = Figure(figsize=(8, 2.8 * len(names)), layout="constrained")
    for name, row in zip(
        names, figure.subplots(len(names), 2, squeeze=False), strict=True
    ):
        of_set = [each for each in settings if each.dataset == name]
        for ax, metric in zip(row, ("MAE", "RMSE"), strict=True):
            _draw_uniform(ax, of_set, metric)
            ax.set(title=dataset(name).title, xlabel="epsilon", ylabel=metric)
            ax.legend(fontsize=7, frameon=False)
    return figure


def _draw_uniform(ax: Axes, settings: Sequence[Setting], metric: str) -> None:
    swept = sorted(
        (each.method.epsilon, each)
        for each in settings
        if isinstance(each.method, HLUniform)
    )
    for split, line in (("train", ":"), ("test", "-")):
        estimates = [each.estimates[f"{split} {metric}"] for _, each in swept]
        ax.errorbar(
            [epsilon for epsilon, _ in swept],
            [each.mean for each in estimates],
            yerr=[each.se for each in estimates],
            color=BLUE,
            ls=line,
            marker="o",
            ms=3,
            capsize=2,
            label=f"HL-Uniform, {split}",
        )
        for each in settings:
            if each.method.name == "HL-OneBin":
                level = each.estimates[f"{split} {metric}"].mean
                ax.axhline(
                    level, color=GREY, ls=line, lw=1, label=f"HL-OneBin, {split}"
                )
    ax.set_xscale("log")


def label_bias(records: Sequence[Record]) -> Figure:
    """Return Figures 5 and 16: label bias over sigma."""
    figure, axes = _grid(len(records))
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
    figure, axes = _grid(len(records))
    for ax, record in zip(axes, records, strict=True):
        assert isinstance(record.run, Measurement)
        curves = record.outcome.curves
        ax.stairs(
            curves["density"], curves["borders"], fill=True, color=BLUE, alpha=0.7
        )
        ax.set(title=dataset(record.run.dataset).title, xlabel="y", ylabel="density")
    return figure


def _grid(n: int) -> tuple[Figure, list[Axes]]:
    """Return a figure with room for n drawings, two a row."""
    n_rows = -(-n // 2)
    figure = Figure(figsize=(8, 2.8 * n_rows), layout="constrained")
    axes = list(figure.subplots(n_rows, 2, squeeze=False).flat)
    for unused in axes[n:]:
        unused.remove()
    return figure, axes[:n]


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


FIGURES: dict[str, Callable[[Sequence[Record]], Figure]] = {
    "sines": sines,
    "sines-reduced": sines,
    "overall": overall,
    "overall-validation": overall_validation,
    "uniform": uniform,
    "head-start": projected,
    "label-bias": label_bias,
    "projected": projected,
    "targets": targets,
    "bias": bias,
    "bound": bound,
    "theorems": theorems,
}
