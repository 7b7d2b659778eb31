"""Tabular runs: a method on a data set, by the paper's common protocol."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor

from histreg._checks import check_choice, check_count
from histreg.errors import InputError
from histreg.study.datasets import Table, dataset
from histreg.study.engine.runs import Outcome, Run, Workplace
from histreg.study.engine.seeding import stream
from histreg.study.methods import (
    LinearRegression,
    Method,
    NetworkMethod,
    method_of,
)
from histreg.study.tabular.probes import PROBES
from histreg.study.tabular.trainer import (
    Checkpoint,
    Fit,
    Kept,
    Rows,
    Start,
    Training,
    common_epoch,
    restoring,
    train,
)

PARTS = ("test", "validation")
CACHE_BYTES = 5e6  # that a stack may fill
TYPICAL_OUTPUTS = 100

# Seconds of one core of two busy ones, as the records in results/study took them. The
# more weights, the more of the time is in products of matrices; CT Position is nearly
# all of that.
S_A_STEP, S_A_WEIGHT = 120e-6, 47e-9
DONOR_COST = 0.6  # of a network's own, as runs of a stack share their donors
S_A_PROBED_EPOCH = {"gradients": 0.015}  # other probes are few, and cost nothing
S_OF_REGRESSION, S_A_PRODUCT = 0.01, 2.5e-10


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
    corrupted : float
        Share of the targets to learn from that are replaced by uniform draws from the
        range; those of the other part are not.
    donor : Method, optional
        Trained first by the same protocol; its body, all but the last layer, is then
        what this method starts from.
    has_frozen_body : bool
        Whether the last layer alone is trained.
    probes : tuple of str
        What else is measured, see `histreg.study.tabular.probes`.
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
    corrupted: float = 0.0
    donor: Method | None = None
    has_frozen_body: bool = False
    probes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_count("epochs", self.epochs, at_least=1)
        check_choice("part", self.part, PARTS)
        if not 0 <= self.corrupted <= 1:
            raise InputError(f"corrupted must be from 0 to 1, got {self.corrupted}")
        if self.donor is not None and not isinstance(self.donor, NetworkMethod):
            raise InputError(f"donor must be a network, got {self.donor.label}")
        for name in self.probes:
            check_choice("probes", name, PROBES)

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
        known["probes"] = tuple(known.get("probes", ()))
        if known.get("donor") is not None:
            known["donor"] = method_of(known["donor"])
        return cls(**known)

    def moved_to(self, dataset: str) -> TabularRun:
        """Return the same by the protocol of another data set.

        What differs from the protocol of its own differs from that of the other too;
        what is the same there, such as no dropout where there is none, does not.
        """
        usual = TabularRun.of(self.dataset, self.method, self.seed)
        changes = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) != getattr(usual, each.name)
        }
        return TabularRun.of(dataset, self.method, self.seed, **changes)

    def for_epochs(self, epochs: int) -> TabularRun:
        """Return the same with another number of epochs, if it is of a network."""
        return replace(self, epochs=epochs) if self.hidden else self

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
        told += [f"with {name}" for name in self.probes]
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
        words = {
            "has_authors_head": "authors' head",
            "corrupted": f"{100 * self.corrupted:g}% corrupted",
            "donor": "" if self.donor is None else f"body of {self.donor.label}",
            "has_frozen_body": "frozen body",
        }
        told |= {name: words[name] for name in told if name in words}
        told.pop("probes", None)  # changes nothing
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
            self.corrupted,
            self.probes,
            # Those with donors go two ways, one after the other.
            self.donor is not None,
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
        """By the steps and the weights of a network, and what is probed."""
        data = dataset(self.dataset)
        if not isinstance(self.method, NetworkMethod):
            return S_OF_REGRESSION + S_A_PRODUCT * data.n_rows * data.n_features**2
        share = 0.8 if self.part == "test" else 0.64
        n_batches = math.ceil(data.n_rows * share / self.batch_size)
        epoch_s = n_batches * (S_A_STEP + S_A_WEIGHT * self._n_weights)
        epoch_s *= 1 if self.donor is None else 1 + DONOR_COST
        epoch_s += sum(S_A_PROBED_EPOCH.get(name, 0.0) for name in self.probes)
        return self.epochs * epoch_s

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

        if first.corrupted:
            y = corrupted(rows.y, first.corrupted, data.y_range, first.seed)
            rows = Rows(rows.x, y)
        learning = _Learning(
            rows, {first.part: others}, first._training(), data.y_range, first.seed
        )
        fits = learning.fits(runs, workplace)
        return [
            Outcome(
                fit.metrics if fit.diverged_at is None else {},
                _rounded(fit.curves),
                fit.diverged_at,
                table.sha256,
            )
            for fit in fits
        ]


@dataclass(frozen=True, eq=False)
class _Learning:
    """What the runs of a stack have in common."""

    rows: Rows
    others: dict[str, Rows]
    training: Training
    value_range: tuple[float, float]
    seed: int

    def fits(self, runs: Sequence[TabularRun], workplace: Workplace) -> list[Fit]:
        """Train the networks of all runs, after their donors if they have any."""
        kept = workplace.checkpoints
        donors = list(dict.fromkeys(run.donor for run in runs if run.donor is not None))
        n_before = self.training.epochs if donors else 0
        total = n_before + self.training.epochs
        for each in kept:
            found = each.load()
            if found is not None and found[1]["epoch"] >= total:
                with restoring(each):
                    raise ValueError(f"epoch {found[1]['epoch']} of {total}")
        stages = [_Stage([each], range(n_before + 1, total + 1)) for each in kept]
        bodies: dict[Method | None, Tensor | None] = {None: None}
        goes_on = common_epoch([stage.load() for stage in stages]) > 0
        if donors and not goes_on:
            before = [
                _Stage(
                    [
                        each
                        for run, each in zip(runs, kept, strict=True)
                        if run.donor == donor
                    ],
                    range(1, n_before + 1),
                )
                for donor in (donors if kept else ())
            ]
            trained = self._train(
                donors,
                checkpoints=before,
                on_epoch=lambda epoch: workplace.report(epoch / total),
            )
            bodies |= {d: fit.body for d, fit in zip(donors, trained, strict=True)}
        return self._train(
            [run.method for run in runs],
            starts=[Start(bodies.get(run.donor), run.has_frozen_body) for run in runs],
            probes=[PROBES[name]() for name in runs[0].probes],
            checkpoints=stages,
            on_epoch=lambda epoch: workplace.report((n_before + epoch) / total),
        )

    def _train(self, methods: Sequence[Method], **options: Any) -> list[Fit]:
        return train(
            [method for method in methods if isinstance(method, NetworkMethod)],
            self.rows,
            self.others,
            self.training,
            value_range=self.value_range,
            seed=self.seed,
            **options,
        )


class _Stage:
    """One of two trainings, the second after the first, in the checkpoints of runs.

    Parameters
    ----------
    kept : sequence of Checkpoint
        Of all runs that this training is for.
    epochs : range
        Its own; those of the second are counted on from the first.
    """

    def __init__(self, kept: Sequence[Checkpoint], epochs: range) -> None:
        self.kept, self.epochs = kept, epochs
        self.n_before = epochs.start - 1

    def load(self) -> Kept | None:
        """Return what was saved last, if it is of this training."""
        found = [each.load() for each in self.kept]
        ours = [
            (tensors, {**notes, "epoch": notes["epoch"] - self.n_before})
            for tensors, notes in (each for each in found if each is not None)
            if notes["epoch"] in self.epochs
        ]
        return ours[0] if len(ours) == len(self.kept) else None

    def is_due(self) -> bool:
        """Return whether it is time to save."""
        return any(each.is_due() for each in self.kept)

    def save(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        """Keep the same for all runs."""
        for each in self.kept:
            each.save(tensors, {**notes, "epoch": notes["epoch"] + self.n_before})

    def reject(self, why: Exception) -> None:
        """Forget what was saved for all runs."""
        for each in self.kept:
            each.reject(why)


def corrupted(
    y: Tensor, share: float, value_range: tuple[float, float], seed: int
) -> Tensor:
    """Return targets of which a share is replaced by uniform draws from the range.

    Those of a smaller share are among those of a larger, with the same draws.
    """
    n = round(share * len(y))
    chosen = torch.randperm(len(y), generator=stream(seed, "corrupted"))[:n]
    draws = torch.rand(len(y), generator=stream(seed, "draws"), dtype=y.dtype)[:n]
    low, high = value_range
    return y.index_copy(0, chosen, low + draws * (high - low))


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


def _rounded(curves: Any) -> Any:
    """Return curves in five digits: they are for the eye, and there are many."""
    if isinstance(curves, dict):
        return {name: _rounded(each) for name, each in curves.items()}
    if isinstance(curves, list):
        return [_rounded(each) for each in curves]
    return float(f"{curves:.5g}")
