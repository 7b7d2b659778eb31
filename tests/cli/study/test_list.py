"""The command that lists experiments and data sets."""

from histreg.study.catalogue import EXPERIMENTS
from histreg.study.datasets import GAMES, SERIES
from tests.cli.study.running import study
from tests.study.toy_game import written


def test_the_list_has_every_experiment_and_data_set():
    printed = study("list")
    for name in (*EXPERIMENTS, "ct", "song-7000", "bike", "pole", "diabetes", *SERIES):
        assert name in printed
    assert "casual + registered = cnt" in printed


def test_the_list_has_the_games_in_a_paragraph(place):
    printed = " ".join(study("list").split())
    assert "58 of 58 not here (AirRaid, Alien, " in printed
    written(place, b"Raaa", GAMES["Pong"])
    printed = " ".join(study("list", "--data-dir", place).split())
    assert "1 of 58 here (Pong); 57 of 58 not here (AirRaid, " in printed
    assert printed.count("The first episodes are the test") == 1
