"""Values of Atari games (Figure 11)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from histreg.study.atari.runs import TEXT_RATE, ValueRun
from histreg.study.catalogue.experiment import Experiment, FigureSpec, TableSpec
from histreg.study.datasets import GAMES
from histreg.study.measurements import Measurement
from histreg.study.methods import L2, HLGauss

VALUE_HL = HLGauss(sigma_in_bins=2.0, padding_in_bins=8.0)
"""The preset "atari" of `histreg.PRESETS`."""
VALUE_SEEDS = (1, 2)
WITHOUT_REWARD = ("Assault", "MontezumaRevenge", "Tennis", "Venture")
"""Games without any reward in the first 250,000 frames; the full file of Assault, which
the paper uses, has rewards."""
VALUE_GAMES = tuple(name for name in GAMES if name not in WITHOUT_REWARD)[::4]
"""Every fourth game in alphabetical order, chosen before any training."""
SIZE = (
    f"{len(VALUE_GAMES)} of the paper's 55 games, every fourth by the alphabet of "
    "those with reward in their files, and the first 250,000 frames of each, where "
    "the paper has ten million or more."
)
FIGURE = FigureSpec(
    "values",
    "The test error of HL-Gauss against that of l2, a dot a game, with the line where "
    "both are equal; and the logarithm of their ratio against the paper's.",
)


def value_runs(
    games: Iterable[str] = VALUE_GAMES,
    *,
    seeds: Iterable[int] = VALUE_SEEDS,
    **changes: Any,
) -> tuple[ValueRun, ...]:
    """Return the runs of both losses on games."""
    return tuple(
        ValueRun(name, method, seed, **changes)
        for name in games
        for method in (L2(), VALUE_HL)
        for seed in seeds
    )


EXPERIMENTS = (
    Experiment(
        "replays",
        "Replays of games",
        "not in it; the data of Figure 11",
        "Do the games, replayed, end wherever their files begin anew, and what is "
        "there to learn from them?",
        tuple(Measurement("replays", name) for name in VALUE_GAMES),
        protocol="No training: 250,000 recorded actions of each game, replayed in the "
        "Arcade Learning Environment. An episode must end one action before its file "
        "begins anew, or at the time limit of 108,000 frames; a game that ends "
        "anywhere else is refused.",
        table=TableSpec("replays"),
        figure=FigureSpec(
            "replays",
            "The episodes along the file of each game, those of the test darker; a "
            "mark where the game was over, and another where the time limit ended it.",
        ),
        conclusion="replays",
    ),
    Experiment(
        "values",
        "Values of games",
        "Figure 11",
        "Does the advantage carry over to large networks that predict the return of a "
        "player?",
        value_runs(),
        protocol="Recorded games of Atari, replayed frame by frame; the network sees "
        "the four latest frames (84 x 84, grey) and predicts the discounted return "
        "(0.98). The first 5 % of the episodes are test; one pass over the rest by "
        "Adam, batches of 32, two seeds. As in the authors' code, returns include the "
        f"reward on arriving, and the learning rate is 0.0001. {SIZE}",
        table=TableSpec("values"),
        figure=FIGURE,
    ),
    Experiment(
        "values-textbook",
        "Values of games, without the reward of arrival",
        "not in it",
        "Does it stay where the reward that a state has just brought, which can be "
        "seen, is no part of its return?",
        value_runs(target="textbook"),
        protocol="As in the authors' code, with its learning rate of 0.0001, but with "
        "the return from the next reward on, as textbooks define the value of a state. "
        f"{SIZE}",
        table=TableSpec("values"),
        figure=FIGURE,
    ),
    Experiment(
        "values-by-text",
        "Values of games, by the paper's text",
        "Figure 11, by its text",
        "Does it stay with the learning rate and the returns that the text has?",
        value_runs(target="textbook", learning_rate=TEXT_RATE),
        protocol="The games and networks of the other values as the paper's text has "
        "them: a learning rate of 0.001 instead of the 0.0001 of the authors' code, "
        "and the sum of discounted future rewards, without the reward on arriving. "
        f"{SIZE}",
        table=TableSpec("values"),
        figure=FIGURE,
    ),
)
