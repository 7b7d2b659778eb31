"""How runs on sines are computed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from histreg.study.engine.runs import Outcome, RunContext
from histreg.study.engine.seeding import generator_for
from histreg.study.methods.criteria.criterion import Targets
from histreg.study.networks.perceptrons import (
    FusedAdam,
    Perceptrons,
    Shape,
    torch_default,
)
from histreg.study.sines.runs import SineRun

N_POINTS = 500
N_SHOWN = 501  # points at which a fit is kept
KEPT_EVERY = 5  # iterations; the area is over all of them
LEAK = 0.01


def sine(alpha: float, beta: float) -> tuple[Tensor, Tensor]:
    """Return x (n, 1), the first 500 of 501 even points on [-pi, pi], and y (n,)."""
    x = torch.linspace(-math.pi, math.pi, N_POINTS + 1, dtype=torch.float64)[:-1, None]
    return x, torch.sin(alpha * x[:, 0]) + beta


@torch.no_grad()
def outcomes_of(runs: Sequence[SineRun], context: RunContext) -> list[Outcome]:
    """Train the seeds of one setting together."""
    first = runs[0]
    x, y = sine(first.alpha, first.beta)
    targets = Targets(y, *first.value_range, seed=first.seed)
    criterion = first.method.criterion([run.method for run in runs], targets)
    criterion.start_epoch(0, torch.arange(len(y)))
    outputs = ((len(runs), first.method.n_outputs),)
    network = Perceptrons(Shape(1, first.hidden, outputs, slope=LEAK))
    torch_default(network, [generator_for(run.seed, "sines") for run in runs])
    optimizer = FusedAdam(
        network,
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
        context.report((iteration + 1) / first.iterations)
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
    """Return values rounded to four digits, enough for plots."""
    return [float(f"{value:.4g}") for value in values.tolist()]
