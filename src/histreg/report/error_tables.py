"""Tables of errors: each setting over its seeds, the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import published
from histreg.study.analysis.statistics import (
    Setting,
    TableSetting,
    best_on_validation,
    of_any_rate,
    settings_of,
    validated_settings,
)
from histreg.study.datasets import dataset
from histreg.study.tabular.representations import column_of, published_name

PAPER_RATE = 1e-3
FAR_APART = 3.0  # joint standard errors, beyond which a difference is marked
UNMATCHED = "l2+Softmax"  # the paper does not say which loss this row is
APART_NOTE = (
    "Apart: ours minus the paper's in joint standard errors, marked * beyond "
    f"{FAR_APART:g}."
)


def errors(results: Results) -> list[PrintedTable]:
    """Return the errors of the settings that the experiment reports."""
    return _errors_tables(results, results.tabular_settings)


def representation(results: Results) -> list[PrintedTable]:
    """Return Tables 3 and 9: each loss on its own, another's and a random body."""
    settings = results.tabular_settings
    return _errors_tables(
        results, sorted(settings, key=lambda setting: setting.method.name != "l2")
    )


def _errors_tables(
    results: Results, settings: Sequence[TableSetting]
) -> list[PrintedTable]:
    """Return one table per data set."""
    every = settings_of(results.records)
    return [
        _errors_table(
            results,
            name,
            [setting for setting in settings if setting.dataset == name],
            [setting for setting in every if setting.dataset == name],
        )
        for name in dict.fromkeys(setting.dataset for setting in settings)
    ]


def _errors_table(
    results: Results,
    name: str,
    settings: Sequence[TableSetting],
    chosen_from: Sequence[TableSetting],
) -> PrintedTable:
    metrics = results.experiment.table.metrics or results.metrics
    label, note = results.experiment.label, results.experiment.table.note
    has_paper = any(in_paper(setting, metrics[0]) for setting in settings)
    counts = seed_counts(settings, metrics)
    rows = [
        (
            with_seeds(label(setting), setting, max(counts, default=0)),
            *_cells(setting, metrics, has_paper=has_paper),
        )
        for setting in settings
    ]
    likely = [
        i
        for i, setting in enumerate(settings, start=1)
        if setting.method.name.startswith(UNMATCHED)
        and column_of(setting.run) == "Default"
    ]
    if likely and has_paper:
        rows.insert(likely[-1], _unmatched(name, metrics))
    notes = [
        f"Mean ± standard error over {seeds_in_words(counts)}.",
        *([APART_NOTE] if has_paper else []),
        *([note] if note else []),
        *_not_chosen(settings, chosen_from),
    ]
    header = ("method", *header_with_paper(metrics, has_paper=has_paper))
    return PrintedTable(f"{results.title}: {dataset(name).title}", header, rows, notes)


def header_with_paper(metrics: Iterable[str], *, has_paper: bool) -> list[str]:
    """Return a column per metric, with the paper's number and the distance from it."""
    beside = ("paper", "apart") if has_paper else ()
    return [column for metric in metrics for column in (metric, *beside)]


def _cells(
    setting: TableSetting, metrics: Sequence[str], *, has_paper: bool
) -> tuple[str, ...]:
    cells = []
    for metric in metrics:
        ours = setting.estimates.get(metric)
        paper = in_paper(setting, metric)
        cells.append("diverged" if ours is None else shown(ours))
        if has_paper:
            cells.append("" if paper is None else shown(paper))
            cells.append("" if paper is None or ours is None else apart_of(ours, paper))
    return tuple(cells)


