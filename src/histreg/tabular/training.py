"""Training: the one loop of the library. It reports by callback and prints nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from histreg.tabular.networks import Stack
from histreg.tabular.training_rows import TrainingRows, batch_of


@dataclass(frozen=True)
class Settings:
    """How to train.

    Parameters
    ----------
    n_epochs : int
        At most.
    batch_size : int
    learning_rate : float
        Of AdamW.
    weight_decay : float
        Decoupled, of AdamW.
    averaging : float
        Decay of the running average of the weights per step, which is what is
        evaluated and kept; 0 keeps the weights themselves.
    patience : int
        Epochs without a better validation loss after which to stop.
    fewest_steps : int
        An epoch of fewer steps goes over the rows several times, as often as fits.
    """

    n_epochs: int = 200
    batch_size: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    averaging: float = 0.995
    patience: int = 20
    fewest_steps: int = 8


@dataclass(frozen=True)
class Epoch:
    """What is known after an epoch."""

    number: int  # from 1
    n_epochs: int  # at most
    loss: float
    validation_loss: float | None
    validation_error: float | None
    is_best: bool
    elapsed_s: float


class Generators(NamedTuple):
    """Where training draws from; None is torch's own generator."""

    cpu: torch.Generator | None = None  # order of the rows
    on_device: torch.Generator | None = None  # dropout, where the network is

    @classmethod
    def seeded(cls, seed: int, device: torch.device) -> Generators:
        """Return new ones; on the CPU both are the same."""
        cpu = torch.Generator().manual_seed(seed)
        if device.type == "cpu":
            return cls(cpu, cpu)
        return cls(cpu, torch.Generator(device).manual_seed(seed))


class Measure(NamedTuple):
    """What a network is measured by, per model and sample."""

    loss: Callable[..., Tensor]  # outputs (M, n, ...), *TrainingRows.targets -> (M, n)
    error: Callable[..., Tensor]  # the same, to be reported


def train(
    network: Stack,
    rows: TrainingRows[tuple[Tensor, ...]],
    held_out: Tensor,
    measure: Measure,
    settings: Settings,
    *,
    optimizer: torch.optim.Optimizer | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    generators: Generators | None = None,
) -> list[Epoch]:
    """Train a stack of M networks, and leave each at its best weights.

    Each model is trained on the rows it does not hold out and judged on those it does.
    All see the same batches, so one step serves the stack; their gradients do not mix.
    Without held-out rows the last weights stay. An epoch whose loss is no number is the
    last one, and its weights are not kept. If ``on_epoch`` raises, the network is left
    at the best weights so far.

    Parameters
    ----------
    network : Stack
        Of M models; called with ``*rows.inputs``.
    rows : TrainingRows
    held_out : Tensor of shape (M, n), bool
    measure : Measure
    settings : Settings
    optimizer : Optimizer, optional
        One to go on with, see `optimizer_of`; it tells what is trained.
    on_epoch : callable, optional
    generators : Generators, optional
        Torch's own if not given.

    Returns
    -------
    list of Epoch
    """
    started = time.monotonic()
    generators = generators or Generators()
    optimizer = optimizer or optimizer_of(network, settings)
    trained = [each for group in optimizer.param_groups for each in group["params"]]
    averages = _Averages(trained, settings.averaging)
    best = _Best(network)
    learns = torch.nonzero((~held_out).any(dim=0)).flatten()
    judges = torch.nonzero(held_out.any(dim=0)).flatten()
    history: list[Epoch] = []
    try:
        for number in range(1, settings.n_epochs + 1):
            _train_mode(network)
            losses = []
            for index in _batches(learns, settings, generators.cpu):
                batch = batch_of(rows, index)
                learning = ~held_out[:, index]  # (M, b)
                outputs = network(*batch.inputs, generator=generators.on_device)
                each = measure.loss(outputs, *batch.targets)  # (M, b)
                # Over the rows of the batch, not over their weights: a heavy row
                # counts the same whatever company it is in.
                mean = _weighted_mean(each * batch.weight, learning)  # (M,)
                optimizer.zero_grad()
                mean.sum().backward()
                optimizer.step()
                averages.update()
                losses.append(mean.detach())
            network.eval()
            loss = torch.stack(losses).mean().item()
            validation, is_best = None, False
            if math.isfinite(loss):
                with averages.in_place():
                    if len(judges):
                        validation = _judged(network, rows, held_out, judges, measure)
                    is_best = best.update(number, validation)
            history.append(
                Epoch(
                    number=number,
                    n_epochs=settings.n_epochs,
                    loss=loss,
                    validation_loss=_mean_of(validation, 0),
                    validation_error=_mean_of(validation, 1),
                    is_best=is_best,
                    elapsed_s=time.monotonic() - started,
                )
            )
            if on_epoch is not None:
                on_epoch(history[-1])
            if not math.isfinite(loss):
                break  # no epoch makes numbers of it again
            if number - best.epoch.min() >= settings.patience and len(judges):
                break
    finally:
        best.restore()
        network.eval()
    return history


