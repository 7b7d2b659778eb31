"""Tables of forecasts: each loss on each model, and each reading of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from histreg.report.beside_paper import (
    APART_NOTE,
    apart_of,
    header_with_paper,
    seed_counts,
    seeds_in_words,
    with_seeds,
)
from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import published_forecast
from histreg.study.analysis.statistics import (
    Setting,
    settings_over_seeds,
)
from histreg.study.catalogue.forecasts import FORECAST_ERRORS
from histreg.study.datasets import SERIES, source
from histreg.study.engine.runs import Record
from histreg.study.measurements import Measurement
from histreg.study.methods import L2
from histreg.study.series.runs import CRITERIA, ForecastRun

OF_DISTRIBUTIONS = ("test CRPS", "test coverage 0.8", "test coverage 0.9")
NAIVE = ("last value", "mean of inputs", "zero")

ForecastSetting = Setting[ForecastRun]


def forecasts(results: Results) -> list[PrintedTable]:
    """Return a table for each series: Tables 4 and 6, or our variants of them."""
    settings = settings_over_seeds(results.records, ForecastRun)
    naive = {
        str(record.run.facet("dataset")): record
        for record in results.records
        if isinstance(record.run, Measurement)
    }
    names = dict.fromkeys([*(setting.dataset for setting in settings), *naive])
    return [
        _table(
            f"{results.title}: {source(series).title}",
            [setting for setting in settings if setting.dataset == series],
            naive.get(series),
        )
        for series in names
    ]


def _table(
    title: str, settings: Sequence[ForecastSetting], naive: Record | None
) -> PrintedTable:
    has_paper = any(_in_paper(setting, FORECAST_ERRORS[0]) for setting in settings)
    header = (
        "forecaster",
        *header_with_paper(FORECAST_ERRORS, has_paper=has_paper),
        *OF_DISTRIBUTIONS,
    )
    counts = seed_counts(settings, FORECAST_ERRORS)
    rows = [] if naive is None else _naive_rows(naive, has_paper=has_paper)
    rows += [
        (
            with_seeds(setting.label, setting, max(counts, default=0)),
            *_cells(setting, has_paper=has_paper),
        )
        for setting in settings
    ]
    notes = [
        f"Mean over {seeds_in_words(counts)} ± half of its 95 % interval, of "
        "standardised OT.",
        *([APART_NOTE] if has_paper else []),
    ]
    if naive is not None:
        notes.append(
            f"The first {len(NAIVE)} rows learn nothing: they repeat the last value, "
            f"the mean of the {ForecastRun.n_inputs} values seen, and the mean of the "
            "year of training."
        )
    return PrintedTable(title, header, rows, notes)


def _naive_rows(record: Record, *, has_paper: bool) -> list[tuple[str, ...]]:
    errors = record.outcome.metrics
    gap = ("", "") if has_paper else ()
    return [
        (
            how,
            *(f"{errors[f'{how}, test MSE']:.4f}", *gap),
            *(f"{errors[f'{how}, test MAE']:.4f}", *gap),
            *("" for _ in OF_DISTRIBUTIONS),
        )
        for how in NAIVE
    ]


def _cells(setting: ForecastSetting, *, has_paper: bool) -> list[str]:
    cells = []
    for metric in FORECAST_ERRORS:
        ours = setting.estimates.get(metric)
        cells.append("diverged" if ours is None else _shown(ours))
        if has_paper:
            paper = _in_paper(setting, metric)
            cells.append("" if paper is None else _shown(paper))
            cells.append("" if paper is None or ours is None else apart_of(ours, paper))
    for metric in OF_DISTRIBUTIONS:
        score = setting.estimates.get(metric)
        cells.append("" if score is None else _shown(score))
    return cells


def _in_paper(setting: ForecastSetting, metric: str) -> Estimate | None:
    """Return the paper's number for the same setting, if it has one."""
    run = setting.run
    if not run.is_of_paper:
        return None
    return published_forecast(run.dataset, run.architecture, run.method.name, metric)


def _shown(estimate: Estimate) -> str:
    """Return a mean and half its interval; the paper's are often below 0.001."""
    if math.isnan(estimate.se):
        return f"{estimate.mean:.4f}"
    return f"{estimate.mean:.4f} ± {estimate.half_interval:.4f}"


