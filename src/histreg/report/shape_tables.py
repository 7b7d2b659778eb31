"""Tables of targets of any shape: ratios to uniform bins, promises, and all scores."""

from __future__ import annotations

import math

from histreg.report.beside_paper import seed_counts, seeds_in_words
from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.shape_scores import CRPS, ShapeScores
from histreg.study.claims import Verdict
from histreg.study.claims.promises import promises_of
from histreg.study.datasets import source
from histreg.study.shapes.tables import COMPARED_METRICS, HEAVY, LIGHT, UNIFORM_BINS

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
OUTCOMES = {
    Verdict.CONFIRMED: "kept",
    Verdict.REFUTED: "missed",
    Verdict.NOT_RUN: "not run",
}


def shapes(results: Results) -> list[PrintedTable]:
    """Return ratios of CRPS and errors, the promises, and the scores by table.

    Without uniform bins only the scores: everything else is relative to those bins.
    """
    scores = ShapeScores.of(results.records)
    if not scores.settings:
        return []
    compared = COMPARED_METRICS if UNIFORM_BINS in scores.methods else ()
    return [
        *(_ratios(results.title, scores, metric) for metric in compared),
        *([_promises(results.title, scores)] if compared else []),
        *(_scores(results.title, scores, table) for table in scores.tables),
    ]


def _ratios(title: str, scores: ShapeScores, metric: str) -> PrintedTable:
    columns = (*scores.tables, *(f"mean, {kind}" for kind in MEANS))
    ratios = {
        predictor: [
            *(scores.ratio(name, predictor, metric) for name in scores.tables),
            *(scores.mean_ratio(names, predictor, metric) for names in MEANS.values()),
        ]
        for predictor in scores.methods
    }
    lowest = [
        min((ratio for ratio in column if not math.isnan(ratio)), default=math.nan)
        for column in zip(*ratios.values(), strict=True)
    ]
    rows = [
        (predictor, *(_ratio(x, low) for x, low in zip(row, lowest, strict=True)))
        for predictor, row in ratios.items()
    ]
    notes = [
        f"{metric} over that of {UNIFORM_BINS}, seed by seed, the geometric mean over "
        f"{seeds_in_words(seed_counts(scores.settings, [metric]))}; below 1 is better, "
        "and * the lowest. Means over tables are geometric too, of those with a heavy "
        "tail and of those without; there are none as long as one is missing.",
    ]
    title = f"{title}: {metric} over that of {UNIFORM_BINS}"
    return PrintedTable(title, ("predictor", *columns), rows, notes)


def _ratio(ratio: float, lowest: float) -> str:
    if math.isnan(ratio):
        return ""
    return f"{ratio:.3f}" + ("*" if ratio == lowest else "")


def _promises(title: str, scores: ShapeScores) -> PrintedTable:
    rows = [
        (promise.part, promise.numbers, OUTCOMES[promise.verdict])
        for promise in promises_of(scores)
    ]
    title = f"{title}: what auto bins were to reach"
    notes = [
        "Set before any of it was run, but for the MAE of the median and for four "
        "networks: of skewed targets the median has the least MAE, and a right mean "
        "has more; four small networks take about CatBoost's time. Methods of others: "
        "the squared error of logarithms, and boosting in three ways. They are "
        "compared by the CRPS of 20 quantiles, which is all that most of them have.",
    ]
    return PrintedTable(title, ("promise", "outcome", "verdict"), rows, notes, 2)


def _scores(title: str, scores: ShapeScores, table: str) -> PrintedTable:
    settings = scores.of_table(table)
    rows = [
        (
            setting.label,
            *(
                _score(setting.estimates.get(name), form)
                for name, form in SCORES.items()
            ),
        )
        for setting in settings
    ]
    counts = seed_counts(settings, [CRPS])
    notes = [
        f"Mean over {seeds_in_words(counts)}, each of another eighth of the rows to "
        "test on, ± its standard error. Above 0.95: the share of y above the upper end "
        "of the 90 % interval, to be 0.05. Fit seconds: of one core.",
    ]
    title = f"{title}: {source(table).title}"
    header = ("predictor", *(name.removeprefix("test ") for name in SCORES))
    return PrintedTable(title, header, rows, notes)


def _score(estimate: Estimate | None, form: str) -> str:
    if estimate is None:
        return ""
    mean = f"{estimate.mean:{form}}"
    if math.isnan(estimate.se) or form == ".1f":
        return mean
    return f"{mean} ± {estimate.se:.2g}"
