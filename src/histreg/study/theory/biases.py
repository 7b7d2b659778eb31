"""Biases of targets and bounds on predictions, computed from formulas."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from histreg import targets, theory
from histreg.bins import Bins
from histreg.study.engine.runs import Outcome, RunContext

N_DISCRETIZED, N_TRUNCATED = 10_001, 100_001  # places of y in the authors' code
N_OF_TEXT = 100_000  # places of y in the paper's text
N_BINS = 100  # of the text
N_PADDING = 100  # bins on each side that isolate the discretisation
ROUNDING = 1e-12  # in bins: biases below it are not fitted


def bias_simulation(name: str, context: RunContext) -> Outcome:  # noqa: ARG001
    """Return the bias of a Gaussian target from bins and from truncation (Figure 13).

    Bins of width 1 and data within one of them, as in the authors' code.
    """
    sigmas, paddings = _sigmas(), _paddings()
    inside = torch.linspace(0, 1, N_DISCRETIZED, dtype=torch.float64)
    wide = Bins.uniform(-100.0, 101.0, 201)
    biases = torch.stack([_bias(inside, wide, sigma.item()) for sigma in sigmas])
    discretization = biases.abs().mean(dim=1)
    finer = torch.linspace(0, 1, N_TRUNCATED, dtype=torch.float64)
    truncation = torch.stack(
        [
            _bias(finer, _padded(round(2 * padding.item())), 2.0).abs().mean()
            for padding in paddings
        ]
    )
    a, b = gaussian_fit(sigmas[:72], discretization[:72])
    c, d = gaussian_fit(paddings[:16], truncation[:16])
    step = len(inside) // 50
    return Outcome(
        {
            "discretisation factor": a,
            "discretisation exponent": b,
            "truncation factor": c,
            "truncation exponent": d,
        },
        {
            "sigma_in_bins": sigmas.tolist(),
            "discretisation bias": discretization.tolist(),
            "padding_in_sigmas": paddings.tolist(),
            "truncation bias": truncation.tolist(),
            **_surface(sigmas, inside[::step] - 0.5, biases[:, ::step]),
        },
    )


def bias_by_text(name: str, context: RunContext) -> Outcome:  # noqa: ARG001
    """Return the same biases over a range of 100 bins, as the paper's text has it.

    The text has 100 bins in all and a padding of 100, which leaves no bins for y. Here
    the discretisation has 100 bins over [0, 1] and 100 more on each side, and the
    truncation 100 bins in all, widened by the padding as in the text's formula. The
    biases are in bins; those of the range, which are in units of y, beside them.
    """
    sigmas, paddings = _sigmas(), _paddings()
    y = torch.linspace(0, 1, N_OF_TEXT, dtype=torch.float64)
    share = N_PADDING / N_BINS
    wide = Bins.uniform(-share, 1 + share, N_BINS + 2 * N_PADDING)
    in_one_bin = (y >= 0.5) & (y < 0.5 + wide.width)
    offsets = (y[in_one_bin] - 0.5) / wide.width - 0.5
    step = max(1, len(offsets) // 50)
    means, surface = [], []
    for sigma in sigmas.tolist():
        biases = _bias(y, wide, sigma * wide.width)
        means.append(biases.abs().mean())
        surface.append(biases[in_one_bin][::step] / wide.width)
    of_range = torch.stack(means)
    discretization = of_range / wide.width
    padded = [
        Bins.around(
            *(0.0, 1.0), n_bins=N_BINS, sigma_in_bins=2.0, padding_in_sigmas=padding
        )
        for padding in paddings.tolist()
    ]
    truncation_of_range = torch.stack(
        [_bias(y, bins, 2 * bins.width).abs().mean() for bins in padded]
    )
    widths = torch.tensor([bins.width for bins in padded], dtype=torch.float64)
    truncation = truncation_of_range / widths
    a, b = gaussian_fit(*_above_rounding(sigmas, discretization))
    c, d = gaussian_fit(*_above_rounding(paddings, truncation))
    return Outcome(
        {
            "discretisation factor": a,
            "discretisation exponent": b,
            "truncation factor": c,
            "truncation exponent": d,
        },
        {
            "sigma_in_bins": sigmas.tolist(),
            "discretisation bias": discretization.tolist(),
            "discretisation bias of range": of_range.tolist(),
            "padding_in_sigmas": paddings.tolist(),
            "truncation bias": truncation.tolist(),
            "truncation bias of range": truncation_of_range.tolist(),
            **_surface(sigmas, offsets[::step], torch.stack(surface)),
        },
    )


def _sigmas() -> Tensor:
    return torch.linspace(-4, 2, 101, dtype=torch.float64).exp()  # in bins


def _paddings() -> Tensor:
    return torch.arange(1, 21, 0.5, dtype=torch.float64)  # in sigmas


def _surface(sigmas: Tensor, offsets: Tensor, biases: Tensor) -> dict[str, Any]:
    """Return the biases of every other sigma by offset, to four digits."""
    return {
        "surface sigma_in_bins": sigmas[::2].tolist(),
        "surface offset": offsets.tolist(),
        "surface bias": [[float(f"{v:.4g}") for v in row] for row in biases[::2]],
    }


def _above_rounding(x: Tensor, height: Tensor) -> tuple[Tensor, Tensor]:
    """Return where a bias is more than the rounding of float64."""
    is_clear = height > ROUNDING
    return x[is_clear], height[is_clear]


def _padded(n_padding: int) -> Bins:
    """Return unit bins around [0, 1]."""
    return Bins.uniform(-float(n_padding), 1.0 + n_padding, 2 * n_padding + 1)


def _bias(y: Tensor, bins: Bins, sigma: float) -> Tensor:
    # As a tensor: the formula over all bins, not a window of them, whose end is good to
    # 1e-15. Here the rest is looked at.
    exact = torch.tensor(sigma, dtype=torch.float64)
    parts = [
        theory.label_bias(some, bins, targets.gaussian(some, bins, sigma=exact))
        for some in y.split(4096)  # in the cache: up to twice as fast as 16384
    ]
    return torch.cat(parts)


def gaussian_fit(x: Tensor, height: Tensor) -> tuple[float, float]:
    """Return A and B of A exp(B x^2) by least squares of the logarithms."""
    design = torch.stack([torch.ones_like(x), x**2], dim=1)
    log_a, b = torch.linalg.lstsq(design, height.log()[:, None]).solution[:, 0]
    return log_a.exp().item(), b.item()


def bound_example(name: str, context: RunContext) -> Outcome:  # noqa: ARG001
    """Return both bounds on a squared difference of means (Figure 12).

    q is all at -1; h has epsilon there and the rest at 1.
    """
    epsilon = torch.linspace(0, 1, 201, dtype=torch.float64)[1:-1]
    kl = -epsilon.log()
    return Outcome(
        {
            # Where the bounds cross, D / 2 = 1 - exp(-D), and where Pinsker's leaves
            # the largest possible difference, D / 2 = 1.
            "crossing epsilon": torch.exp(-_crossing()).item(),
            "useless epsilon": torch.exp(torch.tensor(-2.0, dtype=kl.dtype)).item(),
        },
        {
            "epsilon": epsilon.tolist(),
            "squared difference": (4 * (1 - epsilon) ** 2).tolist(),
            "Pinsker": (4 * kl / 2).tolist(),
            "Bretagnolle-Huber": (4 * -torch.expm1(-kl)).tolist(),
        },
    )


def _crossing() -> Tensor:
    """Return the positive D at which D / 2 = 1 - exp(-D), by iterating it."""
    divergence = torch.tensor(2.0, dtype=torch.float64)
    for _ in range(100):  # a contraction by 0.41 a step
        divergence = -2 * torch.expm1(-divergence)
    return divergence
