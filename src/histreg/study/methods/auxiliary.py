"""l2 with auxiliary tasks: more to learn, of which one number alone is used.

They separate what a histogram brings as a prediction from what it brings as something
else to learn about y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from histreg import losses
from histreg._checks import check_count
from histreg.errors import InputError
from histreg.study.methods.histograms import CrossEntropies, HLGauss
from histreg.study.methods.method import Criterion, NetworkMethod, Targets
from histreg.study.methods.numbers import L2, SquaredErrors


@dataclass(frozen=True)
class L2MultiTask(NetworkMethod):
    """The squared error of one output, and HL-Gauss on logits beside it.

    Parameters
    ----------
    weight : float
        Of HL-Gauss.
    """

    name: ClassVar[str] = "l2+HL-Gauss"
    weight: float = field()
    n_bins: int = 100
    padding_in_bins: float = 10.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise InputError(
                f"weight must be finite and not below 0, got {self.weight}"
            )

    @property
    def histogram(self) -> HLGauss:
        """The auxiliary task."""
        return HLGauss(n_bins=self.n_bins, padding_in_bins=self.padding_in_bins)

    @property
    def n_outputs(self) -> int:
        """A number, then the logits."""
        return 1 + self.n_bins

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the weighted sums of both losses."""
        squared = losses.l2(outputs[..., 0], y)
        return squared + self.weight * self.histogram.loss(outputs[..., 1:], y)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the number; the histogram is not used."""
        return outputs[..., 0]

    @property
    def group(self) -> tuple[object, ...]:
        """All weights over the same bins are trained as one."""
        return (self.name, self.n_bins, self.padding_in_bins)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return both losses in closed form."""
        return BothLosses(methods, targets)


class BothLosses(Criterion):
    """The squared errors of M networks, and their weighted histogram losses."""

    def __init__(self, methods: Sequence[L2MultiTask], targets: Targets) -> None:
        self.n_outputs = methods[0].n_outputs
        self.squared = SquaredErrors([L2() for _ in methods], targets)
        self.entropies = CrossEntropies([each.histogram for each in methods], targets)
        weights = [each.weight for each in methods]
        self.weights = torch.tensor(weights, dtype=targets.dtype)  # (M,)

    def start_epoch(self, epoch: int, order: Tensor) -> None:
        """Put the targets of both in order."""
        self.squared.start_epoch(epoch, order)
        self.entropies.start_epoch(epoch, order)

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write both gradients side by side."""
        self.squared.gradient(outputs[..., :1], batch, out[..., :1])
        logits = out[..., 1:]
        self.entropies.gradient(outputs[..., 1:], batch, logits)
        logits.mul_(self.weights[:, None, None])

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return the weighted sums."""
        squared = self.squared.loss(outputs[..., :1], batch)
        return squared + self.weights * self.entropies.loss(outputs[..., 1:], batch)

    def floor(self, batch: slice) -> Tensor:
        """Return the weighted entropies of the targets."""
        return self.weights * self.entropies.floor(batch)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the numbers in original units."""
        return self.squared.predict(outputs[..., :1])


@dataclass(frozen=True)
class L2Moments(NetworkMethod):
    """The squared errors of y, y squared and so on, of y scaled to [0, 1].

    Parameters
    ----------
    n_moments : int
        How many powers; 1 is l2.
    """

    name: ClassVar[str] = "l2+Moments"
    n_moments: int = field()

    def __post_init__(self) -> None:
        check_count("n_moments", self.n_moments, at_least=1)

    @property
    def n_outputs(self) -> int:
        """One for each power."""
        return self.n_moments

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return sums of squared errors."""
        return losses.l2(outputs, _powers(y, self.n_moments)).sum(dim=-1)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the first; the others are not used."""
        return outputs[..., 0]

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return the sums in closed form."""
        return SquaredErrorsOfPowers(methods, targets)


class SquaredErrorsOfPowers(SquaredErrors):
    """The squared errors of M networks in powers of y, summed."""

    def __init__(self, methods: Sequence[L2Moments], targets: Targets) -> None:
        super().__init__([L2()], targets)
        self.n_outputs = methods[0].n_moments
        self.powers = self.ordered = _powers(self.scaled, self.n_outputs)  # (n, m)

    def start_epoch(self, epoch: int, order: Tensor) -> None:
        """Put the powers in order."""
        super().start_epoch(epoch, order)
        self.ordered = self.powers[order]

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write twice the errors over the number of rows."""
        torch.sub(outputs, self.ordered[batch], out=out)
        out.mul_(2 / out.shape[1])

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return sums over the powers, means over the rows."""
        return (outputs - self.ordered[batch]).square().sum(dim=-1).mean(dim=1)


def _powers(y: Tensor, n: int) -> Tensor:
    """Return y, y^2, ..., y^n: (...) -> (..., n)."""
    return y.unsqueeze(-1) ** torch.arange(1, n + 1)