@dataclass(frozen=True)
class _Readings:
    """The errors of each reading, and the paper's, by series and method.

    Parameters
    ----------
    paper : dict of str to float
        By column, such as ``ETTh1 l2``.
    ours : dict of str to dict of str to float
        By the words of a reading, then by column.
    """

    paper: dict[str, float]
    ours: dict[str, dict[str, float]]

    @classmethod
    def of(cls, settings: Sequence[ForecastSetting], metric: str) -> _Readings:
        paper: dict[str, float] = {}
        ours: dict[str, dict[str, float]] = {}
        for setting in settings:
            run, estimate = setting.run, setting.estimates.get(metric)
            published = _in_paper(setting, metric)
            if published is None or estimate is None:
                continue
            column = f"{run.dataset} {run.method.name}"
            paper[column] = published.mean
            # The loss of l2 is the squared error: one run stands for both criteria.
            same = [replace(run, validation=criterion) for criterion in CRITERIA]
            for other in same if isinstance(run.method, L2) else [run]:
                words = ", ".join(other.reading.values())
                ours.setdefault(words, {})[column] = estimate.mean
        return cls(paper, ours)

    @property
    def columns(self) -> list[str]:
        """The columns: for each series l2 first, in any order of the records."""
        pairs = product(SERIES, ("l2", "HL-Gauss"))
        columns = (f"{series} {method}" for series, method in pairs)
        return [column for column in columns if column in self.paper]

    def distance(self, words: str) -> float:
        """Return the mean over all columns of abs(log(ours / the paper's)).

        A column that was not run counts as 0, so the result is a lower bound.
        """
        logs = (
            abs(math.log(error / self.paper[column]))
            for column, error in self.ours[words].items()
        )
        return math.fsum(logs) / len(self.paper)

    def is_complete(self, words: str) -> bool:
        """Return whether a reading has an error in every column."""
        return len(self.ours[words]) == len(self.paper)

    @property
    def nearest_first(self) -> list[str]:
        """The readings by their distance; incomplete ones come last."""
        return sorted(
            self.ours,
            key=lambda words: (not self.is_complete(words), self.distance(words)),
        )


def nearest_reading(results: Results, metric: str) -> tuple[str, float] | None:
    """Return the reading nearest to the paper and its distance; None without any.

    The distance is the mean of abs(log(ours / the paper's)) over series and losses.
    """
    settings = settings_over_seeds(results.records, ForecastRun)
    by_reading = _Readings.of(settings, metric)
    complete = [w for w in by_reading.nearest_first if by_reading.is_complete(w)]
    return (complete[0], by_reading.distance(complete[0])) if complete else None


def readings(results: Results) -> list[PrintedTable]:
    """Return the errors of each reading below the paper's, the nearest first."""
    settings = settings_over_seeds(results.records, ForecastRun)
    return [
        _readings_table(results.title, settings, metric) for metric in FORECAST_ERRORS
    ]


def _readings_table(
    title: str, settings: Sequence[ForecastSetting], metric: str
) -> PrintedTable:
    by_reading = _Readings.of(settings, metric)
    paper = [f"{by_reading.paper[column]:.4f}" for column in by_reading.columns]
    rows = [("the paper", *paper, "")] if by_reading.paper else []
    for words in by_reading.nearest_first:
        errors = by_reading.ours[words]
        cells = (f"{errors[c]:.4f}" if c in errors else "" for c in by_reading.columns)
        bound = "" if by_reading.is_complete(words) else "≥ "
        rows.append((words, *cells, f"{bound}{100 * by_reading.distance(words):.1f} %"))
    notes = [
        f"Mean over {seeds_in_words(seed_counts(settings, [metric]))}, of standardised "
        "OT.",
        "Distance from the paper: the mean of |log(ours / the paper's)| over all "
        "columns, at least (≥) where some are not run; the nearest reading is first.",
        "The loss of l2 is the MSE: it is stopped alike by both.",
    ]
    header = ("reading", *by_reading.columns, "distance")
    return PrintedTable(f"{title}: {metric}", header, rows, notes)
