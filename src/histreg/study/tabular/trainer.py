"""The trainer: trains M methods on the same rows as one stack.

Models of a stack share the seed, and with it the batches, the dropout and the initial
weights of their bodies: comparisons are paired by design. A model does not depend on
the others of its stack, except for rounding in products whose shape has changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar, Literal, Protocol

import torch
from torch import Tensor

from histreg.study.engine.checkpoints import (
    Checkpoint,
    SavedState,
    check_like,
    common_epoch,
    restoring,
)
from histreg.study.engine.seeding import generator_for
from histreg.study.methods import NetworkMethod
from histreg.study.methods.criteria.criterion import Criterion, Targets
from histreg.study.networks.perceptrons import (
    FusedAdam,
    Perceptrons,
    Shape,
    Weights,
    authors_head,
    lecun_uniform,
)
from histreg.study.tabular.runs import Training
from histreg.tabular.networks import dropout

Curves = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows of a table with their targets, to train on or to predict."""

    x: Tensor  # (n, d)
    y: Tensor  # (n,), float64, in original units


@dataclass(frozen=True, eq=False)
class Start:
    """How the body of one network, all but its head, is initialised.

    Parameters
    ----------
    body : Tensor, optional
        A `Fit.body`; drawn at random if not given.
    is_frozen : bool
        Whether the body is kept fixed, so that only the head is trained.
    """

    body: Tensor | None = None
    is_frozen: bool = False


When = Literal["every epoch", "recorded epochs", "last epoch"]


class Probe(Protocol):
    """An additional measurement of a stack; see `histreg.study.tabular.probes`."""

    when: ClassVar[When]
    """After which epochs; with "every epoch", errors are recorded every epoch too."""

    def measure(
        self,
        network: Perceptrons,
        criteria: Sequence[Criterion],
        rows: Examples,
        others: Mapping[str, Examples],
    ) -> list[dict[str, Any]]:
        """Return numbers by name for each network of the stack.

        Other JSON values are curves, not metrics.
        """


@dataclass
class Fit:
    """The result of training one model."""

    metrics: dict[str, float] = field(default_factory=dict)
    curves: Curves = field(default_factory=dict)
    diverged_at: int | None = None
    """The epoch after which an output was NaN or infinite."""
    body: Tensor | None = None
    """The final weights, without those of the head."""

    def checked(self) -> Fit:
        """Return the fit if its fields, read from a file, have their types."""
        if not isinstance(self.metrics, dict) or not isinstance(self.curves, dict):
            raise TypeError("metrics and curves must be objects")
        for value in self.metrics.values():
            if type(value) not in (float, int):
                raise TypeError(f"metrics must be numbers, got {value!r}")
        for curve in self.curves.values():
            if not isinstance(curve, list):
                raise TypeError(f"curves must be lists, got {curve!r}")
        if type(self.diverged_at) not in (int, type(None)):
            raise TypeError(f"diverged_at must be an epoch, got {self.diverged_at!r}")
        return self


def train(
    methods: Sequence[NetworkMethod],
    rows: Examples,
    others: dict[str, Examples],
    training: Training,
    *,
    value_range: tuple[float, float],
    seed: int,
    dtype: torch.dtype = torch.float32,
    starts: Sequence[Start] = (),
    probes: Sequence[Probe] = (),
    checkpoints: Sequence[Checkpoint] = (),
    on_epoch: Callable[[int], None] | None = None,
) -> list[Fit]:
    """Train one network for each method, and evaluate all.

    Parameters
    ----------
    methods : sequence of M NetworkMethod
    rows : Examples
        The training rows; measured as "train".
    others : dict of Examples
        Measured under their names, such as "test".
    training : Training
    value_range : (float, float)
        The declared range of y.
    seed : int
    dtype : torch.dtype
        float64 is for tests.
    starts : sequence of M Start, optional
        By default all bodies are drawn and trained.
    probes : sequence of Probe
    checkpoints : sequence of M Checkpoint, optional
        Loaded at the start, and saved after each epoch but the last if due. If all are
        of the same epoch, the training continues from there.
    on_epoch : callable, optional
        Called with the number of epochs done, after each but the last.

    Returns
    -------
    list of M Fit
        In the order of the methods.
    """
    # Sorted by group, so that each group is a slice of the stack, and before that by
    # the number of outputs, so that groups with as many share their products.
    places = sorted(
        range(len(methods)),
        key=lambda i: (methods[i].n_outputs, repr(methods[i].group)),
    )
    ordered = [methods[i] for i in places]
    with torch.no_grad():
        training_of_stack = _StackTraining(
            ordered,
            [starts[i] if starts else Start() for i in places],
            rows,
            others,
            training,
            probes,
            value_range,
            seed,
            dtype,
        )
        fits = training_of_stack.run(
            [checkpoints[i] for i in places if checkpoints], on_epoch
        )
    return [fit for _, fit in sorted(zip(places, fits, strict=True), key=_first)]


