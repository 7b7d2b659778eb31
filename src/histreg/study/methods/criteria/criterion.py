"""Criterion: the losses that a stack of networks minimises."""

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
        The declared range, which determines the scaling to [0, 1] and the bins.
    seed : int
        Seed of the runs, for noise that a method draws.
    dtype : torch.dtype
        Dtype in which gradients are computed.
    epochs : int
        Number of training epochs, for targets that change with the epoch.
    """

    y: Tensor
    low: float
    high: float
    seed: int
    dtype: torch.dtype = torch.float32
    epochs: int = 1

    @property
    def scaled(self) -> Tensor:  # (n,)
        """The targets scaled to [0, 1], for losses of a single output."""
        return ((self.y - self.low) / (self.high - self.low)).to(self.dtype)


class Criterion(ABC):
    """The losses of M networks with equally many outputs.

    An epoch visits the rows in some order; a batch is a slice of that order. Targets
    are therefore sorted once per epoch.
    """

    n_outputs: int

    @abstractmethod
    def start_epoch(self, epoch: int, order: Tensor) -> None:
        """Set the order, (n,) row numbers, in which an epoch visits the rows.

        Epochs count from 1. Epoch 0 is not part of the training: it prepares the losses
        for evaluating a network, without noise and with the final target.
        """

    @abstractmethod
    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write the gradient of the batch's mean loss with respect to the outputs.

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
        """Return the smallest possible `loss`, (M,) or a scalar; NaN if unknown."""
        return torch.tensor(math.nan)

    @abstractmethod
    def predict(self, outputs: Tensor) -> Tensor:
        """Return predictions in original units: (M, n, o) -> (M, n), float64."""


class ByAutograd(Criterion):
    """The criterion of any method, using autograd for one network after another.

    Autograd is used only up to the outputs; the backward pass of the network is
    written out.
    """

    def __init__(self, methods: Sequence[NetworkMethod], targets: Targets) -> None:
        self.methods = methods
        self.n_outputs = methods[0].n_outputs
        self.low, self.high = targets.low, targets.high
        self.scaled = targets.scaled  # (n,)
        self.ordered = self.scaled

    def start_epoch(self, epoch: int, order: Tensor) -> None:  # noqa: ARG002
        """Sort the targets."""
        self.ordered = self.scaled.index_select(0, order)

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write the gradient by autograd."""
        leaf = outputs.detach().requires_grad_()
        with torch.enable_grad():
            total = self._losses(leaf, batch).sum()
        out.copy_(torch.autograd.grad(total, leaf)[0])

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return the mean loss of each network."""
        return self._losses(outputs, batch)

    def _losses(self, outputs: Tensor, batch: slice) -> Tensor:
        y = self.ordered[batch]
        pairs = zip(self.methods, outputs, strict=True)
        return torch.stack([method.loss(output, y).mean() for method, output in pairs])

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the predictions of the methods."""
        pairs = zip(self.methods, outputs.double(), strict=True)
        scaled = torch.stack([method.predict(output) for method, output in pairs])
        return self.low + scaled * (self.high - self.low)


class Scratch:
    """Tensors for intermediates, kept from batch to batch: new memory costs more."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, torch.Size], Tensor] = {}

    def like(self, name: str, x: Tensor) -> Tensor:
        """Return a contiguous tensor of the shape of x, with any values."""
        key = name, x.shape
        if key not in self._kept:
            self._kept[key] = x.new_empty(x.shape)
        return self._kept[key]


def divide_by_rows(slopes: Tensor) -> None:
    """Divide (M, b, ...) by b in place."""
    b = slopes.shape[1]
    if b & (b - 1):
        slopes.div_(b)
    else:  # the same numbers in half the time, as 1 / b is exact
        slopes.mul_(1 / b)


def noise(targets: Targets, epoch: int) -> Tensor:
    """Return one standard normal draw per position in an epoch's order: (n,)."""
    generator = generator_for(targets.seed, "noise", epoch)
    return torch.randn(len(targets.y), generator=generator).to(targets.dtype)
