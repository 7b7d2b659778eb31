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
        parameters = outputs.permute(2, 0, 1).contiguous()  # (3 c, M, b)
        weights, means, spreads = parameters.chunk(3)  # (c, M, b) each
        sigmas = F.softplus(spreads).add_(SMALLEST_SIGMA)
        z = (means - self.ordered[batch]).div_(sigmas)
        squares = z.square()
        # Logs, up to a constant.
        likelihoods = torch.sub(weights, squares, alpha=0.5).sub_(sigmas.log())
        posterior = likelihoods.softmax(dim=0)
        share = posterior / sigmas
        # Over the parameters, which are not needed any more.
        torch.softmax(weights, dim=0, out=weights).sub_(posterior)
        torch.mul(share, z, out=means)
        spreads.sigmoid_().mul_(share.mul_(1 - squares))
        torch.div(parameters.permute(1, 2, 0), out.shape[1], out=out)
