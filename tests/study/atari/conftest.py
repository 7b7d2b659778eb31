"""A toy game, for tests that train on one."""

from functools import partial

import pytest
import torch

from histreg.study import datasets
from histreg.study.atari import convolutions, execution
from histreg.study.atari.replays import replay_of
from tests.study.atari.examples import N_BYTES
from tests.study.toy_game import GAME, Toy, recorded, written


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.setenv("HISTREG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HISTREG_DATA", str(tmp_path))
    monkeypatch.setattr(execution, "replay_of", partial(replay_of, emulator_of=Toy))
    monkeypatch.setattr(execution, "BATCHES_A_POINT", 3)
    # Episodes of a toy are shorter than what is left out of a real one at a cut.
    monkeypatch.setattr("histreg.study.atari.states.KNOWN", 0.99)
    monkeypatch.setitem(datasets.GAMES, "toy", GAME)
    written(tmp_path, recorded(N_BYTES))
    # The same layers with less in them: what is tested of training is not their size.
    monkeypatch.setattr(convolutions, "LAYERS", ((8, 8, 4), (8, 4, 2), (8, 3, 1)))
    monkeypatch.setattr(convolutions, "WIDTH", 64)
    torch.set_num_threads(1)
