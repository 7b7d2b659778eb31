"""States of made-up replays: what is seen, what is predicted, how they are split."""

import numpy as np
import pytest
import torch

from histreg.study.atari import states
from histreg.study.atari.replays import Episode, Replay
from histreg.study.atari.states import GAMMA, parts_of, returns_of


def made(lengths, *, cut=(), seed=0):
    """Return a replay of episodes of these lengths; frames tell their place."""
    n = sum(lengths)
    starts = np.cumsum([0, *lengths])
    rewards = np.random.default_rng(seed).normal(size=n)
    rewards[starts[:-1]] = 0.0  # of resets
    frames = np.zeros((n, 84, 84), np.uint8)
    frames[:, 0, 0] = np.arange(n) % 256
    episodes = tuple(
        Episode(int(start), int(start) + length, is_over=i not in cut)
        for i, (start, length) in enumerate(zip(starts, lengths, strict=False))
    )
    return Replay(frames, rewards, episodes, "made")


def slow_return(replay, place, first):
    """Return the sum by its definition: rewards of frames place + first and later."""
    (end,) = (e.stop for e in replay.episodes if e.start <= place < e.stop)
    later = range(place + first, end)
    return sum(GAMMA**k * replay.rewards[at] for k, at in enumerate(later))


@pytest.mark.parametrize(("target", "first"), [("arrival", 0), ("textbook", 1)])
def test_returns_are_discounted_sums_within_an_episode(target, first):
    replay = made([30, 50, 20], cut=(1, 2))
    expected = [slow_return(replay, at, first) for at in range(100)]
    np.testing.assert_allclose(returns_of(replay, target), expected, atol=1e-12)


def test_by_hand():
    replay = made([4, 3])
    replay.rewards[:] = [0, 1, 0, 10, 0, 100, 0]
    arrival, textbook = returns_of(replay), returns_of(replay, "textbook")
    assert arrival[1] == pytest.approx(1 + 0.98**2 * 10)
    assert textbook[1] == pytest.approx(0.98 * 10)
    # The last frame of a game has had its reward, and nothing of the next is its own.
    assert arrival[3] == pytest.approx(10) and textbook[3] == 0


def test_what_follows_a_reset_does_not_leak_into_what_came_before():
    replay = made([30, 50, 20], cut=(0,))
    before = returns_of(replay)
    replay.rewards[31:] += 1000
    np.testing.assert_array_equal(returns_of(replay)[:30], before[:30])


def test_latest_frames_are_of_one_episode():
    parts = parts_of("Made", made([6] * 20))
    seen = parts.train.inputs(slice(0, 6))[:, :, 0, 0].tolist()
    # One episode of 20 is the test; the first frame of an episode is that of a reset.
    assert seen == [
        [6, 6, 6, 7],
        [6, 6, 7, 8],
        [6, 7, 8, 9],
        [7, 8, 9, 10],
        [8, 9, 10, 11],
        [12, 12, 12, 13],
    ]


def test_states_are_gathered_in_any_order():
    train = parts_of("Made", made([6] * 20)).train
    index = torch.tensor([5, 0, 40])
    for one, i in zip(train.inputs(index), index.tolist(), strict=True):
        assert torch.equal(one, train.inputs(slice(i, i + 1))[0])
    assert train.inputs(index).dtype == torch.uint8


@pytest.mark.parametrize(("n", "n_test"), [(2, 1), (12, 1), (20, 1), (21, 2), (38, 2)])
def test_the_first_twentieth_of_the_episodes_is_the_test(n, n_test):
    parts = parts_of("Made", made([5] * n))
    assert parts.n_episodes == n and parts.n_test_episodes == n_test
    assert len(parts.test) == 4 * n_test and len(parts.train) == 4 * (n - n_test)
    assert parts.test.places.max() < parts.train.places.min()


@pytest.mark.parametrize("target", ["arrival", "textbook"])
def test_returns_are_scaled_by_the_least_and_largest_of_all(target):
    replay = made([10] * 5)
    parts = parts_of("Made", replay, target)
    every = torch.cat([parts.test.y, parts.train.y])
    assert every.min() == 0 and every.max() == 1
    returns = returns_of(replay, target)[parts.train.places]
    back = parts.low + parts.train.y.numpy() * (parts.high - parts.low)
    np.testing.assert_allclose(back, returns, atol=1e-5)


def test_states_before_a_cut_are_left_out_while_much_of_their_return_is_unknown():
    parts = parts_of("Made", made([10, 1000, 500], cut=(1, 2)))
    # 0.98 ** 342 is the first power below a thousandth.
    assert 0.98**342 < 1e-3 < 0.98**341
    places = parts.train.places.tolist()
    assert places == [*range(11, 1010 - 342), *range(1011, 1510 - 342)]


def test_both_targets_are_of_the_same_states():
    replay = made([10, 600, 12], cut=(1,))
    a, b = (parts_of("Made", replay, target) for target in states.TARGETS)
    assert torch.equal(a.train.places, b.train.places)
    assert torch.equal(a.test.places, b.test.places)


def test_a_game_without_reward_is_refused():
    replay = made([10, 10])
    replay.rewards[:] = 0
    with pytest.raises(ValueError, match="the file of Made must have rewards"):
        parts_of("Made", replay)


@pytest.mark.parametrize("lengths", [[50], [50, 300]])
def test_too_few_episodes_are_refused(lengths):
    with pytest.raises(ValueError, match="must have episodes for training and test"):
        parts_of("Made", made(lengths, cut=(len(lengths) - 1,)))


def test_an_unknown_target_is_told_the_choices():
    with pytest.raises(ValueError, match="target must be one of 'arrival', 'textbook'"):
        returns_of(made([5, 5]), "td")
