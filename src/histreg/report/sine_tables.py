"""Tables of the sines: how fast each loss learns them."""

from __future__ import annotations

import math

from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.sines.curves import BestRate, best_rates


def sines(results: Results) -> list[PrintedTable]:
    """Return the area under the error of each loss at its best learning rate."""
    header = (
        *("method", "alpha", "beta", "support", "rate", "area", "se", "final MSE"),
        "seeds",
    )
    rows = [_row(best) for best in best_rates(results.records)]
    notes = [
        "Area: mean squared error over all iterations, at the learning rate where it "
        "is lowest in the mean over seeds; a run that left the finite numbers has an "
        "infinite area."
    ]
    return [PrintedTable(results.title, header, rows, notes)]


def _row(best: BestRate) -> tuple[str, ...]:
    low, high = best.value_range
    return (
        best.method,
        f"{best.alpha:g}",
        f"{best.beta:g}",
        f"[{low:g}, {high:g}]" if best.has_bins else "",
        f"{best.learning_rate:g}",
        f"{best.area.mean:.4f}",
        "" if math.isnan(best.area.se) else f"{best.area.se:.4f}",
        f"{best.final.mean:.2g}",
        f"{best.area.n}",
    )
