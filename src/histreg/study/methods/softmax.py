"""Other losses on a softmax over bins: of its mean, per bin, and the Brier score.

They separate the effect of the softmax from that of the cross-entropy. It is not known
which of them the paper ran as "l2+Softmax": the minimiser of its formula,
`L2SoftmaxPerBin`, has the wrong mean.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import histreg
from histreg.study.methods.histograms import HLGauss, OnHistogram

if TYPE_CHECKING:
    from torch import Tensor

    from histreg.study.methods.criteria.criterion import Criterion, Targets


class OnSoftmax(OnHistogram):
    """A loss of y and the probabilities, on the scale [0, 1]."""

    @abstractmethod
    def slope(self, probs: Tensor, y: Tensor, centers: Tensor, *, out: Tensor) -> None:
        """Write the derivative with respect to the probabilities, per sample.

        Parameters
        ----------
        probs : Tensor of shape (M, b, k)
        y : Tensor of shape (b, 1)
        centers : Tensor of shape (k,)
        out : Tensor of shape (M, b, k)
        """

    @property
    def group(self) -> tuple[object, ...]:
        """Methods with the same loss and bins are trained together."""
        return (type(self).__name__, self.n_bins, self.padding_in_bins)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return the losses with gradients in closed form."""
        from histreg.study.methods.criteria.softmax import ThroughSoftmax

        return ThroughSoftmax(methods, targets)


@dataclass(frozen=True)
class L2SoftmaxMean(OnSoftmax):
    """The squared error of the histogram's mean."""

    name: ClassVar[str] = "l2+Softmax+Mean"
    n_bins: int = 100
    padding_in_bins: float = 10.0

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return squared errors of the mean."""
        return histreg.losses.softmax_mean_l2(outputs, y, self.bins(0.0, 1.0))

    def slope(self, probs: Tensor, y: Tensor, centers: Tensor, *, out: Tensor) -> None:
        """Write 2 (mean - y) c."""
        import torch

        error = (probs @ centers).unsqueeze(-1) - y  # (M, b, 1)
        torch.mul(error.mul_(2), centers, out=out)


@dataclass(frozen=True)
class L1SoftmaxMean(OnSoftmax):
    """The absolute error of the histogram's mean, which the paper suggests."""

    name: ClassVar[str] = "l1+Softmax+Mean"
    n_bins: int = 100
    padding_in_bins: float = 10.0

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return absolute errors of the mean."""
        return histreg.losses.softmax_mean_l1(outputs, y, self.bins(0.0, 1.0))

    def slope(self, probs: Tensor, y: Tensor, centers: Tensor, *, out: Tensor) -> None:
        """Write the sign of the error, times c."""
        import torch

        error = (probs @ centers).unsqueeze(-1) - y  # (M, b, 1)
        torch.mul(error.sign_(), centers, out=out)


@dataclass(frozen=True)
class L2SoftmaxPerBin(OnSoftmax):
    """The paper's l2+Softmax, literally as its formula says; kept for reference."""

    name: ClassVar[str] = "l2+Softmax (per bin)"
    n_bins: int = 100
    padding_in_bins: float = 10.0

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the sums of squared errors over the bins."""
        return histreg.losses.softmax_per_bin_l2(outputs, y, self.bins(0.0, 1.0))

    def slope(self, probs: Tensor, y: Tensor, centers: Tensor, *, out: Tensor) -> None:
        """Write 2 c (h c - y)."""
        import torch

        torch.mul(probs, centers, out=out).sub_(y).mul_(2 * centers)


@dataclass(frozen=True)
class Brier(HLGauss):
    """The squared distance to the HL-Gauss target instead of the cross-entropy."""

    name: ClassVar[str] = "Brier"

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return squared distances."""
        probs = self.target_probs(y.double(), self.bins(0.0, 1.0))
        return histreg.losses.brier(outputs, probs.to(outputs))

    @property
    def group(self) -> tuple[object, ...]:
        """Trained apart from cross-entropies."""
        return ("Brier", self.n_bins)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return the distances with gradients in closed form."""
        from histreg.study.methods.criteria.softmax import BrierScores

        return BrierScores(methods, targets)
