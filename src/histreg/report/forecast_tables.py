"""Tables of forecasts: each loss on each model, and each reading of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from histreg.report.error_tables import (
    FAR_APART,
    Tables,
    apart_of,
    seeds_of,
    with_seeds,
)
from histreg.report.printed import PrintedTable
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import published_forecast
from histreg.study.analysis.statistics import (
    ForecastSetting,
    forecast_settings,
)
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.datasets import SERIES, source
from histreg.study.engine.runs import Record
from histreg.study.measurements import Measurement
from histreg.study.methods import L2
from histreg.study.series.runs import CRITERIA, ForecastRun

ERRORS = ("test MSE", "test MAE")
OF_DISTRIBUTIONS = ("test CRPS", "test coverage 0.8", "test coverage 0.9")
NAIVE = ("last value", "mean of inputs", "zero")


def forecasts(name: str) -> Tables:
    """Return the tables of an experiment, a series a table: Tables 4 and 6, or ours."""

    def tables(
        records: Sequence[Record],
        metrics: Sequence[str],  # noqa: ARG001
    ) -> list[PrintedTable]:
        settings = forecast_settings(records)
        naive = {
            str(each.run.facet("dataset")): each
            for each in records
            if isinstance(each.run, Measurement)
        }
        names = dict.fromkeys([*(each.run.dataset for each in settings), *naive])
        return [
            _table(
                f"{EXPERIMENTS[name].title}: {source(series).title}",
                [each for each in settings if each.run.dataset == series],
                naive.get(series),
            )
            for series in names
        ]

    return tables


def readings(
    records: Sequence[Record],
    metrics: Sequence[str],  # noqa: ARG001
) -> list[PrintedTable]:
    """Return the errors of each reading below the paper's, the nearest first."""
    settings = forecast_settings(records)
    return [_readings_table(settings, metric) for metric in ERRORS]


def _readings_table(settings: Sequence[ForecastSetting], metric: str) -> PrintedTable:
    paper: dict[str, float] = {}
    by_reading: dict[str, dict[str, float]] = {}
    for setting in settings:
        run, ours = setting.run, setting.estimates.get(metric)
        theirs = _in_paper(setting, metric)
        if theirs is None or ours is None:
            continue
        column = f"{run.dataset} {run.method.name}"
        paper[column] = theirs.mean
        # The loss of l2 is the squared error: one run stands for both criteria.
        same = [replace(run, validation=each) for each in CRITERIA]
        for each in same if isinstance(run.method, L2) else [run]:
            words = ", ".join(each.reading.values())
            by_reading.setdefault(words, {})[column] = ours.mean
    # Of each series l2 first, whatever the order of the records.
    every = (f"{series} {method}" for series in SERIES for method in ("l2", "HL-Gauss"))
    columns = [each for each in every if each in paper]
    distance = {
        words: math.fsum(abs(math.log(errors[c] / paper[c])) for c in errors)
        / len(paper)
        for words, errors in by_reading.items()
    }
    is_whole = {
        words: len(errors) == len(paper) for words, errors in by_reading.items()
    }
    # A sum over some of the columns is at most that over all of them.
    nearest = sorted(
        by_reading, key=lambda words: (not is_whole[words], distance[words])
    )
    rows = [("the paper", *(f"{paper[c]:.4f}" for c in columns), "")] if paper else []
    for words in nearest:
        errors = by_reading[words]
        cells = (f"{errors[c]:.4f}" if c in errors else "" for c in columns)
        bound = "" if is_whole[words] else "≥ "
        rows.append((words, *cells, f"{bound}{100 * distance[words]:.1f} %"))
    counts = {each.estimates[metric].n for each in settings if metric in each.estimates}
    notes = [
        f"Mean over {seeds_of(counts)}, of standardised OT.",
        "Distance from the paper: the mean of |log(ours / the paper's)| over all "
        "columns, at least (≥) where some are not run; the nearest reading is first.",
        "The loss of l2 is the MSE: it is stopped alike by both.",
    ]
    title = f"{EXPERIMENTS['forecast-readings'].title}: {metric}"
    return PrintedTable(title, ("reading", *columns, "distance"), rows, notes)


def _table(
    title: str, settings: Sequence[ForecastSetting], naive: Record | None
) -> PrintedTable:
    has_paper = any(_in_paper(each, ERRORS[0]) for each in settings)
    header = ["forecaster"]
    for metric in ERRORS:
        header += [metric, "paper", "apart"] if has_paper else [metric]
    header += OF_DISTRIBUTIONS
    counts = {e.estimates[m].n for e in settings for m in ERRORS if m in e.estimates}
    most = max(counts, default=0)
    rows = [] if naive is None else _naive_rows(naive, has_paper=has_paper)
    rows += [
        (with_seeds(each.label, each, most), *_cells(each, has_paper=has_paper))
        for each in settings
    ]
    notes = [
        f"Mean over {seeds_of(counts)} ± half of its 95 % interval, of standardised OT."
    ]
    if has_paper:
        notes.append(
            "Apart: ours minus the paper's in joint standard errors, marked * beyond "
            f"{FAR_APART:g}."
        )
    if naive is not None:
        notes.append(
            f"The first {len(NAIVE)} rows learn nothing: they repeat the last value, "
            f"the mean of the {ForecastRun.n_inputs} values seen, and the mean of the "
            "year of training."
        )
    return PrintedTable(title, tuple(header), rows, notes)


def _naive_rows(record: Record, *, has_paper: bool) -> list[tuple[str, ...]]:
    told = record.outcome.metrics
    gap = ("", "") if has_paper else ()
    return [
        (
            how,
            *(f"{told[f'{how}, test MSE']:.4f}", *gap),
            *(f"{told[f'{how}, test MAE']:.4f}", *gap),
            *("" for _ in OF_DISTRIBUTIONS),
        )
        for how in NAIVE
    ]


def _cells(setting: ForecastSetting, *, has_paper: bool) -> list[str]:
    cells = []
    for metric in ERRORS:
        ours = setting.estimates.get(metric)
        cells.append("diverged" if ours is None else _shown(ours))
        if has_paper:
            paper = _in_paper(setting, metric)
            cells.append("" if paper is None else _shown(paper))
            cells.append("" if paper is None or ours is None else apart_of(ours, paper))
    for metric in OF_DISTRIBUTIONS:
        found = setting.estimates.get(metric)
        cells.append("" if found is None else _shown(found))
    return cells


def _in_paper(setting: ForecastSetting, metric: str) -> Estimate | None:
    """Return the paper's number of the same thing, if it has one."""
    run = setting.run
    if not run.is_of_paper:
        return None
    return published_forecast(run.dataset, run.architecture, run.method.name, metric)


def _shown(estimate: Estimate) -> str:
    """Return a mean and half its interval; the paper's are often below 0.001."""
    if math.isnan(estimate.se):
        return f"{estimate.mean:.4f}"
    return f"{estimate.mean:.4f} ± {estimate.half_interval:.4f}"
