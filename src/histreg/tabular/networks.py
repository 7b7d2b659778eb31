"""Networks: bodies that turn rows into features, and a linear readout.

Everything here is a stack: M networks of one shape live in tensors with a leading
model dimension, and one call evaluates them all. Weights are float32, whatever torch's
default type is, and are drawn from ``generator``, or from torch's global generator if
it is None.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from histreg._checks import check_choice
from histreg._rebinning import rebin_readout
from histreg.bins import Bins
from histreg.errors import InputError
from histreg.tabular.adamw import AdamW

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "tanh": torch.tanh,
}
LEAK = 0.01  # slope below zero of an embedding's units
FIRST_FREQUENCY, FREQUENCY_RATIO = 0.1, 2.5


class StackedLinear(nn.Module):
    """M linear layers side by side: (M, n, i) -> (M, n, o).

    Weights and biases start uniform within 1 / sqrt(i), as in ``nn.Linear``.
    """

    def __init__(
        self,
        n_models: int,
        in_features: int,
        out_features: int,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        bound = 1 / math.sqrt(max(1, in_features))
        weight_shape = (n_models, in_features, out_features)
        self.weight = _uniform(bound, weight_shape, generator)
        self.bias = _uniform(bound, (n_models, 1, out_features), generator)

    def forward(self, x: Tensor) -> Tensor:
        """Return one linear map of each model's inputs."""
        return torch.baddbmm(self.bias, x, self.weight)


class Waves(nn.Module):
    """Numbers beside waves of them, which resolve small differences.

    A number x becomes x itself and, for each frequency f, ``sin(2 pi f x)`` and
    ``cos(2 pi f x)`` times ``FIRST_FREQUENCY / f``. Smooth functions of x are thereby
    learnt first, as small noisy tables need it, and the last waves can still tell apart
    what nearly exact targets need. Nothing is learnt here: all networks of a stack
    read the same numbers, which makes training steps cheaper than with learnt waves
    (`PeriodicEmbedding`); docs/tables.md says what it costs.

    Parameters
    ----------
    n_waves : int
        w, the number of frequencies: 0.1, 0.25, 0.625, ..., for inputs of unit
        variance.
    """

    def __init__(self, n_waves: int) -> None:
        super().__init__()
        self.n_features = 1 + 2 * n_waves  # of a number
        self.relative = [FREQUENCY_RATIO**i for i in range(n_waves)]

    def forward(self, numbers: Tensor) -> Tensor:
        """Return (..., d) -> (..., d (1 + 2 w))."""
        relative = torch.tensor(
            self.relative, dtype=numbers.dtype, device=numbers.device
        )
        angle = numbers.unsqueeze(-1) * (2 * math.pi * FIRST_FREQUENCY * relative)
        waves = [angle.sin() / relative, angle.cos() / relative]
        return torch.cat([numbers.unsqueeze(-1), *waves], dim=-1).flatten(-2)


