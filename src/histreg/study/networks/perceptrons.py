"""Perceptrons: M networks of one shape as a stack, with a hand-written backward pass.

The first layer is one wide product ``x @ (d, M h)``; the others are batched. All
weights lie in one vector, which one fused step of Adam updates, and all results go into
buffers that are reused: autograd takes 1.3 to 2 times as long on these small networks.

The networks of the paper for Pole, Bike and CT have the same numbers to the bit in any
stack, so that a record can be reproduced alone; other widths may round differently.
Three things ensure that, at 1 % of the time: every layer begins at a multiple of
`ALIGNMENT` in the vector, column sums over the stack are matrix products, and single
outputs are computed one network at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from operator import itemgetter

import torch
from torch import Tensor

from histreg.study.networks.products import Products, fastest

ALIGNMENT = 64
"""Numbers: a multiple of what vector instructions take at once. Kernels treat the
numbers before and after the last whole vector differently, in the last bit."""


@dataclass(frozen=True)
class Shape:
    """The shape of a stack.

    Parameters
    ----------
    n_inputs : int
    hidden : tuple of int
        Widths of the hidden layers, all equal.
    outputs : tuple of (int, int)
        For each group of models with equally many outputs: number of models, number of
        outputs.
    slope : float
        Slope of the leaky ReLU below zero; 0 for the plain ReLU.
    """

    n_inputs: int
    hidden: tuple[int, ...]
    outputs: tuple[tuple[int, int], ...]
    slope: float = 0.0

    @property
    def n_models(self) -> int:
        """M, over all groups."""
        return sum(n for n, _ in self.outputs)

    @property
    def groups(self) -> list[slice]:
        """The models of each group."""
        return _slices_of(n for n, _ in self.outputs)

    @property
    def heads(self) -> list[tuple[int, int]]:
        """Number of models and outputs of neighbouring groups with as many outputs.

        They share one product, which is cheaper than one of each group.
        """
        return [
            (sum(n for n, _ in same), n_outputs)
            for n_outputs, same in groupby(self.outputs, key=itemgetter(1))
        ]


def _slices_of(lengths: Iterable[int]) -> list[slice]:
    """Return consecutive slices of these lengths."""
    return [slice(a, b) for a, b in pairwise(accumulate(lengths, initial=0))]


class Weights:
    """Views into one vector: weights and biases of every layer of every model."""

    def __init__(self, shape: Shape, flat: Tensor | None = None) -> None:
        m, width = shape.n_models, shape.hidden[0]
        sizes: list[tuple[int, ...]] = [(shape.n_inputs, m * width), (1, m * width)]
        for _ in shape.hidden[1:]:
            sizes += [(m, width, width), (m, 1, width)]
        for n, n_outputs in shape.heads:
            sizes += [(n, width, n_outputs), (n, 1, n_outputs)]
        lengths = [math.prod(size) for size in sizes]
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + math.ceil(length / ALIGNMENT) * ALIGNMENT)
        n_numbers = starts.pop()
        self.flat = torch.zeros(n_numbers) if flat is None else flat
        views = [
            self.flat[start : start + length].view(size)
            for start, length, size in zip(starts, lengths, sizes, strict=True)
        ]
        pairs = list(zip(views[::2], views[1::2], strict=True))
        self.first = pairs[0]  # (d, M h), (1, M h)
        self.hidden = pairs[1 : len(shape.hidden)]  # (M, h, h), (M, 1, h)
        self.heads = pairs[len(shape.hidden) :]  # (M_o, h, o), (M_o, 1, o)
        self.hidden_transposed = [weight.transpose(1, 2) for weight, _ in self.hidden]
        self.heads_transposed = [weight.transpose(1, 2) for weight, _ in self.heads]
        self.of_heads = _slices_of(n for n, _ in shape.heads)  # models
        self.by_model = [
            view.view(-1, m, width).transpose(0, 1) for view in self.first
        ]  # (M, d, h), (M, 1, h)

    def of_model(self, i: int) -> list[tuple[Tensor, Tensor]]:
        """Return weights (inputs, outputs) and bias (1, outputs) of each layer."""
        head = next(
            (weight[i - some.start], bias[i - some.start])
            for some, (weight, bias) in zip(self.of_heads, self.heads, strict=True)
            if some.start <= i < some.stop
        )
        weight, bias = self.by_model
        hidden = [(weight[i], bias[i]) for weight, bias in self.hidden]
        return [(weight[i], bias[i]), *hidden, head]

    def vector_of(self, i: int) -> Tensor:
        """Return a copy of all weights of a model as one vector."""
        return torch.cat([part.flatten() for part in self._parts_of(i)])

    def put(self, i: int, vector: Tensor) -> None:
        """Set all weights of a model from `vector_of`."""
        _fill(self._parts_of(i), vector)

    def body_parts(self, i: int) -> list[Tensor]:
        """Return weights and biases of a model, except those of its head."""
        return self._parts_of(i)[:-2]

    def body_of(self, i: int) -> Tensor:
        """Return a copy of a model's weights, except its head, as one vector."""
        return torch.cat([part.flatten() for part in self.body_parts(i)])

    def put_body(self, i: int, vector: Tensor) -> None:
        """Set the body of a model from `body_of` of a model with any head."""
        _fill(self.body_parts(i), vector)

    def _parts_of(self, i: int) -> list[Tensor]:
        return [part for layer in self.of_model(i) for part in layer]