def _unmatched(name: str, metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the row of the paper that matches none of ours."""
    cells = [f"{UNMATCHED} (the paper's)"]
    for metric in metrics:
        paper = published(name, UNMATCHED, metric)
        cells += ["", "" if paper is None else shown(paper), ""]
    return tuple(cells)


def _not_chosen(
    chosen: Sequence[TableSetting], among: Sequence[TableSetting]
) -> list[str]:
    """Return a note on the methods without a chosen setting, if any."""
    names = {setting.method.name for setting in chosen}
    without = dict.fromkeys(
        setting.method.name for setting in among if setting.method.name not in names
    )
    if not without:
        return []
    return [
        f"No setting of {', '.join(without)} could be chosen: not finished, or "
        "diverged."
    ]


def in_paper(setting: TableSetting, metric: str) -> Estimate | None:
    """Return the paper's number for the same setting, if it has one."""
    name = published_name(setting.run)
    return None if name is None else published(setting.dataset, name, metric)


def shown(estimate: Estimate) -> str:
    """Return a mean and its error to as many digits as the paper prints."""
    if math.isnan(estimate.se):
        return f"{estimate.mean:.3f}"
    return f"{estimate.mean:.3f} ± {estimate.se:.3f}"


def apart_of(ours: Estimate, paper: Estimate) -> str:
    """Return the distance between two estimates, marked if large; empty if unknown."""
    apart = ours.apart(paper)
    if math.isnan(apart):
        return ""
    return f"{apart:+.1f}" + ("*" if abs(apart) > FAR_APART else "")


def seed_counts(settings: Iterable[Setting[Any]], metrics: Iterable[str]) -> set[int]:
    """Return the numbers of seeds that the estimates of these metrics have."""
    metrics = tuple(metrics)
    return {
        setting.estimates[metric].n
        for setting in settings
        for metric in metrics
        if metric in setting.estimates
    }


def seeds_in_words(counts: set[int]) -> str:
    """Return the number of seeds in words, such as ``3 to 5 seeds``."""
    few, many = min(counts, default=0), max(counts, default=0)
    if few == many == 1:
        return "1 seed"
    return f"{many} seeds" if few == many else f"{few} to {many} seeds"


def with_seeds(label: str, setting: Setting[Any], most: int) -> str:
    """Return a label, with the number of seeds if others have more."""
    n_seeds = max((estimate.n for estimate in setting.estimates.values()), default=0)
    is_short = n_seeds + setting.n_diverged < most
    return label + (f", {seeds_in_words({n_seeds})}" if is_short else "")


@dataclass(frozen=True, eq=False)
class _Tuned:
    """A method with the learning rate and components best on validation rows."""

    setting: TableSetting  # on validation rows
    on_test: TableSetting | None
    at_paper_rate: TableSetting | None

    @property
    def label(self) -> str:
        n_diverged = 0 if self.on_test is None else self.on_test.n_diverged
        diverged = f", {n_diverged} diverged" if n_diverged else ""
        return f"{self.setting.method.label}{diverged}"

    @property
    def estimates(self) -> tuple[Estimate | None, ...]:
        """Validation MAE, test MAE, test RMSE, and test MAE at the paper's rate."""
        return (
            self.setting.estimates["validation MAE"],
            _estimate(self.on_test, "test MAE"),
            _estimate(self.on_test, "test RMSE"),
            _estimate(self.at_paper_rate, "test MAE"),
        )

    @property
    def cells(self) -> list[str]:
        cells = [
            "" if estimate is None else shown(estimate) for estimate in self.estimates
        ]
        usual = self.at_paper_rate
        if usual is not None and usual.method != self.setting.method:
            cells[3] += f" as {usual.method.label}"
        return cells


def _estimate(setting: TableSetting | None, metric: str) -> Estimate | None:
    return None if setting is None else setting.estimates.get(metric)


def rates(results: Results) -> list[PrintedTable]:
    """Return each method at its own learning rate, and at the paper's common rate."""
    records = results.records
    usual = [r for r in records if getattr(r.run, "learning_rate", 0) == PAPER_RATE]
    at_paper_rate = {
        of_any_rate(setting): setting
        for setting in validated_settings(usual, of_any_rate)
    }
    on_test = {setting.run: setting for setting in settings_of(records)}
    tuned = [
        _Tuned(setting, on_test.get(run), at_paper_rate.get(of_any_rate(setting)))
        for run, setting in best_on_validation(records, of_any_rate).items()
    ]
    tried = settings_of(records, part="validation")
    return [
        _rates_table(
            f"{results.title}: {dataset(name).title}",
            [choice for choice in tuned if choice.setting.dataset == name],
            [setting for setting in tried if setting.dataset == name],
        )
        for name in dict.fromkeys(setting.dataset for setting in tried)
    ]


def _rates_table(
    title: str, tuned: Sequence[_Tuned], tried: Sequence[TableSetting]
) -> PrintedTable:
    order = _ranks([choice.estimates[1] for choice in tuned])
    usual_order = _ranks([choice.estimates[3] for choice in tuned])
    rows = []
    for choice, place, usual_place in zip(tuned, order, usual_order, strict=True):
        rate, cells = f"{choice.setting.run.learning_rate:g}", choice.cells
        rows.append((choice.label, rate, *cells[:3], place, cells[3], usual_place))
    header = (
        *("method", "rate", "validation MAE", "test MAE", "test RMSE", "place"),
        *(f"test MAE at {PAPER_RATE:g}", "place"),
    )
    return PrintedTable(title, header, rows, _rates_notes(tuned, tried))


def _rates_notes(tuned: Sequence[_Tuned], tried: Sequence[TableSetting]) -> list[str]:
    grid = sorted({setting.run.learning_rate for setting in tried})
    counts = {
        estimate.n
        for choice in tuned
        for estimate in choice.estimates
        if estimate is not None
    }
    notes = [
        f"Mean ± standard error over {seeds_in_words(counts)}.",
        f"Rate, of {', '.join(f'{rate:g}' for rate in grid)}, and components of "
        "lowest MAE on a fifth of the training rows that was not learnt from; then "
        f"trained on all of them. At {PAPER_RATE:g}, the paper's rate for all, "
        "components are chosen likewise. Place: by test MAE.",
    ]
    at_ends = [
        choice.setting.method.label
        for choice in tuned
        if choice.setting.run.learning_rate in (grid[0], grid[-1])
    ]
    if at_ends:
        notes.append(
            f"At an end of the grid, so that a rate beyond it may be better: "
            f"{', '.join(at_ends)}."
        )
    return notes + _not_chosen([choice.setting for choice in tuned], tried)


def _ranks(estimates: Sequence[Estimate | None]) -> list[str]:
    """Return ranks from 1, the lowest mean; empty where an estimate is missing."""
    means = sorted(estimate.mean for estimate in estimates if estimate is not None)
    return [
        "" if estimate is None else str(1 + means.index(estimate.mean))
        for estimate in estimates
    ]
