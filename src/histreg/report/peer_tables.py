"""Tables of our regressor beside its peers: ratios, goals, and all methods."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable

from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.peer_scores import PeerScores
from histreg.study.claims import Verdict
from histreg.study.claims.goals import COVERAGE_90, ENOUGH_ROWS, goals_of
from histreg.study.datasets import FRAMES
from histreg.study.tables.metrics import COMPARED_METRICS, CRPS, FIT_S, PREDICT_S
from histreg.study.tables.peers import OURS

CONSTANT = "constant"
TIME_PEERS = ("CatBoost", "RealMLP")
OUTCOMES = {
    Verdict.CONFIRMED: "met",
    Verdict.REFUTED: "missed",
    Verdict.NOT_RUN: "not judged",
}
SHORT = {
    "CatBoost MultiQuantile": "CatBoost MQ",
    "HistGradientBoosting": "HistGB",
    "quantile forest": "q. forest",
    "RealMLP quantiles": "RealMLP q.",
    "TabM quantiles": "TabM q.",
    "ridge regression": "ridge",
    OURS: "ours",
}
"""Names above columns."""


def tables(results: Results) -> list[PrintedTable]:
    """Return ratios to each peer, the goals, ratios by table, and all methods.

    Without records of ours only the methods and their CRPS: the rest is relative to
    ours.
    """
    scores = PeerScores.of(results.records)
    if not scores.settings:
        return []
    title = results.title
    compared = OURS in scores.methods and scores.peers
    return [
        *([_peers(title, scores), _goals(title, scores)] if compared else []),
        _methods(title, scores),
        *(
            _ratios(title, scores, metric)
            for metric in (COMPARED_METRICS if compared else ())
        ),
        _crps(title, scores),
    ]


def _peers(title: str, scores: PeerScores) -> PrintedTable:
    """Return a row for each peer: ours over it, over all tables."""
    columns: list[tuple[str, Callable[[str], str]]] = [
        (OURS + " over", str),
        ("tables", lambda peer: str(len(scores.ratios(peer, CRPS)))),
        *(
            (_short(metric), lambda peer, m=metric: _mean(scores.ratios(peer, m)))
            for metric in COMPARED_METRICS
        ),
        ("lower CRPS on", lambda peer: _n_lower(scores.ratios(peer, CRPS))),
        ("worst CRPS", lambda peer: _worst(scores.ratios(peer, CRPS))),
        ("fit time", lambda peer: _median(scores.ratios(peer, FIT_S))),
        ("predict time", lambda peer: _median(scores.ratios(peer, PREDICT_S))),
    ]
    notes = [
        f"Ours over each peer, {_folds(scores)}: geometric means over tables of CRPS "
        "and errors, medians of times; below 1 is better. Tables: those that both "
        "have. CRPS: by the same 20 quantiles for all. MAE and RMSE: of the mean, "
        "which is the mean of these quantiles for a method that predicts quantiles "
        "only (CatBoost MultiQuantile, RealMLP quantiles and TabM quantiles).",
    ]
    heading = f"{title}: ours over each peer"
    return PrintedTable.of(heading, scores.peers, columns, notes)


def _goals(title: str, scores: PeerScores) -> PrintedTable:
    rows = [
        (goal.part, goal.numbers, OUTCOMES[goal.verdict]) for goal in goals_of(scores)
    ]
    notes = [
        "The goals were set for the last fold of all 30 tables. A goal is judged here "
        f"if all tables have what it compares, {_folds(scores)}; one for every table "
        "or every peer is missed with the first that misses it.",
    ]
    header = ("goal", "outcome", "verdict")
    return PrintedTable(f"{title}: the goals", header, rows, notes, 2)


def _methods(title: str, scores: PeerScores) -> PrintedTable:
    """Return a row for each method, ours among them."""
    best = [scores.best(table) for table in scores.tables]
    columns: list[tuple[str, Callable[[str], str]]] = [
        ("method", str),
        ("tables", lambda name: str(len(_present(scores, name, scores.tables)))),
        ("best on", lambda name: str(best.count(name))),
        ("CRPS over constant", lambda name: _mean(_over_constant(scores, name))),
        ("50 % hold", lambda name: _range(scores, name, "test coverage 0.5")),
        ("80 % hold", lambda name: _range(scores, name, "test coverage 0.8")),
        ("90 % hold", lambda name: _range(scores, name, COVERAGE_90)),
        ("95 % hold", lambda name: _range(scores, name, "test coverage 0.95")),
        ("fit s", lambda name: _median_of(scores, name, FIT_S)),
        ("longest fit s", lambda name: _longest(scores, name)),
        ("predict s", lambda name: _median_of(scores, name, PREDICT_S)),
    ]
    notes = [
        f"{_folds(scores).capitalize()}. Best on: tables on which it has the lowest "
        "CRPS of all that were run. CRPS over constant: over that of the quantiles of "
        "the training targets, geometric mean over tables. Hold: the least and the "
        "largest share of y within the central intervals, over tables of "
        f"{ENOUGH_ROWS:,} rows and more. Fit: seconds of one core, median over "
        "tables, of the plain model without the fits for its residuals; predict: per "
        "1,000 rows, with the distribution if the method has one.",
    ]
    return PrintedTable.of(f"{title}: methods", scores.methods, columns, notes)


def _ratios(title: str, scores: PeerScores, metric: str) -> PrintedTable:
    """Return a row for each table, a column for each peer, and the means."""
    by_peer = {peer: scores.ratios(peer, metric) for peer in scores.peers}
    standings = {s.table: s for s in scores.standings(metric)}
    rows = []
    for table in standings:
        best = standings[table]
        cells = [_ratio(ratios.get(table)) for ratios in by_peer.values()]
        rows.append(
            (table, best.best, f"{FRAMES[table].n_rows:,}", *cells, _ratio(best.ratio))
        )
    means = [_mean(ratios) for ratios in by_peer.values()]
    of_best = _mean({s.table: s.ratio for s in standings.values()})
    rows.append(("geometric mean", "", "", *means, of_best))
    header = (
        *("table", "best peer", "rows"),
        *(SHORT.get(peer, peer) for peer in by_peer),
        "best",
    )
    notes = [
        f"{_short(metric)} of {OURS} over that of each peer, {_folds(scores)}; below 1 "
        "is better. Tables from few to many rows. Best: over the best peer of each.",
    ]
    heading = f"{title}: {_short(metric)} of ours over each peer"
    return PrintedTable(heading, header, rows, notes, 2)


def _crps(title: str, scores: PeerScores) -> PrintedTable:
    def cell(table: str, name: str) -> str:
        mean = scores.mean(table, name, CRPS)
        if math.isnan(mean):
            return ""
        return f"{mean:.4g}" + ("*" if name == scores.best(table) else "")

    rows = [
        (table, *(cell(table, name) for name in scores.methods))
        for table in scores.tables
    ]
    header = ("table", *(SHORT.get(name, name) for name in scores.methods))
    notes = [f"CRPS by 20 quantiles in units of y, {_folds(scores)}; * the lowest."]
    return PrintedTable(f"{title}: CRPS", header, rows, notes)


def _folds(scores: PeerScores) -> str:
    """Return over how many folds numbers are, in words."""
    counts = sorted(scores.n_folds())
    number = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"over {number} fold{'' if counts == [1] else 's'} of each table"


def _short(metric: str) -> str:
    return metric.removeprefix("test ").removesuffix(" by quantiles")


def _present(scores: PeerScores, name: str, tables: Iterable[str]) -> list[str]:
    return [table for table in tables if scores.values(table, name, CRPS)]


def _over_constant(scores: PeerScores, name: str) -> dict[str, float]:
    ratios = {
        table: scores.ratio(table, name, CRPS, CONSTANT) for table in scores.tables
    }
    return {table: ratio for table, ratio in ratios.items() if not math.isnan(ratio)}


def _mean(ratios: dict[str, float]) -> str:
    return _ratio(statistics.geometric_mean(ratios.values())) if ratios else ""


def _median(ratios: dict[str, float]) -> str:
    return f"{statistics.median(ratios.values()):.3g}" if ratios else ""


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3f}"


def _n_lower(ratios: dict[str, float]) -> str:
    return str(sum(ratio < 1 for ratio in ratios.values()))


def _worst(ratios: dict[str, float]) -> str:
    if not ratios:
        return ""
    table = max(ratios, key=lambda name: ratios[name])
    return f"{ratios[table]:.3f} {table}"


def _range(scores: PeerScores, name: str, metric: str) -> str:
    tables = [t for t in scores.tables if FRAMES[t].n_rows >= ENOUGH_ROWS]
    shares = [scores.mean(t, name, metric) for t in _present(scores, name, tables)]
    return f"{min(shares):.2f} to {max(shares):.2f}" if shares else ""


def _median_of(scores: PeerScores, name: str, metric: str) -> str:
    tables = _present(scores, name, scores.tables)
    return f"{statistics.median(scores.mean(t, name, metric) for t in tables):.2g}"


def _longest(scores: PeerScores, name: str) -> str:
    tables = _present(scores, name, scores.tables)
    return f"{max(scores.mean(table, name, FIT_S) for table in tables):.2g}"
