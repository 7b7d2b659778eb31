"""The paper's statements as numbers: how far the library's own functions are off.

Each function takes one statement of Sections 2 to 4 and the appendices, tries it on
many made-up cases in float64, and returns the worst: a deviation from a stated
equality, or a ratio to a stated bound. Smaller is always better; the tolerances are in
`histreg.study.claims.theory`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from histreg import losses, targets, theory
from histreg.bins import PRESETS, Bins
from histreg.study.engine.runs import Outcome, RunContext
from histreg.study.engine.seeding import generator_for

Numbers = dict[str, float]
Target = Callable[[Tensor, Bins], Tensor]

TARGETS: dict[str, Target] = {
    "HL-Gauss": lambda y, bins: targets.gaussian(y, bins, sigma=2 * bins.width),
    "HL-OneBin": targets.one_bin,
    "HL-Uniform": lambda y, bins: targets.uniform(y, bins, epsilon=0.1),
    "HL-Projected": targets.projected,
}
UNIT_BINS = Bins.uniform(-100.5, 100.5, 201)
"""Centred on zero, and so wide that no sigma here feels where they end."""


def theorems(name: str, context: RunContext) -> Outcome:  # noqa: ARG001
    """Return the worst case of each statement, by its number in the specification."""
    return Outcome({k: v for check in CHECKS for k, v in check().items()})


def target_sanity() -> Numbers:
    """T1: targets are distributions, and HL-Gauss has its limits and its symmetry."""
    generator = generator_for(1, "T1")
    worst = _Worst()
    for k in torch.randint(2, 301, (40,), generator=generator).tolist():
        bins = Bins.uniform(-1.0, 2.0, k)
        y = _uniform((50,), bins.low, bins.high, generator)
        for target in TARGETS.values():
            p = target(y, bins)
            worst.see("T1 largest |sum p - 1|", p.sum(dim=-1) - 1)
            worst.see("T1 largest p below zero", p.clamp(max=0))
        inside = bins.centers + 0.49 * _uniform(
            (k,), -bins.width, bins.width, generator
        )
        narrow = targets.gaussian(inside, bins, sigma=1e-6 * bins.width)
        worst.see(
            "T1 narrow HL-Gauss from HL-OneBin",
            narrow - targets.one_bin(inside, bins),
        )
        flat = targets.gaussian(y, bins, sigma=1e7 * (bins.high - bins.low))
        worst.see("T1 wide HL-Gauss from 1 / k", flat - 1 / k)
        p, mirrored = (TARGETS["HL-Gauss"](values, bins) for values in (y, 1.0 - y))
        worst.see("T1 mirrored HL-Gauss from reversed", mirrored - p.flip(-1))
    return worst.numbers


def loss_identities() -> Numbers:
    """T2: the loss minus the entropy is a divergence, and its gradient is h - p."""
    generator = generator_for(1, "T2")
    worst = _Worst()
    bins = Bins.uniform(0.0, 10.0, 20)
    for target in TARGETS.values():
        p = target(_uniform((50,), 0.0, 10.0, generator), bins)
        logits = 3 * torch.randn(p.shape, generator=generator, dtype=p.dtype)
        logits.requires_grad_()
        loss = losses.histogram_loss(logits, p)
        log_h = logits.log_softmax(dim=-1)
        divergence = (torch.xlogy(p, p) - p * log_h).sum(dim=-1)
        worst.see("T2 loss - entropy from KL", loss - _entropy(p) - divergence)
        worst.see("T2 largest KL below zero", divergence.clamp(max=0))
        # No logit is minus infinity: e to the -60 is nothing beside the others.
        best = losses.histogram_loss(p.log().clamp(min=-60), p)
        worst.see("T2 loss of h = p from the entropy", best - _entropy(p))
        h = log_h.detach().exp()
        (slope,) = torch.autograd.grad(loss.sum(), logits)
        worst.see("T2 gradient from h - p", slope - (h - p))
        step = 1e-5 * torch.eye(20, dtype=p.dtype)[:, None]  # (k, 1, k)
        wide = p.expand(20, *p.shape)
        up, down = (losses.histogram_loss(logits + s, wide) for s in (step, -step))
        finite = ((up - down) / 2e-5).T  # (n, k)
        worst.see("T2 finite differences from h - p", finite - (h - p))
        hessian = torch.diag_embed(h) - h[..., :, None] * h[..., None, :]
        smallest = torch.linalg.eigvalsh(hessian)[..., 0]
        worst.see("T2 largest curvature below zero", smallest.clamp(max=0))
        one = torch.autograd.functional.hessian(
            lambda out, p=p[0]: losses.histogram_loss(out, p), logits[0].detach()
        )
        worst.see("T2 Hessian from diag(h) - h h'", one - hessian[0])
    middle = _grid(-0.5, 0.5, 101)
    for sigma in (1.0, 2.0, 4.0):
        entropy = _entropy(targets.gaussian(middle, UNIT_BINS, sigma=sigma))
        floor = theory.entropy_floor(sigma)
        worst.see("T2 smallest loss from its formula", entropy - floor)
    worst.see("T2 smallest loss of HL-OneBin", _entropy(targets.one_bin(middle, bins)))
    share = _grid(0.0, 1.0, 101)  # of the way from one center to the next
    binary = torch.special.entr(share) + torch.special.entr(1 - share)
    projected = _entropy(targets.projected(bins.centers[3] + share * bins.width, bins))
    worst.see("T2 smallest loss of HL-Projected from its formula", projected - binary)
    return worst.numbers


def gradient_bound() -> Numbers:
    """T3: Proposition 1, on random networks; and the same of the squared error."""
    generator = generator_for(1, "T3")
    worst = _Worst()
    bins = Bins.uniform(0.0, 1.0, 20)

    def normal(*shape: int) -> Tensor:
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        return drawn.requires_grad_()

    def norm_of(value: Tensor, weights: list[Tensor]) -> Tensor:
        slopes = torch.autograd.grad(value, weights, retain_graph=True)
        return torch.cat([slope.flatten() for slope in slopes]).norm()

    for i in range(100):
        below = [normal(8, 3), normal(8), normal(5, 8), normal(5)]
        head = normal(20, 5)
        hidden = torch.tanh(below[0] @ normal(3) + below[1])
        features = torch.tanh(below[2] @ hidden + below[3])
        logits = head @ features
        p = TARGETS["HL-Gauss"](_uniform((), 0.0, 1.0, generator), bins)
        h = logits.softmax(dim=-1).detach()
        steepest = max(norm_of(logit, below).item() for logit in logits)
        size = features.norm().item()
        bound = theory.gradient_bound(h, p, feature_norm=size, lipschitz=steepest)
        loss = losses.histogram_loss(logits, p)
        worst.see(
            "T3 largest gradient over the bound", norm_of(loss, [*below, head]) / bound
        )
        worst.see(
            "T3 largest bound over 2 (l + |phi|)", bound / (2 * (steepest + size))
        )
        exact = (p - h).norm() * size
        worst.see(
            "T3 gradient of the head from its formula",
            norm_of(loss, [head]) / exact - 1,
        )
        # The squared error's bound grows with y, which spans four powers of ten here.
        number, y = logits[0], torch.tensor(10.0 ** (i % 5), dtype=torch.float64)
        squared = losses.l2(number, y) / 2
        bound = (norm_of(number, below) + size) * (number - y).detach().abs()
        worst.see(
            "T3 largest l2 gradient over its bound",
            norm_of(squared, [*below, head]) / bound,
        )
    return worst.numbers


def minimizer() -> Numbers:
    """T4: the histogram of smallest mean loss is the mean of the targets."""
    generator = generator_for(1, "T4")
    worst = _Worst()
    bins = Bins.uniform(0.0, 1.0, 15)
    for target in TARGETS.values():
        p = target(_uniform((6,), 0.0, 1.0, generator), bins)
        logits = torch.zeros(15, dtype=p.dtype, requires_grad=True)
        optimizer = torch.optim.LBFGS(
            [logits],
            max_iter=2000,
            tolerance_grad=1e-12,
            tolerance_change=1e-16,
            line_search_fn="strong_wolfe",
        )

        def mean_loss(logits: Tensor = logits, p: Tensor = p) -> Tensor:
            logits.grad = None
            loss = losses.histogram_loss(logits.expand(6, -1), p).mean()
            loss.backward()
            return loss

        optimizer.step(mean_loss)
        h = logits.detach().softmax(dim=-1)
        worst.see("T4 minimiser from the mean target", h - p.mean(dim=0))
    return worst.numbers


def smoothing_bias() -> Numbers:
    """T5: a Gaussian alone, on bins so fine and wide that they do not count."""
    bins = Bins.uniform(-10.0, 11.0, 4200)
    bias = _gaussian_bias(_grid(0.0, 1.0, 57), bins, 0.7)
    return {"T5 largest bias of smoothing alone": _largest(bias)}


def discretization_series() -> Numbers:
    """T6: both series are the direct sum; they are odd, and zero where they should."""
    worst = _Worst()
    offset = _grid(-0.5, 0.5, 101)
    for sigma in (0.05, 0.2, 0.5, 1.0):
        direct = _gaussian_bias(offset, UNIT_BINS, sigma)
        for series in ("cdf", "fourier"):
            closed = theory.discretization_bias(
                offset, sigma=sigma, width=1.0, series=series
            )
            worst.see("T6 series from the direct sum, in bins", closed - direct)
            worst.see("T6 largest |bias(d) + bias(-d)|", closed + closed.flip(-1))
            worst.see("T6 bias at the center and the borders", closed[[0, 50, 100]])
    fine = _grid(-0.5, 0.5, 2001)
    for sigma in (0.5, 0.7, 1.0):
        bias = theory.discretization_bias(fine, sigma=sigma, width=1.0)
        decay = math.exp(-2 * (math.pi * sigma) ** 2)
        leading = -decay / math.pi * torch.sin(2 * math.pi * fine)
        worst.see(
            "T6 leading term, relative to the largest bias",
            (bias - leading) / bias.abs().max(),
        )
    return worst.numbers


def half_width_bound() -> Numbers:
    """T7: no discretisation bias reaches w / 2, but for that of HL-OneBin."""
    worst = _Worst()
    offset = _grid(-0.5, 0.5, 2001)
    for sigma in torch.logspace(-4, 1, 51, dtype=torch.float64).tolist():
        bias = theory.discretization_bias(offset, sigma=sigma, width=1.0)
        worst.see("T7 largest bias over w / 2", bias / 0.5)
        at_border = theory.discretization_bias(0.5, sigma=sigma, width=1.0)
        worst.see("T7 bias of HL-Gauss at a border, in bins", at_border)
    near = theory.discretization_bias(0.499, sigma=1e-4, width=1.0).abs()
    worst.see("T7 nearly tight case from w / 2, in bins", 0.5 - near)
    bins = Bins.uniform(0.0, 4.0, 4)
    y = torch.tensor([2.0], dtype=torch.float64)
    one_bin = theory.label_bias(y, bins, targets.one_bin(y, bins)).abs()
    bound = theory.bias_bound(bins)
    worst.see("T7 HL-OneBin at a border from w / 2, in bins", one_bin - bound)
    return worst.numbers


def projected_bias() -> Numbers:
    """T8: HL-Projected keeps y between the outer centers."""
    generator = generator_for(1, "T8")
    worst = _Worst()
    for k in torch.randint(2, 301, (40,), generator=generator).tolist():
        bins = Bins.uniform(-1.0, 2.0, k)
        first, last = bins.centers[0].item(), bins.centers[-1].item()
        y = _uniform((100,), first, last, generator)
        bias = theory.label_bias(y, bins, targets.projected(y, bins))
        worst.see("T8 largest bias of HL-Projected", bias)
    return worst.numbers


def uniform_bias() -> Numbers:
    """T9: HL-Uniform is pulled to the middle, by its weight."""
    worst = _Worst()
    bins = Bins.uniform(-1.0, 5.0, 24)
    y = _grid(-1.0, 5.0, 77)
    center = bins.centers[bins.index_of(y)]
    for epsilon in (0.0, 1e-3, 0.3, 1.0):
        p = targets.uniform(y, bins, epsilon=epsilon)
        stated = (1 - epsilon) * center + epsilon * 2.0
        mean = y + theory.label_bias(y, bins, p)
        worst.see("T9 mean of HL-Uniform from its formula", mean - stated)
    return worst.numbers


def simulated_bias() -> Numbers:
    """T10: where the biases of Figure 13 are negligible, and where they are -delta."""
    worst = _Worst()
    offset = _grid(-0.5, 0.5, 1001)
    for sigma in (0.88, *_grid(0.9, 2.9, 21).tolist()):
        mean = _gaussian_bias(offset, UNIT_BINS, sigma).abs().mean()
        worst.see("T10 discretisation bias from 0.88 bins on, in bins", mean)
        if sigma >= 1.3:
            worst.see("T10 discretisation bias from 1.3 bins on, in bins", mean)
    narrow = theory.discretization_bias(0.8 * offset, sigma=math.exp(-4), width=1.0)
    worst.see("T10 bias of a narrow target from -delta, in bins", narrow + 0.8 * offset)
    for padding in (6.0, 7.0, 8.5, 10.0, 20.5):  # in sigmas of two bins
        n = round(2 * padding)
        bins = Bins.uniform(-n - 0.5, n + 0.5, 2 * n + 1)
        mean = _gaussian_bias(offset, bins, 2.0).abs().mean()
        worst.see("T10 truncation bias from 6 sigmas on, in bins", mean)
        if padding >= 8.5:
            worst.see("T10 truncation bias from 8.5 sigmas on, in bins", mean)
    return worst.numbers


def preset_biases() -> Numbers:
    """T11: the largest bias of presets over 20,001 places of the range."""
    y = _grid(0.0, 1.0, 20_001)
    largest = {}
    for name in ("recommended", "atari", "tabular", "negligible"):
        bins = Bins.preset(name, 0.0, 1.0)
        costs = theory.explain(bins, PRESETS[name].sigma_in_bins * bins.width, y)
        in_bins = costs.max_label_bias / bins.width
        largest[f"T11 largest bias of {name}, in bins"] = in_bins
    return largest


def prediction_bound() -> Numbers:
    """T12: Proposition 3 in both forms, on random pairs and on the paper's example."""
    worst = _Worst()
    rng = np.random.default_rng(12)
    places = _grid(-1.0, 3.0, 8)
    for concentration in (0.05, 1.0, 20.0):
        # A concentration of 0.05 underflows to zero.
        pairs = rng.dirichlet([concentration] * 8, size=(2, 10_000)) + 1e-300
        q, h = torch.from_numpy(pairs)
        squared = ((q - h) @ places).square()
        divergence = (q * (q / h).log()).sum(dim=-1)
        for shift_invariant in (True, False):
            bound = theory.prediction_bound(
                divergence, low=-1.0, high=3.0, shift_invariant=shift_invariant
            )
            form = "shift-invariant" if shift_invariant else "the paper's"
            name = f"T12 largest squared difference over the bound, {form}"
            worst.see(name, squared / bound)
    epsilon = _grid(0.0, 1.0, 201)[1:-1]
    bound = theory.prediction_bound(-epsilon.log(), low=-1.0, high=1.0)
    squared = 4 * (1 - epsilon) ** 2
    worst.see("T12 squared difference of the example over the bound", squared / bound)
    return worst.numbers