class PeriodicEmbedding(nn.Module):
    """Embed numbers in learnt waves, which resolve small differences.

    Each number x becomes ``leaky_relu(linear([sin(2 pi f x), cos(2 pi f x)]))`` with
    its own learnt frequencies f and linear layer per column (Gorishniy et al. 2022, "On
    embeddings for numerical features in tabular deep learning", with relu). The leak
    of 0.01 keeps a column in use: without it all its units may die for good.

    Parameters
    ----------
    n_models : int
    n_numbers : int
        d, the number of columns.
    width : int
        e, the length of each embedding.
    n_frequencies : int
    frequency_scale : float
        Standard deviation of the first frequencies, for inputs of unit variance.
    generator : torch.Generator, optional
    """

    def __init__(
        self,
        n_models: int,
        n_numbers: int,
        *,
        width: int = 8,
        n_frequencies: int = 16,
        frequency_scale: float = 0.05,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        start = _normal((n_models, n_numbers, 1, n_frequencies), generator)
        self.frequencies = nn.Parameter(start * frequency_scale)
        bound = 1 / math.sqrt(2 * n_frequencies)
        weight_shape = (n_models, n_numbers, 2 * n_frequencies, width)
        self.weight = _uniform(bound, weight_shape, generator)
        self.bias = _uniform(bound, (n_models, n_numbers, 1, width), generator)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return (n, d), or (M, n, d) for rows of their own, -> (M, n, d e)."""
        columns = numbers.mT.unsqueeze(-1)  # (d, n, 1) or (M, d, n, 1)
        angle = 2 * math.pi * self.frequencies * columns  # (M, d, n, f)
        waves = torch.cat([angle.sin(), angle.cos()], dim=-1)  # (M, d, n, 2 f)
        # One batched product over models and columns alike.
        mapped = torch.baddbmm(
            self.bias.flatten(0, 1), waves.flatten(0, 1), self.weight.flatten(0, 1)
        )  # (M d, n, e)
        mapped = F.leaky_relu(mapped, LEAK).unflatten(0, self.frequencies.shape[:2])
        return mapped.transpose(1, 2).flatten(2)  # (M, n, d e)


class LabelEmbedding(nn.Module):
    """A learnt vector for each label of each column, 0 at first for unknown labels.

    Parameters
    ----------
    n_models : int
    n_codes : sequence of int
        How many codes each of the c columns has; code 0 is for unknown labels.
    generator : torch.Generator, optional
    """

    def __init__(
        self,
        n_models: int,
        n_codes: Sequence[int],
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.width = sum(_label_width(n) for n in n_codes)
        self.tables = nn.ParameterList()
        for n in n_codes:
            start = _normal((n_models, n, _label_width(n)), generator)
            start[:, 0] = 0
            self.tables.append(nn.Parameter(start))

    def forward(self, codes: Tensor) -> Tensor:
        """Return (n, c) int64, or (M, n, c) for rows of their own, -> (M, n, width)."""
        if codes.ndim == 2:
            vectors = [
                table.index_select(1, codes[:, i])
                for i, table in enumerate(self.tables)
            ]
        else:
            models = torch.arange(len(codes), device=codes.device).unsqueeze(-1)
            vectors = [
                table[models, codes[..., i]] for i, table in enumerate(self.tables)
            ]
        return torch.cat(vectors, dim=-1)


class TabularBody(nn.Module):
    """The default body: embedded numbers and labels into a perceptron.

    Parameters
    ----------
    n_models : int
        M.
    n_numbers : int
    n_codes : sequence of int
        Codes of each column of labels, see `LabelEmbedding`.
    hidden_layer_sizes : sequence of int
        May be empty: the features are then the embeddings.
    activation : {"relu", "gelu", "silu", "tanh"}
    dropout : float
    embedding_width : int
        Of a learnt embedding of each number; 0 means none.
    n_waves : int
        See `Waves`; ignored if numbers have a learnt embedding.
    generator : torch.Generator, optional
        For the first weights.
    """

    def __init__(
        self,
        n_models: int,
        n_numbers: int,
        n_codes: Sequence[int] = (),
        *,
        hidden_layer_sizes: Sequence[int] = (96, 96, 96),
        activation: str = "relu",
        dropout: float = 0.1,
        embedding_width: int = 0,
        n_waves: int = 4,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_choice("activation", activation, ACTIVATIONS)
        self.n_models = n_models
        self.activation = activation
        self.dropout = dropout
        self.number_embedding: PeriodicEmbedding | None = None
        self.label_embedding: LabelEmbedding | None = None
        self.waves = Waves(n_waves)
        width = n_numbers * self.waves.n_features
        if embedding_width and n_numbers:
            self.number_embedding = PeriodicEmbedding(
                n_models, n_numbers, width=embedding_width, generator=generator
            )
            width = n_numbers * embedding_width
        if n_codes:
            self.label_embedding = LabelEmbedding(
                n_models, n_codes, generator=generator
            )
            width += self.label_embedding.width
        sizes = [width, *hidden_layer_sizes]
        self.layers = nn.ModuleList(
            StackedLinear(n_models, n_in, n_out, generator=generator)
            for n_in, n_out in itertools.pairwise(sizes)
        )
        self.n_features = sizes[-1]

    def forward(
        self,
        numbers: Tensor,
        codes: Tensor,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return features: (n, d) and (n, c) -> (M, n, n_features).

        Inputs of shape (M, n, d) and (M, n, c) give each model rows of its own.
        ``generator`` is for dropout, on the device of the numbers.
        """
        if self.number_embedding is not None:
            parts = [self.number_embedding(numbers)]
        else:
            features = self.waves(numbers)
            parts = [features.expand(self.n_models, *features.shape[-2:])]
        if self.label_embedding is not None:
            parts.append(self.label_embedding(codes))
        hidden = torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]
        activate = ACTIVATIONS[self.activation]
        for layer in self.layers:
            hidden = activate(layer(hidden))
            if self.training and self.dropout:
                hidden = dropout(hidden, self.dropout, generator=generator)
        return hidden


