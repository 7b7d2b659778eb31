"""Training of a single network, which can be resumed after any batch."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from histreg import metrics
from histreg.distribution import Histogram
from histreg.study.engine.checkpoints import Checkpoint, check_like, restoring
from histreg.study.engine.runs import check_parts
from histreg.study.engine.seeding import generator_for

COVERAGES = (0.8, 0.9)


class HasInputs(Protocol):
    """Samples whose inputs are computed when they are needed."""

    def __len__(self) -> int: ...

    def inputs(self, index: slice, /) -> Tensor:
        """Return the inputs of some samples."""


class NetworkTraining(ABC):
    """A network in training, whose state can be saved after any batch.

    Parameters
    ----------
    network : Module
    optimizer : Optimizer
        Optimizer of all its weights, in one group.
    checkpoint : Checkpoint or None
    seed : int
        Seed of the order of the rows, which differs in each epoch.
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
        self.epoch, self.batch = 0, 0  # completed; batches of the current epoch

    @abstractmethod
    def loss(self, index: Tensor) -> Tensor:
        """Return the mean loss of some rows."""

    @abstractmethod
    def record_loss(self, loss: float) -> None:
        """Record the loss of a batch."""

    @abstractmethod
    def extra_state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return additional state to continue from: tensors, and JSON values."""

    @abstractmethod
    def restore_extra_state(
        self, tensors: dict[str, Tensor], notes: dict[str, Any]
    ) -> None:
        """Restore the state that `extra_state` returned."""

    def train_epoch(self, n: int, report: Callable[[float], None]) -> bool:
        """Train the rest of an epoch over n rows; return whether all losses are finite.

        After each batch ``report`` is called with the number of epochs done. If it
        raises, the training ends; its state is in the checkpoint, if that was due.
        """
        order = torch.randperm(
            n, generator=generator_for(self.seed, "order", self.epoch + 1)
        )
        batches = order.split(self.batch_size)
        self.network.train()
        for index in batches[self.batch :]:
            loss = self.step(index)
            if not math.isfinite(loss):
                return False
            self.record_loss(loss)
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
    def outputs(
        self, samples: HasInputs, at_once: int
    ) -> Iterator[tuple[slice, Tensor]]:
        """Yield the outputs of the network, for ``at_once`` samples at a time."""
        self.network.eval()
        for start in range(0, len(samples), at_once):
            some = slice(start, min(start + at_once, len(samples)))
            yield some, self.network(samples.inputs(some))

    def save_if_due(self) -> None:
        """Save the state to continue from, if a checkpoint is due."""
        if self.checkpoint is None or not self.checkpoint.is_due():
            return
        more, notes = self.extra_state()
        tensors = {f"now.{k}": v for k, v in self.network.state_dict().items()} | more
        for i, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{i}.{k}": v for k, v in state.items()}
        # The current epoch, counted from 1: 0 means that there is no checkpoint.
        where = {"epoch": self.epoch + 1, "batch": self.batch}
        self.checkpoint.save(
            {k: v.contiguous() for k, v in tensors.items()}, {**where, **notes}
        )

    def restore(self, epochs: int) -> None:
        """Continue from the checkpoint of a training of ``epochs``, if there is one."""
        saved = None if self.checkpoint is None else self.checkpoint.load()
        if self.checkpoint is not None and saved is not None:
            with restoring(self.checkpoint):
                self._restore(*saved, epochs)

    def _restore(
        self, tensors: dict[str, Tensor], notes: dict[str, Any], epochs: int
    ) -> None:
        check_parts(notes, {"epoch": int, "batch": int})
        # One more than there are: a network that is being evaluated.
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
        self.restore_extra_state(tensors, notes)


def under(folder: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names start with a prefix, without the prefix."""
    start = f"{folder}."
    return {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}


def spread_scores(spread: Histogram, y: Tensor) -> dict[str, Tensor]:
    """Return the CRPS of each histogram, and whether its intervals contain y."""
    scores = {"CRPS": metrics.crps(spread, y)}
    for level in COVERAGES:
        low, high = spread.interval(level)
        scores[f"coverage {level:g}"] = ((low <= y) & (y <= high)).double()
    return scores
