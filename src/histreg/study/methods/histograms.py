"""Histogram losses: cross-entropy against HL-Gauss and similar targets.

Targets and bins are in original units, in which the borders are exact for the study's
data sets. All targets of Pole lie on borders; if they were scaled to [0, 1], rounding
would decide on which side they fall.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import histreg
from histreg._checks import check_fraction
from histreg.study.methods.method import NetworkMethod

if TYPE_CHECKING:
    from torch import Tensor

    from histreg.bins import Bins
    from histreg.study.methods.criteria.criterion import Criterion, Targets
    from histreg.targets import Target


class OnHistogram(NetworkMethod):
    """Logits over bins; the prediction is the mean over their centers.

    Parameters
    ----------
    n_bins : int
        Including those of the padding.
    padding_in_bins : float
        Padding on each side.
    """

    n_bins: int
    padding_in_bins: float

    @property
    def n_outputs(self) -> int:
        """One logit per bin."""
        return self.n_bins

    def bins(self, low: float, high: float) -> Bins:
        """Return the bins for targets of this range."""
        return histreg.Bins.around(
            low,
            high,
            n_bins=self.n_bins,
            sigma_in_bins=1.0,
            padding_in_sigmas=self.padding_in_bins,
        )

    def predict(self, outputs: Tensor) -> Tensor:
        """Return means on the scale [0, 1]."""
        return mean_of(outputs.softmax(dim=-1), self.bins(0.0, 1.0))


def mean_of(probs: Tensor, bins: Bins) -> Tensor:
    """Return the mean of the histogram of softmax probs: (..., k) -> (...)."""
    # Relative to the middle, to reduce the effect of rounding in the sum of probs.
    middle = (bins.low + bins.high) / 2
    return middle + probs @ (bins.centers - middle).to(probs)


class HistogramLossMethod(OnHistogram):
    """Cross-entropy against a histogram of y."""

    @property
    @abstractmethod
    def target(self) -> Target:
        """The target that turns y into a histogram."""

    def target_probs(self, y: Tensor, bins: Bins) -> Tensor:
        """Return the target of each y: (...) -> (..., k)."""
        return self.target.probs(y, bins)

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropies."""
        probs = self.target_probs(y.double(), self.bins(0.0, 1.0))
        return histreg.losses.histogram_loss(outputs, probs.to(outputs))

    @property
    def group(self) -> tuple[object, ...]:
        """Methods with equally many bins are trained together, with any target."""
        return ("cross-entropy", self.n_bins)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return cross-entropies in closed form."""
        from histreg.study.methods.criteria.histograms import CrossEntropies

        return CrossEntropies(methods, targets)


@dataclass(frozen=True)
class HLGauss(HistogramLossMethod):
    """Cross-entropy against a truncated Gaussian around y.

    Parameters
    ----------
    sigma_in_bins : float
    """

    name: ClassVar[str] = "HL-Gauss"
    sigma_in_bins: float = 1.0
    n_bins: int = 100
    padding_in_bins: float = 10.0

    @property
    def target(self) -> Target:
        """The Gaussian, never tilted: the study's bins are of equal width."""
        return histreg.targets.GaussianTarget(sigma_in_bins=self.sigma_in_bins)


@dataclass(frozen=True)
class HLGaussAnnealed(HLGauss):
    """Cross-entropy against a Gaussian whose sigma decays geometrically.

    Parameters
    ----------
    sigma_in_bins : float
        Sigma after the annealing.
    first_sigma_in_bins : float
        Sigma of the first epoch.
    annealed_share : float
        Fraction of the epochs in which sigma decays; it is constant afterwards.
    """

    name: ClassVar[str] = "HL-Gauss+Annealing"
    first_sigma_in_bins: float = 8.0
    annealed_share: float = 0.2

    def __post_init__(self) -> None:
        check_fraction("annealed_share", self.annealed_share)

    def at(self, epoch: int, epochs: int) -> HLGauss:
        """Return the method of an epoch, counted from 1; 0 stands for the last."""
        n_annealed = max(1, round(self.annealed_share * epochs))
        done = 1.0 if epoch == 0 else min(1.0, (epoch - 1) / n_annealed)
        ratio = self.sigma_in_bins / self.first_sigma_in_bins
        sigma = self.first_sigma_in_bins * ratio**done
        return HLGauss(sigma, self.n_bins, self.padding_in_bins)

    @property
    def group(self) -> tuple[object, ...]:
        """Trained apart from methods with constant targets."""
        return (self.name, self.n_bins)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return cross-entropies against targets that change with the epoch."""
        from histreg.study.methods.criteria.histograms import AnnealedCrossEntropies

        return AnnealedCrossEntropies(methods, targets)


@dataclass(frozen=True)
class HLOneBin(HistogramLossMethod):
    """Cross-entropy against the bin of y.

    Parameters
    ----------
    shift_in_bins : float
        Upward shift of all bins. With half a bin, the targets of Pole lie on centers
        instead of borders.
    """

    name: ClassVar[str] = "HL-OneBin"
    shift_in_bins: float = 0.0
    n_bins: int = 100
    padding_in_bins: float = 10.0

    def bins(self, low: float, high: float) -> Bins:
        """Return the shifted bins."""
        bins = super().bins(low, high)
        shift = self.shift_in_bins * bins.width
        return histreg.Bins.uniform(bins.low + shift, bins.high + shift, self.n_bins)

    @property
    def target(self) -> Target:
        """One-hot vectors."""
        return histreg.targets.OneBinTarget()


@dataclass(frozen=True)
class HLUniform(HistogramLossMethod):
    """Cross-entropy against the bin of y, mixed with a uniform distribution.

    Parameters
    ----------
    epsilon : float
        The weight of the uniform distribution.
    """

    name: ClassVar[str] = "HL-Uniform"
    epsilon: float
    n_bins: int = 100
    padding_in_bins: float = 10.0

    @property
    def target(self) -> Target:
        """The mixture."""
        return histreg.targets.UniformTarget(self.epsilon)


@dataclass(frozen=True)
class HLProjected(HistogramLossMethod):
    """Cross-entropy against y split between its two nearest centers."""

    name: ClassVar[str] = "HL-Projected"
    n_bins: int = 100
    padding_in_bins: float = 10.0

    @property
    def target(self) -> Target:
        """Two-hot vectors."""
        return histreg.targets.ProjectedTarget()
