"""Tabular runs: a method on a data set, by the paper's common protocol."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor

from histreg._checks import check_choice, check_count
from histreg.study.datasets import Table, dataset
from histreg.study.methods import (
    LinearRegression,
    Method,
    NetworkMethod,
    method_of,
)
from histreg.study.runs import Outcome, Run, Workplace
from histreg.study.streams import stream
from histreg.study.trainer import Rows, Training, train

PARTS = ("test", "validation")
CACHE_BYTES = 5e6  # that a stack may fill
TYPICAL_OUTPUTS = 100


@dataclass(frozen=True)
class TabularRun(Run):
    """A method on a random split of a data set; `of` has the paper's protocol.

    Parameters
    ----------
    dataset : str
    method : Method
    seed : int
        Of the split, the first weights, the batches and the dropout.
    epochs : int
    hidden : tuple of int
        Widths of the hidden layers.
    dropout : float
        Of the inputs.
    learning_rate : float
    batch_size : int
    part : {"test", "validation"}
        What is predicted: the fifth of the rows that no run learns from, or a fifth of
        the others, which is then not learnt from either. Choices made on the second
        are fair to report on the first.
    has_authors_head : bool
        Whether the last layer starts as in the authors' later code, with random biases.
    """

    kind: ClassVar[str] = "tabular"

    dataset: str
    method: Method
    seed: int
    epochs: int
    hidden: tuple[int, ...]
    dropout: float = 0.0
    learning_rate: float = 1e-3
    batch_size: int = 256
    part: str = "test"
    has_authors_head: bool = False

    def __post_init__(self) -> None:
        check_count("epochs", self.epochs, at_least=1)
        check_choice("part", self.part, PARTS)

    @classmethod
    def of(cls, name: str, method: Method, seed: int, **changes: Any) -> TabularRun:
        """Return the run that the paper's protocol has for a data set."""
        data = dataset(name)
        protocol = {
            "epochs": data.epochs,
            "hidden": data.hidden,
            "dropout": data.dropout,
        }
        if isinstance(method, LinearRegression):
            # Trained in no epochs; equal for all who leave the protocol there.
            protocol |= {"epochs": 1, "hidden": (), "dropout": 0.0}
            changes = {"part": changes.get("part", "test")}
        return cls(name, method, seed, **{**protocol, **changes})

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> TabularRun:
        """Return the run that `to_json` described."""
        known = {k: v for k, v in description.items() if k != "kind"}
        known["method"] = method_of(known["method"])
        known["hidden"] = tuple(known["hidden"])
        return cls(**known)

    def moved_to(self, dataset: str) -> TabularRun:
        """Return the same by the protocol of another data set.

        What differs from the protocol of its own differs from that of the other too.
        """
        usual = TabularRun.of(self.dataset, self.method, self.seed)
        changes = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) != getattr(usual, each.name)
        }
        return TabularRun.of(dataset, self.method, self.seed, **changes)

    @property
    def folder(self) -> tuple[str, ...]:
        """The data set, then the method."""
        return (self.dataset, self.method.name)

    @property
    def label(self) -> str:
        """Data set, method, seed, and what differs from the protocol."""
        told = [self.dataset, self.method.label, f"seed {self.seed}", *self.changes]
        if self.part != "test":
            told.append(self.part)
        return ", ".join(told)

    @property
    def changes(self) -> list[str]:
        """What differs from the protocol of the data set, in words."""
        usual = TabularRun.of(self.dataset, self.method, self.seed, part=self.part)
        told = {
            each.name: f"{each.name.replace('_', ' ')} {getattr(self, each.name)}"
            for each in fields(self)
            if getattr(self, each.name) != getattr(usual, each.name)
        }
        if "has_authors_head" in told:
            told["has_authors_head"] = "authors' head"
        return list(told.values())

    @property
    def stack(self) -> tuple[object, ...]:
        """Everything but the method; linear regressions among themselves."""
        closed = isinstance(self.method, LinearRegression)
        return (
            self.kind,
            self.dataset,
            self.seed,
            self.part,
            closed or self._training(),
        )

    @property
    def largest_stack(self) -> int:
        """As many networks as share some megabytes of cache, from four to twelve.

        More gain nothing (docs/speed.md), and lose where others use the cache too.
        """
        sizes = [*self.hidden, TYPICAL_OUTPUTS]
        of_batch = 2 * self.batch_size * sum(sizes)  # values and their derivatives
        n_bytes = 4 * (of_batch + 4 * self._n_weights)  # with gradients and moments
        return max(4, min(12, round(CACHE_BYTES / n_bytes)))

    @property
    def _n_weights(self) -> int:
        n_outputs = getattr(self.method, "n_outputs", 1)
        sizes = [dataset(self.dataset).n_features, *self.hidden, n_outputs]
        return sum(a * b for a, b in pairwise(sizes))

    @property
    def expected_s(self) -> float:
        """By a line through the four data sets on one core of two busy ones."""
        if not isinstance(self.method, NetworkMethod):
            return 1.0
        data = dataset(self.dataset)
        share = 0.8 if self.part == "test" else 0.64
        steps = self.epochs * math.ceil(data.n_rows * share / self.batch_size)
        return steps * (200e-6 + 17.5e-9 * self._n_weights)

    def _training(self) -> Training:
        return Training(
            self.hidden,
            self.dropout,
            self.epochs,
            self.learning_rate,
            self.batch_size,
            self.has_authors_head,
        )

    @classmethod
    def compute(cls, runs: Sequence[TabularRun], workplace: Workplace) -> list[Outcome]:
        """Train the networks of a stack, or solve its linear regressions."""
        first = runs[0]
        data = dataset(first.dataset)
        table = data.load(workplace.data_dir)
        rows, others = split(table, first.seed, first.part)
        if isinstance(first.method, LinearRegression):
            metrics = _linear(first.method, rows, first.part, others)
            return [Outcome(metrics, data_sha256=table.sha256) for _ in runs]

        def on_epoch(epoch: int) -> None:
            workplace.report(epoch / first.epochs)

        fits = train(
            [run.method for run in runs if isinstance(run.method, NetworkMethod)],
            rows,
            {first.part: others},
            first._training(),
            value_range=data.y_range,
            seed=first.seed,
            checkpoints=workplace.checkpoints,
            on_epoch=on_epoch,
        )
        return [
            Outcome(
                fit.metrics if fit.diverged_at is None else {},
                _rounded(fit.curves),
                fit.diverged_at,
                table.sha256,
            )
            for fit in fits
        ]


