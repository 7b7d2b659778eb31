"""The figure of the sines (Figure 3): fits, and errors over iterations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from histreg.report.colours import BLUE, ORANGE
from histreg.report.panels import panels
from histreg.report.results import Results
from histreg.study.engine.runs import Record
from histreg.study.sines.curves import BestRate, best_rates
from histreg.study.sines.execution import sine
from histreg.study.sines.runs import SineRun

FITS_SHOWN = {"l2": 1e-3, "HL-Gauss": 1e-2}  # learning rates, as in the paper
STYLES = {"l2": (ORANGE, "--"), "HL-Gauss": (BLUE, "-")}
WIDTHS = (0.8, 1.6, 2.6)  # of lines in their order, to tell them apart in grey print


def sines(results: Results) -> Figure:
    """Return Figure 3: two fits, and errors over iterations for both parts.

    Without a record of an offset, for the first.
    """
    best = best_rates(results.records)
    parts = [(_frequency_part(best), "alpha", "frequency (beta 0)")]
    if any(curve.beta for curve in best):
        parts.append((_offset_part(best), "beta", "offset (alpha 10)"))
    figure, (left, *others) = panels(1 + len(parts), 1 + len(parts), height=3.8)
    _draw_fits(left, results.records)
    for ax, (part, symbol, title) in zip(others, parts, strict=True):
        values = sorted({getattr(curve, symbol) for curve in part})
        for curve in part:
            color, line = STYLES[curve.method]
            width = WIDTHS[values.index(getattr(curve, symbol)) % len(WIDTHS)]
            label = f"{curve.method}, {symbol} {getattr(curve, symbol):g}"
            ax.plot(
                curve.iterations,
                curve.curve,
                color=color,
                ls=line,
                lw=width,
                label=label,
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
