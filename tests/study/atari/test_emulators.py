"""The real emulator, where it is installed, and the sentence where it is not."""

import sys

import numpy as np
import pytest

from histreg.study.atari.emulators import Arcade
from histreg.study.datasets import GAMES


def area_means(screen):
    """Return means over areas in float64: weights are shares of pixels covered."""

    def shares(n, m):
        borders = np.linspace(0, n, m + 1)
        pixels = np.arange(n)
        right = np.minimum(borders[1:, None], pixels + 1)
        left = np.maximum(borders[:-1, None], pixels)
        return (right - left).clip(0) * m / n

    height, width = screen.shape
    return shares(height, 84) @ screen @ shares(width, 84).T


def test_without_the_extra_one_sentence_tells_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(ValueError, match=r"replaying Pong needs .*'histreg\[atari\]'"):
        Arcade(GAMES["Pong"])


def test_a_game_is_played_alike_each_time():
    pytest.importorskip("ale_py")
    draw = np.random.default_rng(0)
    actions = draw.integers(6, size=600).tolist()
    seen = []
    for _ in range(2):
        game = Arcade(GAMES["Pong"])
        assert game.n_actions == 6
        game.reset()
        rewards = [game.act(action) for action in actions]
        seen.append((rewards, game.frame()))
    assert seen[0][0] == seen[1][0]
    assert -1.0 in seen[0][0]  # who plays at random misses the ball
    np.testing.assert_array_equal(seen[0][1], seen[1][1])


def test_pixels_are_means_over_areas():
    pytest.importorskip("ale_py")
    game = Arcade(GAMES["Pong"])
    game.reset()
    for _ in range(100):
        game.act(1)
    frame = game.frame()
    assert frame.shape == (84, 84) and frame.dtype == np.uint8
    assert frame.std() > 5  # something is seen
    # To rounding.
    np.testing.assert_allclose(frame, area_means(game._screen), atol=0.5 + 1e-3)
