"""Criterion: what a stack of networks is trained for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from histreg.study.engine.seeding import generator_for
from histreg.study.methods.method import NetworkMethod


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets that a stack is trained on.

    Parameters
    ----------
    y : Tensor of shape (n,), float64
        In original units.
    low, high : float
        The declared range, which scales y to [0, 1] and places the bins.
    seed : int
        Of the runs, for what a method draws itself.
    dtype : torch.dtype
        In which gradients are computed.
    epochs : int
        Of the training, for what changes while it lasts.
    """

    y: Tensor
    low: float
    high: float
    seed: int
    dtype: torch.dtype = torch.float32
    epochs: int = 1

    @property
    def scaled(self) -> Tensor:  # (n,)
        """The targets on the scale on which losses on one number are taken."""
        return ((self.y - self.low) / (self.high - self.low)).to(self.dtype)


class Criterion(ABC):
    """What M networks of equally many outputs are trained for.

    An epoch visits the rows in some order; a batch is a slice of that order. What
    belongs to the rows is therefore sorted once per epoch.
    """

    n_outputs: int

    @abstractmethod
    def start_epoch(self, epoch: int, order: Tensor) -> None:
        """Take the order, (n,) row numbers, in which an epoch visits the rows.

        Epochs count from 1. Epoch 0 is not part of the training: it prepares for the
        losses by which a network is evaluated, without noise and of the final target.
        """

    @abstractmethod
    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write the gradient of the batch's mean loss in the outputs.

        Parameters
        ----------
        outputs : Tensor of shape (M, b, o)
        batch : slice of the epoch's order
        out : Tensor of shape (M, b, o)
        """

    @abstractmethod
    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return the mean loss over a batch: (M, b, o) -> (M,)."""

    def floor(self, batch: slice) -> Tensor:  # noqa: ARG002
        """Return the smallest possible `loss`, (M,) or one for all; NaN if unknown."""
        return torch.tensor(math.nan)

    @abstractmethod
    def predict(self, outputs: Tensor) -> Tensor:
        """Return predictions in original units: (M, n, o) -> (M, n), float64."""


class ByAutograd(Criterion):
    """The criterion of any method, by its loss and autograd, one network after another.

    Autograd sees the outputs alone; the network's own backward pass is by hand.
    """

    def __init__(self, methods: Sequence[NetworkMethod], targets: Targets) -> None:
        self.methods = methods
        self.n_outputs = methods[0].n_outputs
        self.low, self.high = targets.low, targets.high
        self.scaled = targets.scaled  # (n,)
        self.ordered = self.scaled

    def start_epoch(self, epoch: int, order: Tensor) -> None:  # noqa: ARG002
        """Put the targets in order."""
        self.ordered = self.scaled[order]

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write the gradient by autograd."""
        leaf = outputs.detach().requires_grad_()
        with torch.enable_grad():
            total = self._losses(leaf, batch).sum()
        out.copy_(torch.autograd.grad(total, leaf)[0])

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return the mean losses."""
        return self._losses(outputs, batch)

    def _losses(self, outputs: Tensor, batch: slice) -> Tensor:
        y = self.ordered[batch]
        pairs = zip(self.methods, outputs, strict=True)
        return torch.stack([method.loss(each, y).mean() for method, each in pairs])

    def predict(self, outputs: Tensor) -> Tensor:
        """Return what the methods predict."""
        pairs = zip(self.methods, outputs.double(), strict=True)
        scaled = torch.stack([method.predict(each) for method, each in pairs])
        return self.low + scaled * (self.high - self.low)


def noise(targets: Targets, epoch: int) -> Tensor:
    """Return one standard normal draw for each place of an epoch's order: (n,)."""
    generator = generator_for(targets.seed, "noise", epoch)
    return torch.randn(len(targets.y), generator=generator).to(targets.dtype)
