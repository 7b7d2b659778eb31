"""Value runs: two losses on a network that predicts the return of a player of Atari."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from histreg import metrics
from histreg._checks import check_choice, check_count, check_positive
from histreg.distribution import Histogram
from histreg.study.convolutions import Convolutions
from histreg.study.datasets import game
from histreg.study.methods import L1, L2, HLGauss, method_of
from histreg.study.replays import replay_of
from histreg.study.runs import Outcome, Run, Workplace
from histreg.study.states import TARGETS, Parts, States, parts_of
from histreg.study.streams import stream
from histreg.study.trainer import Checkpoint

N_FRAMES = 250_000
"""Of the files that are easily had; the full ones have forty times as many."""
CHANGEABLE = ("n_frames", "epochs", "learning_rate", "batch_size")
S_A_FRAME = 1.3e-3
"""Seconds of one busy core to train on a frame, with its part of replay and test."""
COVERAGES = (0.8, 0.9)
STATES_AT_ONCE = 128  # that are judged together
TEST_COST = 1 / 3  # of a state, where training on one is 1
BATCHES_A_POINT = 200  # of the curve of the training loss


@dataclass(frozen=True)
class ValueRun(Run):
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

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> ValueRun:
        """Return the run that `to_json` described."""
        known = {k: v for k, v in description.items() if k != "kind"}
        known["method"] = method_of(known["method"])
        return cls(**known)

    def moved_to(self, dataset: str) -> ValueRun:
        """Return the same on another game."""
        return replace(self, dataset=game(dataset).name)

    def for_epochs(self, epochs: int) -> ValueRun:
        """Return the same with another number of passes."""
        return replace(self, epochs=epochs)

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
        usual = ValueRun(self.dataset, self.method, self.seed)
        told += [
            f"{name.removeprefix('n_').replace('_', ' ')} {getattr(self, name):,}"
            for name in CHANGEABLE
            if getattr(self, name) != getattr(usual, name)
        ]
        return told

    @property
    def stack(self) -> tuple[object, ...]:
        """Each by itself, those of one game in a row: they read the same frames."""
        return (self.kind, self.dataset, self.key)

    @property
    def expected_s(self) -> float:
        """By the number of frames, alike for all games, which keeps them in a row."""
        return self.epochs * self.n_frames * S_A_FRAME

    @classmethod
    def compute(cls, runs: Sequence[ValueRun], workplace: Workplace) -> list[Outcome]:
        """Train and judge each."""
        kept: Sequence[Checkpoint | None] = workplace.checkpoints
        kept = kept or [None] * len(runs)
        return [
            _computed(run, workplace, checkpoint)
            for run, checkpoint in zip(runs, kept, strict=True)
        ]


def _computed(
    run: ValueRun, workplace: Workplace, checkpoint: Checkpoint | None
) -> Outcome:
    replay = replay_of(
        game(run.dataset),
        workplace.data_dir,
        n_frames=run.n_frames,
        report=lambda: workplace.report(0.0),
    )
    parts = parts_of(game(run.dataset).title, replay, run.target)
    training = _Training(run, parts, checkpoint)
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


class _Training:
    """A network, its optimiser, and how far they are.

    Parameters
    ----------
    run : ValueRun
    parts : Parts
    checkpoint : Checkpoint or None
    """

    def __init__(
        self, run: ValueRun, parts: Parts, checkpoint: Checkpoint | None
    ) -> None:
        self.run, self.parts, self.checkpoint = run, parts, checkpoint
        self.network = Convolutions(
            run.method.n_outputs, stream(run.seed, "body"), stream(run.seed, "head")
        )
        self.optimizer = torch.optim.Adam(
            self.network.parameters(),
            lr=run.learning_rate,
            eps=1e-7,  # Keras's, which the authors ran with
            fused=True,
        )
        self.epoch, self.batch = 0, 0  # that are done, the latter of this epoch
        self.total, self.n_batches = 0.0, 0  # of the losses of a point of the curve
        self.curve: list[float] = []
        self._restore()

    def run_all(self, workplace: Workplace) -> int | None:
        """Train to the end; return the epoch in which the loss was not finite."""
        while self.epoch < self.run.epochs:
            if not self._train_epoch(workplace):
                return self.epoch + 1
            self.epoch, self.batch = self.epoch + 1, 0
        return None

    def _train_epoch(self, workplace: Workplace) -> bool:
        """Train the rest of an epoch; return whether the loss stayed finite."""
        run, train = self.run, self.parts.train
        drawn = torch.randperm(
            len(train), generator=stream(run.seed, "order", self.epoch + 1)
        )
        order = drawn.split(run.batch_size)
        for index in order[self.batch :]:
            outputs = self.network(train.inputs(index))
            loss = run.method.loss(outputs, train.y[index]).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self._note(loss.item())
            if not math.isfinite(self.total):
                return False
            self.batch += 1
            done = self.epoch + self.batch / len(order)
            self._tell(workplace, done * len(train))
        return True

    def _note(self, loss: float) -> None:
        self.total, self.n_batches = self.total + loss, self.n_batches + 1
        if self.n_batches == BATCHES_A_POINT:
            self.curve.append(float(f"{self.total / self.n_batches:.4g}"))
            self.total, self.n_batches = 0.0, 0

    def _tell(self, workplace: Workplace, done: float) -> None:
        """Save if it is time, then report, which may end the work."""
        if self.checkpoint is not None and self.checkpoint.is_due():
            self.checkpoint.save(*self._state())
        n_train, n_test = len(self.parts.train), len(self.parts.test)
        workplace.report(done / (self.run.epochs * n_train + TEST_COST * n_test))

    @torch.no_grad()
    def judged(self, workplace: Workplace) -> dict[str, float]:
        """Return the metrics on all test states, on the scale of [0, 1]."""
        test = self.parts.test
        sums: dict[str, float] = {}
        for some, outputs in _outputs(self.network, test):
            y = test.y[some].double()
            error = self.run.method.predict(outputs).double() - y
            found = {"MAE": error.abs(), "MSE": error.square()}
            if isinstance(self.run.method, HLGauss):
                spread = Histogram(self.run.method.bins(0.0, 1.0), logits=outputs)
                found["CRPS"] = metrics.crps(spread, y)
                for level in COVERAGES:
                    low, high = spread.interval(level)
                    found[f"coverage {level:g}"] = ((low <= y) & (y <= high)).double()
            for name, each in found.items():
                sums[name] = sums.get(name, 0.0) + each.double().sum().item()
            done = self.run.epochs * len(self.parts.train) + TEST_COST * some.stop
            self._tell(workplace, done)
        means = {name: total / len(test) for name, total in sums.items()}
        means["RMSE"] = math.sqrt(means.pop("MSE"))
        return {f"test {name}": mean for name, mean in means.items()}

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {f"now.{k}": v for k, v in self.network.state_dict().items()}
        for i, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{i}.{k}": v for k, v in state.items()}
        notes = {
            "epoch": self.epoch + 1,  # that it is in, so that it is told from none
            "batch": self.batch,
            "total": self.total,
            "n_batches": self.n_batches,
            "curve": self.curve,
        }
        return {k: v.contiguous() for k, v in tensors.items()}, notes

    def _restore(self) -> None:
        found = None if self.checkpoint is None else self.checkpoint.load()
        if found is None:
            return
        tensors, notes = found
        self.network.load_state_dict(_under("now", tensors))
        by_parameter: dict[int, dict[str, Tensor]] = {}
        for name, value in _under("adam", tensors).items():
            i, _, key = name.partition(".")
            # In the layout of the weights, which a file does not keep.
            if value.dim() == 4:
                value = value.contiguous(memory_format=torch.channels_last)
            by_parameter.setdefault(int(i), {})[key] = value
        state = self.optimizer.state_dict()
        self.optimizer.load_state_dict({**state, "state": by_parameter})
        self.epoch, self.batch = notes["epoch"] - 1, notes["batch"]
        self.total, self.n_batches = notes["total"], notes["n_batches"]
        self.curve = notes["curve"]


@torch.no_grad()
def _outputs(network: Convolutions, states: States) -> Iterator[tuple[slice, Tensor]]:
    """Yield what a network makes of states, some at a time."""
    for start in range(0, len(states), STATES_AT_ONCE):
        some = slice(start, min(start + STATES_AT_ONCE, len(states)))
        yield some, network(states.inputs(some))


def _under(folder: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names begin with a word, without it."""
    start = f"{folder}."
    return {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}
