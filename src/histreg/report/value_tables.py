"""Tables of the values of games: both losses game by game, and all games together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from histreg.report.error_tables import Tables, seeds_of
from histreg.report.printed import PrintedTable
from histreg.study.analysis.paper import published_log_ratios
from histreg.study.analysis.ratios import (
    Ratios,
    ValuePair,
    ratios_of,
    slope_through_origin,
    value_pairs,
)
from histreg.study.analysis.statistics import value_settings
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.engine.runs import Record
from histreg.study.measurements import Measurement

ERRORS = ("test MAE", "test RMSE")
NAIVE = ("test MAE of the median", "test RMSE of the mean")
"""Of what learns nothing but the median, or the mean, of the training returns."""


def values(name: str) -> Tables:
    """Return the tables of an experiment: game by game, and over games (Figure 11)."""

    def tables(
        records: Sequence[Record],
        metrics: Sequence[str],  # noqa: ARG001
    ) -> list[PrintedTable]:
        if not value_settings(records):
            return []
        pairs, title = value_pairs(records), EXPERIMENTS[name].title
        games = _by_game(title, pairs, _alone(records, pairs))
        return [games, _over_games(title, pairs)] if pairs else [games]

    return tables


def replays(records: Sequence[Record], metrics: Sequence[str]) -> list[PrintedTable]:  # noqa: ARG001
    """Return how each game kept step with its file, and what it has to learn from."""
    rows = []
    for record in records:
        if not isinstance(record.run, Measurement):
            continue
        told = record.outcome.metrics
        score = told.get("mean score")
        in_step = told["resets after the end"] + told["resets at the time limit"]
        rows.append(
            (
                record.run.dataset,
                f"{told['frames']:,.0f}",
                f"{in_step:.0f} of {told['episodes'] - 1:.0f}",
                f"{told['resets at the time limit']:.0f}",
                "" if score is None else f"{score:,.6g}",
                f"{100 * told['rewarded share']:.2f} %",
                f"{told['least return']:.4g}",
                f"{told['mean return']:.4g}",
                f"{told['largest return']:.4g}",
                f"{told['test episodes']:.0f} of {told['episodes']:.0f}",
                f"{told['test states']:,.0f}",
                f"{told['train states']:,.0f}",
            )
        )
    header = (
        *("game", "frames", "in step", "time limit", "mean score", "rewarded"),
        *("least return", "mean return", "largest return"),
        *("test episodes", "test states", "train states"),
    )
    notes = [
        "In step: resets of the file, after the first, that came one action after the "
        "end of the replayed game, or at the time limit. A game with any other is "
        "refused, and has no row.",
        "Score: of the episodes that were played to the end. Rewarded: frames with a "
        "reward. Returns are discounted by 0.98 a frame, the reward on arriving "
        "included, over all states.",
    ]
    return [PrintedTable(EXPERIMENTS["replays"].title, header, rows, notes)]


def in_paper(pair: ValuePair) -> float | None:
    """Return the paper's log ratio of the same thing, if it has one."""
    return None if pair.l2.run.changes else published_log_ratios().get(pair.game)


def _alone(records: Sequence[Record], pairs: Sequence[ValuePair]) -> list[str]:
    """Return the games that have records, but no seed with both losses."""
    there = dict.fromkeys(each.run.dataset for each in value_settings(records))
    return [name for name in there if name not in {each.game for each in pairs}]


def _by_game(
    title: str, pairs: Sequence[ValuePair], alone: Sequence[str]
) -> PrintedTable:
    has_paper = any(in_paper(each) is not None for each in pairs)
    counts = {len(each.errors(ERRORS[0])) for each in pairs}
    header = ["game", "l2 MAE", "HL-Gauss MAE", "log ratio"]
    header += ["paper"] if has_paper else []
    header += ["median MAE", "l2 RMSE", "HL-Gauss RMSE", "log ratio", "mean RMSE"]
    header += ["test states"]
    rows = [
        (_label(each, max(counts)), *_cells(each, has_paper=has_paper))
        for each in pairs
    ]
    notes = [
        "Errors on all test states, of returns scaled to [0, 1]; means over "
        f"{seeds_of(counts)}. Log ratio: the mean over seeds of log(HL-Gauss / l2), "
        "below 0 where HL-Gauss has the lower error.",
        "Median and mean: the errors of what learns nothing but the median, or the "
        "mean, of the training returns.",
    ]
    if has_paper:
        notes.append("Paper: its log ratio of test MAE, of one seed on a longer file.")
    if alone:
        notes.append(
            f"Without a finite seed of both losses on one file: {', '.join(alone)}."
        )
    return PrintedTable(title, tuple(header), rows, notes)