def maximum_entropy() -> Numbers:
    """T13: q, exp(-(y - y_i)² / 2 tau) normalised, links both divergences to losses."""
    worst = _Worst()
    bins = Bins.uniform(-8.0, 8.0, 40)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = bins.width / 2
    y = bins.centers[:, None] + half * torch.from_numpy(nodes)  # (k, 20)
    area = half * torch.from_numpy(weights)

    def integral(values: Tensor) -> Tensor:  # over each bin
        return (values * area).sum(dim=-1)

    logits = 2 * torch.randn(40, generator=generator_for(1, "T13"), dtype=torch.float64)
    log_density = (logits.log_softmax(dim=-1) - math.log(bins.width))[:, None]
    for center, tau in ((0.3, 0.25), (-0.7, 0.5), (0.0, 1.0)):
        reward = -((y - center) ** 2) / 2
        mass = integral(torch.exp(reward / tau)).sum()
        log_q = reward / tau - mass.log()
        p = targets.gaussian(
            torch.tensor(center, dtype=y.dtype), bins, sigma=math.sqrt(tau)
        )
        worst.see("T13 HL-Gauss from the normalised kernel", p - integral(log_q.exp()))
        # KL(q || h) is the histogram loss, but for what does not depend on h.
        forward = integral(log_q.exp() * (log_q - log_density)).sum()
        spread = 0.5 * math.log(2 * math.pi * math.e * tau)
        loss = losses.histogram_loss(logits, p) + math.log(bins.width) - spread
        worst.see("T13 KL(q || h) from the loss", forward - loss)
        # Reward over tau plus entropy is -KL(h || q), but for the same.
        h = log_density.exp()
        backward = integral(h * (log_density - log_q)).sum()
        regularised = integral(h * (reward / tau - log_density)).sum()
        worst.see(
            "T13 KL(h || q) from the entropy-regularised reward",
            backward + regularised - mass.log(),
        )
    return worst.numbers


