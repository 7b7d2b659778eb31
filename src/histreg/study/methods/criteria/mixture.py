"""The criterion of mixture density networks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from histreg.study.methods.criteria.criterion import ByAutograd
from histreg.study.methods.mixture import SMALLEST_SIGMA


class MixtureLikelihoods(ByAutograd):
    """The likelihoods of M mixtures with equally many components.

    With r the posterior probabilities of the components given y, the derivatives are
    the weights minus r, and r times the derivatives of each component's own likelihood.
    Autograd takes four times as long.
    """

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write the gradient in closed form."""
        # Rows in the last dimension: contiguous, and three times as fast.
        by_component = outputs.permute(2, 0, 1).unflatten(0, (3, -1)).contiguous()
        weights, means, spreads = by_component  # (c, M, b) each
        sigmas = F.softplus(spreads) + SMALLEST_SIGMA
        z = (self.ordered[batch] - means) / sigmas
        likelihoods = weights - z.square() / 2 - sigmas.log()  # logs, up to a constant
        posterior = likelihoods.softmax(dim=0)
        share = posterior / sigmas
        slopes = torch.cat(
            [
                weights.softmax(dim=0) - posterior,
                -share * z,
                share * (1 - z.square()) * spreads.sigmoid(),
            ]
        )  # (3 c, M, b)
        torch.div(slopes.permute(1, 2, 0), out.shape[1], out=out)
