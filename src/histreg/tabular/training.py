"""Training: the loop behind `HistogramRegressor`.

It reports to a callback and prints nothing. The networks of the study are trained by
loops of their own, in `histreg.study`, which follow the paper's protocols.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from histreg.tabular.adamw import AdamW
from histreg.tabular.gradients import Measure, gradients_of, weighted_mean
from histreg.tabular.networks import Stack
from histreg.tabular.training_rows import TrainingRows, batch_of

DROP = 0.2

# There is no public name for all of them, with those that users derive.
BATCH_NORM = nn.modules.batchnorm._BatchNorm


@dataclass(frozen=True)
class Settings:
    """How to train.

    Parameters
    ----------
    n_epochs : int
        The maximum.
    batch_size : int
    learning_rate : float
        Of AdamW.
    weight_decay : float
        Decoupled, of AdamW.
    averaging : float
        Decay per step of the running average of the weights. The average is evaluated
        and kept; 0 keeps the weights themselves.
    patience : int
        Epochs without a better validation score after which the learning rate drops, or
        training stops.
    near_exact : float
        Once the best score is below it, patience doubles: nearly exact targets gain
        from long training, and others do not.
    n_drops : int
        How often the learning rate drops to `DROP` of itself; training then goes on
        from the best weights.
    min_steps : int
        An epoch with fewer steps goes over the rows several times.
    """

    n_epochs: int = 200
    batch_size: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    averaging: float = 0.995
    patience: int = 5
    near_exact: float = 0.0
    n_drops: int = 1
    min_steps: int = 20


@dataclass(frozen=True)
class Epoch:
    """The state of training after an epoch."""

    number: int  # from 1
    n_epochs: int  # the maximum
    loss: float
    validation_loss: float | None
    validation_error: float | None
    is_best: bool
    elapsed_s: float


class Generators(NamedTuple):
    """Generators of random numbers; None stands for torch's global generator."""

    cpu: torch.Generator | None = None  # for the order of the rows
    on_device: torch.Generator | None = None  # for dropout, on the network's device

    @classmethod
    def seeded(cls, seed: int, device: torch.device) -> Generators:
        """Return new generators; on the CPU both are the same."""
        cpu = torch.Generator().manual_seed(seed)
        if device.type == "cpu":
            return cls(cpu, cpu)
        return cls(cpu, torch.Generator(device).manual_seed(seed))


Batches = Callable[[], Iterable[tuple[TrainingRows[tuple[Tensor, ...]], Tensor]]]
"""Returns batches of b rows, and which of them (M, b) each model is trained on."""


