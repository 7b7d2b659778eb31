"""Tables of measurements, which train nothing: targets, biases, the bound, theorems."""

from __future__ import annotations

import math
from collections.abc import Callable

from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.paper import published_data
from histreg.study.claims.theory import TOLERANCES
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Outcome
from histreg.study.measurements import Measurement

BIASES = (("discretisation", "sigma_in_bins"), ("truncation", "padding_in_sigmas"))
"""The two biases, and the curve of what each is measured over."""
FITTED = ("factor", "exponent")
SET_UPS = {"bias": "authors' code", "bias-by-text": "paper's text"}
"""Of the bias simulation, by the measurement."""


def targets(results: Results) -> list[PrintedTable]:
    """Return Table 5: the data sets."""
    facts = {
        record.run.dataset: record.outcome.metrics
        for record in results.records
        if isinstance(record.run, Measurement)
    }
    columns: list[tuple[str, Callable[[str], str]]] = [
        ("data set", lambda name: dataset(name).title),
        ("train rows", lambda name: f"{facts[name]['train rows']:,.0f}"),
        ("test rows", lambda name: f"{facts[name]['test rows']:,.0f}"),
        ("features", lambda name: f"{facts[name]['features']:.0f}"),
        ("range", lambda name: f"[{facts[name]['low']:g}, {facts[name]['high']:g}]"),
        (
            "targets",
            lambda name: (
                f"{facts[name]['smallest']:.4g} to {facts[name]['largest']:.4g}"
            ),
        ),
        ("distinct", lambda name: f"{facts[name]['distinct']:,.0f}"),
        ("paper", _data_in_paper),
    ]
    notes = ["Paper: rows to train and test, features as Table 5 counts them."]
    return [PrintedTable.of(results.title, facts, columns, notes)]


def _data_in_paper(name: str) -> str:
    paper = published_data().get(name)
    if paper is None:
        return ""
    n_train, n_test = int(paper["n_train_paper"]), int(paper["n_test_paper"])
    return f"{n_train:,} + {n_test:,}, {paper['n_features_paper']}"


def label_bias(results: Results) -> list[PrintedTable]:
    """Return the mean absolute label bias over sigma."""
    rows: list[tuple[str, ...]] = []
    sigmas: list[float] = []
    for record in results.records:
        if isinstance(record.run, Measurement):
            sigmas = record.outcome.curves["sigma_in_bins"]
            biases = record.outcome.curves["label bias"]
            title = dataset(record.run.dataset).title
            rows.append((title, *(f"{bias:.2g}" for bias in biases)))
    header = ("sigma in bins", *(f"{sigma:.3g}" for sigma in sigmas))
    notes = ["Mean distance of the target's mean from the label; sigma 0 is HL-OneBin."]
    return [PrintedTable(results.title, header, rows, notes)] if rows else []


def bias(results: Results) -> list[PrintedTable]:
    """Return the fits A exp(B x^2) to both biases, and where they vanish."""
    header = (
        *("bias", "set-up", "A", "theory", "B", "theory"),
        *("below 1e-7 bins from", "below 1e-7 of the range from"),
    )
    notes = [
        "Mean absolute bias in bin widths, fitted by A exp(B x²); x is sigma in bins "
        "or padding in sigmas. Theory: the first term of the series. The last columns "
        "have the first x of the grid that is below; the paper says 0.8 and 6.",
        "Set-up: y over one bin, as in the authors' code, or over 100 bins, as in the "
        "paper's text.",
    ]
    rows = [
        (name, SET_UPS[record.run.what], *_bias_cells(record.outcome, name, x))
        for name, x in BIASES
        for record in results.records
        if isinstance(record.run, Measurement)
    ]
    return [PrintedTable(results.title, header, rows, notes)]


def _bias_cells(outcome: Outcome, name: str, x: str) -> list[str]:
    """Return a fit, what theory predicts, and where the bias is negligible."""
    theory = ("0.2026", "-19.74") if name == "discretisation" else ("", "")
    fits = (f"{outcome.metrics[f'{name} {part}']:.3f}" for part in FITTED)
    cells = [cell for pair in zip(fits, theory, strict=True) for cell in pair]
    for unit in ("bias", "bias of range"):
        heights = outcome.curves.get(f"{name} {unit}", [])
        pairs = zip(outcome.curves[x], heights, strict=False)
        negligible = next((at for at, height in pairs if height < 1e-7), math.nan)
        cells.append("" if math.isnan(negligible) else f"{negligible:.3g}")
    return cells


def bound(results: Results) -> list[PrintedTable]:
    """Return the bounds at some epsilons."""
    tables = []
    for record in results.records:
        curves, metrics = record.outcome.curves, record.outcome.metrics
        names = ("squared difference", "Pinsker", "Bretagnolle-Huber")
        at = range(9, len(curves["epsilon"]), 20)
        rows = [
            (
                f"{curves['epsilon'][i]:.2f}",
                *(f"{curves[name][i]:.3f}" for name in names),
            )
            for i in at
        ]
        notes = [
            "Pinsker's bound is the smaller above epsilon "
            f"{metrics['crossing epsilon']:.4f}, and above 4, which says nothing, "
            f"below {metrics['useless epsilon']:.4f}."
        ]
        tables.append(PrintedTable(results.title, ("epsilon", *names), rows, notes))
    return tables


def theorems(results: Results) -> list[PrintedTable]:
    """Return the worst case of each statement and its limit."""
    rows = [
        (name, f"{value:.3g}", f"{TOLERANCES[name]:.3g}")
        for record in results.records
        for name, value in record.outcome.metrics.items()
        if name in TOLERANCES
    ]
    notes = ["The largest over many cases, in float64; see histreg/study/theory."]
    header = ("statement", "value", "at most")
    return [PrintedTable(results.title, header, rows, notes)]
