"""Replays of a toy game, and of a real one where the emulator is installed."""

import threading

import numpy as np
import pytest

from histreg.study.atari import replays
from histreg.study.atari.emulators import Arcade
from histreg.study.atari.replays import (
    Episode,
    OutOfStepError,
    episodes_of,
    forget,
    replay_of,
)
from histreg.study.datasets import GAMES, Actions
from histreg.study.datasets.atari import RESETS
from tests.study.toy_game import GAME, Toy, recorded, written


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HISTREG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "replays"


def codes_of(content):
    codes = np.frombuffer(content, np.uint8).astype(np.int16) - ord("a")
    codes[codes < 0] = RESETS
    return Actions(codes, "made")


def toy_replay(folder, content, **options):
    return replay_of(GAME, written(folder, content), emulator_of=Toy, **options)


def test_frames_rewards_and_ends_are_those_of_the_game(tmp_path):
    content = recorded(100)
    replay = toy_replay(tmp_path, content)
    game, episode = Toy(), -1
    for i, letter in enumerate(content):
        if letter == ord("R"):
            game.reset()
            episode, reward = episode + 1, 0.0
        else:
            reward = game.act(letter - ord("a"))
        assert replay.rewards[i] == reward
        np.testing.assert_array_equal(replay.frames[i], game.frame())
    # They last 20, 27, 24 actions; one more and a reset lie between.
    assert (
        replay.episodes
        == (
            Episode(0, 21, is_over=True),
            Episode(22, 50, is_over=True),
            Episode(51, 76, is_over=True),
            Episode(77, 99, is_over=True),
        )[: len(replay.episodes)]
    )


@pytest.mark.parametrize("n_after", [0, 1])
def test_a_file_may_end_with_the_game(n_after):
    content = recorded(10_000)[: 21 + n_after]
    is_over = np.zeros(len(content), bool)
    is_over[20:] = True
    assert episodes_of(GAME, codes_of(content), is_over) == (Episode(0, 21, True),)


def test_a_file_may_end_in_the_middle():
    found = episodes_of(GAME, codes_of(b"Raaa"), np.zeros(4, bool))
    assert found == (Episode(0, 4, is_over=False),)


def test_the_time_limit_ends_an_episode_that_is_not_over(monkeypatch, tmp_path):
    monkeypatch.setattr(replays, "TIME_LIMIT", 22)
    found = toy_replay(tmp_path, recorded(75, time_limit=22)).episodes
    assert found == (
        Episode(0, 21, is_over=True),
        Episode(22, 45, is_over=False),
        Episode(45, 68, is_over=False),
        Episode(68, 75, is_over=False),
    )


@pytest.mark.parametrize(
    ("content", "over", "problem"),
    [
        (
            b"RaaaaRa",
            (),
            "frame 5 the file starts a new game, but the game is not over",
        ),
        (b"RaaaaaRa", (2,), "frame 4 the game is over, and the file plays on"),
        (b"RaaaaaRa", (5,), "frame 6 the file does not let the game end"),
        (b"Raaaaaaaaa", (), "frame 8 the file plays on after 7 frames"),
    ],
)
def test_who_loses_step_is_told_game_and_frame(monkeypatch, content, over, problem):
    monkeypatch.setattr(replays, "TIME_LIMIT", 7)
    is_over = np.zeros(len(content), bool)
    is_over[list(over)] = True
    with pytest.raises(OutOfStepError, match=problem) as told:
        episodes_of(GAME, codes_of(content), is_over)
    assert "the replay of Toy" in str(told.value)


def test_a_replay_that_loses_step_leaves_nothing_behind(tmp_path, cache):
    content = recorded(100)
    wrong = content[:5] + content[6:]  # an action is missing
    with pytest.raises(OutOfStepError, match="at frame 21 the file does not let"):
        toy_replay(tmp_path, wrong)
    assert [path for path in cache.iterdir() if path.suffix != ".lock"] == []


def test_actions_that_the_game_does_not_know_are_refused(tmp_path):
    with pytest.raises(OutOfStepError, match="actions below 3, got 5 at frame 2"):
        toy_replay(tmp_path, b"Raf")


def test_a_second_look_plays_nothing(tmp_path):
    content = recorded(100)
    first = toy_replay(tmp_path, content)
    before = Toy.n_resets_ever
    second = toy_replay(tmp_path, content)
    assert Toy.n_resets_ever == before
    assert second.episodes == first.episodes and second.sha256 == first.sha256
    np.testing.assert_array_equal(second.frames, first.frames)
    np.testing.assert_array_equal(second.rewards, first.rewards)
    assert isinstance(second.frames, np.memmap)


