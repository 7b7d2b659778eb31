"""A game that is quickly played, behind the seam of the real ones."""

from dataclasses import replace

import numpy as np

from histreg.study.datasets import GAMES

GAME = replace(GAMES["Pong"], name="toy", title="Toy")
FILE = GAME.files[0]


class Toy:
    """Lasts 20 to 29 actions; its frames tell the episode, the action and the score.

    The second action scores, the third loses half a point.
    """

    settings = "toy"
    n_actions = 3
    n_resets_ever = 0  # of all that were replayed

    def __init__(self, game=GAME):  # noqa: ARG002
        self.episode = -1

    def reset(self):
        Toy.n_resets_ever += 1
        self.episode, self.at, self.score = self.episode + 1, 0, 0.0

    @property
    def length(self):
        return 20 + 7 * self.episode % 10

    def act(self, action):
        self.at += 1
        reward = (0.0, 1.0, -0.5)[action]
        self.score += reward
        return reward

    def is_over(self):
        return self.at >= self.length

    def frame(self):
        found = np.zeros((84, 84), np.uint8)
        found[0, :2] = self.episode, self.at
        found[10:30] = 5 * self.at  # how much is left can be seen
        return found


def recorded(n_bytes, seed=0, emulator=None, time_limit=10**9):
    """Return random actions as a file has them, in step with an emulator."""
    draw = np.random.default_rng(seed)
    game, before = emulator or Toy(), Toy.n_resets_ever
    told = []
    while len(told) < n_bytes:
        told.append("R")
        game.reset()
        n = 0
        while not game.is_over() and n < time_limit and len(told) < n_bytes:
            action = int(draw.integers(game.n_actions))
            game.act(action)
            told.append(chr(ord("a") + action))
            n += 1
        if game.is_over() and n <= time_limit:
            told.append("a")  # one more, as the players' environment had it
    Toy.n_resets_ever = before
    return "".join(told[:n_bytes]).encode()


def written(folder, content, game=GAME):
    """Write a file of actions where it is looked for."""
    path = folder / game.files[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return folder
