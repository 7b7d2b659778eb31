"""Tables of forecasts: each loss on each model, beside what learns nothing."""

from __future__ import annotations

from collections.abc import Sequence

from histreg.report.error_tables import FAR_APART, apart_of, seeds_of, shown
from histreg.report.printed import PrintedTable
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.measurements import Measurement
from histreg.study.paper import published_forecast
from histreg.study.runs import Record
from histreg.study.statistics import Estimate, ForecastSetting, forecast_settings

ERRORS = ("test MSE", "test MAE")
OF_DISTRIBUTIONS = ("test CRPS", "test coverage 0.8", "test coverage 0.9")
NAIVE = ("last value", "mean of inputs", "zero")


def forecasts(
    records: Sequence[Record],
    metrics: Sequence[str],  # noqa: ARG001
) -> list[PrintedTable]:
    """Return Tables 4 and 6, a series a table."""
    settings = forecast_settings(records)
    naive = {
        str(each.run.facet("dataset")): each
        for each in records
        if isinstance(each.run, Measurement)
    }
    names = dict.fromkeys([*(each.run.dataset for each in settings), *naive])
    return [
        _table(name, [e for e in settings if e.run.dataset == name], naive.get(name))
        for name in names
    ]


def _table(
    name: str, settings: Sequence[ForecastSetting], naive: Record | None
) -> PrintedTable:
    is_change = any(each.run.subtracts_last for each in settings)
    header = ["forecaster"]
    for metric in ERRORS:
        header += [metric] if is_change else [metric, "paper", "apart"]
    header += OF_DISTRIBUTIONS
    rows = [] if naive is None else _naive_rows(naive, is_change=is_change)
    rows += [_row(each, is_change=is_change) for each in settings]
    counts = {e.estimates[m].n for e in settings for m in ERRORS if m in e.estimates}
    notes = [f"Mean ± standard error over {seeds_of(counts)}, of standardised OT."]
    if not is_change:
        notes.append(
            "Apart: ours minus the paper's in joint standard errors, marked * beyond "
            f"{FAR_APART:g}."
        )
    notes.append(
        "The first rows learn nothing: they repeat the last value, the mean of the 96 "
        "values seen, and the mean of the year of training."
    )
    which = "forecasts-of-change" if is_change else "forecasts"
    title = f"{EXPERIMENTS[which].title}: {name}"
    return PrintedTable(title, tuple(header), rows, notes)


def _naive_rows(record: Record, *, is_change: bool) -> list[tuple[str, ...]]:
    told = record.outcome.metrics
    gap = () if is_change else ("", "")
    return [
        (
            name,
            *(f"{told[f'{name}, test MSE']:.3f}", *gap),
            *(f"{told[f'{name}, test MAE']:.3f}", *gap),
            *("" for _ in OF_DISTRIBUTIONS),
        )
        for name in NAIVE
    ]


def _row(setting: ForecastSetting, *, is_change: bool) -> tuple[str, ...]:
    run = setting.run
    cells = [setting.label]
    for metric in ERRORS:
        ours = setting.estimates.get(metric)
        cells.append(_shown(ours))
        if not is_change:
            paper = published_forecast(
                run.dataset, run.architecture, run.method.name, metric
            )
            cells.append(_shown(paper))
            if ours is None or paper is None:
                cells.append("")
            else:
                cells.append(apart_of(ours, paper))
    cells += [_shown(setting.estimates.get(metric)) for metric in OF_DISTRIBUTIONS]
    return tuple(cells)


def _shown(estimate: Estimate | None) -> str:
    return "" if estimate is None else shown(estimate)
