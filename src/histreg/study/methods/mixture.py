"""The mixture density network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import histreg
from histreg.study.methods.method import NetworkMethod

if TYPE_CHECKING:
    from torch import Tensor

    from histreg.study.methods.criteria.criterion import Criterion, Targets

SMALLEST_SIGMA = 1e-2  # of y scaled to [0, 1]


@dataclass(frozen=True)
class MDN(NetworkMethod):
    """A mixture of Gaussians, fitted by its likelihood; the prediction is its mean.

    Parameters
    ----------
    n_components : int
    """

    name: ClassVar[str] = "MDN"
    is_tuned: ClassVar[bool] = True
    n_components: int

    @property
    def n_outputs(self) -> int:
        """A weight, a mean and a spread for each component."""
        return 3 * self.n_components

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return negative log-likelihoods of y scaled to [0, 1]."""
        parameters = outputs.unflatten(-1, (3, -1))
        return histreg.losses.mdn(parameters, y, smallest_sigma=SMALLEST_SIGMA)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the means of the mixtures."""
        return histreg.losses.mdn_mean(outputs.unflatten(-1, (3, -1)))

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return likelihoods with their gradients in closed form."""
        from histreg.study.methods.criteria.mixture import MixtureLikelihoods

        return MixtureLikelihoods(methods, targets)
