"""Facts about a replay: whether it matches its file, and its contents."""

from __future__ import annotations

import numpy as np
import torch

from histreg.study.atari.replays import replay_of
from histreg.study.atari.runs import N_FRAMES
from histreg.study.atari.states import parts_of, returns_of
from histreg.study.datasets import game
from histreg.study.engine.runs import Outcome, RunContext


def replay_facts(name: str, context: RunContext) -> Outcome:
    """Return how the replay of a game matches its file, and its contents.

    Only the frames of value runs count. A replay that does not match its file raises an
    error that names the frame, so every replay described here matches.
    """
    title = game(name).title
    replay = replay_of(
        game(name),
        context.data_dir,
        n_frames=N_FRAMES,
        report=lambda: context.report(0.0),
    )
    parts = parts_of(title, replay)
    episodes = replay.episodes
    places = torch.cat([parts.train.places, parts.test.places]).numpy()
    returns = returns_of(replay)[places]
    scores = [
        float(replay.rewards[episode.start : episode.stop].sum())
        for episode in episodes
        if episode.is_over
    ]
    # What follows each but the last is a reset, and thereby seen to be in its place.
    followed = [episode.is_over for episode in episodes[:-1]]
    numbers = {
        "frames": len(replay.rewards),
        "episodes": len(episodes),
        "resets after the end": sum(followed),
        "resets at the time limit": len(followed) - sum(followed),
        "rewarded share": np.count_nonzero(replay.rewards) / len(replay.rewards),
        "least return": returns.min(),
        "mean return": returns.mean(),
        "largest return": returns.max(),
        "train episodes": parts.n_episodes - parts.n_test_episodes,
        "test episodes": parts.n_test_episodes,
        "train states": len(parts.train),
        "test states": len(parts.test),
    }
    if scores:
        numbers["mean score"] = sum(scores) / len(scores)
    curves = {
        "start": [episode.start for episode in episodes],
        "stop": [episode.stop for episode in episodes],
        "is over": [int(episode.is_over) for episode in episodes],
    }
    metrics = {what: float(value) for what, value in numbers.items()}
    return Outcome(metrics, curves, data_sha256=replay.sha256)
