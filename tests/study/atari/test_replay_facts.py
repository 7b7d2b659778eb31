"""Facts about the replay of a toy game."""

from functools import partial

import pytest

from histreg.study.atari import replay_facts, replays, states
from histreg.study.atari.replays import OutOfStepError, replay_of
from histreg.study.datasets import GAMES
from histreg.study.measurements import Measurement
from tests.study.made_up import Alone
from tests.study.toy_game import GAME, Toy, recorded, written


def measured(what, name=""):
    (outcome,) = Measurement.compute([Measurement(what, name)], Alone())
    return outcome


@pytest.fixture
def _toy(tmp_path, monkeypatch):
    """A toy game, of which 100 frames are replayed."""
    monkeypatch.setenv("HISTREG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HISTREG_DATA", str(tmp_path))
    monkeypatch.setitem(GAMES, "toy", GAME)
    monkeypatch.setattr(replay_facts, "replay_of", partial(replay_of, emulator_of=Toy))
    monkeypatch.setattr(replay_facts, "N_FRAMES", 100)
    monkeypatch.setattr(replays, "TIME_LIMIT", 25)
    monkeypatch.setattr(states, "KNOWN", 0.99)  # or all of it were cut off


@pytest.mark.usefixtures("_toy")
def test_a_replay_is_told_by_its_resets_its_rewards_and_its_parts(tmp_path):
    content = recorded(130, time_limit=25)
    written(tmp_path, content)
    outcome = measured("replays", "toy")
    told, curves = outcome.metrics, outcome.curves
    # They last 20, 27, 24, 21 actions: the second is cut off by the time limit.
    assert curves["start"] == [0, 22, 48, 74, 97]
    assert curves["stop"] == [21, 48, 73, 96, 100]
    assert curves["is over"] == [1, 0, 1, 1, 0]
    assert [at for at in range(100) if content[at] == ord("R")] == curves["start"]
    assert told["frames"] == 100 and told["episodes"] == 5
    assert told["resets after the end"] == 3
    assert told["resets at the time limit"] == 1
    assert told["test episodes"] == 1 and told["train episodes"] == 4
    assert told["test states"] == 20
    # The second action scores 1, the third -0.5; each is one letter of the file.
    assert (
        told["rewarded share"] == sum(letter in b"bc" for letter in content[:100]) / 100
    )
    ended = [content[a:b] for a, b in ((0, 21), (48, 73), (74, 96))]
    points = sum(part.count(b"b") - part.count(b"c") / 2 for part in ended)
    assert told["mean score"] == pytest.approx(points / 3)
    assert told["least return"] < told["mean return"] < told["largest return"]
    assert outcome.data_sha256 == GAME.actions(n_frames=100).sha256


@pytest.mark.usefixtures("_toy")
def test_a_replay_that_loses_step_is_no_measurement(tmp_path):
    content = recorded(130, time_limit=25)
    written(tmp_path, content[:5] + content[6:])
    with pytest.raises(OutOfStepError, match="the replay of Toy must keep step"):
        measured("replays", "toy")
