"""Tables of what is measured without data sets' methods, and of the sines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from histreg.report.printed import PrintedTable
from histreg.study.analysis.paper import published_data
from histreg.study.claims.theory import TOLERANCES
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Record
from histreg.study.measurements import Measurement
from histreg.study.sines.curves import best_rates


def targets(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:  # noqa: ARG001
    """Return Table 5: the data sets."""
    in_paper = published_data()
    rows = []
    for record in records:
        if not isinstance(record.run, Measurement):
            continue
        name, facts = record.run.dataset, record.outcome.metrics
        told = in_paper.get(name)
        rows.append(
            (
                dataset(name).title,
                f"{facts['train rows']:,.0f}",
                f"{facts['test rows']:,.0f}",
                f"{facts['features']:.0f}",
                f"[{facts['low']:g}, {facts['high']:g}]",
                f"{facts['smallest']:.4g} to {facts['largest']:.4g}",
                f"{facts['distinct']:,.0f}",
                ""
                if told is None
                else f"{int(told['n_train_paper']):,} + {int(told['n_test_paper']):,}, "
                f"{told['n_features_paper']}",
            )
        )
    header = (
        "data set",
        "train rows",
        "test rows",
        "features",
        "range",
        "targets",
        "distinct",
        "paper",
    )
    notes = ["Paper: rows to train and test, features as Table 5 counts them."]
    return [PrintedTable("Data sets", header, rows, notes)]


def label_bias(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:  # noqa: ARG001
    """Return the mean absolute label bias over sigma."""
    rows: list[tuple[str, ...]] = []
    sigmas: list[float] = []
    for record in records:
        if isinstance(record.run, Measurement):
            sigmas = record.outcome.curves["sigma_in_bins"]
            biases = record.outcome.curves["label bias"]
            title = dataset(record.run.dataset).title
            rows.append((title, *(f"{bias:.2g}" for bias in biases)))
    header = ("sigma in bins", *(f"{sigma:.3g}" for sigma in sigmas))
    notes = ["Mean distance of the target's mean from the label; sigma 0 is HL-OneBin."]
    return [PrintedTable("Label bias", header, rows, notes)] if rows else []


def bias(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:  # noqa: ARG001
    """Return the fits A exp(B x^2) to both biases, and where they vanish."""
    tables = []
    for record in records:
        told, curves = record.outcome.metrics, record.outcome.curves
        rows = []
        for name, x, theory in (
            ("discretisation", "sigma_in_bins", ("0.2026", "-19.74")),
            ("truncation", "padding_in_sigmas", ("", "")),
        ):
            negligible = next(
                (
                    at
                    for at, height in zip(
                        curves[x], curves[f"{name} bias"], strict=True
                    )
                    if height < 1e-7
                ),
                math.nan,
            )
            rows.append(
                (
                    name,
                    f"{told[f'{name} factor']:.3f}",
                    theory[0],
                    f"{told[f'{name} exponent']:.3f}",
                    theory[1],
                    f"{negligible:.3g}",
                )
            )
        header = ("bias", "A", "theory", "B", "theory", "below 1e-7 from")
        notes = [
            "Mean absolute bias in bin widths, fitted by A exp(B x²); x is sigma in "
            "bins or padding in sigmas. The last column is the first x of the grid "
            "that is below; the paper says 0.8 and 6, the 0.8 for a bias in units of "
            "100 bins."
        ]
        tables.append(PrintedTable("Bias simulation", header, rows, notes))
    return tables


def bound(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:  # noqa: ARG001
    """Return the bounds at some epsilons."""
    tables = []
    for record in records:
        curves, told = record.outcome.curves, record.outcome.metrics
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
            f"Pinsker's bound is the smaller above epsilon "
            f"{told['crossing epsilon']:.4f}, and above 4, which says nothing, below "
            f"{told['useless epsilon']:.4f}."
        ]
        tables.append(
            PrintedTable("Prediction bound", ("epsilon", *names), rows, notes)
        )
    return tables


def sines(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:  # noqa: ARG001
    """Return the area under the error of each loss at its best learning rate."""
    rows = []
    for each in best_rates(records):
        low, high = each.value_range
        rows.append(
            (
                each.method,
                f"{each.alpha:g}",
                f"{each.beta:g}",
                f"[{low:g}, {high:g}]" if each.has_bins else "",
                f"{each.learning_rate:g}",
                f"{each.area.mean:.4f}",
                "" if math.isnan(each.area.se) else f"{each.area.se:.4f}",
                f"{each.final.mean:.2g}",
                f"{each.area.n}",
            )
        )
    header = (
        "method",
        "alpha",
        "beta",
        "support",
        "rate",
        "area",
        "se",
        "final MSE",
        "seeds",
    )
    notes = [
        "Area: mean squared error over all iterations, at the learning rate where it "
        "is lowest in the mean over seeds; a run that left the finite numbers has an "
        "infinite area."
    ]
    return [PrintedTable("Synthetic sines", header, rows, notes)]


def theorems(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:  # noqa: ARG001
    """Return the worst case of each statement, beside what it must not exceed."""
    rows = [
        (name, f"{value:.3g}", f"{TOLERANCES[name]:.3g}")
        for record in records
        for name, value in record.outcome.metrics.items()
        if name in TOLERANCES
    ]
    notes = ["The largest over many cases, in float64; see histreg/study/theory."]
    header = ("statement", "value", "at most")
    return [PrintedTable("Theorems as numbers", header, rows, notes)]
