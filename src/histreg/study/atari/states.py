"""States: the frames seen in a game, and the returns that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from histreg._checks import check_choice
from histreg.errors import InputError
from histreg.study.atari.replays import Replay
from histreg.study.atari.runs import TARGETS

GAMMA = 0.98
N_FRAMES_SEEN = 4  # at once
KNOWN = 1e-3
"""Largest discount of the unknown rest of a return where a game was cut off."""
SHARE = 0.95  # of the episodes, for training


@dataclass(frozen=True, eq=False)
class States:
    """Moments of a game, one after each action.

    Parameters
    ----------
    frames : Tensor of uint8 of shape (f, 84, 84)
        All frames of the replay.
    places : Tensor of int64 of shape (n,)
        The frame of each state.
    starts : Tensor of int64 of shape (n,)
        The first frame of its episode.
    y : Tensor of float32 of shape (n,)
        Returns, scaled to [0, 1] by the least and largest of all in the game.
    """

    frames: Tensor
    places: Tensor
    starts: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)

    def inputs(self, index: Tensor | slice) -> Tensor:
        """Return the latest frames of some states: (b,) -> (b, 4, 84, 84), uint8.

        The first frame of an episode is repeated where earlier ones are missing.
        """
        places, starts = self.places[index, None], self.starts[index, None]
        latest = places + torch.arange(1 - N_FRAMES_SEEN, 1)  # (b, 4)
        latest = torch.maximum(latest, starts)
        frames = self.frames.index_select(0, latest.flatten())
        return frames.unflatten(0, latest.shape)


@dataclass(frozen=True, eq=False)
class Parts:
    """The states of the first episodes and of the others.

    Parameters
    ----------
    train, test : States
    low, high : float
        The least and the largest return of both.
    n_episodes, n_test_episodes : int
    """

    train: States
    test: States
    low: float
    high: float
    n_episodes: int
    n_test_episodes: int


def returns_of(replay: Replay, target: str = "arrival") -> npt.NDArray[np.float64]:
    """Return the discounted sum of rewards from each frame on: (f,).

    Returns do not extend beyond the end of an episode.

    Parameters
    ----------
    replay : Replay
    target : {"arrival", "textbook"}
        Whether the first reward is that of the action that led to the frame, or that
        of the action after it.
    """
    check_choice("target", target, TARGETS)
    from scipy.signal import lfilter  # here, since it comes with an extra

    returns = np.zeros(len(replay.rewards))
    for episode in replay.episodes:
        rewards = replay.rewards[episode.start : episode.stop]
        sums = lfilter([1.0], [1.0, -GAMMA], rewards[::-1])[::-1]
        if target == "textbook":
            sums = np.append(sums[1:], 0.0)
        returns[episode.start : episode.stop] = sums
    return returns


def parts_of(title: str, replay: Replay, target: str = "arrival") -> Parts:
    """Return the states of a game, split by episodes.

    The first twentieth of the episodes, at least one, is the test part. Where the time
    limit or the end of the file cut a game off, its last states are left out: those
    whose unknown rewards have a discount of more than a thousandth.

    Parameters
    ----------
    title : str
        Title of the game, for messages.
    replay : Replay
    target : {"arrival", "textbook"}
    """
    returns = returns_of(replay, target)
    n_unknown = math.ceil(math.log(KNOWN) / math.log(GAMMA))
    places = [
        # From the first action on: the state after a reset is not the result of one.
        np.arange(
            episode.start + 1, episode.stop - (0 if episode.is_over else n_unknown)
        )
        for episode in replay.episodes
    ]
    n = len(places)
    n_test = n - int(SHARE * n)
    chosen = {"test": range(n_test), "train": range(n_test, n)}
    sizes = {part: sum(len(places[i]) for i in which) for part, which in chosen.items()}
    for part, size in sizes.items():
        if not size:
            raise InputError(
                f"the file of {title} must have episodes for training and test, but "
                f"none of its {n} with known returns is left for {part}"
            )
    every = returns[np.concatenate(places)]
    low, high = float(every.min()), float(every.max())
    if low == high:
        raise InputError(
            f"the file of {title} must have rewards, but all returns are {low:g}"
        )
    frames = torch.from_numpy(replay.frames)

    def states(which: range) -> States:
        chosen_places = np.concatenate([places[i] for i in which])
        starts = [np.full(len(places[i]), replay.episodes[i].start) for i in which]
        scaled = (returns[chosen_places] - low) / (high - low)
        return States(
            frames,
            torch.from_numpy(chosen_places),
            torch.from_numpy(np.concatenate(starts)),
            torch.tensor(scaled, dtype=torch.float32),
        )

    made = {part: states(which) for part, which in chosen.items()}
    return Parts(made["train"], made["test"], low, high, n, n_test)