def split(table: Table, seed: int, part: str = "test") -> tuple[Rows, Rows]:
    """Return the rows to learn from and those to predict, inputs standardised.

    A fifth, rounded down, is predicted (one row of Bike less than if rounded up, as
    the authors' library does). Means and standard deviations are those of the rows to
    learn from; a constant column is divided by 1.
    """
    x, y = torch.tensor(table.X), torch.tensor(table.y)
    order = torch.randperm(len(y), generator=stream(seed, "split"))
    held_out = len(y) // 5
    others, learnt = order[:held_out], order[held_out:]
    if part == "validation":
        held_out = len(learnt) // 5
        others, learnt = learnt[:held_out], learnt[held_out:]
    mean, sd = x[learnt].mean(dim=0), x[learnt].std(dim=0, correction=0)
    # A constant column's sd is rounding; beside its size it is nothing.
    varies = sd > 1e-12 * mean.abs().clamp(min=1e-300)
    x = (x - mean) / sd.where(varies, 1.0)
    return Rows(x[learnt], y[learnt]), Rows(x[others], y[others])


def _linear(
    method: LinearRegression, rows: Rows, part: str, others: Rows
) -> dict[str, float]:
    coefficients = method.fit(rows.x, rows.y)
    metrics = {}
    for name, each in {"train": rows, part: others}.items():
        error: Tensor = method.predict(each.x, coefficients) - each.y
        metrics[f"{name} MAE"] = error.abs().mean().item()
        metrics[f"{name} RMSE"] = error.square().mean().sqrt().item()
    return metrics


def _rounded(curves: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """Return curves in five digits: they are for the eye, and there are many."""
    return {name: [float(f"{v:.5g}") for v in each] for name, each in curves.items()}
