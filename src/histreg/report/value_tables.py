"""Tables of the values of games: both losses game by game, and all games together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from histreg.report.beside_paper import seeds_in_words
from histreg.report.printed_table import PrintedTable
from histreg.report.results import Results
from histreg.study.analysis.comparisons import Comparison
from histreg.study.analysis.paper import published_log_ratios
from histreg.study.analysis.ratios import (
    ValuePair,
    distance_from_all,
    geometric_interval,
    geometric_mean,
    log_ratios_of,
    median_ratio,
    slope_through_origin,
    value_pairs,
)
from histreg.study.analysis.statistics import settings_over_seeds
from histreg.study.atari.runs import N_FRAMES_OF_PAPER, ValueRun
from histreg.study.engine.runs import Record
from histreg.study.measurements import Measurement

ERRORS = ("test MAE", "test RMSE")
FRAMES_OF_PAPER = f"{N_FRAMES_OF_PAPER:,} or more"
NAIVE = ("test MAE of the median", "test RMSE of the mean")
"""Errors of predicting the median, or the mean, of the training returns."""


def values(results: Results) -> list[PrintedTable]:
    """Return both losses game by game, and over games (Figure 11)."""
    records = results.records
    if not settings_over_seeds(records, ValueRun):
        return []
    pairs, title = value_pairs(records), results.title
    games = _by_game(title, pairs, _alone(records, pairs))
    return [games, _over_games(title, pairs)] if pairs else [games]


def replays(results: Results) -> list[PrintedTable]:
    """Return how each game kept step with its file, and what it has to learn from."""
    outcomes = {
        record.run.dataset: record.outcome.metrics
        for record in results.records
        if isinstance(record.run, Measurement)
    }
    notes = [
        "In step: resets of the file, after the first, that came one action after the "
        "end of the replayed game, or at the time limit. A game with any other is "
        "refused, and has no row.",
        "Score: of the episodes that were played to the end. Rewarded: frames with a "
        "reward. Returns are discounted by 0.98 a frame, the reward on arriving "
        "included, over all states.",
    ]
    return [PrintedTable.of(results.title, outcomes.items(), REPLAY_COLUMNS, notes)]


def _in_step(facts: Mapping[str, float]) -> str:
    n = facts["resets after the end"] + facts["resets at the time limit"]
    return f"{n:.0f} of {facts['episodes'] - 1:.0f}"


def _score(facts: Mapping[str, float]) -> str:
    return f"{facts['mean score']:,.6g}" if "mean score" in facts else ""


Replay = tuple[str, Mapping[str, float]]
"""A game and the counts of its replay."""
REPLAY_COLUMNS: tuple[tuple[str, Callable[[Replay], str]], ...] = (
    ("game", lambda replay: replay[0]),
    ("frames", lambda replay: f"{replay[1]['frames']:,.0f}"),
    ("in step", lambda replay: _in_step(replay[1])),
    ("time limit", lambda replay: f"{replay[1]['resets at the time limit']:.0f}"),
    ("mean score", lambda replay: _score(replay[1])),
    ("rewarded", lambda replay: f"{100 * replay[1]['rewarded share']:.2f} %"),
    ("least return", lambda replay: f"{replay[1]['least return']:.4g}"),
    ("mean return", lambda replay: f"{replay[1]['mean return']:.4g}"),
    ("largest return", lambda replay: f"{replay[1]['largest return']:.4g}"),
    (
        "test episodes",
        lambda replay: (
            f"{replay[1]['test episodes']:.0f} of {replay[1]['episodes']:.0f}"
        ),
    ),
    ("test states", lambda replay: f"{replay[1]['test states']:,.0f}"),
    ("train states", lambda replay: f"{replay[1]['train states']:,.0f}"),
)


def in_paper(pair: ValuePair) -> float | None:
    """Return the paper's log ratio for the same game, if it has one."""
    is_of_paper = pair.l2.run.is_of_paper
    return published_log_ratios().get(pair.game) if is_of_paper else None


def size_of(runs: Iterable[ValueRun]) -> str:
    """Return how many games and frames runs have, beside the paper's, in words."""
    runs, known = list(runs), published_log_ratios()
    n_games = len({run.dataset for run in runs} & known.keys())
    return (
        f"{n_games} of the paper's {len(known)} games, the first {_frames(runs)} "
        f"frames of each, where the paper has {FRAMES_OF_PAPER}"
    )


def _frames(runs: Iterable[ValueRun]) -> str:
    """Return the number of frames of each game, such as ``250,000``."""
    numbers = sorted({run.n_frames for run in runs})
    return " or ".join(f"{number:,}" for number in numbers)


def _alone(records: Sequence[Record], pairs: Sequence[ValuePair]) -> list[str]:
    """Return the games that have records, but no seed with both losses."""
    settings = settings_over_seeds(records, ValueRun)
    paired = {pair.game for pair in pairs}
    games = dict.fromkeys(setting.dataset for setting in settings)
    return [game for game in games if game not in paired]


