"""Goals for bins that follow the targets, set before anything was run.

Goals of our own, not claims of the paper: each is one `Finding`, decided by ratios of
scores instead of tests over seeds, and has no verdict in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from histreg.study.analysis.shape_scores import ShapeScores
from histreg.study.claims.findings import Finding, measured, not_run
from histreg.study.shapes.predictors import OTHERS
from histreg.study.shapes.tables import COMPARED_METRICS, HEAVY, LIGHT, UNIFORM_BINS

AUTO, AUTO_OF_4 = "auto bins", "auto bins, 4 networks"
CRPS_BY_QUANTILES = "test CRPS by quantiles"
"""The only CRPS that methods which predict quantiles have."""
MOST_WORSE = 1.02  # than uniform bins, on tables without a heavy tail
MOST_LOST = 2  # tables on which a method of others may have the lower CRPS
LEAST_AHEAD = 1.05  # of the best method of others, in the geometric mean


def promises_of(scores: ShapeScores) -> list[Finding]:
    """Return the goals for bins that follow the targets, and whether they were met."""
    return [
        *(_not_much_worse_on_light(scores, metric) for metric in COMPARED_METRICS),
        *(_lower_on_heavy(scores, metric) for metric in COMPARED_METRICS),
        *_against_others(scores, AUTO),
        *_against_others(scores, AUTO_OF_4),
    ]


def _not_much_worse_on_light(scores: ShapeScores, metric: str) -> Finding:
    part = (
        f"{metric} at most {MOST_WORSE - 1:.0%} above that of {UNIFORM_BINS} on every "
        "light-tailed table"
    )
    ratios = {table: scores.ratio(table, AUTO, metric) for table in LIGHT}
    missed = {name: ratio for name, ratio in ratios.items() if not ratio <= MOST_WORSE}
    return _against_uniform(scores, metric, LIGHT, part, missed)


def _lower_on_heavy(scores: ShapeScores, metric: str) -> Finding:
    part = f"{metric} lower than {UNIFORM_BINS} on every heavy-tailed table"
    ratios = {table: scores.ratio(table, AUTO, metric) for table in HEAVY}
    missed = {name: ratio for name, ratio in ratios.items() if not ratio < 1}
    return _against_uniform(scores, metric, HEAVY, part, missed)


def _against_uniform(
    scores: ShapeScores,
    metric: str,
    tables: Sequence[str],
    part: str,
    missed: dict[str, float],
) -> Finding:
    n_missing = sum(
        not all(
            scores.is_complete(table, name, metric) for name in (AUTO, UNIFORM_BINS)
        )
        for table in tables
    )
    if n_missing:
        return not_run(part, _unfinished(n_missing, len(tables)))
    mean = scores.mean_ratio(tables, AUTO, metric)
    numbers = f"missed on {_percentages(missed)}; " if missed else ""
    numbers += f"{mean - 1:+.1%} in the geometric mean"
    return measured(part, holds=not missed, numbers=numbers)


def _against_others(scores: ShapeScores, ours: str) -> Iterator[Finding]:
    """Yield on how many tables ours has the lower CRPS, and how much it is ahead."""
    ahead = {table: _lead(scores, table, ours) for table in (*HEAVY, *LIGHT)}
    parts = (
        f"{ours}: lower CRPS than all methods of others, but on {MOST_LOST} tables at "
        "most",
        f"{ours}: by {LEAST_AHEAD - 1:.0%} in the geometric mean over tables, of the "
        "best of them on each",
    )
    n_missing = sum(map(math.isnan, ahead.values()))
    if n_missing:
        yield from (not_run(part, _unfinished(n_missing, len(ahead))) for part in parts)
        return
    lost = {table: ratio for table, ratio in ahead.items() if ratio < 1}
    mean = math.prod(ahead.values()) ** (1 / len(ahead))
    yield measured(
        parts[0],
        holds=len(lost) <= MOST_LOST,
        numbers=f"behind on {_percentages(lost)}" if lost else "lowest on all",
    )
    yield measured(parts[1], holds=mean >= LEAST_AHEAD, numbers=f"{mean - 1:+.1%}")


def _lead(scores: ShapeScores, table: str, ours: str) -> float:
    """Return the CRPS of the best method of others over ours; NaN if one is missing."""
    best = scores.best(table, tuple(OTHERS), CRPS_BY_QUANTILES)
    if best is None or not scores.is_complete(table, ours, CRPS_BY_QUANTILES):
        return math.nan
    return 1 / scores.ratio(table, ours, CRPS_BY_QUANTILES, best)


def _unfinished(n_missing: int, n_tables: int) -> str:
    return f"{n_missing} of {n_tables} tables are not finished"


def _percentages(ratios: dict[str, float]) -> str:
    return ", ".join(f"{table} {ratio - 1:+.1%}" for table, ratio in ratios.items())
