"""Tables of errors: each setting over its seeds, the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from histreg.report.beside_paper import (
    APART_NOTE,
    apart_of,
    header_with_paper,
    in_paper,
    notes_on_unchosen,
    seed_counts,
    seeds_in_words,
    shown,
    with_seeds,
)
from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.paper import UNMATCHED, published
from histreg.study.analysis.statistics import (
    TableSetting,
    settings_of,
)
from histreg.study.datasets import dataset
from histreg.study.tabular.representations import column_of


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
    for row, candidates in UNMATCHED.items():
        likely = [
            i
            for i, setting in enumerate(settings, start=1)
            if setting.method.name in candidates and column_of(setting.run) == "Default"
        ]
        if likely and has_paper:
            rows.insert(likely[-1], _unmatched(row, name, metrics))
    notes = [
        f"Mean ± standard error over {seeds_in_words(counts)}.",
        *([APART_NOTE] if has_paper else []),
        *([note] if note else []),
        *notes_on_unchosen(settings, chosen_from),
    ]
    header = ("method", *header_with_paper(metrics, has_paper=has_paper))
    return PrintedTable(f"{results.title}: {dataset(name).title}", header, rows, notes)


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


def _unmatched(row: str, name: str, metrics: Sequence[str]) -> tuple[str, ...]:
    """Return a row of the paper that matches none of ours."""
    cells = [f"{row} (the paper's)"]
    for metric in metrics:
        paper = published(name, row, metric)
        cells += ["", "" if paper is None else shown(paper), ""]
    return tuple(cells)
