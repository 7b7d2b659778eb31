"""Methods with one output: l2, l1, and l2 with noise or clipped gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from histreg import losses
from histreg.study.methods.method import Criterion, NetworkMethod, Targets, noise


class OnNumber(NetworkMethod):
    """One linear output against y scaled to [0, 1]."""

    noise_sd: float = 0.0

    @property
    def n_outputs(self) -> int:
        """One."""
        return 1

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the output."""
        return outputs[..., 0]


class SquaredErrors(Criterion):
    """The squared errors of M networks, each with its own noise on the targets."""

    n_outputs = 1

    def __init__(self, methods: Sequence[OnNumber], targets: Targets) -> None:
        self.targets = targets
        self.scaled = targets.scaled
        sd = torch.tensor([method.noise_sd for method in methods], dtype=targets.dtype)
        self.noise_sd = sd[:, None] if bool(sd.any()) else None  # (M, 1)
        self.clean = self.noisy = self.scaled[None]

    def start_epoch(self, epoch: int, order: Tensor) -> None:
        """Put the targets in order, and draw noise for what is a training epoch."""
        self.clean = self.noisy = self.scaled[order][None]  # (1, n)
        if self.noise_sd is not None and epoch:
            # One draw for all networks: they differ in its size alone.
            self.noisy = self.clean + self.noise_sd * noise(self.targets, epoch)

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write twice the errors over their number."""
        torch.sub(outputs[..., 0], self.noisy[:, batch], out=out[..., 0])
        out.mul_(2 / out.shape[1])

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return mean squared errors, without the noise."""
        return (outputs[..., 0] - self.clean[:, batch]).square().mean(dim=1)

    def floor(self, batch: slice) -> Tensor:  # noqa: ARG002
        """Return 0."""
        return torch.zeros(())

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the outputs in original units."""
        low, high = self.targets.low, self.targets.high
        return low + outputs[..., 0].double() * (high - low)


class AbsoluteErrors(SquaredErrors):
    """The absolute errors of M networks."""

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write the signs of the errors over their number."""
        torch.sub(outputs[..., 0], self.noisy[:, batch], out=out[..., 0])
        out.sign_().div_(out.shape[1])

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return mean absolute errors."""
        return (outputs[..., 0] - self.clean[:, batch]).abs().mean(dim=1)


@dataclass(frozen=True)
class L2(OnNumber):
    """The squared error."""

    name: ClassVar[str] = "l2"

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return squared errors."""
        return losses.l2(outputs[..., 0], y)

    @property
    def group(self) -> tuple[object, ...]:
        """All kinds of l2 are trained as one."""
        return ("l2",)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return squared errors in closed form."""
        return SquaredErrors(methods, targets)


@dataclass(frozen=True)
class L2Noise(L2):
    """The squared error against targets with fresh Gaussian noise at each step.

    Parameters
    ----------
    noise_sd : float
        For y scaled to [0, 1].
    """

    name: ClassVar[str] = "l2+Noise"
    is_tuned: ClassVar[bool] = True
    noise_sd: float = field()  # without the default of other methods


@dataclass(frozen=True)
class L2Clipping(L2):
    """The squared error, the gradient of all weights together clipped to a norm."""

    name: ClassVar[str] = "l2+Clipping"
    is_tuned: ClassVar[bool] = True
    max_gradient_norm: float = field()


@dataclass(frozen=True)
class L1(OnNumber):
    """The absolute error."""

    name: ClassVar[str] = "l1"

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return absolute errors."""
        return losses.l1(outputs[..., 0], y)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return absolute errors in closed form."""
        return AbsoluteErrors(methods, targets)
