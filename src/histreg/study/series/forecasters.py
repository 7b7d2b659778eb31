"""Forecasters: bodies, from sequences to features, and heads after a projection."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

WIDTH, LAYERS, DROPOUT = 256, 2, 0.1  # of recurrent bodies
MODEL, BLOCKS, HEADS, FORWARD = 128, 3, 8, 512  # of the transformer


class Body(nn.Module, ABC):
    """From a sequence to a state after each input, and to features of them all.

    Parameters
    ----------
    n_inputs : int
    n_states : int
        The size of a state, s.
    n_features : int
    """

    def __init__(self, n_inputs: int, n_states: int, n_features: int) -> None:
        super().__init__()
        self.n_inputs, self.n_states = n_inputs, n_states
        self.n_features = n_features

    @abstractmethod
    def states(self, x: Tensor) -> Tensor:
        """Return the states: (b, n_inputs, c) -> (b, n_inputs, s)."""

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Return the features: (b, n_inputs, c) -> (b, n_features)."""


class LastChannel(Body):
    """The past values of the target, unchanged: the body of a linear forecaster."""

    def __init__(self, n_channels: int, n_inputs: int) -> None:  # noqa: ARG002
        super().__init__(n_inputs, 1, n_inputs)

    def states(self, x: Tensor) -> Tensor:
        """Return the last channel: (b, n_inputs, c) -> (b, n_inputs, 1)."""
        return x[..., -1:]

    def forward(self, x: Tensor) -> Tensor:
        """Return the last channel: (b, n_inputs, c) -> (b, n_inputs)."""
        return x[..., -1]


class Recurrent(Body):
    """Layers of LSTM or GRU, each followed by layer norm and dropout.

    Parameters
    ----------
    layer : callable
        ``nn.LSTM`` or ``nn.GRU``.
    n_channels, n_inputs : int
    """

    def __init__(
        self, layer: type[nn.LSTM | nn.GRU], n_channels: int, n_inputs: int
    ) -> None:
        super().__init__(n_inputs, WIDTH, WIDTH)
        widths = [n_channels] + [WIDTH] * (LAYERS - 1)
        self.layers = nn.ModuleList(
            layer(width, WIDTH, batch_first=True) for width in widths
        )
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in widths)
        self.dropout = nn.Dropout(DROPOUT)

    def states(self, x: Tensor) -> Tensor:
        """Return the states: (b, n_inputs, c) -> (b, n_inputs, 256)."""
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = self.dropout(norm(layer(x)[0]))
        return x

    def forward(self, x: Tensor) -> Tensor:
        """Return the last state: (b, n_inputs, c) -> (b, 256)."""
        return self.states(x)[:, -1]


class Transformer(Body):
    """Encoder blocks over time steps with sinusoidal positions, then their mean."""

    def __init__(self, n_channels: int, n_inputs: int) -> None:
        super().__init__(n_inputs, MODEL, MODEL)
        self.embedding = nn.Linear(n_channels, MODEL)
        self.register_buffer("places", _places(n_inputs), persistent=False)
        block = nn.TransformerEncoderLayer(
            MODEL, HEADS, FORWARD, DROPOUT, batch_first=True
        )
        self.blocks = nn.TransformerEncoder(block, BLOCKS, enable_nested_tensor=False)

    def states(self, x: Tensor) -> Tensor:
        """Return the states: (b, n_inputs, c) -> (b, n_inputs, 128)."""
        states: Tensor = self.blocks(self.embedding(x) + self.places)
        return states

    def forward(self, x: Tensor) -> Tensor:
        """Return the mean over time steps: (b, n_inputs, c) -> (b, 128)."""
        return self.states(x).mean(dim=1)


class PerStep(nn.Module):
    """A separate map for each step, from its projected value to its outputs.

    Parameters
    ----------
    n_steps, n_outputs : int
    """

    def __init__(self, n_steps: int, n_outputs: int) -> None:
        super().__init__()
        # Initialised like nn.Linear(1, n_outputs), for each step.
        self.weight = nn.Parameter(torch.empty(n_steps, n_outputs).uniform_(-1, 1))
        self.bias = nn.Parameter(torch.empty(n_steps, n_outputs).uniform_(-1, 1))

    def forward(self, projected: Tensor) -> Tensor:
        """Return (b, n_steps) -> (b, n_steps, n_outputs)."""
        return projected.unsqueeze(-1) * self.weight + self.bias


class Shared(nn.Module):
    """One map from the projected value of a step to its outputs, for all steps.

    Parameters
    ----------
    n_steps, n_outputs : int
    """

    def __init__(self, n_steps: int, n_outputs: int) -> None:  # noqa: ARG002
        super().__init__()
        self.linear = nn.Linear(1, n_outputs)

    def forward(self, projected: Tensor) -> Tensor:
        """Return (b, n_steps) -> (b, n_steps, n_outputs)."""
        outputs: Tensor = self.linear(projected.unsqueeze(-1))
        return outputs


