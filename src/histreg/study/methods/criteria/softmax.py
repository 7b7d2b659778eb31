"""Criteria of other losses on a softmax over bins."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from histreg import losses
from histreg.study.methods.criteria.criterion import (
    Criterion,
    Scratch,
    Targets,
    divide_by_rows,
)
from histreg.study.methods.criteria.histograms import CrossEntropies
from histreg.study.methods.histograms import mean_of
from histreg.study.methods.softmax import OnSoftmax


class ThroughSoftmax(Criterion):
    """The losses of M equal methods, with gradients through the softmax."""

    def __init__(self, methods: Sequence[OnSoftmax], targets: Targets) -> None:
        self.method = methods[0]
        self.n_outputs = self.method.n_bins
        self.bins = self.method.bins(0.0, 1.0)
        self.centers = self.bins.centers.to(targets.dtype)
        self.targets = targets
        self.scaled = self.ordered = targets.scaled
        self.scratch = Scratch()

    def start_epoch(self, epoch: int, order: Tensor) -> None:  # noqa: ARG002
        """Sort the targets."""
        self.ordered = self.scaled.index_select(0, order)

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write the gradient through the softmax."""
        torch.softmax(outputs, dim=-1, out=out)
        y = self.ordered[batch].unsqueeze(-1)
        slope = self.scratch.like("slope", out)
        self.method.slope(out, y, self.centers, out=slope)
        _through_softmax(slope, out, self.scratch)

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return the mean losses."""
        y = self.ordered[batch].expand(outputs.shape[:-1])
        return self.method.loss(outputs, y).mean(dim=1)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the means of the histograms in original units."""
        low, high = self.targets.low, self.targets.high
        scaled = mean_of(outputs.double().softmax(dim=-1), self.bins)
        return low + scaled * (high - low)


class BrierScores(CrossEntropies):
    """The squared distances of M predicted histograms to their targets."""

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write the gradient through the softmax."""
        torch.softmax(outputs, dim=-1, out=out)
        slope = self.tables.of(batch, self.scratch.like("slope", out))
        torch.sub(out, slope, out=slope).mul_(2)
        _through_softmax(slope, out, self.scratch)

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return the mean squared distances."""
        return losses.brier(outputs, self.tables.of(batch)).mean(dim=1)

    def floor(self, batch: slice) -> Tensor:  # noqa: ARG002
        """Return 0."""
        return torch.zeros(())


def _through_softmax(slope: Tensor, probs: Tensor, scratch: Scratch) -> None:
    """Overwrite probs h with h (s - <h, s>) / batch size, where s is the slope."""
    products = torch.mul(probs, slope, out=scratch.like("products", probs))
    probs.mul_(slope.sub_(products.sum(dim=-1, keepdim=True)))
    divide_by_rows(probs)