def _first(pair: tuple[int, Fit]) -> int:
    return pair[0]


class _StackTraining:
    """A stack in training; its methods are ordered by groups."""

    def __init__(
        self,
        methods: Sequence[NetworkMethod],
        starts: Sequence[Start],
        rows: Examples,
        others: dict[str, Examples],
        training: Training,
        probes: Sequence[Probe],
        value_range: tuple[float, float],
        seed: int,
        dtype: torch.dtype,
    ) -> None:
        self.methods = methods
        self.training = training
        self.probes = probes
        self.seed = seed
        self.rows = Examples(rows.x.to(dtype), rows.y)
        self.others = {
            name: Examples(examples.x.to(dtype), examples.y)
            for name, examples in others.items()
        }
        targets = Targets(
            rows.y, *value_range, seed=seed, dtype=dtype, epochs=training.epochs
        )
        self.criteria: list[Criterion] = []
        outputs = []
        for _, same in groupby(methods, key=lambda method: method.group):
            group = list(same)
            self.criteria.append(group[0].criterion(group, targets))
            outputs.append((len(group), group[0].n_outputs))
        shape = Shape(rows.x.shape[1], training.hidden, tuple(outputs))
        self.network = Perceptrons(shape, dtype)
        lecun_uniform(
            self.network,
            [
                (
                    generator_for(seed, "body"),
                    generator_for(seed, "head", method.n_outputs),
                )
                for method in methods
            ],
        )
        if training.has_authors_head:
            heads = [generator_for(seed, "authors", m.n_outputs) for m in methods]
            authors_head(self.network, heads)
        for i, start in enumerate(starts):
            if start.body is not None:
                self.network.weights.put_body(i, start.body)
        # Adam does not change weights whose gradient was always zero.
        self.frozen = [
            part
            for i, start in enumerate(starts)
            if start.is_frozen
            for part in self.network.gradients.body_parts(i)
        ]
        self.optimizer = FusedAdam(
            self.network,
            learning_rate=training.learning_rate,
            epsilon=1e-7,  # Keras's, which the authors ran with
        )
        self.moments = self.optimizer.moments
        self.clipped = [
            (i, method.max_gradient_norm)
            for i, method in enumerate(methods)
            if math.isfinite(method.max_gradient_norm)
        ]
        self.fits = [Fit() for _ in methods]

    def run(
        self,
        checkpoints: Sequence[Checkpoint],
        on_epoch: Callable[[int], None] | None,
    ) -> list[Fit]:
        recorded = set(recorded_epochs(self.training.epochs))
        if any(probe.when == "every epoch" for probe in self.probes):
            recorded = set(range(1, self.training.epochs + 1))
        done = self._restore(checkpoints)
        for epoch in range(done + 1, self.training.epochs + 1):
            self._train_epoch(epoch)
            self._see_divergence(epoch)
            if epoch in recorded:
                self._record(epoch)
            if all(fit.diverged_at is not None for fit in self.fits):
                break
            if epoch == self.training.epochs:
                break  # finished: it cannot be stopped any more
            # All or none, so that they can continue together.
            if any(checkpoint.is_due() for checkpoint in checkpoints):
                for i, checkpoint in enumerate(checkpoints):
                    checkpoint.save(*self._state_of(i, epoch))
            if on_epoch is not None:
                on_epoch(epoch)
        for i, fit in enumerate(self.fits):
            fit.body = self.network.weights.body_of(i)
        return self.fits

    def _train_epoch(self, epoch: int) -> None:
        training, network = self.training, self.network
        n = len(self.rows.y)
        order = torch.randperm(n, generator=generator_for(self.seed, "order", epoch))
        x = self.rows.x.index_select(0, order)  # once, so that batches are slices
        draws = generator_for(self.seed, "dropout", epoch)
        for criterion in self.criteria:
            criterion.start_epoch(epoch, order)
        for batch in batches(n, training.batch_size):
            some = x[batch]
            if training.dropout:
                some = dropout(some, training.dropout, generator=draws)
            outputs = network.forward(some)
            slopes = network.output_slopes(some)
            for criterion, out, slope in zip(
                self.criteria, outputs, slopes, strict=True
            ):
                criterion.gradient(out, batch, slope)
            network.backward(some)
            for part in self.frozen:
                part.zero_()
            for i, largest in self.clipped:
                network.clip(i, largest)
            self.optimizer.step()

    def _see_divergence(self, epoch: int) -> None:
        # A weight that is NaN makes the outputs of all rows NaN.
        outputs = self.network.forward(self.rows.x[: self.training.batch_size])
        finite = [
            bool(output.isfinite().all()) for group in outputs for output in group
        ]
        for fit, is_finite in zip(self.fits, finite, strict=True):
            if not is_finite and fit.diverged_at is None:
                fit.diverged_at = epoch

    def _record(self, epoch: int) -> None:
        losses = self._losses()
        errors = {
            name: self._errors(rows)
            for name, rows in {"train": self.rows, **self.others}.items()
        }
        is_last = epoch == self.training.epochs
        probed = [
            (
                probe.when != "last epoch",
                probe.measure(self.network, self.criteria, self.rows, self.others),
            )
            for probe in self.probes
            if probe.when != "last epoch" or is_last
        ]
        for i, fit in enumerate(self.fits):
            if fit.diverged_at is not None:
                continue
            now: dict[str, Any] = {"train loss": losses[i].item()}
            for name, error in errors.items():
                now[f"{name} MAE"] = error[i].abs().mean().item()
                now[f"{name} RMSE"] = error[i].square().mean().sqrt().item()
            fit.metrics = now.copy()
            for is_curve, numbers in probed:
                fit.metrics |= {k: v for k, v in numbers[i].items() if type(v) is float}
                now |= numbers[i] if is_curve else {}
            for name, value in {"epoch": epoch, **now}.items():
                fit.curves.setdefault(name, []).append(value)

    def _losses(self) -> Tensor:  # (M,)
        """Return the mean training loss, without dropout or noise."""
        n = len(self.rows.y)
        in_place = torch.arange(n)
        for criterion in self.criteria:
            criterion.start_epoch(0, in_place)
        totals = torch.zeros(len(self.methods), dtype=torch.float64)
        for batch in batches(n, self.training.batch_size):
            outputs = self.network.forward(self.rows.x[batch])
            pairs = zip(self.criteria, outputs, strict=True)
            losses = torch.cat([criterion.loss(out, batch) for criterion, out in pairs])
            totals += losses.double() * outputs[0].shape[1]
        return totals / n

    def _errors(self, rows: Examples) -> Tensor:  # (M, n), float64
        """Return prediction minus target, in original units."""
        parts = []
        for batch in batches(len(rows.y), self.training.batch_size):
            outputs = self.network.forward(rows.x[batch])
            pairs = zip(self.criteria, outputs, strict=True)
            parts.append(
                torch.cat([criterion.predict(out) for criterion, out in pairs])
            )
        return torch.cat(parts, dim=1) - rows.y

    def _state_of(self, i: int, epoch: int) -> SavedState:
        tensors = {
            name: network.vector_of(i) for name, network in self._vectors().items()
        }
        tensors["n_steps"] = self.moments["step"]
        fit = self.fits[i]
        so_far = {
            "metrics": fit.metrics,
            "curves": fit.curves,
            "diverged_at": fit.diverged_at,
        }
        return tensors, {"epoch": epoch, "fit": so_far}

    def _restore(self, checkpoints: Sequence[Checkpoint]) -> int:
        """Continue from checkpoints, if there are any; return the epochs done."""
        saved = [checkpoint.load() for checkpoint in checkpoints]
        epoch = common_epoch(saved)
        if not epoch:
            return 0
        vectors = self._vectors()
        states = [state for state in saved if state is not None]
        for i, (checkpoint, (tensors, notes)) in enumerate(
            zip(checkpoints, states, strict=True)
        ):
            with restoring(checkpoint):
                for name, vector in vectors.items():
                    check_like(name, tensors[name], vector.vector_of(i))
                    vector.put(i, tensors[name])
                check_like("n_steps", tensors["n_steps"], self.moments["step"])
                self.moments["step"].copy_(tensors["n_steps"])
                self.fits[i] = Fit(**notes["fit"]).checked()
        return epoch

    def _vectors(self) -> dict[str, Weights]:
        """Return the state to continue the training from, by model."""
        shape = self.network.shape
        return {
            "weights": self.network.weights,
            "mean": Weights(shape, self.moments["exp_avg"]),
            "mean_square": Weights(shape, self.moments["exp_avg_sq"]),
        }


def recorded_epochs(epochs: int, n_points: int = 24) -> list[int]:
    """Return the epochs after which errors are measured: dense at first, then sparse.

    The last is among them.
    """
    steps = max(1, n_points - 1)
    return sorted({round(epochs ** (i / steps)) for i in range(steps + 1)})


def batches(n: int, size: int) -> Iterator[slice]:
    """Yield slices of n rows, each of this size but the last."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
