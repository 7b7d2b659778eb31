"""Gradients of a training step: by autograd, or written out for the default networks.

A step of small networks takes autograd much longer than its products: every operation
makes a node and new memory. `WrittenOut` computes the same gradients with a third of
the operations, in buffers that are used again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from histreg.tabular.networks import (
    Stack,
    StackedLinear,
    TabularBody,
    dropout_mask,
    dropout_scale,
)
from histreg.tabular.training_rows import TrainingRows

MOST_SIZES = 4  # of batches that buffers are kept for

Rows = TrainingRows[tuple[Tensor, ...]]


class Measure(NamedTuple):
    """Loss, score and error of a network, per model and sample."""

    loss: Callable[..., Tensor]  # outputs (M, n, ...), *TrainingRows.targets -> (M, n)
    score: Callable[..., Tensor]  # the same signature; epochs are judged by it
    error: Callable[..., Tensor]  # the same signature; it is reported
    loss_with_gradient: Callable[..., tuple[Tensor, Tensor]] | None = None
    """(outputs, y) -> losses, and their gradients in the outputs, if they are known."""


class Gradients(Protocol):
    """Computes the gradients of a step."""

    def __call__(self, batch: Rows, is_training: Tensor) -> Tensor:
        """Set the gradients of all trained parameters.

        Parameters
        ----------
        batch : TrainingRows of b rows
        is_training : Tensor of shape (M, b), bool
            Which of them each model is trained on.

        Returns
        -------
        Tensor of shape (M,)
            The mean loss of each model.
        """


def gradients_of(
    network: Stack,
    rows: Rows,
    measure: Measure,
    generator: torch.Generator | None,
) -> Gradients:
    """Return what computes the gradients of a network: written out if it can be.

    Parameters
    ----------
    network : Stack
    rows : TrainingRows
        Batches are of their kind.
    measure : Measure
    generator : Generator, optional
        For dropout.
    """
    body = network.body
    if (
        measure.loss_with_gradient is not None
        and rows.other_end is None
        and isinstance(body, TabularBody)
        and body.number_embedding is None
        and body.activation == "relu"
        and network.readout.weight.device.type == "cpu"
    ):
        return WrittenOut(network, body, measure.loss_with_gradient, generator)
    return ByAutograd(network, measure.loss, generator)


def weighted_mean(values: Tensor, weight: Tensor) -> Tensor:
    """Return the mean over the last dimension, 0 where all weights are 0."""
    return (values * weight).sum(dim=-1) / _total(weight)


def _total(weight: Tensor) -> Tensor:
    total = weight.sum(dim=-1)
    return total.where(total > 0, 1)


class ByAutograd:
    """Gradients of any network and loss."""

    def __init__(
        self,
        network: Stack,
        loss: Callable[..., Tensor],
        generator: torch.Generator | None,
    ) -> None:
        self._network = network
        self._loss = loss
        self._generator = generator

    def __call__(self, batch: Rows, is_training: Tensor) -> Tensor:
        """Set the gradients, see `Gradients`."""
        outputs = self._network(*batch.inputs, generator=self._generator)
        losses = self._loss(outputs, *batch.targets)  # (M, b)
        # Divided by the number of rows, not by the sum of weights, so that a row counts
        # the same whichever rows share its batch.
        mean = weighted_mean(losses * batch.weight, is_training)  # (M,)
        self._network.zero_grad()
        mean.sum().backward()
        return mean.detach()


class WrittenOut:
    """Gradients of perceptrons with ReLU, by the chain rule.

    Parameters
    ----------
    network : Stack
        With ``body``. If only its readout is trained, only that gets a gradient.
    body : TabularBody
        Without a learnt embedding of numbers.
    loss_with_gradient : callable
        See `Measure`.
    generator : Generator, optional
        For dropout; its numbers are those that ``network`` draws.
    """

    def __init__(
        self,
        network: Stack,
        body: TabularBody,
        loss_with_gradient: Callable[..., tuple[Tensor, Tensor]],
        generator: torch.Generator | None,
    ) -> None:
        self._network, self._body = network, body
        self._loss_with_gradient = loss_with_gradient
        self._generator = generator
        layers: list[StackedLinear] = [*body.layers, network.readout]
        self._layers = layers
        is_trained = [layer.weight.requires_grad for layer in layers]
        self._first_trained = is_trained.index(True)
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter)
        self._scale = dropout_scale(body.dropout)
        self._buffers: dict[int, _Buffers] = {}

    @torch.no_grad()
    def __call__(self, batch: Rows, is_training: Tensor) -> Tensor:
        """Set the gradients, see `Gradients`."""
        buffers = self._buffers_for(len(batch))
        inputs = self._features(*batch.inputs)  # (M, b, i)
        below = [inputs, *buffers.hidden]  # what each layer reads
        last = len(self._layers) - 1
        for i, layer in enumerate(self._layers):
            out = buffers.outputs if i == last else below[i + 1]
            torch.baddbmm(layer.bias, below[i], layer.weight, out=out)
            if i < last:
                torch.relu_(out)
                if self._body.dropout:
                    p, shape, device = self._body.dropout, out.shape[-2:], out.device
                    out *= dropout_mask(shape, p, device, generator=self._generator)
        losses, slope = self._loss_with_gradient(
            buffers.outputs.unflatten(-1, self._network.shape), *batch.targets
        )  # (M, b), (M, b, m, o)
        # Of the mean over rows, as in `ByAutograd`.
        share = is_training * batch.weight / _total(is_training).unsqueeze(-1)
        slope = slope.flatten(2).mul_(share.unsqueeze(-1))  # (M, b, m o)
        for i in range(last, self._first_trained - 1, -1):
            layer = self._layers[i]
            _layer_gradient(below[i], slope, layer)
            if i > self._first_trained:
                slope = self._slope_below(i, slope, below[i], buffers)
        if self._first_trained == 0 and self._body.label_embedding is not None:
            self._label_gradients(slope, batch.inputs[1])
        return (losses * share).sum(dim=-1)

    def _features(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Return what the first layer reads: (b, d), (b, c) -> (M, b, i)."""
        numbers = self._body.waves(numbers)  # (b, d (1 + 2 w))
        of_models = numbers.expand(self._body.n_models, *numbers.shape)
        if self._body.label_embedding is None:
            return of_models
        return torch.cat([of_models, self._body.label_embedding(codes)], dim=-1)

    def _slope_below(
        self, i: int, slope: Tensor, hidden: Tensor, buffers: _Buffers
    ) -> Tensor:
        """Return the derivative below the ReLU and dropout under a layer."""
        below = buffers.slopes[i - 1]
        torch.bmm(slope, self._layers[i].weight.mT, out=below)
        # Positive is what neither the ReLU nor dropout has set to zero.
        torch.ops.aten.threshold_backward.grad_input(below, hidden, 0, grad_input=below)
        return below.mul_(self._scale) if self._body.dropout else below

    def _label_gradients(self, slope: Tensor, codes: Tensor) -> None:
        """Set the gradients of the vectors of labels, from the first layer's."""
        embedding = self._body.label_embedding
        assert embedding is not None
        weight = self._layers[0].weight[:, -embedding.width :]  # (M, e, h)
        slopes = torch.bmm(slope, weight.mT)  # (M, b, e)
        widths = [table.shape[-1] for table in embedding.tables]
        for i, (table, part) in enumerate(
            zip(embedding.tables, slopes.split(widths, dim=-1), strict=True)
        ):
            assert table.grad is not None
            table.grad.zero_().index_add_(1, codes[:, i], part)

    def _buffers_for(self, n: int) -> _Buffers:
        if n not in self._buffers:
            if len(self._buffers) == MOST_SIZES:
                self._buffers.clear()
            self._buffers[n] = _Buffers(self._layers, n)
        return self._buffers[n]


class _Buffers:
    """Memory for a batch of n rows."""

    def __init__(self, layers: list[StackedLinear], n: int) -> None:
        def new(layer: StackedLinear) -> Tensor:
            m, _, n_out = layer.weight.shape
            return layer.weight.new_empty(m, n, n_out)

        self.hidden = [new(layer) for layer in layers[:-1]]
        self.slopes = [new(layer) for layer in layers[:-1]]
        self.outputs = new(layers[-1])


def _layer_gradient(below: Tensor, slope: Tensor, layer: StackedLinear) -> None:
    """Set the gradients of a layer: (M, b, i), (M, b, o) -> (M, i, o), (M, 1, o)."""
    weight, bias = layer.weight.grad, layer.bias.grad
    assert weight is not None
    assert bias is not None
    torch.bmm(below.mT, slope, out=weight)
    torch.sum(slope, dim=1, keepdim=True, out=bias)