class CopiedBody(nn.Module):
    """M copies of any module, side by side, all but the first with new weights.

    The module takes (n, d) numbers, with labels as one-hot columns after them. The
    first copy keeps its weights; in the others every layer with ``reset_parameters``
    is initialised again, from torch's global generators, since modules use no others.

    Parameters
    ----------
    module : nn.Module
        (n, d) float32 -> (n, h).
    n_models : int
    n_numbers : int
    n_codes : sequence of int
    """

    def __init__(
        self,
        module: nn.Module,
        n_models: int,
        n_numbers: int,
        n_codes: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.n_models = n_models
        self.n_codes = tuple(n_codes)
        self.copies = nn.ModuleList(copy.deepcopy(module) for _ in range(n_models))
        for other in self.copies[1:]:
            for layer in other.modules():
                reset = getattr(layer, "reset_parameters", None)
                if callable(reset):
                    reset()
        n_inputs = n_numbers + sum(self.n_codes)
        self.n_features = _n_features_of(self.copies[0], n_inputs)

    def forward(
        self,
        numbers: Tensor,
        codes: Tensor,
        *,
        generator: torch.Generator | None = None,  # noqa: ARG002
    ) -> Tensor:
        """Return features: (n, d) and (n, c) -> (M, n, n_features).

        Inputs of shape (M, n, d) and (M, n, c) give each model rows of its own.
        ``generator`` has no effect: modules draw from torch's global generators.
        """
        one_hot = [
            F.one_hot(codes[..., i], n).to(numbers.dtype)
            for i, n in enumerate(self.n_codes)
        ]
        inputs = torch.cat([numbers, *one_hot], dim=-1)
        of_models = inputs.expand(self.n_models, *inputs.shape[-2:])
        return torch.stack(
            [module(own) for module, own in zip(self.copies, of_models, strict=True)]
        )


class Stack(nn.Module):
    """M networks: a body, and a linear readout with some outputs for each target.

    Two stacks may share a body.

    Parameters
    ----------
    body : TabularBody or CopiedBody
        (numbers, codes) -> (M, n, n_features).
    n_targets : int
        m.
    n_outputs : int
        o, for each target: one per bin, or as many as the loss needs.
    generator : torch.Generator, optional
        For the first weights of the readout.
    """

    def __init__(
        self,
        body: TabularBody | CopiedBody,
        n_targets: int,
        n_outputs: int,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.shape = (n_targets, n_outputs)
        self.body = body
        self.readout = StackedLinear(
            body.n_models, body.n_features, n_targets * n_outputs, generator=generator
        )

    @property
    def n_models(self) -> int:
        """The number of models, M."""
        return self.body.n_models

    def forward(
        self,
        numbers: Tensor,
        codes: Tensor,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return (n, d) and (n, c) -> (M, n, m, o), see `TabularBody.forward`."""
        return self.outputs(self.body(numbers, codes, generator=generator))

    def outputs(self, features: Tensor) -> Tensor:
        """Return the readout of features: (M, n, h) -> (M, n, m, o)."""
        return self.readout(features).unflatten(-1, self.shape)

    @torch.no_grad()
    def rebin(
        self,
        old: Sequence[Bins],
        new: Sequence[Bins],
        features: Tensor,
        optimizers: Iterable[AdamW] = (),
    ) -> None:
        """Move outputs that are logits over the bins of each target to other bins.

        In place, like `HistogramHead.rebin`, together with Adam's moments of the
        readout.

        Parameters
        ----------
        old, new : sequences of m Bins
        features : Tensor of shape (M, n, h)
            Of some rows.
        optimizers : iterable of AdamW
            Only those that train the readout are changed.
        """
        readout, changes = self.readout, list(zip(old, new, strict=True))
        weights = readout.weight.unflatten(-1, self.shape)  # (M, h, m, k)
        biases = readout.bias.squeeze(1).unflatten(-1, self.shape)  # (M, m, k)
        for i, (before, after) in enumerate(changes):
            if after != before:
                rebin_readout(weights[:, :, i], biases[:, i], before, after, features)
        for optimizer in optimizers:
            for parameter in (readout.weight, readout.bias):
                state = optimizer.state.get(parameter)
                if state:
                    _rebin_moments(state, self.shape, changes)


def without_autocast(device: torch.device) -> AbstractContextManager[None]:
    """Return a context in which products are in float32, without autocast."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()  # a tenth of the cost


def dropout(x: Tensor, p: float, *, generator: torch.Generator | None = None) -> Tensor:
    """Return x with each entry zeroed with probability p, the others scaled up.

    The models of a stack share one mask: (M, n, h) needs (n, h) draws. They are 16-bit
    integers, so p is rounded to 1 / 65,536: on a CPU three times as fast as
    ``F.dropout``, whose draws took a fifth of a training step.
    """
    return x * dropout_mask(x.shape[-2:], p, x.device, generator=generator)


def dropout_mask(
    shape: torch.Size,
    p: float,
    device: torch.device,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return factors: 0 with probability p, else 1 / (1 - p); see `dropout`."""
    n_draws = shape.numel()
    words = torch.empty(-(-n_draws // 4), dtype=torch.int64, device=device)
    words.random_(torch.iinfo(torch.int64).min, None, generator=generator)
    draws = words.view(torch.int16)[:n_draws].view(shape)
    kept = draws >= round(p * 2**16) - 2**15
    # A tensor, since a bool times a plain number has torch's default type.
    return kept * torch.full((), dropout_scale(p), dtype=torch.float32, device=device)


def dropout_scale(p: float) -> float:
    """Return the factor of entries that dropout keeps, a number of float32."""
    return torch.tensor(1 / (1 - p), dtype=torch.float32).item()


def _rebin_moments(
    state: dict[str, Tensor], shape: tuple[int, int], changes: list[tuple[Bins, Bins]]
) -> None:
    """Move Adam's moments of a readout to other bins, in place.

    The gradient in a bin is the predicted minus the target probability, so that of a
    merged bin is the sum over its parts. A bin without parts starts without momentum,
    and with the squares of the end bin. Streams whose range grew were learnt better
    this way than with moments left in place or dropped.
    """
    for name in ("exp_avg", "exp_avg_sq"):
        moments = state[name].unflatten(-1, shape)  # (M, h or 1, m, k)
        for i, (before, after) in enumerate(changes):
            if after == before:
                continue
            matrix = after.averaging_over(before).T  # (k, k), parts of old bins in new
            if name == "exp_avg_sq":
                is_beyond = matrix.sum(dim=1, keepdim=True) == 0
                matrix = matrix + is_beyond * before.averaging_over(after)
            moments[:, :, i] = moments[:, :, i] @ matrix.T.to(moments)


def _uniform(
    bound: float, shape: tuple[int, ...], generator: torch.Generator | None
) -> nn.Parameter:
    start = torch.empty(shape, dtype=torch.float32)
    return nn.Parameter(start.uniform_(-bound, bound, generator=generator))


def _normal(shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
    return torch.randn(shape, dtype=torch.float32, generator=generator)


def _label_width(n_codes: int) -> int:
    """Return the length of the embedding of a label: as many as codes, 16 at most."""
    return min(n_codes, 16)


def _n_features_of(module: nn.Module, n_inputs: int) -> int:
    """Return the number of features of a module, by calling it on two rows."""
    was_training = module.training
    module.eval()  # so that batch statistics do not change
    try:
        with torch.no_grad():
            features = module(torch.zeros(2, n_inputs, dtype=torch.float32))
    except RuntimeError as error:
        raise InputError(
            f"backbone must take rows of shape (n, {n_inputs}), the columns of this "
            f"table, but failed on zeros of shape (2, {n_inputs}): {error}"
        ) from error
    finally:
        module.train(was_training)
    shape = tuple(getattr(features, "shape", ()))
    if len(shape) != 2 or shape[0] != 2:
        raise InputError(
            "backbone must return features of shape (n, h) for n rows, got shape "
            f"{shape} for 2 rows"
        )
    return shape[1]
