"""Theory: the paper's propositions and bias formulas as functions.

The mean of a target vector differs from y for three reasons: the bins are coarse
(discretisation), the support is bounded (truncation), or y lies outside the bins.
`explain` shows them in one table for given bins, smoothing and targets.

All functions work in float64, on tensors, arrays or numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from histreg import spacings, targets
from histreg._checks import (
    check_choice,
    check_count,
    check_finite,
    check_positive,
    check_shape,
)
from histreg._names import SPACINGS
from histreg._tensors import as_float64
from histreg.bins import Bins, check_bins
from histreg.distribution import Histogram
from histreg.errors import InputError

__all__ = [
    "Explanation",
    "bias_bound",
    "discretization_bias",
    "entropy_floor",
    "explain",
    "gradient_bound",
    "label_bias",
    "prediction_bound",
    "truncation_bias",
]


def discretization_bias(
    offset: ArrayLike | Tensor, *, sigma: float, width: float, series: str = "auto"
) -> Tensor:
    r"""Return the mean of an untruncated Gaussian target minus y, in closed form.

    With δ the distance of y from the center of its bin (Appendix A, statement 4), the
    paper's series and its Fourier form are

    .. math::
        -\delta + w \sum_{i \ge 1} \left[ \Phi\left(\tfrac{iw - w/2 + \delta}{\sigma}
        \right) - \Phi\left(\tfrac{iw - w/2 - \delta}{\sigma}\right) \right]
        = w \sum_{n \ge 1} \frac{(-1)^n}{\pi n} \sin\left(\tfrac{2 \pi n \delta}{w}
        \right) e^{-2 \pi^2 n^2 \sigma^2 / w^2}

    It is odd in δ, zero at the center and at both borders, and always below w / 2.

    Parameters
    ----------
    offset : array-like of shape (...)
        δ, within half a width of zero.
    sigma, width : float
        In the same unit as ``offset``; all bins have this width.
    series : {"auto", "cdf", "fourier"}
        ``"cdf"`` needs few terms for a small sigma, ``"fourier"`` for a large one,
        where it also keeps its relative precision; ``"auto"`` uses ``"fourier"`` above
        a sigma of 0.3 widths.

    Returns
    -------
    Tensor of shape (...), float64

    Examples
    --------
    >>> discretization_bias(0.25, sigma=0.5, width=1.0)
    tensor(-0.0023, dtype=torch.float64)
    """
    check_positive("sigma", sigma)
    check_positive("width", width)
    check_choice("series", series, ("auto", "cdf", "fourier"))
    delta = as_float64(offset) / width  # in widths, like everything below
    if not bool((delta.abs() <= 0.5 * (1 + 1e-12)).all()):
        raise InputError(
            "offset must lie within half a width of zero, "
            f"got up to {delta.abs().max().item():g} widths"
        )
    sigma = sigma / width
    delta = delta.unsqueeze(-1)  # (..., 1)
    if series == "fourier" or (series == "auto" and sigma > 0.3):
        # Terms decay as exp(-2 (pi n sigma)^2) and are below 1e-17 after these n.
        n = _one_to(math.ceil(1.5 / sigma) + 1)
        sign = 1 - 2 * (n % 2)
        decay = torch.exp(-2 * (math.pi * n * sigma) ** 2)
        terms = sign / (math.pi * n) * torch.sin(2 * math.pi * n * delta) * decay
        return terms.sum(dim=-1) * width
    # Beyond 9 sigmas both terms of a difference round to one.
    i = _one_to(math.ceil(9 * sigma) + 1)
    near, far = i - 0.5 - delta.abs(), i - 0.5 + delta.abs()
    moved = targets.normal_mass(near / sigma, far / sigma).sum(dim=-1)
    delta = delta.squeeze(-1)
    return (delta.sign() * moved - delta) * width


def truncation_bias(
    y: ArrayLike | Tensor, *, low: float, high: float, sigma: float
) -> Tensor:
    r"""Return the mean of a normal around y, truncated to [low, high], minus y.

    .. math:: \sigma \frac{\phi(\alpha) - \phi(\beta)}{\Phi(\beta) - \Phi(\alpha)},
        \quad \alpha = \frac{a - y}{\sigma}, \; \beta = \frac{b - y}{\sigma}

    Parameters
    ----------
    y : array-like of shape (...)
        Within [low, high].
    low, high, sigma : float

    Returns
    -------
    Tensor of shape (...), float64
        Zero in the middle, positive near ``low``, negative near ``high``.
    """
    check_positive("sigma", sigma)
    y = as_float64(y)
    if not bool(((y >= low) & (y <= high)).all()):
        raise InputError(
            f"y must lie within [{low:g}, {high:g}], "
            f"got {y.min().item():g}..{y.max().item():g}"
        )
    sigma = max(sigma, 1e-30 * (high - low))  # avoids infinite quotients
    alpha, beta = (low - y) / sigma, (high - y) / sigma
    # φ(α) - φ(β), from the end nearer to y, which has the larger of the two: with g
    # half the difference of squares, φ(nearer) (1 - exp(-|g|)) and the sign of -g.
    gap = (alpha - beta) * (alpha + beta) / 2
    nearer = torch.minimum(alpha.abs(), beta.abs())
    density = torch.exp(-(nearer**2) / 2) / math.sqrt(2 * math.pi)
    slope = gap.sign() * density * torch.expm1(-gap.abs())
    return sigma * slope / targets.normal_mass(alpha, beta)


def label_bias(y: ArrayLike | Tensor, bins: Bins, target_probs: Tensor) -> Tensor:
    """Return the mean of each target minus its y: the bias of a perfect fit.

    Parameters
    ----------
    y : array-like of shape (...)
    bins : Bins
    target_probs : Tensor of shape (..., k)
        From `histreg.targets`, for example.

    Returns
    -------
    Tensor of shape (...), float64

    Examples
    --------
    >>> bins, y = Bins([0.0, 1.0, 2.0]), torch.tensor([0.9])
    >>> label_bias(y, bins, targets.one_bin(y, bins))
    tensor([-0.4000], dtype=torch.float64)
    """
    y = as_float64(y)
    check_shape("target_probs", target_probs, (*y.shape, bins.n_bins), because="for y")
    # Distances from y, not positions: bins far from zero would lose the bias.
    distance = bins.centers - y.unsqueeze(-1)  # (..., k)
    return (as_float64(target_probs) * distance).sum(dim=-1)


def bias_bound(bins: Bins) -> float:
    """Return half the largest width, a bound on the discretisation bias (statement 4).

    One-bin targets attain it at a border. Gaussian targets approach it as first sigma
    goes to 0 and then y to a border.
    """
    return bins.widths.max().item() / 2


def entropy_floor(sigma_in_bins: float) -> float:
    r"""Return the smallest possible HL-Gauss loss, the entropy of its target.

    .. math:: \tfrac{1}{2} \ln\left(2 \pi e (\sigma_w^2 + \tfrac{1}{12})\right)

    An approximation for y away from the ends; the error is below 1e-4 for σ_w >= 1
    and 0.01 at 0.5.

    Examples
    --------
    >>> round(entropy_floor(2.0), 4)
    2.1224
    """
    check_positive("sigma_in_bins", sigma_in_bins)
    return 0.5 * math.log(2 * math.pi * math.e * (sigma_in_bins**2 + 1 / 12))


def gradient_bound(
    probs: Tensor, target_probs: Tensor, *, feature_norm: float, lipschitz: float
) -> Tensor:
    r"""Return the paper's bound on the norm of the full gradient (Proposition 1).

    .. math:: (l + \|\phi\|) \sum_i |p_i - h_i| \le 2 (l + \|\phi\|)

    For the squared error ``(f - y)² / 2`` the sum is replaced by ``|f - y|``, which is
    unbounded.

    Parameters
    ----------
    probs, target_probs : Tensors of shape (..., k)
        The prediction h and the target p.
    feature_norm : float
        The norm of the last hidden layer φ.
    lipschitz : float
        l, the largest gradient norm of a logit in the parameters below the head.

    Returns
    -------
    Tensor of shape (...), float64
    """
    check_shape("target_probs", target_probs, probs.shape, because="like the probs")
    total = (as_float64(probs) - as_float64(target_probs)).abs().sum(dim=-1)
    return (lipschitz + feature_norm) * total


def prediction_bound(
    kl: ArrayLike | Tensor, *, low: float, high: float, shift_invariant: bool = True
) -> Tensor:
    r"""Return the bound on the squared difference of two means (Proposition 3).

    .. math:: (E_q - E_h)^2 \le (b - a)^2 \min(D / 2, \; 1 - e^{-D}),
        \quad D = KL(q \| h)

    by the inequalities of Pinsker and of Bretagnolle and Huber, for distributions on
    [low, high].

    Parameters
    ----------
    kl : array-like of shape (...)
        The divergence D: the histogram loss minus the entropy of its target.
    low, high : float
    shift_invariant : bool
        If False, the first factor is that of the paper, ``4 max(|a|, |b|)²``, which
        depends on the position of the interval and is never smaller.

    Returns
    -------
    Tensor of shape (...), float64

    Examples
    --------
    >>> prediction_bound(0.02, low=0.0, high=10.0)
    tensor(1., dtype=torch.float64)
    """
    kl = as_float64(kl)
    # The difference of two float32 losses may come out a little below zero.
    if not bool((kl >= -1e-5).all()):
        raise InputError(f"kl must not be negative, got {kl.min().item():g}")
    kl = kl.clamp(min=0)
    if not low < high:
        raise InputError(f"low must be below high, got {low=}, {high=}")
    length = high - low if shift_invariant else 2 * max(abs(low), abs(high))
    # Not length ** 2, which raises where the product is infinite.
    return length * length * torch.minimum(kl / 2, -torch.expm1(-kl))


def _one_to(n: int) -> Tensor:
    """Return 1, 2, ..., n."""
    return torch.arange(1, n + 1, dtype=torch.float64, device="cpu")


@dataclass(frozen=True)
class Explanation:
    """The errors that bins and smoothing introduce; ``print`` shows them as a table.

    Biases are those of the target's mean, in units of y; ``None`` where there is no
    closed form (bins of unequal widths).
    """

    bins: Bins
    sigma: float | None
    """In units of y; None if it was given in bins and their widths are unequal."""
    sigma_in_bins: float | None
    """As it was given, or None."""
    n_y: int
    widest_bin: float
    discretization_bias: float | None
    """The largest within a bin, due to coarse bins alone."""
    truncation_bias: float | None
    """The larger one at the smallest and largest y inside, due to bounded support."""
    mean_label_bias: float
    """Mean absolute bias over all y, from all causes, including clipping."""
    max_label_bias: float
    share_outside: float
    """Share of y outside the bins, which are clipped by the loss."""
    variance_added: float
    """The mean variance of the targets, which a perfect fit adds to that of y given x:
    sigma² + w² / 6 for bins of equal widths w (half of w² / 6 from moving mass to bins,
    half from its spread within them)."""
    sd_of_y: float
    loss_floor: float
    """The mean entropy of the targets, a lower bound on the training loss."""
    share_unresolved: float
    """Share of y that the bins do not resolve; of 20 equal groups, those that lie
    within a single bin; see `histreg.spacings`."""
    resolving_spacing: str | None
    """The first spacing that resolves all of y with as many bins and the recommended
    padding; None if these bins do, or if no spacing does."""

    def __str__(self) -> str:
        width = self.widest_bin

        def row(name: str, value: float | None, note: str = "") -> str:
            shown = "no closed form" if value is None else f"{value:.4g}"
            return f"{name:<34}{shown:>14}  {note}".rstrip()

        def in_bins(value: float | None) -> str:
            return "" if value is None else f"{value / width:.2g} of the widest bin"

        added = math.sqrt(self.variance_added)
        relative = "standard deviation"
        if self.sd_of_y > 0:
            relative = f"sd, {added / self.sd_of_y:.2g} of that of y"
        if self.sigma is None:
            smoothing = f"sigma_in_bins={self.sigma_in_bins:g}"
        else:
            smoothing = f"sigma={self.sigma:g}"
        better = self.resolving_spacing
        return "\n".join(
            [
                f"{self.bins}, {smoothing}, {self.n_y} y",
                row(
                    "sigma in widest bins",
                    self.sigma_in_bins if self.sigma is None else self.sigma / width,
                    "of any width" if self.sigma is None else "",
                ),
                row(
                    "discretisation bias, largest",
                    self.discretization_bias,
                    in_bins(self.discretization_bias),
                ),
                row(
                    "truncation bias, largest",
                    self.truncation_bias,
                    in_bins(self.truncation_bias),
                ),
                row(
                    "bias over these y, mean",
                    self.mean_label_bias,
                    in_bins(self.mean_label_bias),
                ),
                row(
                    "bias over these y, largest",
                    self.max_label_bias,
                    in_bins(self.max_label_bias),
                ),
                row("share of y outside the bins", self.share_outside, "clipped"),
                row(
                    "share of y finer than a bin",
                    self.share_unresolved,
                    f'spacing="{better}" would tell apart' if better else "",
                ),
                row("spread added by smoothing", added, relative),
                row("smallest possible loss", self.loss_floor, "nats"),
            ]
        )


def explain(
    bins: Bins,
    sigma: float | None,
    y: ArrayLike | Tensor,
    *,
    sigma_in_bins: float | None = None,
) -> Explanation:
    """Return the errors that these bins and this sigma introduce for these targets.

    Parameters
    ----------
    bins : Bins
    sigma : float or None
        In units of y.
    y : array-like of shape (n,)
        For example the training targets.
    sigma_in_bins : float, optional
        Alternative to ``sigma``. With bins of unequal width or tails, targets keep
        their means, as in `HistogramLoss`; a y in a tail is replaced by the mean of the
        tail.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> bins = Bins.around(0.0, 1.0)
    >>> costs = explain(bins, 2 * bins.width, torch.linspace(0.0, 1.0, 1001))
    >>> round(costs.truncation_bias / bins.width, 4)
    0.0089
    """
    check_bins(bins)
    if sigma is not None and sigma_in_bins is None:
        check_positive("sigma", sigma)
    elif sigma_in_bins is not None and sigma is None:
        check_positive("sigma_in_bins", sigma_in_bins)
        sigma = sigma_in_bins * bins.width if bins.is_uniform else None
    else:
        raise InputError(
            f"give either sigma or sigma_in_bins, got {sigma=} and {sigma_in_bins=}"
        )
    y = as_float64(y).flatten()
    check_count("the number of y", y.numel(), at_least=1)
    check_finite("y", y)
    outside = (y < bins.lowest) | (y > bins.highest)
    truncation = 0.0 if bins.is_uniform else None
    if bins.is_uniform and sigma is not None and not bool(outside.all()):
        ends = torch.stack([y[~outside].min(), y[~outside].max()])
        at_ends = truncation_bias(ends, low=bins.low, high=bins.high, sigma=sigma)
        truncation = at_ends.abs().max().item()
    discretization = None
    if bins.is_uniform and sigma is not None:
        offsets = (_one_to(2001) - 1001) / 2000 * bins.width
        series = discretization_bias(offsets, sigma=sigma, width=bins.width)
        discretization = series.abs().max().item()
    biases, variances, entropies = [], [], []
    for chunk in y.split(65536):  # all n x k target probabilities may not fit in memory
        target_probs = targets.gaussian(
            chunk,
            bins,
            sigma=sigma,
            sigma_in_bins=sigma_in_bins if sigma is None else None,
            keeps_mean=not bins.is_uniform,
        )
        biases.append(label_bias(chunk, bins, target_probs).abs())
        variances.append(Histogram(bins, probs=target_probs).variance)
        entropies.append(torch.special.entr(target_probs).sum(dim=-1))
    bias = torch.cat(biases)
    first, last = bins.lower_tail is not None, bins.upper_tail is not None
    resolving = bins.borders[first : bins.n_bins + 1 - last]  # tails are not meant to
    unresolved = spacings.share_unresolved(resolving.numpy(), y.numpy())
    return Explanation(
        bins=bins,
        sigma=sigma,
        sigma_in_bins=sigma_in_bins,
        n_y=y.numel(),
        widest_bin=bins.widths.max().item(),
        discretization_bias=discretization,
        truncation_bias=truncation,
        mean_label_bias=bias.mean().item(),
        max_label_bias=bias.max().item(),
        share_outside=outside.double().mean().item(),
        variance_added=torch.cat(variances).mean().item(),
        sd_of_y=y.std(correction=0).item(),
        loss_floor=torch.cat(entropies).mean().item(),
        share_unresolved=unresolved,
        resolving_spacing=_resolving_spacing(y, bins) if unresolved else None,
    )


def _resolving_spacing(y: Tensor, bins: Bins) -> str | None:
    """Return the first other spacing that resolves all of y, if any."""
    padding = 3.0 if bins.n_bins > 24 else 0.0  # or padding would take half of the bins
    for name in SPACINGS[int(bins.is_uniform) : -1]:
        try:
            other = Bins.of(
                y, n_bins=bins.n_bins, padding_in_sigmas=padding, spacing=name
            )
        except ValueError:  # no logarithm of negative y, no padding for huge y
            continue
        if not spacings.share_unresolved(other.borders.numpy(), y.numpy()):
            return name
    return None
