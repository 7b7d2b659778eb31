"""Checkpoints: what of a saved state is checked before a run continues from it."""

import pytest
import torch

from histreg.study.engine.checkpoints import (
    CheckpointError,
    RunCheckpoint,
    check_like,
    common_epoch,
    restoring,
)
from tests.study.made_up import Memory


def state(epoch):
    return {}, {"epoch": epoch}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], 0),
        ([state(3)], 3),
        ([state(3), state(3)], 3),
        ([state(3), state(4)], 0),
        ([state(3), None], 0),
        ([None, None], 0),
    ],
)
def test_a_stack_continues_only_from_states_of_one_epoch(states, expected):
    assert common_epoch(states) == expected


@pytest.mark.parametrize("error", [KeyError("weights"), ValueError("too long")])
def test_a_state_that_does_not_fit_is_rejected(error):
    checkpoint = Memory()
    checkpoint.save({"weights": torch.ones(2)}, {"epoch": 1})
    with pytest.raises(CheckpointError), restoring(checkpoint):
        raise error
    assert checkpoint.load() is None


def test_an_interruption_leaves_the_checkpoint():
    checkpoint = Memory()
    checkpoint.save({"weights": torch.ones(2)}, {"epoch": 1})
    with pytest.raises(KeyboardInterrupt), restoring(checkpoint):
        raise KeyboardInterrupt
    assert checkpoint.load() is not None


@pytest.mark.parametrize("given", [torch.ones(3), torch.ones(2).double()])
def test_tensors_of_another_shape_or_dtype_are_refused(given):
    with pytest.raises(ValueError, match=r"mean must be torch.float32 of shape \(2,\)"):
        check_like("mean", given, torch.ones(2))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.safetensors"


def test_a_checkpoint_is_due_when_it_is_time_or_must_be(path):
    assert RunCheckpoint(path, every_s=0.0).is_due()
    assert not RunCheckpoint(path, every_s=3600.0).is_due()
    assert RunCheckpoint(path, every_s=3600.0, must_save=lambda: True).is_due()


def test_time_that_was_spent_before_a_stop_counts(path):
    first = RunCheckpoint(path, share=4)
    first.started -= 100.0  # as if it had begun then
    first.save({"weights": torch.zeros(1)}, {"epoch": 1})
    second = RunCheckpoint(path, share=2)
    second.load()
    second.started -= 10.0
    assert 25 + 5 <= second.spent_s < 31


def test_a_checkpoint_of_another_format_is_none(path, monkeypatch):
    with monkeypatch.context() as then:
        then.setattr("histreg.study.engine.checkpoints.CHECKPOINT_FORMAT", 1)
        RunCheckpoint(path).save({"weights": torch.zeros(1)}, {"epoch": 1})
        assert RunCheckpoint(path).epoch == 1
    assert RunCheckpoint(path).load() is None
    assert RunCheckpoint(path).epoch == 0
