"""Networks that are trained by themselves: a line through made-up points."""

import math
from itertools import chain

import numpy as np
import pytest
import torch
from torch import nn

from histreg import Bins, Histogram
from histreg.study.engine.checkpoints import CheckpointError
from histreg.study.networks.single_training import NetworkTraining, spread_scores, under
from tests.study.made_up import Memory

N = 10


class LineTraining(NetworkTraining):
    """A pixel with four channels, whose weights are kept channels last."""

    def __init__(self, checkpoint=None, y=None):
        network = nn.Conv2d(4, 3, 2, bias=False)
        with torch.no_grad():
            for i, weights in enumerate(network.parameters()):
                weights.copy_(torch.arange(weights.numel()).view_as(weights).sin() + i)
        network.to(memory_format=torch.channels_last)
        optimizer = torch.optim.Adam(network.parameters(), lr=0.1, fused=True)
        super().__init__(network, optimizer, checkpoint, seed=1, batch_size=4)
        self.x = torch.linspace(-1, 1, N * 16).view(N, 4, 2, 2)
        self.y = torch.linspace(0, 1, N) if y is None else y
        self.seen, self.losses = [], []
        self.restore(epochs=2)

    def loss(self, index):
        self.seen.append(index.tolist())
        error = self.network(self.x[index])[:, 0, 0, 0] - self.y[index]
        return error.square().mean()

    def record_loss(self, loss):
        self.losses.append(loss)

    def extra_state(self):
        return {"more.x": self.x[0]}, {"losses": self.losses}

    def restore_extra_state(self, tensors, notes):
        assert torch.equal(under("more", tensors)["x"], self.x[0])
        self.losses = notes["losses"]

    def __len__(self):
        return N

    def inputs(self, index):
        return self.x[index]


def nothing(done):
    pass


def test_an_epoch_sees_each_row_once_and_another_order_each_time():
    training, shares = LineTraining(), []
    for _ in range(2):
        assert training.train_epoch(N, shares.append)
    orders = [[*chain(*training.seen[a:b])] for a, b in ((0, 3), (3, 6))]
    assert [sorted(order) for order in orders] == [list(range(N))] * 2
    assert orders[0] != orders[1]
    assert [len(index) for index in training.seen[:3]] == [4, 4, 2]
    np.testing.assert_allclose(shares, np.arange(1, 7) / 3)
    assert (training.epoch, training.batch) == (2, 0)


@pytest.mark.parametrize("stop_after", range(1, 6))
def test_one_that_was_stopped_goes_on_as_if_it_had_not_been(stop_after):
    whole = LineTraining()
    for _ in range(2):
        whole.train_epoch(N, nothing)
    left, kept = iter(range(stop_after - 1)), Memory()

    def leave(done):  # noqa: ARG001
        if next(left, None) is None:
            raise InterruptedError

    stopped = LineTraining(kept)
    with pytest.raises(InterruptedError):
        while stopped.epoch < 2:
            stopped.train_epoch(N, leave)
    resumed = LineTraining(kept)
    while resumed.epoch < 2:
        resumed.train_epoch(N, nothing)
    assert resumed.losses == whole.losses
    assert stopped.seen + resumed.seen == whole.seen
    for a, b in zip(
        resumed.network.parameters(), whole.network.parameters(), strict=True
    ):
        assert torch.equal(a, b)


def test_what_adam_remembers_comes_back_in_the_layout_of_the_weights():
    kept = Memory()
    LineTraining(kept).train_epoch(N, nothing)
    resumed = LineTraining(kept)
    (weights,) = resumed.network.parameters()
    state = resumed.optimizer.state[weights]
    assert weights.is_contiguous(memory_format=torch.channels_last)
    assert state["exp_avg"].stride() == weights.stride()
    assert state["step"].item() == 3


@pytest.mark.parametrize("batch", [0, 2])
def test_a_loss_that_is_not_finite_ends_it_also_in_the_last_batch(batch):
    first = LineTraining()
    first.train_epoch(N, nothing)
    y = first.y.clone()
    y[first.seen[batch][0]] = math.inf
    training = LineTraining(y=y)
    assert not training.train_epoch(N, nothing)
    assert len(training.losses) == batch == training.batch
    assert training.epoch == 0


def test_outputs_come_some_at_a_time_without_gradients():
    training = LineTraining()
    found = list(training.outputs(training, 4))
    assert [(some.start, some.stop) for some, _ in found] == [(0, 4), (4, 8), (8, 10)]
    together = torch.cat([outputs for _, outputs in found])
    assert not together.requires_grad and not training.network.training
    torch.testing.assert_close(together, training.network(training.x))


def test_scores_of_a_histogram_are_its_crps_and_whether_intervals_hold_y():
    # All in the bin from 0 to 1: its middle 80 % is 0.1 to 0.9.
    logits = torch.tensor([[-1e9, 0.0, -1e9]], dtype=torch.float64).expand(3, 3)
    spread = Histogram(Bins.uniform(-1.0, 2.0, 3), logits=logits)
    y = torch.tensor([0.5, 0.93, 1.5], dtype=torch.float64)
    found = spread_scores(spread, y)
    assert found["coverage 0.8"].tolist() == [1, 0, 0]
    assert found["coverage 0.9"].tolist() == [1, 1, 0]
    # Of a uniform on [0, 1]: the integral of (F - 1)^2 from y on and of F^2 before it.
    expected = [1 / 12, (0.93**3 + 0.07**3) / 3, 1 / 3 + 0.5]
    assert found["CRPS"].tolist() == pytest.approx(expected)


MISFITS = {
    "a weight is absent": lambda tensors, _: tensors.pop("now.weight"),
    "a weight is longer": lambda tensors, _: tensors.update(
        {"now.weight": torch.ones(7)}
    ),
    "a weight too many": lambda tensors, _: tensors.update({"now.w": torch.ones(7)}),
    "a moment is absent": lambda tensors, _: tensors.pop("adam.0.exp_avg"),
    "all moments are absent": lambda tensors, _: [
        tensors.pop(name) for name in list(tensors) if name.startswith("adam")
    ],
    "a moment is shorter": lambda tensors, _: tensors.update(
        {"adam.0.exp_avg": torch.ones(1)}
    ),
    "a moment of no weight": lambda tensors, _: tensors.update(
        {"adam.5.exp_avg": torch.ones(1)}
    ),
    "moments of no number": lambda tensors, _: tensors.update(
        {"adam.x.exp_avg": torch.ones(1)}
    ),
    "no batch": lambda _, notes: notes.pop("batch"),
    "a batch in words": lambda _, notes: notes.update(batch="two"),
    "a batch below 0": lambda _, notes: notes.update(batch=-1),
    "an epoch beyond the last": lambda _, notes: notes.update(epoch=9),
    "notes that are absent": lambda _, notes: notes.pop("losses"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_checkpoint_that_does_not_fit_is_rejected(name):
    kept = Memory()
    LineTraining(kept).train_epoch(N, nothing)
    MISFITS[name](*kept.kept)
    with pytest.raises(CheckpointError):
        LineTraining(kept)
    assert kept.kept is None
    assert (LineTraining(kept).epoch, LineTraining(kept).batch) == (0, 0)
