"""Criteria of histogram losses: cross-entropies against tables of targets."""

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
from histreg.study.methods.histograms import (
    HistogramLossMethod,
    HLGauss,
    HLGaussAnnealed,
    mean_of,
)


class TargetTables:
    """The target vectors of M methods, computed once for each distinct y."""

    def __init__(
        self, methods: Sequence[HistogramLossMethod], targets: Targets
    ) -> None:
        self.bins = [method.bins(targets.low, targets.high) for method in methods]
        self.dtype = targets.dtype
        self.distinct, codes = targets.y.unique(return_inverse=True)  # (u,), (n,)
        self.codes = self.ordered = codes
        self.fill(methods)

    def fill(self, methods: Sequence[HistogramLossMethod]) -> None:
        """Compute the tables for these methods; the bins must stay the same."""
        tables = [
            method.target_probs(self.distinct, bins).to(self.dtype)  # (u, k)
            for method, bins in zip(methods, self.bins, strict=True)
        ]
        self.tables = torch.stack(tables)  # (M, u, k)

    def start_epoch(self, order: Tensor) -> None:
        """Sort the codes of the targets."""
        self.ordered = self.codes.index_select(0, order)

    def of(self, batch: slice, out: Tensor | None = None) -> Tensor:  # (M, b, k)
        """Return the target vectors of a batch."""
        return torch.index_select(self.tables, 1, self.ordered[batch], out=out)


class CrossEntropies(Criterion):
    """The histogram losses of M networks, each with its own target."""

    def __init__(
        self, methods: Sequence[HistogramLossMethod], targets: Targets
    ) -> None:
        self.n_outputs = methods[0].n_bins
        self.tables = TargetTables(methods, targets)
        self.scratch = Scratch()

    def start_epoch(self, epoch: int, order: Tensor) -> None:  # noqa: ARG002
        """Sort the targets."""
        self.tables.start_epoch(order)

    def gradient(self, outputs: Tensor, batch: slice, out: Tensor) -> None:
        """Write the softmax minus the target, divided by the number of rows."""
        torch.softmax(outputs, dim=-1, out=out)
        out.sub_(self.tables.of(batch, self.scratch.like("targets", out)))
        divide_by_rows(out)

    def loss(self, outputs: Tensor, batch: slice) -> Tensor:
        """Return the mean cross-entropies."""
        return losses.histogram_loss(outputs, self.tables.of(batch)).mean(dim=1)

    def floor(self, batch: slice) -> Tensor:
        """Return the mean entropies of the targets."""
        return torch.special.entr(self.tables.of(batch)).sum(dim=-1).mean(dim=1)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the means of the histograms."""
        pairs = zip(outputs.double().softmax(dim=-1), self.tables.bins, strict=True)
        return torch.stack([mean_of(probs, bins) for probs, bins in pairs])


class AnnealedCrossEntropies(CrossEntropies):
    """The histogram losses of M networks with annealed targets."""

    def __init__(self, methods: Sequence[HLGaussAnnealed], targets: Targets) -> None:
        super().__init__(methods, targets)
        self.methods, self.epochs = methods, targets.epochs
        self.current: Sequence[HLGauss] = methods

    def start_epoch(self, epoch: int, order: Tensor) -> None:
        """Sort the targets, after recomputing them if sigma has changed."""
        current = [method.at(epoch, self.epochs) for method in self.methods]
        if current != self.current:
            self.current = current
            self.tables.fill(current)
        super().start_epoch(epoch, order)
