"""Network runs: one network, trained by itself, that can go on from any batch."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Tensor, nn

from histreg import metrics
from histreg.distribution import Histogram
from histreg.study.engine.runs import Outcome, Run, Workplace, check_parts
from histreg.study.engine.seeding import stream
from histreg.study.methods import method_of
from histreg.study.tabular.trainer import Checkpoint, check_like, restoring

COVERAGES = (0.8, 0.9)


class NetworkRun(Run):
    """A network of its own, a method, a seed and a number of epochs."""

    numbers: ClassVar[tuple[str, ...]]
    """The fields that are numbers of the protocol, in the order they are told."""

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> Self:
        """Return the run that `to_json` described."""
        known = {k: v for k, v in description.items() if k != "kind"}
        known["method"] = method_of(known["method"])
        return cls(**known)

    def for_epochs(self, epochs: int) -> Self:
        """Return the same with another number of epochs, at most."""
        return replace(self, epochs=epochs)  # type: ignore[type-var]

    @property
    def changed_numbers(self) -> list[str]:
        """Those that differ from the protocol, in words."""
        usual = {each.name: each.default for each in fields(self)}  # type: ignore[arg-type]
        now = {name: getattr(self, name) for name in self.numbers}
        return [
            f"{name.removeprefix('n_').replace('_', ' ')} {_shown(value)}"
            for name, value in now.items()
            if value != usual[name]
        ]

    @abstractmethod
    def trained(self, workplace: Workplace, checkpoint: Checkpoint | None) -> Outcome:
        """Train and judge the network."""

    @classmethod
    def compute(cls, runs: Sequence[NetworkRun], workplace: Workplace) -> list[Outcome]:
        """Train and judge each."""
        kept: Sequence[Checkpoint | None] = workplace.checkpoints
        kept = kept or [None] * len(runs)
        return [
            run.trained(workplace, checkpoint)
            for run, checkpoint in zip(runs, kept, strict=True)
        ]


class Rows(Protocol):
    """What a network can be asked about."""

    def __len__(self) -> int: ...

    def inputs(self, index: slice, /) -> Tensor:
        """Return the inputs of some."""


class NetworkTraining(ABC):
    """A network in training; where it is can be kept after any batch.

    Parameters
    ----------
    network : Module
    optimizer : Optimizer
        Of all its weights, in one group.
    checkpoint : Checkpoint or None
    seed : int
        Of the order of the rows, another in each epoch.
    batch_size : int
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        checkpoint: Checkpoint | None,
        *,
        seed: int,
        batch_size: int,
    ) -> None:
        self.network, self.optimizer, self.checkpoint = network, optimizer, checkpoint
        self.seed, self.batch_size = seed, batch_size
        self.epoch, self.batch = 0, 0  # that are done, the latter of this epoch

    @abstractmethod
    def loss(self, index: Tensor) -> Tensor:
        """Return the mean loss of some rows."""

    @abstractmethod
    def note(self, loss: float) -> None:
        """Take down the loss of a batch."""

    @abstractmethod
    def notes(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return what else is needed to go on: tensors, and what JSON can hold."""

    @abstractmethod
    def take(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        """Go on from what `notes` told."""

    def train_epoch(self, n: int, report: Callable[[float], None]) -> bool:
        """Train the rest of an epoch over n rows; return whether all losses are finite.

        After each batch ``report`` is told how many epochs are done; what it raises
        ends the training, which then is in the checkpoint, if that was due.
        """
        order = torch.randperm(n, generator=stream(self.seed, "order", self.epoch + 1))
        batches = order.split(self.batch_size)
        self.network.train()
        for index in batches[self.batch :]:
            loss = self.step(index)
            if not math.isfinite(loss):
                return False
            self.note(loss)
            self.batch += 1
            self.save_if_due()
            report(self.epoch + self.batch / len(batches))
        self.epoch, self.batch = self.epoch + 1, 0
        return True

    def step(self, index: Tensor) -> float:
        """Take one step of the optimiser on some rows; return their loss."""
        loss = self.loss(index)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def outputs(self, rows: Rows, at_once: int) -> Iterator[tuple[slice, Tensor]]:
        """Yield what the network makes of rows, so many at a time."""
        self.network.eval()
        for start in range(0, len(rows), at_once):
            some = slice(start, min(start + at_once, len(rows)))
            yield some, self.network(rows.inputs(some))

    def save_if_due(self) -> None:
        """Keep all that is needed to go on, if it is time."""
        if self.checkpoint is None or not self.checkpoint.is_due():
            return
        more, notes = self.notes()
        tensors = {f"now.{k}": v for k, v in self.network.state_dict().items()} | more
        for i, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{i}.{k}": v for k, v in state.items()}
        # The epoch that it is in, so that it is told from none.
        where = {"epoch": self.epoch + 1, "batch": self.batch}
        self.checkpoint.save(
            {k: v.contiguous() for k, v in tensors.items()}, {**where, **notes}
        )

    def restore(self, epochs: int) -> None:
        """Go on from the checkpoint, if there is one, of a training of these epochs."""
        found = None if self.checkpoint is None else self.checkpoint.load()
        if self.checkpoint is not None and found is not None:
            with restoring(self.checkpoint):
                self._restore(*found, epochs)

    def _restore(
        self, tensors: dict[str, Tensor], notes: dict[str, Any], epochs: int
    ) -> None:
        check_parts(notes, {"epoch": int, "batch": int})
        # One more than there are: a network that is being judged.
        if not 1 <= notes["epoch"] <= epochs + 1 or notes["batch"] < 0:
            raise ValueError(
                f"batch {notes['batch']} of epoch {notes['epoch']}, of {epochs}"
            )
        self.network.load_state_dict(under("now", tensors))
        weights = list(self.network.parameters())
        by_weight: dict[int, dict[str, Tensor]] = {}
        for name, value in under("adam", tensors).items():
            i, _, key = name.partition(".")
            like = weights[int(i)].detach()
            # In the layout of the weights, which a file does not keep.
            if key != "step":
                check_like(name, value, like)
                value = torch.empty_like(like).copy_(value)
            by_weight.setdefault(int(i), {})[key] = value
        moments = {"step", "exp_avg", "exp_avg_sq"}
        if set(by_weight) != set(range(len(weights))) or any(
            set(state) != moments for state in by_weight.values()
        ):
            raise ValueError("the state of the optimizer is not that of all weights")
        state = self.optimizer.state_dict()
        self.optimizer.load_state_dict({**state, "state": by_weight})
        self.epoch, self.batch = notes["epoch"] - 1, notes["batch"]
        self.take(tensors, notes)


def under(folder: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names begin with a word, without it."""
    start = f"{folder}."
    return {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}


def spread_scores(spread: Histogram, y: Tensor) -> dict[str, Tensor]:
    """Return the CRPS of each histogram, and whether its intervals hold y."""
    found = {"CRPS": metrics.crps(spread, y)}
    for level in COVERAGES:
        low, high = spread.interval(level)
        found[f"coverage {level:g}"] = ((low <= y) & (y <= high)).double()
    return found


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