def _fill(parts: Sequence[Tensor], vector: Tensor) -> None:
    lengths = [part.numel() for part in parts]
    for part, values in zip(parts, vector.split(lengths), strict=True):
        part.copy_(values.view(part.shape))


class _Buffers:
    """Buffers for the results of a batch of some size."""

    def __init__(self, shape: Shape, n: int, weights: Weights) -> None:
        m, width, like = shape.n_models, shape.hidden[0], weights.flat
        self.first = like.new_empty(n, m * width)
        self.first_slope = like.new_empty(n, m * width)
        as_models = (n, m, width)
        self.activations = [self.first.view(as_models).transpose(0, 1)] + [
            like.new_empty(m, n, width) for _ in shape.hidden[1:]
        ]
        self.slopes = [self.first_slope.view(as_models).transpose(0, 1)] + [
            like.new_empty(m, n, width) for _ in shape.hidden[1:]
        ]
        # Derivatives above the activations, contiguous for products: below the first
        # layer copied to their slopes, elsewhere changed to them in place.
        self.upstream = [like.new_empty(m, n, width), *self.slopes[1:]]
        heads = _slices_of(k for k, _ in shape.heads)
        self.tops = [self.activations[-1][some] for some in heads]
        self.upstream_of_heads = [self.upstream[-1][some] for some in heads]
        self.ones = like.new_ones(1, n)
        self.heads = [like.new_empty(k, n, o) for k, o in shape.heads]
        self.head_slopes = [like.new_empty(k, n, o) for k, o in shape.heads]
        self.products_of_heads = [
            product
            for (weight, bias), top, out in zip(
                weights.heads, self.tops, self.heads, strict=True
            )
            # A batch of one column uses another kernel than a single column.
            for product in (
                [(bias, top, weight, out)]
                if out.shape[-1] > 1
                else zip(bias, top, weight, out, strict=True)
            )
        ]
        self.outputs = _by_group(self.heads, shape)
        self.output_slopes = _by_group(self.head_slopes, shape)


def _by_group(heads: Sequence[Tensor], shape: Shape) -> list[Tensor]:
    """Return views of the models of each group: (M_o, n, o) -> (M_g, n, o) each."""
    starts = [group.start for group in shape.groups]
    return [
        head[start - of_head.start : start - of_head.start + n]
        for start, (n, _) in zip(starts, shape.outputs, strict=True)
        for of_head, head in zip(
            _slices_of(k for k, _ in shape.heads), heads, strict=True
        )
        if of_head.start <= start < of_head.stop
    ]


