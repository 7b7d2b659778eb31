"""The study's tables: records in, rows out, the paper's numbers beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from histreg._checks import check_choice
from histreg.report import (
    error_tables,
    forecast_tables,
    measurement_tables,
    shape_tables,
    value_tables,
)
from histreg.report.error_tables import Tables, errors
from histreg.report.paired_tables import paired_table
from histreg.report.printed import PrintedTable
from histreg.study.analysis.statistics import METRICS
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.engine.runs import Record, Run

MAIN_METRICS = ("test MAE", "test RMSE")


def tables_of(
    name: str,
    records: Sequence[Record],
    metrics: Sequence[str] = METRICS,
    *,
    runs: Sequence[Run] = (),
    is_paired: bool = False,
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
    is_paired : bool
        Whether to return differences paired by seed instead.
    """
    check_choice("table", name, EXPERIMENTS)
    if is_paired:
        table = paired_table(name)
    else:
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


TABLES: dict[str, Tables] = {
    "sines": measurement_tables.sines,
    "sines-reduced": measurement_tables.sines,
    "overall": error_tables.overall,
    "overall-validation": error_tables.overall_validation,
    "uniform": errors("HL-Uniform"),
    "head-start": errors("First weights of the last layer"),
    "label-bias": measurement_tables.label_bias,
    "projected": errors("HL-Projected"),
    **{
        name: errors(EXPERIMENTS[name].title)
        for name in (
            *("bins", "sigma", "rule-of-thumb", "grid", "auxiliary", "annealing"),
            *("corruption", "snapshots"),
        )
    },
    "representation": error_tables.representation,
    "training": error_tables.training,
    "sensitivity": error_tables.sensitivity,
    "rates": error_tables.rates,
    "forecasts": forecast_tables.forecasts("forecasts"),
    "forecast-readings": forecast_tables.readings,
    "forecasts-direct": forecast_tables.forecasts("forecasts-direct"),
    "forecasts-of-change": forecast_tables.forecasts("forecasts-of-change"),
    "replays": value_tables.replays,
    "values": value_tables.values("values"),
    "values-textbook": value_tables.values("values-textbook"),
    "shapes": shape_tables.shapes,
    "targets": measurement_tables.targets,
    "bias": measurement_tables.bias,
    "bound": measurement_tables.bound,
    "theorems": measurement_tables.theorems,
}
