"""Tabular runs: a method on a data set, by the paper's common protocol."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, ClassVar

from histreg._checks import check_choice, check_count
from histreg.errors import InputError
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Outcome, Run, RunContext
from histreg.study.methods import LinearRegression, Method, NetworkMethod

PARTS = ("test", "validation")
PROBES = ("gradients", "sensitivity", "snapshots")
"""Available probes, see `histreg.study.tabular.probes`."""
CACHE_BYTES = 5e6  # that the networks of a stack may use
TYPICAL_OUTPUTS = 100

# Seconds of one core when both of two are busy, from the records in results/study. The
# more weights, the larger the share of matrix products; of CT Position, nearly all.
S_A_STEP, S_A_WEIGHT = 120e-6, 47e-9
DONOR_COST = 0.6  # of a network's own, as runs of a stack share their donors
S_A_PROBED_EPOCH = {"gradients": 0.015}  # the cost of other probes is negligible
S_OF_REGRESSION, S_A_PRODUCT = 0.01, 2.5e-10


@dataclass(frozen=True)
class Training:
    """How the networks of a stack are trained."""

    hidden: tuple[int, ...]
    dropout: float
    epochs: int
    learning_rate: float
    batch_size: int
    has_authors_head: bool = False


@dataclass(frozen=True)
class TabularRun(Run):
    """A method on a random split of a data set; `of` has the paper's protocol.

    Parameters
    ----------
    dataset : str
    method : Method
    seed : int
        Seed of the split, the first weights, the batches and the dropout.
    epochs : int
    hidden : tuple of int
        Widths of the hidden layers.
    dropout : float
        Dropout rate of the inputs.
    learning_rate : float
    batch_size : int
    part : {"test", "validation"}
        The rows to predict: the test rows, a fifth that no run is trained on, or the
        validation rows, a fifth of the others, which are then not used for training
        either. Choices made on validation rows may be reported on test rows.
    has_authors_head : bool
        Whether the last layer starts as in the authors' later code, with random biases.
    corrupted : float
        Share of the targets to learn from that are replaced by uniform draws from the
        range; those of the other part are not.
    donor : Method, optional
        A method that is trained first by the same protocol; this method starts from its
        body, all but the last layer.
    has_frozen_body : bool
        Whether only the last layer is trained.
    probes : tuple of str
        Additional measurements, see `histreg.study.tabular.probes`.
    """

    kind: ClassVar[str] = "tabular"
    numbers: ClassVar[tuple[str, ...]] = ("epochs", "learning_rate")

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
        """Return the run of the paper's protocol for a data set."""
        data = dataset(name)
        protocol = {
            "epochs": data.epochs,
            "hidden": data.hidden,
            "dropout": data.dropout,
        }
        if isinstance(method, LinearRegression):
            # It has no epochs; changes of the protocol do not apply to it.
            protocol |= {"epochs": 1, "hidden": (), "dropout": 0.0}
            changes = {"part": changes.get("part", "test")}
        return cls(name, method, seed, **{**protocol, **changes})

    def moved_to(self, dataset: str) -> TabularRun:
        """Return the same run by the protocol of another data set.

        Deviations from the protocol of this data set are kept; everything else follows
        the protocol of the other.
        """
        usual = TabularRun.of(self.dataset, self.method, self.seed)
        changes = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != getattr(usual, field.name)
        }
        return TabularRun.of(dataset, self.method, self.seed, **changes)

    def with_numbers(self, **numbers: Any) -> TabularRun:
        """Return the same with other epochs or another rate, if it is a network."""
        own = {name: value for name, value in numbers.items() if name in self.numbers}
        return replace(self, **own) if self.hidden else self

    @property
    def folder(self) -> tuple[str, ...]:
        """The data set, then the method."""
        return (self.dataset, self.method.name)

    @property
    def label(self) -> str:
        """Data set, method, seed, and deviations from the protocol."""
        parts = [self.dataset, self.method.label, f"seed {self.seed}", *self.changes]
        if self.part != "test":
            parts.append(self.part)
        parts += [f"with {name}" for name in self.probes]
        return ", ".join(parts)

    @property
    def changes(self) -> list[str]:
        """Deviations from the protocol of the data set, in words."""
        usual = TabularRun.of(self.dataset, self.method, self.seed, part=self.part)
        changes = {
            item.name: f"{item.name.replace('_', ' ')} {getattr(self, item.name)}"
            for item in fields(self)
            if getattr(self, item.name) != getattr(usual, item.name)
        }
        words = {
            "has_authors_head": "authors' head",
            "corrupted": f"{100 * self.corrupted:g}% corrupted",
            "donor": "" if self.donor is None else f"body of {self.donor.label}",
            "has_frozen_body": "frozen body",
        }
        changes |= {name: words[name] for name in changes if name in words}
        changes.pop("probes", None)  # changes nothing
        return list(changes.values())

    @property
    def stack_key(self) -> tuple[object, ...]:
        """Everything but the method; linear regressions are computed separately."""
        closed = isinstance(self.method, LinearRegression)
        return (
            self.kind,
            self.dataset,
            self.seed,
            self.part,
            self.corrupted,
            self.probes,
            # Runs with donors take two trainings, one after the other.
            self.donor is not None,
            closed or self.training,
        )

    @property
    def largest_stack(self) -> int:
        """As many networks as fit into some megabytes of cache, from four to twelve.

        More are no faster (docs/speed.md), and slower where others use the cache too.
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
        """Estimated from the steps and weights of a network, and its probes."""
        data = dataset(self.dataset)
        if not isinstance(self.method, NetworkMethod):
            return S_OF_REGRESSION + S_A_PRODUCT * data.n_rows * data.n_features**2
        share = 0.8 if self.part == "test" else 0.64
        n_batches = math.ceil(data.n_rows * share / self.batch_size)
        epoch_s = n_batches * (S_A_STEP + S_A_WEIGHT * self._n_weights)
        epoch_s *= 1 if self.donor is None else 1 + DONOR_COST
        epoch_s += sum(S_A_PROBED_EPOCH.get(name, 0.0) for name in self.probes)
        return self.epochs * epoch_s

    @property
    def time_key(self) -> tuple[object, ...]:
        """The network, the data set, what is trained and measured, and the method."""
        sizes = (dataset(self.dataset).n_features, *self.hidden)
        is_network = isinstance(self.method, NetworkMethod)
        how = (self.probes, self.donor is not None, self.has_frozen_body)
        return (self.kind, is_network, sizes, self.dataset, how, self.method.name)

    @property
    def training(self) -> Training:
        """The training settings of its network."""
        return Training(
            self.hidden,
            self.dropout,
            self.epochs,
            self.learning_rate,
            self.batch_size,
            self.has_authors_head,
        )

    @classmethod
    def compute(cls, runs: Sequence[TabularRun], context: RunContext) -> list[Outcome]:
        """Train the networks of a stack, or solve its linear regressions."""
        from histreg.study.tabular.execution import outcomes_of

        return outcomes_of(runs, context)