class Perceptrons:
    """M multilayer perceptrons on the same rows.

    Parameters
    ----------
    shape : Shape
    dtype : torch.dtype
    """

    def __init__(self, shape: Shape, dtype: torch.dtype = torch.float32) -> None:
        self.shape = shape
        self.weights = Weights(shape)
        self.weights = Weights(shape, self.weights.flat.to(dtype))
        self.gradients = Weights(shape, torch.zeros_like(self.weights.flat))
        self._products: Products = fastest(shape.hidden[0])
        self._buffers: dict[int, _Buffers] = {}
        self._clipped: dict[int, tuple[Tensor, list[Tensor]]] = {}

    def forward(self, x: Tensor) -> list[Tensor]:
        """Return the outputs of each group: (n, d) -> (M_g, n, o) each.

        They stay valid until the next batch of the same size.
        """
        buffers = self._buffers_for(x)
        weight, bias = self.weights.first
        self._products.affine(bias, x, weight, out=buffers.first)
        _activate(buffers.first, self.shape.slope)
        below = buffers.activations[0]
        for (weight, bias), above in zip(
            self.weights.hidden, buffers.activations[1:], strict=True
        ):
            self._products.affine(bias, below, weight, out=above)
            _activate(above, self.shape.slope)
            below = above
        for bias, top, weight, out in buffers.products_of_heads:
            self._products.affine(bias, top, weight, out=out)
        return buffers.outputs

    def output_slopes(self, x: Tensor) -> list[Tensor]:
        """Return the buffers for output derivatives, to fill before `backward`."""
        return self._buffers_for(x).output_slopes

    def backward(self, x: Tensor) -> None:
        """Fill `gradients`, after `forward` and with `output_slopes` filled."""
        buffers = self._buffers_for(x)
        for top, transposed, gradient, slope, upstream in zip(
            buffers.tops,
            self.weights.heads_transposed,
            self.gradients.heads,
            buffers.head_slopes,
            buffers.upstream_of_heads,
            strict=True,
        ):
            self._layer_gradient(top, slope, gradient)
            self._products.product(slope, transposed, out=upstream)
        for i in reversed(range(len(self.weights.hidden))):
            slope = buffers.slopes[i + 1]
            self._through(slope, buffers.activations[i + 1])
            below, gradient = buffers.activations[i], self.gradients.hidden[i]
            self._layer_gradient(below, slope, gradient)
            transposed = self.weights.hidden_transposed[i]
            self._products.product(slope, transposed, out=buffers.upstream[i])
        buffers.slopes[0].copy_(buffers.upstream[0])
        self._through(buffers.first_slope, buffers.first)
        weight_gradient, bias_gradient = self.gradients.first
        self._products.product(x.T, buffers.first_slope, out=weight_gradient)
        # Not torch.sum, whose order of additions depends on the number of columns.
        torch.mm(buffers.ones, buffers.first_slope, out=bias_gradient)

    def input_slopes(self, x: Tensor) -> Tensor:
        """Return derivatives with respect to the inputs, after `backward`: (M, n, d).

        They are derivatives of the same losses as `output_slopes`, row by row.
        """
        m, width = self.shape.n_models, self.shape.hidden[0]
        slope = self._buffers_for(x).first_slope.view(len(x), m, width).transpose(0, 1)
        return slope @ self.weights.by_model[0].transpose(1, 2)

    def clip(self, i: int, largest: float) -> None:
        """Scale the gradient of the i-th model, over all layers, down to this norm."""
        if i not in self._clipped:  # which take longer to make than to use
            places = torch.arange(self.gradients.flat.numel())
            self._clipped[i] = (
                Weights(self.shape, places).vector_of(i),
                self.gradients._parts_of(i),
            )
        places, parts = self._clipped[i]
        vector = self.gradients.flat.index_select(0, places)
        # Enough to see that nothing is to be scaled, in a quarter of the time.
        if torch.dot(vector, vector).item() < 0.99 * largest**2:
            return
        norms = torch._foreach_norm([part.contiguous() for part in parts])
        norm = torch.stack(norms).norm()
        # Not clamped from below, so that a gradient that is not finite stays visible.
        scale = (largest / norm).clamp(max=1.0)
        if scale.item() != 1.0:  # or NaN
            torch._foreach_mul_(parts, scale)

    def _layer_gradient(
        self, below: Tensor, slope: Tensor, gradient: tuple[Tensor, Tensor]
    ) -> None:
        """Write the gradient of a batched layer: (M, n, h), (M, n, o) -> (M, h, o)."""
        weight, bias = gradient
        self._products.product(below.transpose(1, 2), slope, out=weight)
        torch.sum(slope, dim=1, keepdim=True, out=bias)

    def _through(self, slope: Tensor, activation: Tensor) -> None:
        """Turn the derivative above a leaky ReLU into that below, given its output.

        Both must be contiguous: the operation treats the end of each row number by
        number, with a branch that cannot be predicted.
        """
        torch.ops.aten.leaky_relu_backward.grad_input(
            slope, activation, self.shape.slope, True, grad_input=slope
        )

    def _buffers_for(self, x: Tensor) -> _Buffers:
        if len(x) not in self._buffers:
            self._buffers[len(x)] = _Buffers(self.shape, len(x), self.weights)
        return self._buffers[len(x)]


