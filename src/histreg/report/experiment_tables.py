"""The tables of experiments, made from records, with the paper's numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from histreg._checks import check_choice
from histreg.report import (
    architecture_tables,
    column_tables,
    error_tables,
    forecast_tables,
    measurement_tables,
    peer_tables,
    rate_tables,
    shape_tables,
    sine_tables,
    value_tables,
)
from histreg.report.paired_tables import paired_tables
from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.statistics import METRICS
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.engine.runs import Record, Run

MAIN_METRICS = ("test MAE", "test RMSE")

KINDS: dict[str, Callable[[Results], list[PrintedTable]]] = {
    "errors": error_tables.errors,
    "representation": error_tables.representation,
    "columns": column_tables.columns,
    "rates": rate_tables.rates,
    "architectures": architecture_tables.architectures,
    "sines": sine_tables.sines,
    "label bias": measurement_tables.label_bias,
    "targets": measurement_tables.targets,
    "bias": measurement_tables.bias,
    "bound": measurement_tables.bound,
    "theorems": measurement_tables.theorems,
    "forecasts": forecast_tables.forecasts,
    "readings": forecast_tables.readings,
    "replays": value_tables.replays,
    "values": value_tables.values,
    "shapes": shape_tables.shapes,
    "tables": peer_tables.tables,
}
"""Values of `TableSpec.kind`: functions from results to tables."""


def tables_of(
    name: str,
    records: Sequence[Record],
    metrics: Sequence[str] = METRICS,
    *,
    runs: Sequence[Run] = (),
    is_paired: bool = False,
) -> list[PrintedTable]:
    """Return the tables of an experiment.

    Parameters
    ----------
    name : str
        The name of an experiment.
    records : sequence of Record
        The existing records.
    metrics : sequence of str
        Columns of tables of errors.
    runs : sequence of Run
        All runs of the experiment: a note below each table counts those without a
        record.
    is_paired : bool
        Whether to return differences paired by seed instead.
    """
    check_choice("table", name, EXPERIMENTS)
    results = Results(EXPERIMENTS[name], records, metrics)
    if is_paired:
        tables = paired_tables(results)
    else:
        kind = results.experiment.table.kind
        check_choice(f"the kind of table of {name}", kind, KINDS)
        tables = KINDS[kind](results)
    note = _unfinished(runs, records)
    return [
        replace(table, notes=[*table.notes, note] if note else table.notes)
        for table in tables
    ]


def _unfinished(runs: Sequence[Run], records: Sequence[Record]) -> str:
    """Return the number of runs without a record, by method; empty if none."""
    left = {*runs} - {record.run for record in records}
    if not left:
        return ""
    names = Counter(str(run.facet("method") or run.label) for run in left)
    counts = ", ".join(f"{name} {n}" for name, n in sorted(names.items()))
    return f"Not finished: {len(left)} of {len(runs)} runs ({counts})."