def train(
    network: Stack,
    rows: TrainingRows[tuple[Tensor, ...]],
    held_out: Tensor,
    measure: Measure,
    settings: Settings,
    *,
    optimizer: AdamW | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    generators: Generators | None = None,
    batches: Batches | None = None,
) -> list[Epoch]:
    """Train a stack of M networks, and leave it at the weights of its best epoch.

    Each model is trained on the rows it does not hold out, and validated on those it
    does. The best epoch has the lowest score in the mean over the models, since few
    rows say little about one model. When no epoch is better for a while, the learning
    rate drops and training goes on from the best weights. All models see the same
    batches, so that one step trains the whole stack; their gradients do not mix.
    Without held-out rows the last weights are kept. If the loss becomes NaN or
    infinite, training stops and the weights of that epoch are discarded. If
    ``on_epoch`` raises, the network is left at the best weights so far.

    Parameters
    ----------
    network : Stack
        Of M models; called with ``*rows.inputs``.
    rows : TrainingRows
    held_out : Tensor of shape (M, n), bool
    measure : Measure
    settings : Settings
    optimizer : AdamW, optional
        An optimizer to continue with, see `optimizer_of`; its parameters are trained.
    on_epoch : callable, optional
    generators : Generators, optional
        Torch's global ones by default.
    batches : callable, optional
        Returns the batches of an epoch, from rows that no model holds out. By default
        they are drawn from ``rows``, which otherwise serve for validation alone.

    Returns
    -------
    list of Epoch
    """
    started = time.monotonic()
    generators = generators or Generators()
    optimizer = optimizer or optimizer_of(network, settings)
    averages = _Averages(optimizer.parameters, settings.averaging)
    best = _Best(network)
    rates = _Rates(optimizer)
    dropped_at = 0  # the epoch
    batches = batches or _batches_in_memory(rows, held_out, settings, generators.cpu)
    gradients = gradients_of(network, rows, measure, generators.on_device)
    validating = own_rows(held_out)
    history: list[Epoch] = []
    try:
        for number in range(1, settings.n_epochs + 1):
            _train_mode(network)
            losses = []
            for batch, is_training in batches():
                losses.append(gradients(batch, is_training))
                optimizer.step()
                averages.update()
            network.eval()
            loss = torch.stack(losses).mean().item()
            validation, is_best = None, False
            if math.isfinite(loss):
                with averages.in_place():
                    if validating is not None:
                        validation = _validated(network, rows, validating, measure)
                    is_best = best.update(
                        number, None if validation is None else validation[1]
                    )
            history.append(
                Epoch(
                    number=number,
                    n_epochs=settings.n_epochs,
                    loss=loss,
                    validation_loss=None if validation is None else validation[0],
                    validation_error=None if validation is None else validation[2],
                    is_best=is_best,
                    elapsed_s=time.monotonic() - started,
                )
            )
            if on_epoch is not None:
                on_epoch(history[-1])
            if not math.isfinite(loss):
                break  # later epochs would not be finite either
            waited = number - max(best.epoch, dropped_at)
            is_near = best.score < settings.near_exact
            patience = settings.patience * (2 if is_near else 1)
            if validating is not None and waited >= patience:
                if rates.n_drops == settings.n_drops:
                    break
                dropped_at = number
                rates.drop()
                best.restore()
                averages.restart()
    finally:
        best.restore()
        rates.restore()
        network.eval()
    return history


def _batches_in_memory(
    rows: TrainingRows[tuple[Tensor, ...]],
    held_out: Tensor,
    settings: Settings,
    generator: torch.Generator | None,
) -> Batches:
    """Return the batches of an epoch over rows that some model does not hold out."""
    training = torch.nonzero((~held_out).any(dim=0)).flatten()

    def batches() -> Iterator[tuple[TrainingRows[tuple[Tensor, ...]], Tensor]]:
        for index in _row_numbers(training, settings, generator):
            yield batch_of(rows, index), ~held_out[:, index]

    return batches


