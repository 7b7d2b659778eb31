"""Tables of targets of any shape: ratios to uniform bins, promises, and all scores."""

from __future__ import annotations

import math
from collections.abc import Sequence

from histreg.report.error_tables import seeds_of
from histreg.report.printed import PrintedTable
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.statistics import ShapeSetting
from histreg.study.catalogue import EXPERIMENTS, HEAVY, LIGHT
from histreg.study.datasets import source
from histreg.study.engine.runs import Record
from histreg.study.shapes.scores import (
    COMPARED,
    CRPS,
    UNIFORM,
    ShapeScores,
    promises_of,
)

MEANS = {"heavy": HEAVY, "light": LIGHT}
SCORES = {
    "test CRPS": ".4g",
    "test MAE": ".4g",
    "test RMSE": ".4g",
    "test MAE of the median": ".4g",
    "test coverage 0.9": ".3f",
    "test above 0.95": ".3f",
    "test above 0.975": ".3f",
    "fit seconds": ".1f",
}
"""Of each table, and how many digits."""
VERDICTS = {True: "kept", False: "missed", None: "not run"}


def shapes(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:  # noqa: ARG001
    """Return ratios of CRPS and errors, what was promised, and the scores by table.

    Without uniform bins only the scores: the rest is in ratio to those bins.
    """
    scores = ShapeScores.of(records)
    if not scores.settings:
        return []
    compared = COMPARED if UNIFORM in scores.predictors else ()
    return [
        *(_ratios(scores, each) for each in compared),
        *([_promises(scores)] if compared else []),
        *(_scores(each, scores.of_table(each)) for each in scores.tables),
    ]


def _ratios(scores: ShapeScores, metric: str) -> PrintedTable:
    columns = (*scores.tables, *(f"mean, {kind}" for kind in MEANS))
    found = {
        each: [
            *(scores.ratio(name, each, metric) for name in scores.tables),
            *(scores.mean_ratio(names, each, metric) for names in MEANS.values()),
        ]
        for each in scores.predictors
    }
    lowest = [
        min((ratio for ratio in column if not math.isnan(ratio)), default=math.nan)
        for column in zip(*found.values(), strict=True)
    ]
    rows = [
        (each, *(_ratio(x, low) for x, low in zip(row, lowest, strict=True)))
        for each, row in found.items()
    ]
    notes = [
        f"{metric} over that of {UNIFORM}, seed by seed, the geometric mean over "
        f"{seeds_of(_counts(scores, metric))}; below 1 is better, and * the lowest. "
        "Means over tables are geometric too, of those with a heavy tail and of those "
        "without; there are none as long as one is missing.",
    ]
    title = f"{EXPERIMENTS['shapes'].title}: {metric} over that of {UNIFORM}"
    return PrintedTable(title, ("predictor", *columns), rows, notes)


def _counts(scores: ShapeScores, metric: str) -> set[int]:
    return {e.estimates[metric].n for e in scores.settings if metric in e.estimates}


def _ratio(ratio: float, lowest: float) -> str:
    if math.isnan(ratio):
        return ""
    return f"{ratio:.3f}" + ("*" if ratio == lowest else "")


def _promises(scores: ShapeScores) -> PrintedTable:
    rows = [
        (each.text, each.told, VERDICTS[each.is_kept]) for each in promises_of(scores)
    ]
    title = f"{EXPERIMENTS['shapes'].title}: what auto bins were to reach"
    notes = [
        "Set before any of it was run, but for the MAE of the median and for four "
        "networks: of skewed targets the median has the least MAE, and a right mean "
        "has more; four small networks take about CatBoost's time. Methods of others: "
        "the squared error of logarithms, and boosting in three ways. They are "
        "compared by the CRPS of 20 quantiles, which is all that most of them have.",
    ]
    return PrintedTable(title, ("promise", "outcome", "verdict"), rows, notes, 2)


def _scores(table: str, settings: Sequence[ShapeSetting]) -> PrintedTable:
    rows = [
        (
            each.label,
            *(_score(each.estimates.get(name), form) for name, form in SCORES.items()),
        )
        for each in settings
    ]
    counts = {e.estimates[CRPS].n for e in settings if CRPS in e.estimates}
    notes = [
        f"Mean over {seeds_of(counts)}, each of another eighth of the rows to test on, "
        "± its standard error. Above 0.95: the share of y above the upper end of the "
        "90 % interval, to be 0.05. Fit seconds: of one core.",
    ]
    title = f"{EXPERIMENTS['shapes'].title}: {source(table).title}"
    header = ("predictor", *(name.removeprefix("test ") for name in SCORES))
    return PrintedTable(title, header, rows, notes)


def _score(estimate: Estimate | None, form: str) -> str:
    if estimate is None:
        return ""
    told = f"{estimate.mean:{form}}"
    if math.isnan(estimate.se) or form == ".1f":
        return told
    return f"{told} ± {estimate.se:.2g}"
