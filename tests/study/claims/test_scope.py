"""What the paper judges claims on, and how much of it was run."""

import pytest

from histreg.study.claims.scope import (
    PAPER_GAMES,
    PAPER_SERIES,
    PAPER_TABLES,
    SINES,
    tables,
)
from histreg.study.datasets import GAMES


@pytest.mark.parametrize(
    ("scope", "judged", "words"),
    [
        (PAPER_TABLES, (), "none of 4 data sets"),
        (PAPER_TABLES, ("pole", "bike"), "bike, pole (2 of 4 data sets)"),
        (PAPER_TABLES, ("song-7000",), "song-7000 (not in the paper)"),
        (
            PAPER_TABLES,
            ("song-7000", "ct"),
            "ct (1 of 4 data sets); song-7000 (not in the paper)",
        ),
        (tables("bike"), ("bike",), "bike (1 of 1 data set)"),
        (tables("bike"), (), "not on bike"),
        (PAPER_SERIES, ("ETTh1",), "ETTh1 (1 of 4 series)"),
        (PAPER_GAMES, PAPER_GAMES.names[:14], "14 of 55 games"),
        (SINES, (), "not on sines"),
    ],
)
def test_how_much_was_run_is_told(scope, judged, words):
    assert scope.covered(judged) == words


def test_the_games_are_the_papers():
    assert len(PAPER_GAMES.names) == 55
    assert {*PAPER_GAMES.names} < GAMES.keys()
    without_reward = {"MontezumaRevenge", "Tennis", "Venture"}
    assert GAMES.keys() - {*PAPER_GAMES.names} == without_reward
    assert PAPER_GAMES.departures == ("250,000 of 10,000,000 frames of each",)
