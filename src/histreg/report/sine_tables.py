"""Tables of the sines: how fast each loss learns them."""

from __future__ import annotations

import math
from collections.abc import Callable

from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.sines.curves import BestRate, best_rates

COLUMNS: tuple[tuple[str, Callable[[BestRate], str]], ...] = (
    ("method", lambda best: best.method),
    ("alpha", lambda best: f"{best.alpha:g}"),
    ("beta", lambda best: f"{best.beta:g}"),
    ("support", lambda best: _support(best) if best.has_bins else ""),
    ("rate", lambda best: f"{best.learning_rate:g}"),
    ("area", lambda best: f"{best.area.mean:.4f}"),
    ("se", lambda best: "" if math.isnan(best.area.se) else f"{best.area.se:.4f}"),
    ("final MSE", lambda best: f"{best.final.mean:.2g}"),
    ("seeds", lambda best: f"{best.area.n}"),
)


def sines(results: Results) -> list[PrintedTable]:
    """Return the area under the error of each loss at its best learning rate."""
    notes = [
        "Area: mean squared error over all iterations, at the learning rate where it "
        "is lowest in the mean over seeds; a run that left the finite numbers has an "
        "infinite area."
    ]
    best = best_rates(results.records)
    return [PrintedTable.of(results.title, best, COLUMNS, notes)]


def _support(best: BestRate) -> str:
    low, high = best.value_range
    return f"[{low:g}, {high:g}]"
