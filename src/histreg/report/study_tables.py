"""The study's tables: records in, rows out, the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from histreg._checks import check_choice
from histreg.report.printed import PrintedTable
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.claims.theory import TOLERANCES
from histreg.study.datasets import dataset
from histreg.study.measurements import Measurement
from histreg.study.paper import published, published_data
from histreg.study.runs import Record, Run
from histreg.study.sine_curves import best_rates
from histreg.study.statistics import (
    METRICS,
    Estimate,
    Setting,
    best_settings,
    settings_of,
    validated_settings,
)

FAR_APART = 3.0  # joint standard errors, beyond which a difference is marked
MAIN_METRICS = ("test MAE", "test RMSE")
UNMATCHED = "l2+Softmax"  # of the paper: which of our losses it was cannot be told


def tables_of(
    name: str,
    records: Sequence[Record],
    metrics: Sequence[str] = METRICS,
    *,
    runs: Sequence[Run] = (),
) -> list[PrintedTable]:
    """Return the tables of an experiment; one of somebody's own has that of all errors.

    Parameters
    ----------
    name : str
        One of `TABLES`.
    records : sequence of Record
        As many as there are.
    metrics : sequence of str
        Columns of the tables of errors.
    runs : sequence of Run
        All that the experiment has: what is not finished is told below each table.
    """
    check_choice("table", name, EXPERIMENTS)
    table = TABLES.get(name) or errors(EXPERIMENTS[name].title)
    note = _unfinished(runs, records)
    return [
        replace(each, notes=[*each.notes, note] if note else each.notes)
        for each in table(records, metrics)
    ]


def _unfinished(runs: Sequence[Run], records: Sequence[Record]) -> str:
    """Return how many runs have no record, by method; nothing if all have one."""
    left = {*runs} - {record.run for record in records}
    if not left:
        return ""
    names = Counter(str(run.facet("method") or run.label) for run in left)
    told = ", ".join(f"{name} {n}" for name, n in sorted(names.items()))
    return f"Not finished: {len(left)} of {len(runs)} runs ({told})."


def overall(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:
    """Return Tables 1 and 7; settings are chosen on test MAE, as the paper's were."""
    settings = settings_of(records)
    best = best_settings(settings, "test MAE")
    note = (
        "Of methods with several settings, the one of lowest test MAE, as in the paper."
    )
    return _errors_tables("Overall results", best, metrics, note, settings)


def overall_validation(
    records: Sequence[Record], metrics: Sequence[str]
) -> list[PrintedTable]:
    """Return the same with settings chosen on validation rows."""
    note = (
        "Of methods with several settings, the one of lowest MAE on a fifth of the "
        "training rows that it did not learn from; then trained on all of them."
    )
    title = "Overall results, settings chosen on validation rows"
    chosen = validated_settings(records)
    return _errors_tables(title, chosen, metrics, note, settings_of(records))


def errors(
    title: str,
) -> Callable[[Sequence[Record], Sequence[str]], list[PrintedTable]]:
    """Return the table of all settings, none of them chosen."""

    def table(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:
        return _errors_tables(title, settings_of(records), metrics)

    return table


def _errors_tables(
    title: str,
    settings: Sequence[Setting],
    metrics: Sequence[str],
    note: str = "",
    chosen_from: Sequence[Setting] = (),
) -> list[PrintedTable]:
    """Return one table for each data set."""
    tables = []
    for name in dict.fromkeys(each.dataset for each in settings):
        of_set = [each for each in settings if each.dataset == name]
        header = ["method"]
        has_paper = any(in_paper(each, metrics[0]) for each in of_set)
        for metric in metrics:
            header += [metric, "paper", "apart"] if has_paper else [metric]
        counts = {e.estimates[m].n for e in of_set for m in metrics if m in e.estimates}
        most = max(counts, default=0)
        rows = [_row(each, metrics, most, has_paper=has_paper) for each in of_set]
        likely = [
            i
            for i, each in enumerate(of_set, start=1)
            if each.method.name.startswith(UNMATCHED)
        ]
        if likely and has_paper:
            rows.insert(likely[-1], _unmatched(name, metrics))
        data = dataset(name)
        notes = [f"Mean ± standard error over {_seeds(counts)}."]
        if has_paper:
            notes.append(
                "Apart: ours minus the paper's in joint standard errors, marked * "
                f"beyond {FAR_APART:g}."
            )
        notes += [note] if note else []
        names = {each.method.name for each in of_set}
        without = dict.fromkeys(
            each.method.name
            for each in chosen_from
            if each.dataset == name and each.method.name not in names
        )
        if without:
            notes.append(
                f"No setting of {', '.join(without)} could be chosen: not finished, or "
                "diverged."
            )
        tables.append(
            PrintedTable(f"{title}: {data.title}", tuple(header), rows, notes)
        )
    return tables


def _row(
    setting: Setting, metrics: Sequence[str], most: int, *, has_paper: bool
) -> tuple[str, ...]:
    n_seeds = max((each.n for each in setting.estimates.values()), default=0)
    is_short = n_seeds + setting.n_diverged < most
    cells = [setting.label + (f", {_seeds({n_seeds})}" if is_short else "")]
    for metric in metrics:
        ours = setting.estimates.get(metric)
        paper = in_paper(setting, metric)
        cells.append("diverged" if ours is None else shown(ours))
        if has_paper:
            cells.append("" if paper is None else shown(paper))
            cells.append("" if paper is None or ours is None else _apart(ours, paper))
    return tuple(cells)


def in_paper(setting: Setting, metric: str) -> Estimate | None:
    """Return the paper's number of the same thing, if it has one."""
    method = setting.method
    if setting.changes or (method.label != method.name and not method.is_tuned):
        return None  # a variant of ours
    return published(setting.dataset, method.name, metric)


def _unmatched(name: str, metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the paper's row that is no row of ours."""
    cells = [f"{UNMATCHED} (the paper's)"]
    for metric in metrics:
        paper = published(name, UNMATCHED, metric)
        cells += ["", "" if paper is None else shown(paper), ""]
    return tuple(cells)


def shown(estimate: Estimate) -> str:
    """Return a mean and its error to as many digits as the paper prints."""
    if math.isnan(estimate.se):
        return f"{estimate.mean:.3f}"
    return f"{estimate.mean:.3f} ± {estimate.se:.3f}"


def _apart(ours: Estimate, paper: Estimate) -> str:
    apart = ours.apart(paper)
    if math.isnan(apart):
        return ""
    return f"{apart:+.1f}" + ("*" if abs(apart) > FAR_APART else "")


def _seeds(counts: set[int]) -> str:
    few, many = min(counts, default=0), max(counts, default=0)
    told = f"{many}" if few == many else f"{few} to {many}"
    return f"{told} seed" if few == many == 1 else f"{told} seeds"


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
    notes = ["The largest over many cases, in float64; see histreg.study.theorems."]
    header = ("statement", "value", "at most")
    return [PrintedTable("Theorems as numbers", header, rows, notes)]


TABLES: dict[str, Callable[[Sequence[Record], Sequence[str]], list[PrintedTable]]] = {
    "sines": sines,
    "sines-reduced": sines,
    "overall": overall,
    "overall-validation": overall_validation,
    "uniform": errors("HL-Uniform"),
    "head-start": errors("First weights of the last layer"),
    "label-bias": label_bias,
    "projected": errors("HL-Projected"),
    "targets": targets,
    "bias": bias,
    "bound": bound,
    "theorems": theorems,
}
