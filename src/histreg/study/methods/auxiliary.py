"""l2 with auxiliary tasks, whose outputs are learnt but not used for prediction.

They separate the benefit of a histogram as a prediction from its benefit as an
auxiliary task.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import histreg
from histreg._checks import check_count
from histreg.errors import InputError
from histreg.study.methods.histograms import HLGauss
from histreg.study.methods.method import NetworkMethod

if TYPE_CHECKING:
    from torch import Tensor

    from histreg.study.methods.criteria.criterion import Criterion, Targets


@dataclass(frozen=True)
class L2MultiTask(NetworkMethod):
    """The squared error of one output, plus HL-Gauss on additional logits.

    Parameters
    ----------
    weight : float
        Weight of the HL-Gauss loss.
    """

    name: ClassVar[str] = "l2+HL-Gauss"
    weight: float = field()
    n_bins: int = 100
    padding_in_bins: float = 10.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise InputError(
                f"weight must be finite and non-negative, got {self.weight}"
            )

    @property
    def histogram(self) -> HLGauss:
        """The auxiliary task."""
        return HLGauss(n_bins=self.n_bins, padding_in_bins=self.padding_in_bins)

    @property
    def n_outputs(self) -> int:
        """One for the prediction, followed by the logits."""
        return 1 + self.n_bins

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the weighted sum of both losses."""
        squared = histreg.losses.l2(outputs[..., 0], y)
        return squared + self.weight * self.histogram.loss(outputs[..., 1:], y)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the first output; the histogram is not used."""
        return outputs[..., 0]

    @property
    def group(self) -> tuple[object, ...]:
        """Methods with the same bins are trained together, with any weights."""
        return (self.name, self.n_bins, self.padding_in_bins)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return both losses in closed form."""
        from histreg.study.methods.criteria.auxiliary import BothLosses

        return BothLosses(methods, targets)


@dataclass(frozen=True)
class L2Moments(NetworkMethod):
    """The squared errors of the powers of y, with y scaled to [0, 1].

    Parameters
    ----------
    n_moments : int
        Number of powers; 1 is l2.
    """

    name: ClassVar[str] = "l2+Moments"
    n_moments: int = field()

    def __post_init__(self) -> None:
        check_count("n_moments", self.n_moments, at_least=1)

    @property
    def n_outputs(self) -> int:
        """One per power."""
        return self.n_moments

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the sums of squared errors over the powers."""
        return histreg.losses.l2(outputs, powers(y, self.n_moments)).sum(dim=-1)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the first output; the others are not used."""
        return outputs[..., 0]

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return the sums in closed form."""
        from histreg.study.methods.criteria.auxiliary import SquaredErrorsOfPowers

        return SquaredErrorsOfPowers(methods, targets)


def powers(y: Tensor, n: int) -> Tensor:
    """Return y, y^2, ..., y^n: (...) -> (..., n)."""
    import torch

    return y.unsqueeze(-1) ** torch.arange(1, n + 1)
