"""The mixture density network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from histreg import losses
from histreg.study.methods.method import NetworkMethod


@dataclass(frozen=True)
class MDN(NetworkMethod):
    """A mixture of Gaussians by its likelihood; the prediction is its mean.

    Parameters
    ----------
    n_components : int
    """

    name: ClassVar[str] = "MDN"
    n_components: int = 8

    @property
    def n_outputs(self) -> int:
        """A weight, a mean and a spread for each component."""
        return 3 * self.n_components

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return negative log-likelihoods, of y scaled to [0, 1]."""
        return losses.mdn(outputs.unflatten(-1, (3, -1)), y)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the means of the mixtures."""
        return losses.mdn_mean(outputs.unflatten(-1, (3, -1)))
