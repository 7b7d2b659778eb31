"""Claims about the values of games (Figure 11): each is about all games at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from histreg.study.analysis.comparisons import Comparison
from histreg.study.analysis.ratios import log_ratios_of
from histreg.study.catalogue.values import VALUE_SEEDS
from histreg.study.claims.claim import Claim
from histreg.study.claims.conditions import Find, all_of
from histreg.study.claims.evidence import Evidence
from histreg.study.claims.findings import ENOUGH, Finding, by_interval, not_run
from histreg.study.claims.scope import PAPER_GAMES

MAE, RMSE = "test MAE", "test RMSE"


def _over_games(
    part: str, metric: str, decide: Callable[[str, Comparison], Finding]
) -> Find:
    """Find the verdict from the ratios of all games.

    Not run while a game lacks a seed of the catalogue: the games that finish first
    would be a biased sample.
    """
    full_part = f"{part} ({metric})"

    def of_games(games: tuple[str, ...], evidence: Evidence) -> Finding:
        begun = [pair for name in games if (pair := evidence.value_pair(name))]
        if not begun:
            return not_run(full_part)
        pairs = [pair for pair in begun if pair.errors(metric).keys() >= {*VALUE_SEEDS}]
        if len(pairs) < len(games):
            n_seeds = len(VALUE_SEEDS)
            why = f"{len(pairs)} of {len(games)} games have {n_seeds} seeds finite"
            return not_run(full_part, why)
        if len(pairs) < ENOUGH:
            return not_run(full_part, f"{len(pairs)} games, of at least {ENOUGH}")
        return decide(full_part, log_ratios_of(pairs, metric))

    def find(evidence: Evidence) -> list[Finding]:
        games = evidence.games
        return [replace(of_games(games, evidence), on=games)] if games else []

    return find


def _most(part: str, logs: Comparison) -> Finding:
    what = f"{logs.n_lower} of {logs.n} games, as a share"
    return by_interval(part, what, logs.lower_share_interval, low=0.5)


def _mean(part: str, logs: Comparison) -> Finding:
    what = f"mean log ratio {logs.mean:.3g} over {logs.n} games"
    return by_interval(part, what, logs.interval, high=0.0)


GAMES_SAID = (
    "Over the games of the catalogue, a quarter of the paper's that was chosen by the "
    "alphabet, once all have both seeds: "
)

CLAIMS = (
    Claim(
        "K36",
        "HL-Gauss has the lower test MAE in most games of Atari.",
        f"{GAMES_SAID}the exact 95 % interval (Clopper and Pearson's) of the share of "
        "games in which HL-Gauss is below l2 above a half, and the interval of the "
        "mean log ratio of their errors below 0.",
        ("values",),
        all_of(
            _over_games("HL-Gauss below l2 in most games", MAE, _most),
            _over_games("HL-Gauss below l2 on average over games", MAE, _mean),
        ),
        PAPER_GAMES,
    ),
    Claim(
        "K37",
        "HL-Gauss has the lower test RMSE on average over games of Atari.",
        f"{GAMES_SAID}the interval of the mean log ratio of the errors of HL-Gauss and "
        "l2 below 0. (The paper's p of 0.029 seems to be one-sided; two-sided, as "
        "the interval is, it would be 0.059.)",
        ("values",),
        _over_games("HL-Gauss below l2 on average over games", RMSE, _mean),
        PAPER_GAMES,
    ),
)
