"""Adam over one vector of weights: torch's fused kernel, without its optimizer.

On the study's small networks ``torch.optim.Adam.step`` spends six times as long around
the kernel as in it, a tenth of a training step.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Adam:
    """Adam without weight decay.

    Parameters
    ----------
    weights, gradients : Tensors of shape (p,)
        Read and written in place.
    learning_rate : float
    epsilon : float
    """

    def __init__(
        self,
        weights: Tensor,
        gradients: Tensor,
        *,
        learning_rate: float,
        epsilon: float,
    ) -> None:
        self.weights, self.gradients = weights, gradients
        self.learning_rate, self.epsilon = learning_rate, epsilon
        self.state = {
            "mean": torch.zeros_like(weights),
            "mean_square": torch.zeros_like(weights),
            "n_steps": torch.zeros(()),
        }
        """All that a training needs to go on."""

    def step(self) -> None:
        """Change the weights by their gradients."""
        self.state["n_steps"] += 1
        # The function that torch.optim.Adam(fused=True) calls; a test holds it to that.
        torch._fused_adam_(
            [self.weights],
            [self.gradients],
            [self.state["mean"]],
            [self.state["mean_square"]],
            [],
            [self.state["n_steps"]],
            lr=self.learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )
