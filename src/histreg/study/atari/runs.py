"""Value runs: two losses on a network that predicts the return of a player of Atari."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from histreg._checks import check_choice, check_count, check_positive
from histreg.distribution import Histogram
from histreg.study.atari.convolutions import Convolutions
from histreg.study.atari.replays import replay_of
from histreg.study.atari.states import TARGETS, Parts, parts_of
from histreg.study.datasets import game
from histreg.study.engine.runs import Outcome, Workplace, check_parts
from histreg.study.engine.seeding import stream
from histreg.study.methods import L1, L2, HLGauss
from histreg.study.network_runs import NetworkRun, NetworkTraining, spread_scores
from histreg.study.tabular.trainer import Checkpoint

N_FRAMES = 250_000
"""Of the files that are easily had; the full ones have forty times as many."""
S_A_FRAME = 1.3e-3
"""Seconds of one busy core to train on a frame, with its part of replay and test."""
STATES_AT_ONCE = 128  # that are judged together
TEST_COST = 1 / 3  # of a state, where training on one is 1
BATCHES_A_POINT = 200  # of the curve of the training loss


@dataclass(frozen=True)
class ValueRun(NetworkRun):
    """A network that sees the latest frames of a game, and predicts the return.

    Returns are scaled to [0, 1] by the least and the largest of the game.

    Parameters
    ----------
    dataset : str
        The game.
    method : L2, L1 or HLGauss
    seed : int
        Of the first weights and the batches; both are the same for all losses.
    target : {"arrival", "textbook"}
        Whether the return of a state begins with the reward of the action that led to
        it, as the authors have it, or with that of the action after it.
    n_frames : int
        Of the file, from its first on. What a longer file has besides is left alone,
        so that a record of few frames is never taken for one of many.
    epochs : int
        Passes over the states, each in an order of its own, wholly shuffled.
    learning_rate : float
        Of Adam.
    batch_size : int
    """

    kind: ClassVar[str] = "value"
    numbers: ClassVar[tuple[str, ...]] = (
        *("n_frames", "epochs", "learning_rate", "batch_size"),
    )

    dataset: str
    method: L2 | L1 | HLGauss
    seed: int
    target: str = "arrival"
    n_frames: int = N_FRAMES
    epochs: int = 1
    learning_rate: float = 1e-4
    batch_size: int = 32

    def __post_init__(self) -> None:
        check_choice("target", self.target, TARGETS)
        for name in ("n_frames", "epochs", "batch_size"):
            check_count(name, getattr(self, name), at_least=1)
        check_positive("learning_rate", self.learning_rate)

    def moved_to(self, dataset: str) -> ValueRun:
        """Return the same on another game."""
        return replace(self, dataset=game(dataset).name)

    @property
    def folder(self) -> tuple[str, ...]:
        """The game, then the method."""
        return (self.dataset, self.method.name)

    @property
    def label(self) -> str:
        """Game, method, seed, and what differs from the protocol."""
        told = [self.dataset, self.method.name, f"seed {self.seed}"]
        return ", ".join([*told, *self.changes])

    @property
    def changes(self) -> list[str]:
        """What differs from the protocol, in words."""
        told = [] if self.target == "arrival" else [f"{self.target} target"]
        return told + self.changed_numbers

    @property
    def stack(self) -> tuple[object, ...]:
        """Each by itself, those of one game in a row: they read the same frames."""
        return (self.kind, self.dataset, self.key)

    @property
    def expected_s(self) -> float:
        """By the number of frames, alike for all games, which keeps them in a row."""
        return self.epochs * self.n_frames * S_A_FRAME

    def trained(self, workplace: Workplace, checkpoint: Checkpoint | None) -> Outcome:
        """Train and judge the network."""
        replay = replay_of(
            game(self.dataset),
            workplace.data_dir,
            n_frames=self.n_frames,
            report=lambda: workplace.report(0.0),
        )
        parts = parts_of(game(self.dataset).title, replay, self.target)
        training = _Training(self, parts, checkpoint)
        diverged_at = training.run_all(workplace)
        told: dict[str, float] = {}
        if diverged_at is None:
            told = training.judged(workplace) | _facts(parts)
        curves = {"train loss": training.curve}
        return Outcome(told, curves, diverged_at, replay.sha256)


def _facts(parts: Parts) -> dict[str, float]:
    """Return what there was to learn from, and the errors of knowing nothing of it."""
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


class _Training(NetworkTraining):
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
            run.method.n_outputs, stream(run.seed, "body"), stream(run.seed, "head")
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

    def run_all(self, workplace: Workplace) -> int | None:
        """Train to the end; return the epoch in which the loss was not finite."""
        n = len(self.parts.train)
        while self.epoch < self.run.epochs:
            if not self.train_epoch(n, lambda done: self._report(workplace, done * n)):
                return self.epoch + 1
        return None

    def loss(self, index: Tensor) -> Tensor:
        """Return the mean loss of some states."""
        train = self.parts.train
        outputs = self.network(train.inputs(index))
        return self.run.method.loss(outputs, train.y[index]).mean()

    def note(self, loss: float) -> None:
        """Add a point to the curve when enough losses have come together."""
        self.total, self.n_batches = self.total + loss, self.n_batches + 1
        if self.n_batches == BATCHES_A_POINT:
            self.curve.append(float(f"{self.total / self.n_batches:.4g}"))
            self.total, self.n_batches = 0.0, 0

    def _report(self, workplace: Workplace, done: float) -> None:
        """Tell how much is done, in states that are trained on."""
        n_train, n_test = len(self.parts.train), len(self.parts.test)
        workplace.report(done / (self.run.epochs * n_train + TEST_COST * n_test))

    @torch.no_grad()
    def judged(self, workplace: Workplace) -> dict[str, float]:
        """Return the metrics on all test states, on the scale of [0, 1]."""
        test = self.parts.test
        sums: dict[str, float] = {}
        for some, outputs in self.outputs(test, STATES_AT_ONCE):
            y = test.y[some].double()
            error = self.run.method.predict(outputs).double() - y
            found = {"MAE": error.abs(), "MSE": error.square()}
            if isinstance(self.run.method, HLGauss):
                spread = Histogram(self.run.method.bins(0.0, 1.0), logits=outputs)
                found |= spread_scores(spread, y)
            for name, each in found.items():
                sums[name] = sums.get(name, 0.0) + each.double().sum().item()
            done = self.run.epochs * len(self.parts.train) + TEST_COST * some.stop
            self.save_if_due()
            self._report(workplace, done)
        means = {name: total / len(test) for name, total in sums.items()}
        means["RMSE"] = math.sqrt(means.pop("MSE"))
        return {f"test {name}": mean for name, mean in means.items()}

    def notes(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the curve so far, with what is to become its next point."""
        return {}, {
            "total": self.total,
            "n_batches": self.n_batches,
            "curve": self.curve,
        }

    def take(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:  # noqa: ARG002
        """Go on from what `notes` told."""
        check_parts(notes, {"total": (float, int), "n_batches": int, "curve": list})
        self.total, self.n_batches = notes["total"], notes["n_batches"]
        self.curve = notes["curve"]
