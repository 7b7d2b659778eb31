"""Runs on synthetic sines (Figure 3): how fast a network fits sin(alpha x) + beta."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor

from histreg._checks import check_count
from histreg.study.engine.runs import Outcome, Run, Workplace
from histreg.study.engine.seeding import stream
from histreg.study.methods import NetworkMethod, Targets, method_of
from histreg.study.tabular.adam import Adam
from histreg.study.tabular.perceptrons import Perceptrons, Shape, torch_default

N_POINTS = 500
N_SHOWN = 501  # points at which a fit is kept
KEPT_EVERY = 5  # iterations; the area is over all of them
LEAK = 0.01


@dataclass(frozen=True)
class SineRun(Run):
    """A network that is trained on the whole sine at once, by Adam.

    Parameters
    ----------
    method : NetworkMethod
    alpha, beta : float
        Of the target sin(alpha x) + beta on 500 points of [-pi, pi).
    value_range : (float, float)
        The support of the bins; (0, 1) leaves y as it is for losses on one number.
    learning_rate : float
    seed : int
        Of the first weights.
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

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> SineRun:
        """Return the run that `to_json` described."""
        known = {k: v for k, v in description.items() if k != "kind"}
        known["method"] = method_of(known["method"])
        for name in ("value_range", "hidden"):
            known[name] = tuple(known[name])
        return cls(**known)

    @property
    def folder(self) -> tuple[str, ...]:
        """The kind, then the method."""
        return (self.kind, self.method.name)

    @property
    def label(self) -> str:
        """Method, target, rate, seed, and what differs from the protocol."""
        target = f"alpha {self.alpha:g}, beta {self.beta:g}"
        low, high = self.value_range
        told = [
            f"sines, {self.method.name} on [{low:g}, {high:g}], {target}, "
            f"rate {self.learning_rate:g}, seed {self.seed}"
        ]
        if self.hidden != SineRun.hidden:
            told.append("layers of " + " and ".join(map(str, self.hidden)))
        if self.iterations != SineRun.iterations:
            told.append(f"{self.iterations} iterations")
        return ", ".join(told)

    @property
    def stack(self) -> tuple[object, ...]:
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
        """By the number of weights and of outputs, whose softmax counts."""
        sizes = [1, *self.hidden, self.method.n_outputs]
        n_weights = sum(a * b for a, b in pairwise(sizes))
        iteration_s = 5e-4 + 4.5e-8 * n_weights + 1e-5 * self.method.n_outputs
        return self.iterations * iteration_s

    @classmethod
    def compute(cls, runs: Sequence[SineRun], workplace: Workplace) -> list[Outcome]:
        """Train the seeds of one setting together."""
        with torch.no_grad():
            return _trained(runs, workplace)


def sine(alpha: float, beta: float) -> tuple[Tensor, Tensor]:
    """Return x (n, 1), the first 500 of 501 even points on [-pi, pi], and y (n,)."""
    x = torch.linspace(-math.pi, math.pi, N_POINTS + 1, dtype=torch.float64)[:-1, None]
    return x, torch.sin(alpha * x[:, 0]) + beta


def _trained(runs: Sequence[SineRun], workplace: Workplace) -> list[Outcome]:
    first = runs[0]
    x, y = sine(first.alpha, first.beta)
    targets = Targets(y, *first.value_range, seed=first.seed)
    criterion = first.method.criterion([run.method for run in runs], targets)
    criterion.start_epoch(0, torch.arange(len(y)))
    outputs = ((len(runs), first.method.n_outputs),)
    network = Perceptrons(Shape(1, first.hidden, outputs, slope=LEAK))
    torch_default(network, [stream(run.seed, "sines") for run in runs])
    optimizer = Adam(
        network.weights.flat,
        network.gradients.flat,
        learning_rate=first.learning_rate,
        epsilon=1e-8,  # torch's, which the authors ran with
    )
    x32 = x.to(torch.float32)
    everything = slice(0, len(y))
    errors = []
    for iteration in range(first.iterations):
        (out,) = network.forward(x32)
        errors.append((criterion.predict(out) - y).square().mean(dim=1))
        is_last = iteration == first.iterations - 1
        if is_last or not bool(errors[-1].isfinite().any()):
            break  # so that the fit is that of the last error
        criterion.gradient(out, everything, network.output_slopes(x32)[0])
        network.backward(x32)
        optimizer.step()
        workplace.report((iteration + 1) / first.iterations)
    curve = torch.stack(errors, dim=1)  # (M, iterations)
    grid = torch.linspace(-math.pi, math.pi, N_SHOWN)[:, None]
    fits = criterion.predict(network.forward(grid)[0])
    return [_outcome(run, curve[i], fits[i]) for i, run in enumerate(runs)]


def _outcome(run: SineRun, curve: Tensor, fit: Tensor) -> Outcome:
    finite = curve.isfinite()
    if not bool(finite.all()):
        diverged_at = int(torch.nonzero(~finite)[0])
        return Outcome({}, _kept(curve[:diverged_at]), diverged_at)
    metrics = {"area": curve.mean().item(), "final MSE": curve[-1].item()}
    curves = _kept(curve)
    if run.seed == 0:  # the one that is drawn
        curves["fit"] = _shown(fit)
    return Outcome(metrics, curves)


def _kept(curve: Tensor) -> dict[str, list[float]]:
    """Return some iterations, and the errors at these."""
    return {
        "iteration": list(range(0, len(curve), KEPT_EVERY)),
        "MSE": _shown(curve[::KEPT_EVERY]),
    }


def _shown(values: Tensor) -> list[float]:
    """Return values in four digits, enough for the eye."""
    return [float(f"{value:.4g}") for value in values.tolist()]
