"""Forecasters: sequences in, features out, with a head for numbers or histograms."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

WIDTH, LAYERS, DROPOUT = 256, 2, 0.1  # of recurrent bodies
MODEL, BLOCKS, HEADS, FORWARD = 128, 3, 8, 512  # of the transformer


class LastChannel(nn.Module):
    """The target's own past, as it is: the body of a linear forecaster."""

    def __init__(self, n_channels: int, n_inputs: int) -> None:  # noqa: ARG002
        super().__init__()
        self.n_features = n_inputs

    def forward(self, x: Tensor) -> Tensor:
        """Return the last channel: (b, n_inputs, c) -> (b, n_inputs)."""
        return x[..., -1]


class Recurrent(nn.Module):
    """Layers of LSTM or GRU, each followed by layer norm and dropout.

    Parameters
    ----------
    layer : callable
        ``nn.LSTM`` or ``nn.GRU``.
    n_channels : int
    """

    def __init__(self, layer: type[nn.LSTM | nn.GRU], n_channels: int) -> None:
        super().__init__()
        self.n_features = WIDTH
        widths = [n_channels] + [WIDTH] * (LAYERS - 1)
        self.layers = nn.ModuleList(
            layer(width, WIDTH, batch_first=True) for width in widths
        )
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in widths)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor) -> Tensor:
        """Return the last state: (b, n_inputs, c) -> (b, 256)."""
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = self.dropout(norm(layer(x)[0]))
        return x[:, -1]


class Transformer(nn.Module):
    """Encoder blocks over the moments, with their places as sines; the mean of all."""

    def __init__(self, n_channels: int, n_inputs: int) -> None:
        super().__init__()
        self.n_features = MODEL
        self.embedding = nn.Linear(n_channels, MODEL)
        self.register_buffer("places", _places(n_inputs), persistent=False)
        block = nn.TransformerEncoderLayer(
            MODEL, HEADS, FORWARD, DROPOUT, batch_first=True
        )
        self.blocks = nn.TransformerEncoder(block, BLOCKS, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the mean over moments: (b, n_inputs, c) -> (b, 128)."""
        return self.blocks(self.embedding(x) + self.places).mean(dim=1)


def _places(n: int) -> Tensor:  # (n, MODEL)
    """Return sines and cosines of the place, of falling frequencies."""
    place = torch.arange(n)[:, None]
    rate = torch.exp(torch.arange(0, MODEL, 2) * (-math.log(10_000.0) / MODEL))
    return torch.stack([(place * rate).sin(), (place * rate).cos()], dim=-1).flatten(1)


BODIES: dict[str, Callable[[int, int], nn.Module]] = {
    "Linear": LastChannel,
    "LSTM": lambda n_channels, n_inputs: Recurrent(nn.LSTM, n_channels),  # noqa: ARG005
    "GRU": lambda n_channels, n_inputs: Recurrent(nn.GRU, n_channels),  # noqa: ARG005
    "Transformer": Transformer,
}
"""From the number of channels and of moments seen to a body with ``n_features``."""
