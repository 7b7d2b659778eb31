"""Criteria of methods with one output."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from histreg.study.methods.criteria.criterion import (
    Criterion,
    Targets,
    divide_by_rows,
    noise,
)
from histreg.study.methods.numbers import OnNumber


class SquaredErrors(Criterion):
    """The squared errors of M networks, each with its own noise level."""

    n_outputs = 1

    def __init__(self, methods: Sequence[OnNumber], targets: Targets) -> None:
        self.targets = targets
        self.scaled = targets.scaled
        sd = torch.tensor([method.noise_sd for method in methods], dtype=targets.dtype)
        self.noise_sd = sd[:, None] if bool(sd.any()) else None  # (M, 1)
        self.clean = self.noisy = self.scaled[None]

    def start_epoch(self, epoch: int, order: Tensor) -> None:
        """Sort the targets, and draw noise if it is a training epoch."""
        self.clean = self.noisy = self.scaled.index_select(0, order)[None]  # (1, n)
        if self.noise_sd is not None and epoch:
            # One draw for all networks: only the noise level differs.
            self.noisy = self.clean + self.noise_sd * noise(self.targets, epoch)

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write twice the errors, divided by the number of rows."""
        torch.sub(outputs[..., 0], self.noisy[:, batch], out=out[..., 0])
        out.mul_(2 / out.shape[1])

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return the mean squared errors, without noise."""
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
        """Write the signs of the errors, divided by the number of rows."""
        torch.sub(outputs[..., 0], self.noisy[:, batch], out=out[..., 0])
        divide_by_rows(out.sign_())

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return the mean absolute errors."""
        return (outputs[..., 0] - self.clean[:, batch]).abs().mean(dim=1)