def _batches(
    rows: Tensor, settings: Settings, generator: torch.Generator | None
) -> Iterator[Tensor]:
    """Yield the row numbers of each step of an epoch."""
    steps_a_pass = -(-len(rows) // settings.batch_size)
    for _ in range(max(1, settings.fewest_steps // max(1, steps_a_pass))):
        order = torch.randperm(len(rows), generator=generator)
        shuffled = rows[order.to(rows.device)]
        batches = list(shuffled.split(settings.batch_size))
        if len(batches) > 1 and len(batches[-1]) == 1:
            # One row has no statistics, should the network take those of a batch.
            batches[-2:] = [torch.cat(batches[-2:])]
        yield from batches


def _train_mode(network: Stack) -> None:
    """Put a network into training, but leave the statistics of frozen parts alone."""
    network.train()
    for module in network.modules():
        frozen = not any(each.requires_grad for each in module.parameters())
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and frozen:
            module.eval()


def optimizer_of(module: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """Return AdamW over all parameters of a module, a whole network or a part."""
    return torch.optim.AdamW(
        module.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=True,
    )


class Snapshot:
    """A copy of all that training changes in place, to go back to.

    Parameters
    ----------
    modules : iterable of nn.Module
        Weights and statistics.
    optimizers : iterable of Optimizers
        Their moments.
    """

    def __init__(
        self, modules: Iterable[nn.Module], optimizers: Iterable[torch.optim.Optimizer]
    ) -> None:
        self.entries = [(each, set(each.state)) for each in optimizers]
        self.tensors = [
            each.detach()
            for module in modules
            for each in (*module.parameters(), *module.buffers())
        ]
        for optimizer, parameters in self.entries:
            for parameter in parameters:
                self.tensors += optimizer.state[parameter].values()
        self.kept = [each.clone() for each in self.tensors]

    def restore(self) -> None:
        """Put everything back as it was."""
        _copy(self.kept, self.tensors)
        for optimizer, parameters in self.entries:
            for parameter in set(optimizer.state) - parameters:
                del optimizer.state[parameter]


class _Averages:
    """Running averages of parameters, which may take their place for a while."""

    def __init__(self, parameters: Sequence[nn.Parameter], decay: float) -> None:
        self.parameters = [p.detach() for p in parameters]
        self.decay = decay
        self.averages = [p.clone() for p in self.parameters]
        self.n_updates = 0

    def update(self) -> None:
        self.n_updates += 1
        # The first averages forget the start: the mean of all steps so far.
        decay = min(self.decay, 1 - 1 / self.n_updates)
        for average, parameter in zip(self.averages, self.parameters, strict=True):
            average.lerp_(parameter, 1 - decay)

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


class _Best:
    """The weights of each model at its lowest validation loss."""

    def __init__(self, network: Stack) -> None:
        self.states = [network.state_of(i) for i in range(network.n_models)]
        self.kept = [[each.clone() for each in state] for state in self.states]
        self.loss = torch.full((network.n_models,), math.inf, dtype=torch.float32)
        self.epoch = torch.zeros(network.n_models, dtype=torch.int64)

    def update(self, number: int, validation: Tensor | None) -> bool:
        """Keep what is better than before; without validation, keep all."""
        loss = torch.full_like(self.loss, -math.inf)
        if validation is not None:
            loss = validation[0].to(self.loss)
        better = (loss < self.loss) | (validation is None)
        for i in torch.nonzero(better).flatten().tolist():
            self.loss[i], self.epoch[i] = loss[i], number
            _copy(self.states[i], self.kept[i])
        return bool(better.any())

    def restore(self) -> None:
        for state, kept in zip(self.states, self.kept, strict=True):
            _copy(kept, state)


def _copy(source: Sequence[Tensor], target: Sequence[Tensor]) -> None:
    for a, b in zip(source, target, strict=True):
        b.copy_(a)


@torch.no_grad()
def _judged(
    network: Stack,
    rows: TrainingRows[tuple[Tensor, ...]],
    held_out: Tensor,
    judges: Tensor,
    measure: Measure,
) -> Tensor:  # (2, M): loss and error
    """Return the weighted means over the rows that each model holds out."""
    parts = []
    for index in judges.split(4096):
        batch = batch_of(rows, index)
        outputs = network(*batch.inputs)
        each = [of(outputs, *batch.targets).double() for of in measure]
        parts.append(torch.stack(each))
    weight = rows.weight.index_select(0, judges) * held_out[:, judges]  # (M, j)
    return _weighted_mean(torch.cat(parts, dim=-1), weight)


def _weighted_mean(values: Tensor, weight: Tensor) -> Tensor:
    """Return the mean over the last dimension, 0 where all weights are 0."""
    total = weight.sum(dim=-1)
    return (values * weight).sum(dim=-1) / total.where(total > 0, 1)


def _mean_of(validation: Tensor | None, which: int) -> float | None:
    return None if validation is None else validation[which].mean().item()