def _activate(x: Tensor, slope: float) -> None:
    torch.nn.functional.leaky_relu_(x, slope)


class FusedAdam:
    """Adam over all weights of a network as one vector.

    A step is the operation of ``torch.optim.Adam(fused=True)``, without the checks and
    hooks around it, which take three times as long on these small networks. The state
    exists before the first step, so that a checkpoint can be restored.

    Parameters
    ----------
    network : Perceptrons
    learning_rate, epsilon : float
    """

    def __init__(
        self, network: Perceptrons, *, learning_rate: float, epsilon: float
    ) -> None:
        self._network = network
        self._learning_rate, self._epsilon = learning_rate, epsilon
        weights = network.weights.flat
        self.moments = {
            "step": torch.zeros(()),
            "exp_avg": torch.zeros_like(weights),
            "exp_avg_sq": torch.zeros_like(weights),
        }

    def step(self) -> None:
        """Update the weights by the gradients."""
        self.moments["step"].add_(1)
        torch._fused_adam_(
            [self._network.weights.flat],
            [self._network.gradients.flat],
            [self.moments["exp_avg"]],
            [self.moments["exp_avg_sq"]],
            [],  # of amsgrad
            [self.moments["step"]],
            lr=self._learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=self._epsilon,
            amsgrad=False,
            maximize=False,
        )


def lecun_uniform(
    network: Perceptrons, generators: Sequence[tuple[torch.Generator, torch.Generator]]
) -> None:
    """Draw weights uniformly with variance 1 / inputs, and no biases.

    Parameters
    ----------
    network : Perceptrons
    generators : sequence of pairs
        Generators for the body and the head of each model.
    """
    for i, (body, head) in enumerate(generators):
        layers = network.weights.of_model(i)
        for j, (weight, bias) in enumerate(layers):
            bound = math.sqrt(3 / weight.shape[0])
            generator = head if j == len(layers) - 1 else body
            # In float32 for any dtype, so that both have the same numbers.
            drawn = torch.rand(weight.shape, generator=generator)
            weight.copy_((2 * drawn - 1) * bound)
            bias.zero_()


def authors_head(network: Perceptrons, generators: Sequence[torch.Generator]) -> None:
    """Draw heads as the authors' later code does: LeCun-normal, **with their biases**.

    A bias has its own length for fan-in, so that of a single output has the standard
    deviation 1, on a scale on which targets lie in [0, 1]; of 100 outputs, 0.1.
    """
    for i, generator in enumerate(generators):
        weight, bias = network.weights.of_model(i)[-1]
        for part, n_inputs in ((weight, weight.shape[0]), (bias, bias.numel())):
            # Keras truncates the normal at two deviations, and rescales it.
            sd = 1 / math.sqrt(n_inputs) / 0.8796256610342398
            drawn = torch.empty(part.shape)
            torch.nn.init.trunc_normal_(
                drawn, std=sd, a=-2 * sd, b=2 * sd, generator=generator
            )
            part.copy_(drawn)


def torch_default(network: Perceptrons, generators: Sequence[torch.Generator]) -> None:
    """Draw weights and biases as ``nn.Linear`` does, within 1 / sqrt(inputs)."""
    for i, generator in enumerate(generators):
        for layer in network.weights.of_model(i):
            bound = 1 / math.sqrt(layer[0].shape[0])
            for part in layer:
                drawn = torch.rand(part.shape, generator=generator)
                part.copy_((2 * drawn - 1) * bound)