CHECKS: tuple[Callable[[], Numbers], ...] = (
    target_sanity,
    loss_identities,
    gradient_bound,
    minimizer,
    smoothing_bias,
    discretization_series,
    half_width_bound,
    projected_bias,
    uniform_bias,
    simulated_bias,
    preset_biases,
    prediction_bound,
    maximum_entropy,
)


class _Worst:
    """The largest absolute value that was seen under each name."""

    def __init__(self) -> None:
        self.numbers: Numbers = {}

    def see(self, name: str, values: Tensor) -> None:
        largest = _largest(values)
        before = self.numbers.get(name, 0.0)
        # NaN counts as the worst case, and stays.
        self.numbers[name] = (
            before if largest <= before or before != before else largest
        )


def _largest(values: Tensor) -> float:
    return values.detach().abs().max().item()


def _entropy(p: Tensor) -> Tensor:
    return torch.special.entr(p).sum(dim=-1)


def _gaussian_bias(y: Tensor, bins: Bins, sigma: float) -> Tensor:
    # As a tensor: over all bins, as a window of them is good to 1e-15 alone.
    exact = torch.tensor(sigma, dtype=torch.float64)
    return theory.label_bias(y, bins, targets.gaussian(y, bins, sigma=exact))


def _grid(low: float, high: float, n: int) -> Tensor:
    return torch.linspace(low, high, n, dtype=torch.float64)


def _uniform(
    shape: tuple[int, ...], low: float, high: float, generator: torch.Generator
) -> Tensor:
    drawn = torch.rand(shape, generator=generator, dtype=torch.float64)
    return low + (high - low) * drawn