def _row_numbers(
    rows: Tensor, settings: Settings, generator: torch.Generator | None
) -> Iterator[Tensor]:
    """Yield the row numbers of each step of an epoch."""
    steps_a_pass = -(-len(rows) // settings.batch_size)
    for _ in range(-(-settings.min_steps // max(1, steps_a_pass))):
        order = torch.randperm(len(rows), generator=generator)
        shuffled = rows[order.to(rows.device)]
        batches = list(shuffled.split(settings.batch_size))
        if len(batches) > 1 and len(batches[-1]) == 1:
            # Batch normalisation has no statistics of one row.
            batches[-2:] = [torch.cat(batches[-2:])]
        yield from batches


def _train_mode(network: Stack) -> None:
    """Set a network to training mode, except batch normalisation of frozen parts."""
    network.train()
    for module in network.modules():
        frozen = not any(weight.requires_grad for weight in module.parameters())
        if isinstance(module, BATCH_NORM) and frozen:
            module.eval()


def optimizer_of(module: nn.Module, settings: Settings) -> AdamW:
    """Return AdamW over all parameters of a module, a whole network or a part."""
    return AdamW(
        module.parameters(),
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
    )


class Snapshot:
    """A copy of all that training changes in place, to restore it from.

    Parameters
    ----------
    modules : iterable of nn.Module
        For their weights and buffers.
    optimizers : iterable of AdamW
        For their moments.
    """

    def __init__(
        self, modules: Iterable[nn.Module], optimizers: Iterable[AdamW]
    ) -> None:
        self.entries = [(optimizer, set(optimizer.state)) for optimizer in optimizers]
        self.tensors = [
            tensor.detach()
            for module in modules
            for tensor in (*module.parameters(), *module.buffers())
        ]
        for optimizer, parameters in self.entries:
            for parameter in parameters:
                self.tensors += optimizer.state[parameter].values()
        self.kept = [tensor.clone() for tensor in self.tensors]

    def restore(self) -> None:
        """Put everything back as it was."""
        _copy(self.kept, self.tensors)
        for optimizer, parameters in self.entries:
            for parameter in set(optimizer.state) - parameters:
                del optimizer.state[parameter]


class _Averages:
    """Running averages of parameters; a context puts them in place of these."""

    def __init__(self, parameters: Sequence[nn.Parameter], decay: float) -> None:
        self.parameters = [p.detach() for p in parameters]
        self.decay = decay
        self.averages = [p.clone() for p in self.parameters]
        self.n_updates = 0

    def update(self) -> None:
        self.n_updates += 1
        # At first the mean of all steps so far, so that the start is forgotten.
        decay = min(self.decay, 1 - 1 / self.n_updates)
        torch._foreach_lerp_(self.averages, self.parameters, 1 - decay)

    def restart(self) -> None:
        """Begin anew at the present parameters."""
        _copy(self.parameters, self.averages)
        self.n_updates = 0

    def in_place(self) -> _Averages:
        return self

    def __enter__(self) -> None:
        self._swap()

    def __exit__(self, *_: object) -> None:
        self._swap()

    def _swap(self) -> None:
        for average, parameter in zip(self.averages, self.parameters, strict=True):
            kept = parameter.clone()
            parameter.copy_(average)
            average.copy_(kept)


class _Rates:
    """The learning rate of an optimizer, which drops during training."""

    def __init__(self, optimizer: AdamW) -> None:
        self.optimizer = optimizer
        self.first = optimizer.learning_rate
        self.n_drops = 0

    def drop(self) -> None:
        self.n_drops += 1
        self.optimizer.learning_rate = self.first * DROP**self.n_drops

    def restore(self) -> None:
        """Leave the optimizer as it was, for training that goes on with it."""
        self.optimizer.learning_rate = self.first


class _Best:
    """The weights of a network at its lowest score."""

    def __init__(self, network: Stack) -> None:
        self.state = [tensor.detach() for tensor in network.state_dict().values()]
        self.kept = [tensor.clone() for tensor in self.state]
        self.score = math.inf
        self.epoch = 0

    def update(self, number: int, score: float | None) -> bool:
        """Keep the weights if the score is lower; without a score, keep them always."""
        is_better = score is None or score < self.score
        if is_better:
            self.score, self.epoch = math.inf if score is None else score, number
            _copy(self.state, self.kept)
        return is_better

    def restore(self) -> None:
        _copy(self.kept, self.state)


def _copy(source: Sequence[Tensor], target: Sequence[Tensor]) -> None:
    for a, b in zip(source, target, strict=True):
        b.copy_(a)


class OwnRows(NamedTuple):
    """The held-out rows of each model, filled up by others to the same number."""

    rows: Tensor  # (M, v) int64
    is_held_out: Tensor  # (M, v) bool


def own_rows(held_out: Tensor) -> OwnRows | None:
    """Return the rows that each model holds out, None if there are none: (M, n)."""
    n_most = int(held_out.sum(dim=1).max())
    if not n_most:
        return None
    first = held_out.to(torch.uint8).argsort(dim=1, descending=True, stable=True)
    index = first[:, :n_most]
    return OwnRows(index, held_out.gather(1, index))


@torch.no_grad()
def _validated(
    network: Stack,
    rows: TrainingRows[tuple[Tensor, ...]],
    validating: OwnRows,
    measure: Measure,
) -> list[float]:
    """Return loss, score and error: weighted means over the rows of each model."""
    parts = []
    for index in validating.rows.split(1024, dim=1):
        batch = batch_of(rows, index.flatten())
        inputs = (tensor.unflatten(0, index.shape) for tensor in batch.inputs)
        # As if of one model, since every row has its own y.
        outputs = network(*inputs).flatten(0, 1).unsqueeze(0)
        values = [of(outputs, *batch.targets).double().cpu() for of in measure[:3]]
        parts.append(torch.stack(values).view(-1, *index.shape))  # (3, M, v)
    weight = rows.weight[validating.rows] * validating.is_held_out  # (M, v)
    means = weighted_mean(torch.cat(parts, dim=-1), weight.cpu())  # (3, M)
    return means.mean(dim=1).tolist()