def test_other_actions_or_another_emulator_have_their_own_replay(tmp_path):
    toy_replay(tmp_path, recorded(100))
    before = Toy.n_resets_ever
    toy_replay(tmp_path, recorded(99))
    assert Toy.n_resets_ever > before
    before = Toy.n_resets_ever

    class Newer(Toy):
        settings = "toy 2"

    replay_of(GAME, tmp_path, emulator_of=Newer)
    assert Toy.n_resets_ever > before


def test_two_at_once_play_once(tmp_path):
    content = recorded(3_000)
    written(tmp_path, content)
    before, found = Toy.n_resets_ever, []

    def look():
        found.append(replay_of(GAME, tmp_path, emulator_of=Toy))

    both = [threading.Thread(target=look) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert Toy.n_resets_ever - before == content.count(b"R")
    np.testing.assert_array_equal(found[0].frames, found[1].frames)


def test_who_is_stopped_leaves_nothing_and_begins_anew(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(replays, "FRAMES_A_REPORT", 10)
    left = iter(range(4))

    def report():
        if next(left, None) is None:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        toy_replay(tmp_path, recorded(100), report=report)
    assert [path for path in cache.iterdir() if path.suffix != ".lock"] == []
    assert len(toy_replay(tmp_path, recorded(100)).rewards) == 100


def test_frames_without_rewards_are_no_replay(tmp_path, cache):
    toy_replay(tmp_path, recorded(100))
    (rewards,) = cache.glob("*.outcomes.npy")
    rewards.unlink()  # as if killed between the two
    before = Toy.n_resets_ever
    toy_replay(tmp_path, recorded(100))
    assert Toy.n_resets_ever > before


def test_the_cache_keeps_those_that_were_read_last(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(replays, "N_KEPT", 2)
    for n in (60, 61, 60, 62):
        toy_replay(tmp_path, recorded(n))
    before = Toy.n_resets_ever
    toy_replay(tmp_path, recorded(60))
    toy_replay(tmp_path, recorded(62))
    assert Toy.n_resets_ever == before
    assert len(list(cache.glob("*.frames.npy"))) == 2


def test_no_more_are_forgotten_than_need_be(tmp_path, cache):
    for n in (60, 61, 62):  # of the four that are kept
        toy_replay(tmp_path, recorded(n))
    assert len(list(cache.glob("*.frames.npy"))) == 3
    forget(but=4)
    assert len(list(cache.glob("*.frames.npy"))) == 3


def test_one_that_is_being_made_is_not_forgotten(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(replays, "FRAMES_A_REPORT", 50)
    toy_replay(tmp_path, recorded(100), report=forget)
    assert len(list(cache.glob("*.frames.npy"))) == 1


def test_what_a_killed_process_left_behind_is_cleared_away(tmp_path, cache):
    toy_replay(tmp_path, recorded(100))
    (frames,) = cache.glob("*.frames.npy")
    forget()
    left_behind = frames.with_name(f".999.partial.{frames.name}")
    left_behind.write_bytes(b"half")
    toy_replay(tmp_path, recorded(100))
    assert not left_behind.exists() and frames.exists()


def test_one_who_reads_a_replay_can_go_on_when_it_is_forgotten(tmp_path, cache):
    replay = toy_replay(tmp_path, recorded(100))
    forget()
    assert not list(cache.glob("*.npy"))
    assert replay.frames[99, 0, 1] > 0


def test_a_disk_without_room_is_told_beforehand(tmp_path, monkeypatch):
    from collections import namedtuple

    usage = namedtuple("usage", "free")
    monkeypatch.setattr(replays.shutil, "disk_usage", lambda _: usage(1000))
    with pytest.raises(ValueError, match=r"of Toy need 0\.0 GB .* HISTREG_CACHE"):
        toy_replay(tmp_path, recorded(100))


def test_a_real_game_keeps_step_with_what_was_recorded(tmp_path):
    pytest.importorskip("ale_py")
    game = GAMES["Pong"]
    # Who plays Pong at random loses 21 balls in about 3,500 frames.
    content = recorded(4_500, emulator=Arcade(game))
    assert content.count(b"R") == 2
    replay = replay_of(game, written(tmp_path, content, game))
    first, second = replay.episodes
    assert first.is_over and not second.is_over
    assert content[second.start] == ord("R") and second.start == first.stop + 1
    rewards = replay.rewards[first.start : first.stop]
    assert rewards.min() == -1 and np.sum(rewards == -1) == 21

    other = content.replace(b"a", b"b", 900)
    with pytest.raises(OutOfStepError, match="the replay of Pong must keep step"):
        replay_of(game, written(tmp_path, other, game))
