"""Runs on synthetic sines (Figure 3): how fast a network fits sin(alpha x) + beta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from histreg._checks import check_count
from histreg.study.engine.runs import Outcome, Run, RunContext
from histreg.study.methods import NetworkMethod


@dataclass(frozen=True)
class SineRun(Run):
    """A network that is trained on the whole sine at once, by Adam.

    Parameters
    ----------
    method : NetworkMethod
    alpha, beta : float
        Parameters of the target sin(alpha x) + beta on 500 points of [-pi, pi).
    value_range : (float, float)
        The support of the bins; (0, 1) leaves y unscaled for losses of one output.
    learning_rate : float
    seed : int
        Seed of the first weights.
    iterations : int
        Evaluations and updates.
    hidden : tuple of int
    """

    kind: ClassVar[str] = "sines"

    method: NetworkMethod
    alpha: float
    beta: float
    value_range: tuple[float, float]
    learning_rate: float
    seed: int
    iterations: int = 1001
    hidden: tuple[int, ...] = (1024, 1024)

    def __post_init__(self) -> None:
        check_count("iterations", self.iterations, at_least=1)

    @property
    def folder(self) -> tuple[str, ...]:
        """The kind, then the method."""
        return (self.kind, self.method.name)

    @property
    def label(self) -> str:
        """Method, target, rate, seed, and deviations from the protocol."""
        target = f"alpha {self.alpha:g}, beta {self.beta:g}"
        low, high = self.value_range
        parts = [
            f"sines, {self.method.name} on [{low:g}, {high:g}], {target}, "
            f"rate {self.learning_rate:g}, seed {self.seed}"
        ]
        if self.hidden != SineRun.hidden:
            parts.append("layers of " + " and ".join(map(str, self.hidden)))
        if self.iterations != SineRun.iterations:
            parts.append(f"{self.iterations} iterations")
        return ", ".join(parts)

    @property
    def stack_key(self) -> tuple[object, ...]:
        """Everything but the seed."""
        return (
            self.kind,
            self.method.label,
            self.alpha,
            self.beta,
            self.value_range,
            self.learning_rate,
            self.iterations,
            self.hidden,
        )

    @property
    def largest_stack(self) -> int:
        """The seeds of a setting."""
        return 5

    @property
    def expected_s(self) -> float:
        """Estimated from the numbers of weights and outputs (for the softmax)."""
        sizes = [1, *self.hidden, self.method.n_outputs]
        n_weights = sum(a * b for a, b in pairwise(sizes))
        iteration_s = 5e-4 + 4.5e-8 * n_weights + 1e-5 * self.method.n_outputs
        return self.iterations * iteration_s

    @property
    def time_key(self) -> tuple[object, ...]:
        """The widths, the method and its range."""
        return (self.kind, self.hidden, self.method.name, self.value_range)

    @classmethod
    def compute(cls, runs: Sequence[SineRun], context: RunContext) -> list[Outcome]:
        """Train the seeds of one setting together."""
        from histreg.study.sines.execution import outcomes_of

        return outcomes_of(runs, context)