def _by_game(
    title: str, pairs: Sequence[ValuePair], alone: Sequence[str]
) -> PrintedTable:
    has_paper = any(in_paper(pair) is not None for pair in pairs)
    counts = {len(pair.errors(ERRORS[0])) for pair in pairs}
    header = ["game", "l2 MAE", "HL-Gauss MAE", "log ratio"]
    header += ["paper"] if has_paper else []
    header += ["median MAE", "l2 RMSE", "HL-Gauss RMSE", "log ratio", "mean RMSE"]
    header += ["test states"]
    rows = [
        (_label(pair, max(counts)), *_cells(pair, has_paper=has_paper))
        for pair in pairs
    ]
    notes = [
        "Errors on all test states, of returns scaled to [0, 1]; means over "
        f"{seeds_in_words(counts)}. Log ratio: the mean over seeds of "
        "log(HL-Gauss / l2), below 0 where HL-Gauss has the lower error.",
        "Median and mean: the errors of what learns nothing but the median, or the "
        "mean, of the training returns.",
    ]
    if pairs:
        notes.append(f"Size: {size_of(pair.l2.run for pair in pairs)}.")
    if has_paper:
        notes.append("Paper: its log ratio of test MAE, of one seed on all its frames.")
    if alone:
        notes.append(
            f"Without a finite seed of both losses on one file: {', '.join(alone)}."
        )
    return PrintedTable(title, tuple(header), rows, notes)


def _label(pair: ValuePair, most: int) -> str:
    """Return the game, and its failed or missing runs."""
    parts = [pair.label]
    for name, setting in (("l2", pair.l2), ("HL-Gauss", pair.hl)):
        n_diverged = setting.n_diverged
        parts += [f"{name} {n_diverged} diverged"] if n_diverged else []
    n = len(pair.errors(ERRORS[0]))
    parts += [seeds_in_words({n})] if n < most else []
    return ", ".join(parts)


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
    columns = {metric: log_ratios_of(pairs, metric) for metric in ERRORS}
    slopes = [_slope(pairs, metric) for metric in ERRORS]
    runs = [pair.l2.run for pair in pairs]
    frames = [_frames(runs)] * len(ERRORS)
    notes = [
        "Ratio: HL-Gauss over l2. Tests are of the log ratios of games, against 0; "
        "one-sided is of a mean below it. The slope is that of HL-Gauss against l2 by "
        "least squares, with its 95 % interval, which the largest errors decide.",
        f"Size: {size_of(runs)}.",
    ]
    ratios = [ratio for pair in pairs if (ratio := in_paper(pair)) is not None]
    if ratios:
        every = Comparison(tuple(published_log_ratios().values()))
        same = Comparison(tuple(ratios))
        columns["paper, MAE"] = every
        slopes.append("")
        frames.append(FRAMES_OF_PAPER)
        if same.n < every.n:
            columns["of these games"] = same
            slopes.append("")
            frames.append(FRAMES_OF_PAPER)
            notes.append(
                f"Of the paper's {every.n} games, these {same.n} have a mean log ratio "
                f"{distance_from_all(same, every):+.1f} standard deviations from that "
                "of all, as it varies when as many are drawn by chance."
            )
        notes.append(
            "Of RMSE the paper has no ratios, but p 0.0294, which seems to be "
            "one-sided; the slopes in its figure are about 0.87 (MAE) and 0.97 (RMSE)."
        )
    rows = [
        (said, *(show(ratios) for ratios in columns.values()))
        for said, show in STATISTICS.items()
    ]
    rows.insert(1, ("frames of each game", *frames))
    rows.append(("slope through the origin", *slopes))
    return PrintedTable(f"{title}: over games", ("over games", *columns), rows, notes)


def _slope(pairs: Sequence[ValuePair], metric: str) -> str:
    x, y = zip(*(pair.mean_errors(metric) for pair in pairs), strict=True)
    slope = slope_through_origin(x, y)
    mean = f"{slope.mean:.3f}"
    return mean if math.isnan(slope.se) else f"{mean} ± {slope.half_interval:.3f}"


def _interval(ends: tuple[float, float], form: str) -> str:
    low, high = ends
    return "" if math.isnan(low) else f"{low:{form}} to {high:{form}}"


def _p(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2g}"


STATISTICS: dict[str, Callable[[Comparison], str]] = {
    "games": lambda logs: str(logs.n),
    "HL-Gauss lower in": lambda logs: str(logs.n_lower),
    "mean log ratio": lambda logs: f"{logs.mean:+.3f}",
    "95 % interval": lambda logs: _interval(logs.interval, "+.3f"),
    "t": lambda logs: "" if math.isnan(logs.t) else f"{logs.t:+.2f}",
    "p of t, one-sided": lambda logs: _p(logs.p_t("less")),
    "p of t, two-sided": lambda logs: _p(logs.p_t("two-sided")),
    "p of signed ranks (Wilcoxon), two-sided": lambda logs: _p(logs.p_wilcoxon),
    "p of signs, exact, two-sided": lambda logs: _p(logs.p_sign("two-sided")),
    "geometric mean of ratios": lambda logs: f"{geometric_mean(logs):.3f}",
    "its 95 % interval": lambda logs: _interval(geometric_interval(logs), ".3f"),
    "median ratio": lambda logs: f"{median_ratio(logs):.3f}",
}
"""Rows of the table over games, from the log ratios of the games."""
