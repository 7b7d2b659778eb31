"""Criteria of l2 with auxiliary tasks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from histreg.study.methods.auxiliary import L2Moments, L2MultiTask, powers
from histreg.study.methods.criteria.criterion import Criterion, Targets
from histreg.study.methods.criteria.histograms import CrossEntropies
from histreg.study.methods.criteria.numbers import SquaredErrors
from histreg.study.methods.numbers import L2


class BothLosses(Criterion):
    """The squared errors plus the weighted histogram losses of M networks."""

    def __init__(self, methods: Sequence[L2MultiTask], targets: Targets) -> None:
        self.n_outputs = methods[0].n_outputs
        self.squared = SquaredErrors([L2() for _ in methods], targets)
        self.entropies = CrossEntropies(
            [method.histogram for method in methods], targets
        )
        weights = [method.weight for method in methods]
        self.weights = torch.tensor(weights, dtype=targets.dtype)  # (M,)

    def start_epoch(self, epoch: int, order: Tensor) -> None:
        """Sort the targets of both losses."""
        self.squared.start_epoch(epoch, order)
        self.entropies.start_epoch(epoch, order)

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write both gradients side by side."""
        self.squared.gradient(outputs[..., :1], batch, out[..., :1])
        logits = out[..., 1:]
        self.entropies.gradient(outputs[..., 1:], batch, logits)
        logits.mul_(self.weights[:, None, None])

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return the weighted sums of both losses."""
        squared = self.squared.loss(outputs[..., :1], batch)
        return squared + self.weights * self.entropies.loss(outputs[..., 1:], batch)

    def floor(self, batch: slice) -> Tensor:
        """Return the weighted entropies of the targets."""
        return self.weights * self.entropies.floor(batch)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the first outputs in original units."""
        return self.squared.predict(outputs[..., :1])


class SquaredErrorsOfPowers(SquaredErrors):
    """The squared errors of M networks, summed over the powers of y."""

    def __init__(self, methods: Sequence[L2Moments], targets: Targets) -> None:
        super().__init__([L2()], targets)
        self.n_outputs = methods[0].n_moments
        self.powers = self.ordered = powers(self.scaled, self.n_outputs)  # (n, m)

    def start_epoch(self, epoch: int, order: Tensor) -> None:
        """Sort the powers."""
        super().start_epoch(epoch, order)
        self.ordered = self.powers.index_select(0, order)

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write twice the errors, divided by the number of rows."""
        torch.sub(outputs, self.ordered[batch], out=out)
        out.mul_(2 / out.shape[1])

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return sums over the powers, averaged over the rows."""
        return (outputs - self.ordered[batch]).square().sum(dim=-1).mean(dim=1)