class Dense(nn.Module):
    """One layer from the projected values of all steps to the outputs of all.

    Parameters
    ----------
    n_steps, n_outputs : int
    """

    def __init__(self, n_steps: int, n_outputs: int) -> None:
        super().__init__()
        self.shape = (n_steps, n_outputs)
        self.linear = nn.Linear(n_steps, n_steps * n_outputs)

    def forward(self, projected: Tensor) -> Tensor:
        """Return (b, n_steps) -> (b, n_steps, n_outputs)."""
        outputs: Tensor = self.linear(projected)
        return outputs.unflatten(-1, self.shape)


class OverTime(nn.Module):
    """A projection of states along time to the steps, and one head for all of them.

    Parameters
    ----------
    n_inputs, n_states, n_steps, n_outputs : int
    """

    def __init__(
        self, n_inputs: int, n_states: int, n_steps: int, n_outputs: int
    ) -> None:
        super().__init__()
        self.projection = nn.Linear(n_inputs, n_steps)
        self.linear = nn.Linear(n_states, n_outputs)

    def forward(self, states: Tensor) -> Tensor:
        """Return (b, n_inputs, n_states) -> (b, n_steps, n_outputs)."""
        projected = self.projection(states.transpose(1, 2)).transpose(1, 2)
        outputs: Tensor = self.linear(projected)
        return outputs


HEADS_AFTER_PROJECTION: dict[str, Callable[[int, int], nn.Module]] = {
    "per-step": PerStep,
    "shared": Shared,
    "dense": Dense,
}
"""From the number of steps and of outputs a step to a head on projected values."""


def projected_head(
    kind: str, n_features: int, n_steps: int, n_outputs: int
) -> nn.Module:
    """Return a projection to the prediction length, followed by a head on it.

    The paper: a base model ends in "a linear projection mapping to the prediction
    length", and "generates a feature vector that is then either passed to a regression
    head or to HL-Gauss head". It does not say which head that is.
    """
    return nn.Sequential(
        nn.Linear(n_features, n_steps), HEADS_AFTER_PROJECTION[kind](n_steps, n_outputs)
    )


@torch.no_grad()
def start_as_keras(network: nn.Module) -> None:
    """Draw the first weights as Keras does by default.

    Kernels are uniform by Glorot and Bengio (2010), those within a recurrent layer
    orthogonal; biases are zero, but for the forget gates of an LSTM, which have one.
    """
    if isinstance(network, nn.Linear):
        _draw_by_glorot(network.weight, network.in_features, network.out_features)
        nn.init.zeros_(network.bias)
    elif isinstance(network, PerStep):
        _draw_by_glorot(network.weight, 1, network.weight.shape[1])
        nn.init.zeros_(network.bias)
    elif isinstance(network, nn.MultiheadAttention):
        # Keras 3 takes the kernels of attention, (model, heads, width) and (heads,
        # width, model), for those of convolutions: the first axis multiplies both fans.
        model, heads, width = network.embed_dim, network.num_heads, network.head_dim
        _draw_by_glorot(network.in_proj_weight, model * heads, model * width)
        _draw_by_glorot(network.out_proj.weight, heads * width, heads * model)
        nn.init.zeros_(network.in_proj_bias)
        nn.init.zeros_(network.out_proj.bias)
    elif isinstance(network, nn.LSTM | nn.GRU):
        for name, weights in network.named_parameters():
            if name.startswith("weight_ih"):
                _draw_by_glorot(weights, weights.shape[1], weights.shape[0])
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(weights)
            else:
                nn.init.zeros_(weights)
            if isinstance(network, nn.LSTM) and name.startswith("bias_ih"):
                nn.init.ones_(weights.chunk(4)[1])  # in, forget, cell, out
    else:
        for part in network.children():
            start_as_keras(part)


def _draw_by_glorot(kernel: Tensor, fan_in: int, fan_out: int) -> None:
    bound = math.sqrt(6 / (fan_in + fan_out))
    kernel.uniform_(-bound, bound)


def _places(n: int) -> Tensor:  # (n, MODEL)
    """Return sines and cosines of the position, with decreasing frequencies."""
    place = torch.arange(n)[:, None]
    rate = torch.exp(torch.arange(0, MODEL, 2) * (-math.log(10_000.0) / MODEL))
    return torch.stack([(place * rate).sin(), (place * rate).cos()], dim=-1).flatten(1)


BODIES: dict[str, Callable[[int, int], Body]] = {
    "Linear": LastChannel,
    "LSTM": lambda n_channels, n_inputs: Recurrent(nn.LSTM, n_channels, n_inputs),
    "GRU": lambda n_channels, n_inputs: Recurrent(nn.GRU, n_channels, n_inputs),
    "Transformer": Transformer,
}
"""From the number of channels and of moments seen to a body."""
