"""An agent that learns values by a histogram: DQN on CartPole, its loss exchanged.

    pip install gymnasium
    python examples/value_learning.py [--loss l2]

How large returns become is not known when learning starts: the bins begin at [-1, 1],
and grow to whatever the agent achieves, without forgetting what it has learnt. Lines
marked (1) to (5) are all that differs from a DQN with the squared error.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from histreg import Bins, HistogramHead, HistogramLoss

GAMMA, BATCH, STEPS, WARM_UP, COPY_EVERY = 0.99, 64, 20_000, 500, 250


def body(n_inputs: int) -> nn.Sequential:
    """Return two hidden layers."""
    layers = [nn.Linear(n_inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()]
    return nn.Sequential(*layers)


class Numbers(nn.Module):
    """A value for each action, and the squared error."""

    def __init__(self, n_inputs: int, n_actions: int) -> None:
        super().__init__()
        self.body, self.head = body(n_inputs), nn.Linear(128, n_actions)

    def forward(self, x: Tensor) -> Tensor:  # (b, n_inputs) -> (b, n_actions)
        """Return values."""
        return self.head(self.body(x))

    def loss(self, x: Tensor, action: Tensor, y: Tensor) -> Tensor:
        """Return how far the values of the actions taken are from y."""
        return F.mse_loss(self(x)[torch.arange(len(y)), action], y)


class Histograms(Numbers):
    """A histogram of the return for each action, and the histogram loss."""

    def __init__(self, n_inputs: int, n_actions: int) -> None:
        super().__init__(n_inputs, n_actions)
        self.head = HistogramHead(128, Bins.uniform(-1, 1, 51), n_targets=n_actions)
        self._loss = HistogramLoss(self.head.bins)

    def forward(self, x: Tensor) -> Tensor:
        """Return the means."""
        return self.head.distribution(self.body(x)).mean

    def loss(self, x: Tensor, action: Tensor, y: Tensor) -> Tensor:
        """Return the loss, over bins that reach around y."""
        self.head.rebin(self.head.bins.grown(y))
        self._loss.rebin(self.head.bins)
        logits = self.head(self.body(x))[torch.arange(len(y)), action]
        return self._loss(logits, y)
