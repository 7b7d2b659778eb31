"""The mixture density network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from histreg import losses
from histreg.study.methods.method import (
    ByAutograd,
    Criterion,
    NetworkMethod,
    Targets,
)

SMALLEST_SIGMA = 1e-2  # of y scaled to [0, 1]


@dataclass(frozen=True)
class MDN(NetworkMethod):
    """A mixture of Gaussians by its likelihood; the prediction is its mean.

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
        """Return negative log-likelihoods, of y scaled to [0, 1]."""
        parameters = outputs.unflatten(-1, (3, -1))
        return losses.mdn(parameters, y, smallest_sigma=SMALLEST_SIGMA)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the means of the mixtures."""
        return losses.mdn_mean(outputs.unflatten(-1, (3, -1)))

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return likelihoods with their gradients in closed form."""
        return MixtureLikelihoods(methods, targets)


class MixtureLikelihoods(ByAutograd):
    """The likelihoods of M mixtures of equally many components.

    With r the probability that y came from each component, the derivatives are the
    weights minus r, and r times those of each component's own likelihood. Autograd
    takes four times as long.
    """

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write the gradient in closed form."""
        # Rows last, so that what follows is contiguous: three times as fast.
        by_component = outputs.permute(2, 0, 1).unflatten(0, (3, -1)).contiguous()
        weights, means, spreads = by_component  # (c, M, b) each
        sigmas = F.softplus(spreads) + SMALLEST_SIGMA
        z = (self.ordered[batch] - means) / sigmas
        likelihoods = weights - z.square() / 2 - sigmas.log()  # logs, but a constant
        came_from = likelihoods.softmax(dim=0)
        share = came_from / sigmas
        slopes = torch.cat(
            [
                weights.softmax(dim=0) - came_from,
                -share * z,
                share * (1 - z.square()) * spreads.sigmoid(),
            ]
        )  # (3 c, M, b)
        torch.div(slopes.permute(1, 2, 0), out.shape[1], out=out)
