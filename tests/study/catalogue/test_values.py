"""The games of the catalogue."""

from dataclasses import replace

import pytest

from histreg.study.catalogue import (
    experiment,
)
from histreg.study.methods import (
    L2,
)


def test_values_are_of_every_fourth_game_with_reward_by_the_preset_of_the_paper():
    runs = experiment("values").runs
    games = list(dict.fromkeys(run.dataset for run in runs))
    assert games == [
        "AirRaid",
        "Asteroids",
        "BeamRider",
        "Breakout",
        "CrazyClimber",
        "FishingDerby",
        "Gravitar",
        "JourneyEscape",
        "MsPacman",
        "Pooyan",
        "RoadRunner",
        "Solaris",
        "Tutankham",
        "YarsRevenge",
    ]
    assert len(runs) == 14 * 2 * 2
    (histogram,) = {run.method for run in runs} - {L2()}
    bins = histogram.bins(0.0, 1.0)
    assert bins.n_bins == 100 and histogram.sigma_in_bins == 2
    assert (bins.low, bins.high) == pytest.approx((-8 / 84, 1 + 8 / 84))
    assert {(run.learning_rate, run.epochs, run.batch_size) for run in runs} == {
        (1e-4, 1, 32)
    }
    assert {run.target for run in runs} == {"arrival"}


def test_values_by_the_text_have_its_rate_and_its_returns():
    runs = experiment("values-by-text").runs
    assert {(run.target, run.learning_rate) for run in runs} == {("textbook", 1e-3)}
    as_in_code = (replace(run, target="arrival", learning_rate=1e-4) for run in runs)
    assert tuple(as_in_code) == experiment("values").runs


@pytest.mark.parametrize("name", ["values", "values-textbook", "values-by-text"])
def test_the_protocol_tells_how_many_games_and_frames_there_are(name):
    protocol = experiment(name).protocol
    assert "14 of the paper's 55 games" in protocol
    assert {f"{run.n_frames:,}" for run in experiment(name).runs} == {"250,000"}
    assert "the first 250,000 frames of each" in protocol


def test_values_by_the_textbook_are_the_same_with_another_target():
    runs = experiment("values-textbook").runs
    assert {run.target for run in runs} == {"textbook"}
    usual = tuple(replace(run, target="arrival") for run in runs)
    assert usual == experiment("values").runs