def _label(pair: ValuePair, most: int) -> str:
    """Return the game, and what went wrong or is not there yet."""
    told = [pair.label]
    for name, each in (("l2", pair.l2), ("HL-Gauss", pair.hl)):
        told += [f"{name} {each.n_diverged} diverged"] if each.n_diverged else []
    n = len(pair.errors(ERRORS[0]))
    told += [seeds_of({n})] if n < most else []
    return ", ".join(told)


def _cells(pair: ValuePair, *, has_paper: bool) -> list[str]:
    cells = []
    facts = {**pair.hl.estimates, **pair.l2.estimates}
    for metric, naive in zip(ERRORS, NAIVE, strict=True):
        cells += [f"{error:.5f}" for error in pair.mean_errors(metric)]
        cells.append(f"{pair.log_ratio(metric):+.3f}")
        if has_paper and metric == ERRORS[0]:
            paper = in_paper(pair)
            cells.append("" if paper is None else f"{paper:+.3f}")
        cells.append(f"{facts[naive].mean:.5f}")
    return [*cells, f"{facts['test states'].mean:,.0f}"]


def _over_games(title: str, pairs: Sequence[ValuePair]) -> PrintedTable:
    columns = {metric: ratios_of(pairs, metric) for metric in ERRORS}
    slopes = [_slope(pairs, metric) for metric in ERRORS]
    notes = [
        "Ratio: HL-Gauss over l2. Tests are of the log ratios of games, against 0; "
        "one-sided is of a mean below it. The slope is that of HL-Gauss against l2 by "
        "least squares, with its 95 % interval, which the largest errors decide.",
    ]
    told = {each.game: ratio for each in pairs if (ratio := in_paper(each)) is not None}
    if told:
        every = Ratios(tuple(published_log_ratios().values()))
        same = Ratios(tuple(told.values()))
        columns["paper, MAE"] = every
        slopes.append("")
        if same.n < every.n:
            columns["of these games"] = same
            slopes.append("")
            notes.append(
                f"Of the paper's {every.n} games, these {same.n} have a mean log ratio "
                f"{same.apart_as_drawn(every):+.1f} standard deviations from that of "
                "all, as it varies when as many are drawn by chance."
            )
        notes.append(
            "Of RMSE the paper has no ratios, but p 0.0294, which seems to be "
            "one-sided; the slopes in its figure are about 0.87 (MAE) and 0.97 (RMSE)."
        )
    rows = [
        (said, *(show(each) for each in columns.values()))
        for said, show in STATISTICS.items()
    ]
    rows.append(("slope through the origin", *slopes))
    return PrintedTable(f"{title}: over games", ("over games", *columns), rows, notes)


def _slope(pairs: Sequence[ValuePair], metric: str) -> str:
    x, y = zip(*(each.mean_errors(metric) for each in pairs), strict=True)
    found = slope_through_origin(x, y)
    told = f"{found.mean:.3f}"
    return told if math.isnan(found.se) else f"{told} ± {found.half_interval:.3f}"


def _interval(ends: tuple[float, float], form: str) -> str:
    low, high = ends
    return "" if math.isnan(low) else f"{low:{form}} to {high:{form}}"


def _p(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2g}"


STATISTICS: dict[str, Callable[[Ratios], str]] = {
    "games": lambda each: str(each.n),
    "HL-Gauss lower in": lambda each: str(each.n_lower),
    "mean log ratio": lambda each: f"{each.estimate.mean:+.3f}",
    "95 % interval": lambda each: _interval(each.interval, "+.3f"),
    "t": lambda each: "" if math.isnan(each.t) else f"{each.t:+.2f}",
    "p of t, one-sided": lambda each: _p(each.p_lower),
    "p of t, two-sided": lambda each: _p(each.p),
    "p of signed ranks (Wilcoxon), two-sided": lambda each: _p(each.p_wilcoxon),
    "p of signs, exact, two-sided": lambda each: _p(each.p_sign),
    "geometric mean of ratios": lambda each: f"{each.geometric_mean:.3f}",
    "its 95 % interval": lambda each: _interval(each.geometric_interval, ".3f"),
    "median ratio": lambda each: f"{each.median:.3f}",
}
"""What is told of the ratios of games, and how."""
