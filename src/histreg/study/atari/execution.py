"""How value runs are computed: the training of the network and its metrics."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from histreg.distribution import Histogram
from histreg.study.atari.convolutions import Convolutions
from histreg.study.atari.replays import replay_of
from histreg.study.atari.runs import ValueRun
from histreg.study.atari.states import Parts, parts_of
from histreg.study.datasets import game
from histreg.study.engine.checkpoints import Checkpoint
from histreg.study.engine.runs import Outcome, RunContext, check_parts
from histreg.study.engine.seeding import generator_for
from histreg.study.methods import HLGauss
from histreg.study.networks.single_training import NetworkTraining, spread_scores

STATES_AT_ONCE = 128  # states that are evaluated together
TEST_COST = 1 / 3  # cost of evaluating a state, relative to training on it
BATCHES_A_POINT = 200  # of the curve of the training loss


def outcome_of(
    run: ValueRun, context: RunContext, checkpoint: Checkpoint | None
) -> Outcome:
    """Train and evaluate a value network."""
    replay = replay_of(
        game(run.dataset),
        context.data_dir,
        n_frames=run.n_frames,
        report=lambda: context.report(0.0),
    )
    parts = parts_of(game(run.dataset).title, replay, run.target)
    training = ValueTraining(run, parts, checkpoint)
    diverged_at = training.run_all(context)
    metrics: dict[str, float] = {}
    if diverged_at is None:
        metrics = training.evaluate(context) | _facts(parts)
    curves = {"train loss": training.curve}
    return Outcome(metrics, curves, diverged_at, replay.sha256)


def _facts(parts: Parts) -> dict[str, float]:
    """Return facts about the states, and the errors of constant predictions."""
    known, y = parts.train.y.double(), parts.test.y.double()
    return {
        "test MAE of the median": (y - known.median()).abs().mean().item(),
        "test RMSE of the mean": (y - known.mean()).square().mean().sqrt().item(),
        "least return": parts.low,
        "largest return": parts.high,
        "train states": len(parts.train),
        "test states": len(parts.test),
        "episodes": parts.n_episodes,
        "test episodes": parts.n_test_episodes,
    }


class ValueTraining(NetworkTraining):
    """A value network in training.

    Parameters
    ----------
    run : ValueRun
    parts : Parts
    checkpoint : Checkpoint or None
    """

    def __init__(
        self, run: ValueRun, parts: Parts, checkpoint: Checkpoint | None
    ) -> None:
        self.run, self.parts = run, parts
        network = Convolutions(
            run.method.n_outputs,
            generator_for(run.seed, "body"),
            generator_for(run.seed, "head"),
        )
        optimizer = torch.optim.Adam(
            network.parameters(),
            lr=run.learning_rate,
            eps=1e-7,  # Keras's, which the authors ran with
            fused=True,
        )
        super().__init__(
            network, optimizer, checkpoint, seed=run.seed, batch_size=run.batch_size
        )
        self.total, self.n_batches = 0.0, 0  # of the losses of a point of the curve
        self.curve: list[float] = []
        self.restore(run.epochs)

    def run_all(self, context: RunContext) -> int | None:
        """Train to the end; return the epoch in which the loss was not finite."""
        n = len(self.parts.train)
        while self.epoch < self.run.epochs:
            if not self.train_epoch(n, lambda done: self._report(context, done * n)):
                return self.epoch + 1
        return None

    def loss(self, index: Tensor) -> Tensor:
        """Return the mean loss of some states."""
        train = self.parts.train
        outputs = self.network(train.inputs(index))
        return self.run.method.loss(outputs, train.y[index]).mean()

    def record_loss(self, loss: float) -> None:
        """Add a point to the curve after a fixed number of losses."""
        self.total, self.n_batches = self.total + loss, self.n_batches + 1
        if self.n_batches == BATCHES_A_POINT:
            self.curve.append(float(f"{self.total / self.n_batches:.4g}"))
            self.total, self.n_batches = 0.0, 0

    def _report(self, context: RunContext, done: float) -> None:
        """Report the progress, in states that are trained on."""
        n_train, n_test = len(self.parts.train), len(self.parts.test)
        context.report(done / (self.run.epochs * n_train + TEST_COST * n_test))

    @torch.no_grad()
    def evaluate(self, context: RunContext) -> dict[str, float]:
        """Return the metrics on all test states, on the scale [0, 1]."""
        test = self.parts.test
        sums: dict[str, float] = {}
        for some, outputs in self.outputs(test, STATES_AT_ONCE):
            y = test.y[some].double()
            error = self.run.method.predict(outputs).double() - y
            scores = {"MAE": error.abs(), "MSE": error.square()}
            if isinstance(self.run.method, HLGauss):
                spread = Histogram(self.run.method.bins(0.0, 1.0), logits=outputs)
                scores |= spread_scores(spread, y)
            for name, score in scores.items():
                sums[name] = sums.get(name, 0.0) + score.double().sum().item()
            done = self.run.epochs * len(self.parts.train) + TEST_COST * some.stop
            self.save_if_due()
            self._report(context, done)
        means = {name: total / len(test) for name, total in sums.items()}
        means["RMSE"] = math.sqrt(means.pop("MSE"))
        return {f"test {name}": mean for name, mean in means.items()}

    def extra_state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the curve so far, and the losses of its next point."""
        return {}, {
            "total": self.total,
            "n_batches": self.n_batches,
            "curve": self.curve,
        }

    def restore_extra_state(
        self,
        tensors: dict[str, Tensor],  # noqa: ARG002
        notes: dict[str, Any],
    ) -> None:
        """Restore the state that `extra_state` returned."""
        check_parts(notes, {"total": (float, int), "n_batches": int, "curve": list})
        self.total, self.n_batches = notes["total"], notes["n_batches"]
        self.curve = notes["curve"]
