"""Goals: what our regressor is to reach beside its peers on tables.

They are ours, and were set before the last folds were run. Each is one `Finding`,
decided by ratios of scores. A goal is judged only if all tables have both sides of it;
one for every table or every peer is missed with the first that misses it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping

from histreg.study.analysis.peer_scores import PeerScores
from histreg.study.claims.findings import Finding, measured, not_run
from histreg.study.datasets import FRAMES
from histreg.study.tables.metrics import CRPS, FIT_S, MAE, RMSE
from histreg.study.tables.peers import OURS, PEERS

MOST_CRPS = 0.92  # of each peer's, in the geometric mean
LEAST_BEST = 2 / 3  # of the tables
MOST_BEHIND = 1.03  # of the best peer's CRPS, on any table
BY_ERRORS = ("TabM", "RealMLP", "CatBoost")
COVERAGE_90 = "test coverage 0.9"
COVERED = (0.86, 0.94)
CALIBRATED_90 = "test calibrated coverage 0.9"
CALIBRATED = (0.88, 0.92)
ENOUGH_ROWS = 1_000  # of a table whose coverage is judged
MOST_TIMES_CATBOOST = 5.0
MOST_S = 10.0  # below `ENOUGH_ROWS`
MOST_TIMES_REALMLP = 0.5


def goals_of(scores: PeerScores) -> list[Finding]:
    """Return the goals, and whether they were met."""
    peers = [name for name in PEERS if name not in (OURS, "constant")]
    return [
        *(_mean_ratio(scores, peer, CRPS, MOST_CRPS) for peer in peers),
        *_against_the_best(scores, peers),
        *(
            _mean_ratio(scores, peer, metric, 1.0)
            for metric in (MAE, RMSE)
            for peer in BY_ERRORS
        ),
        _coverage(scores),
        *_times(scores),
        _calibrated_coverage(scores),
        not_run(
            "predictions no slower than before", "the experiment has one version of us"
        ),
        not_run(
            "California: RMSE at most 0.44, MAE at most 0.28",
            "not a table of the experiment",
        ),
    ]


def _mean_ratio(scores: PeerScores, peer: str, metric: str, most: float) -> Finding:
    name = metric.removeprefix("test ").removesuffix(" by quantiles")
    share = f"at most {most:g} of {peer}'s" if most < 1 else f"no higher than {peer}'s"
    return _judged(
        f"{name} {share}, geometric mean over tables",
        scores.ratios(peer, metric),
        statistics.geometric_mean,
        most,
    )


def _against_the_best(scores: PeerScores, peers: list[str]) -> Iterator[Finding]:
    """Yield on how many tables we are best, and how far behind we are elsewhere."""
    parts = (
        "lowest CRPS of all on two thirds of the tables",
        f"CRPS nowhere more than {MOST_BEHIND - 1:.0%} above the best peer's",
    )
    standings = scores.standings()
    n_best = sum(standing.ratio <= 1 for standing in standings)
    behind = sorted(
        (s for s in standings if s.ratio > MOST_BEHIND), key=lambda s: -s.ratio
    )
    numbers = (
        f"{n_best} of {len(standings)} tables",
        f"missed on {len(behind)} of {len(standings)} tables: "
        + ", ".join(f"{s.table} {s.ratio - 1:+.1%} ({s.best})" for s in behind)
        if behind
        else f"largest {max((s.ratio for s in standings), default=1.0) - 1:+.1%}",
    )
    holds = n_best >= LEAST_BEST * len(standings), not behind
    is_decided = False, bool(behind)  # whatever the absent peers would do
    absent = [peer for peer in peers if len(scores.ratios(peer, CRPS)) < len(FRAMES)]
    lacking = [f"not all tables have {', '.join(absent)}"] if absent else []
    for part, shown, is_met, is_known in zip(
        parts, numbers, holds, is_decided, strict=True
    ):
        if not lacking or is_known:
            yield measured(part, holds=is_met, numbers="; ".join([shown, *lacking]))
        elif standings:
            yield not_run(part, f"so far {shown}; {', '.join(lacking)}")
        else:
            yield not_run(part, ", ".join(lacking))


def _coverage(scores: PeerScores) -> Finding:
    low, high = COVERED
    part = (
        f"90 % intervals hold {low:g} to {high:g} on every table of "
        f"{ENOUGH_ROWS:,} rows and more"
    )
    tables = [name for name, data in FRAMES.items() if data.n_rows >= ENOUGH_ROWS]
    covered = {
        name: scores.mean(name, OURS, COVERAGE_90)
        for name in tables
        if scores.values(name, OURS, COVERAGE_90)
    }
    missed = {name: c for name, c in covered.items() if not low <= c <= high}
    shown = ", ".join(f"{name} {value:.3f}" for name, value in missed.items())
    if covered:
        reached = f"{min(covered.values()):.3f} to {max(covered.values()):.3f}"
        shown = f"{reached}; missed on {shown}" if missed else reached
    return _if_complete(
        part, len(covered), len(tables), not missed, shown, is_decided=bool(missed)
    )


def _calibrated_coverage(scores: PeerScores) -> Finding:
    low, high = CALIBRATED
    part = (
        f"calibrated 90 % intervals without set-aside rows hold {low:g} to {high:g} in "
        "the mean over tables"
    )
    covered = {
        name: scores.mean(name, OURS, CALIBRATED_90)
        for name in FRAMES
        if scores.values(name, OURS, CALIBRATED_90)
    }
    mean = statistics.mean(covered.values()) if covered else 0.0
    least, most = min(covered.values(), default=0), max(covered.values(), default=0)
    shown = f"{mean:.3f}; {least:.3f} to {most:.3f}" if covered else ""
    return _if_complete(part, len(covered), len(FRAMES), low <= mean <= high, shown)


def _times(scores: PeerScores) -> Iterator[Finding]:
    yield _judged(
        f"fit at most {MOST_TIMES_CATBOOST:g} times CatBoost's time, median over "
        "tables",
        scores.ratios("CatBoost", FIT_S),
        statistics.median,
        MOST_TIMES_CATBOOST,
    )
    small = [name for name, data in FRAMES.items() if data.n_rows < ENOUGH_ROWS]
    seconds = {
        name: scores.mean(name, OURS, FIT_S)
        for name in small
        if scores.values(name, OURS, FIT_S)
    }
    yield _judged(
        f"fit in at most {MOST_S:g} s on every table below {ENOUGH_ROWS:,} rows",
        seconds,
        max,
        MOST_S,
        n_tables=len(small),
    )
    yield _judged(
        f"fit at most {MOST_TIMES_REALMLP:g} times RealMLP's time on every table",
        scores.ratios("RealMLP", FIT_S),
        max,
        MOST_TIMES_REALMLP,
    )


def _judged(
    part: str,
    by_table: Mapping[str, float],
    reduced: Callable[[list[float]], float],
    most: float,
    n_tables: int = len(FRAMES),
) -> Finding:
    """Find whether a number over tables is at most another.

    A maximum that is too large decides before all tables were run.
    """
    value = reduced(list(by_table.values())) if by_table else most
    worst = max(by_table, key=lambda name: by_table[name], default="")
    shown = f"{value:.3f}; largest on {worst}, {by_table[worst]:.3f}" if worst else ""
    return _if_complete(
        part,
        len(by_table),
        n_tables,
        value <= most,
        shown,
        is_decided=reduced is max and value > most,
    )


def _if_complete(
    part: str,
    n: int,
    n_tables: int,
    holds: bool,
    shown: str,
    *,
    is_decided: bool = False,
) -> Finding:
    """Judge a goal that n tables have, if these are all or `is_decided` by them."""
    if n == n_tables:
        return measured(part, holds=holds, numbers=shown)
    were_run = f"{n} of {n_tables} tables were run"
    if is_decided:
        return measured(part, holds=holds, numbers=f"{shown}; {were_run}")
    so_far = f"so far {shown}; " if shown else ""
    return not_run(part, f"{so_far}{were_run}")
