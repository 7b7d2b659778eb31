"""Targets: each y becomes a probability vector over the bins.

A target is a pure function of y and the bins, ``(...) -> (..., k)``. Every vector is
finite, non-negative and sums to one, for every finite y. What happens to a y outside
the bins is the choice ``out_of_range``:

``"clip"`` (default)
    y is moved to the nearest end of the bins, for the target only.
``"truncate"``
    the distribution around the true y is restricted to the bins, however little of it
    lies there (evaluated relative to the nearest end, so it never underflows). For
    targets without a tail this is their limit, the same as clipping.
``"error"``
    one sentence that says how many y lie outside.

Distances between y and the borders are taken in float64, so an offset of the bins costs
nothing; the result has the dtype of y (float32 for half precision and integers). It is
accurate to a few units in the last place of that dtype, times the span of the window
in sigmas: to 1e-6 in float32 and 1e-13 in float64 for a sigma of a bin or more, to 1e-5
and 1e-12 for a hundredth of a bin.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from histreg._checks import (
    check_choice,
    check_finite,
    check_positive,
    check_shape,
    check_tensor,
    has_values,
    is_free_to_read,
)
from histreg.bins import Bins, check_bins, entries, float64_on
from histreg.errors import InputError

__all__ = ["from_cdf", "gaussian", "one_bin", "projected", "uniform", "with_mean"]

OUT_OF_RANGE = ("clip", "truncate", "error")
_MOST_STEPS = 60  # of a tilt; where y is nearly the last center, halving has to do it
# Sigmas in spans of the bins at which the limits (one bin; uniform) are reached to
# rounding. Between them nothing overflows or vanishes, in float32 either.
_USEFUL_SIGMAS = 1e-30, 1e6
_COMPILED_STEPS = 8  # each of them is compiled
_TILTS_PER_BIN = 8  # of the table that a tilt begins with


class Window(NamedTuple):
    """The part of a target vector that is not zero: m of its k entries."""

    indices: Tensor  # (..., m), which bins
    probs: Tensor  # (..., m), their probabilities

    def dense(self, n_bins: int) -> Tensor:  # (..., k)
        """Return the whole vector."""
        # Float32 differences of a CDF may round to the wrong side of zero.
        probs = self.probs.clamp(min=0)
        zeros = probs.new_zeros(*probs.shape[:-1], n_bins)
        return zeros.scatter(-1, self.indices, probs)


def gaussian(
    y: Tensor,
    bins: Bins,
    *,
    sigma: float | Tensor | None = None,
    sigma_in_bins: float | Tensor | None = None,
    keeps_mean: bool = False,
    out_of_range: str = "clip",
) -> Tensor:
    r"""Return the truncated Gaussian around each y: the target of HL-Gauss (Section 2).

    .. math::
        p_i = \frac{\Phi((l_{i+1} - y) / \sigma) - \Phi((l_i - y) / \sigma)}
                   {\Phi((b - y) / \sigma) - \Phi((a - y) / \sigma)}

    with borders :math:`l_i`, ends a = ``bins.low`` and b = ``bins.high``.

    Parameters
    ----------
    y : Tensor of shape (...)
    bins : Bins
        Of any widths.
    sigma : float or Tensor that broadcasts to (...)
        Standard deviation in units of y. As it goes to 0 the target becomes `one_bin`,
        but a y on a border is split in halves; to infinity, ``widths / (high - low)``.
    sigma_in_bins : float or Tensor that broadcasts to (...)
        In place of ``sigma``: the Gaussian is one over the places in the bins, as if
        all were equally wide, and so is wide in y where they are.
    keeps_mean : bool
        Whether the target is tilted to have the mean y, see `with_mean`. On bins of
        unequal width it would be far from it.
    out_of_range : {"clip", "truncate", "error"}

    Returns
    -------
    Tensor of shape (..., k)

    Examples
    --------
    >>> bins = Bins.uniform(0.0, 4.0, 4)
    >>> gaussian(torch.tensor(2.0), bins, sigma=1.0)
    tensor([0.1424, 0.3576, 0.3576, 0.1424])
    """
    check_choice("out_of_range", out_of_range, OUT_OF_RANGE)
    if sigma is not None and sigma_in_bins is None:
        size, name = sigma, "sigma"
    elif sigma_in_bins is not None and sigma is None:
        size, name = sigma_in_bins, "sigma_in_bins"
    else:
        raise InputError(
            f"give either sigma or sigma_in_bins, got {sigma=} and {sigma_in_bins=}"
        )
    if isinstance(size, Tensor):
        _check_positive_everywhere(name, size)
        if torch.broadcast_shapes(size.shape, y.shape) != y.shape:
            raise InputError(
                f"{name} must broadcast to the shape of y, {tuple(y.shape)}, "
                f"got shape {tuple(size.shape)}"
            )
    else:
        check_positive(name, size)
    dtype, y = _result_dtype(y), _checked(y, bins, out_of_range)
    # A compiler fuses the plain formula; the tables of the window would stop it.
    compiling = torch.compiler.is_compiling()
    if not (isinstance(size, Tensor) or out_of_range == "truncate" or compiling):
        windows = gaussian_windows(
            bins, float(size), sigma is None, keeps_mean, dtype, y.device
        )
        return windows(y).dense(bins.n_bins)
    wide = float64_on(y.device)
    if sigma is None and not bins.is_uniform:
        borders = torch.arange(bins.n_bins + 1, dtype=wide, device=y.device)
        probs = _truncated_gaussian(bins.place_of(y), borders, size)
    else:
        borders = bins.borders.to(y.device, wide)
        size = size * bins.width if sigma is None else size
        probs = _truncated_gaussian(y, borders, size)
    return (with_mean(probs, y, bins) if keeps_mean else probs).to(dtype)


def one_bin(y: Tensor, bins: Bins, *, out_of_range: str = "clip") -> Tensor:
    """Return the bin of each y as a one-hot vector: the target of HL-OneBin.

    Parameters
    ----------
    y : Tensor of shape (...)
        On a border: the bin above; ``y == high``: the last bin.
    bins : Bins
    out_of_range : {"clip", "truncate", "error"}

    Returns
    -------
    Tensor of shape (..., k)

    Examples
    --------
    >>> one_bin(torch.tensor([0.0, 1.0, 2.0]), Bins([0.0, 1.0, 2.0]))
    tensor([[1., 0.],
            [0., 1.],
            [0., 1.]])
    """
    dtype, y = _result_dtype(y), _checked(y, bins, out_of_range)
    return OneBinWindows(bins, dtype, y.device)(y).dense(bins.n_bins)


def uniform(
    y: Tensor,
    bins: Bins,
    *,
    epsilon: float | None = None,
    epsilon_per_bin: float | None = None,
    out_of_range: str = "clip",
) -> Tensor:
    r"""Return the bin of each y mixed with equal bins: the target of HL-Uniform.

    .. math:: p = (1 - \epsilon) \, \text{onehot} + \epsilon / k

    Parameters
    ----------
    y : Tensor of shape (...)
    bins : Bins
    epsilon : float in [0, 1]
        The weight of the uniform part. 0 is `one_bin`, 1 is ``1 / k`` everywhere.
    epsilon_per_bin : float in [0, 1 / (k - 1)]
        Instead of ``epsilon``: the probability of each other bin, as the paper's
        formula has it; equal to ``epsilon / k``.
    out_of_range : {"clip", "truncate", "error"}

    Returns
    -------
    Tensor of shape (..., k)

    Examples
    --------
    >>> uniform(torch.tensor(0.5), Bins([0.0, 1.0, 2.0]), epsilon=0.5)
    tensor([0.7500, 0.2500])
    """
    epsilon = mixture_weight(bins, epsilon, epsilon_per_bin)
    return one_bin(y, bins, out_of_range=out_of_range) * (1 - epsilon) + (
        epsilon / bins.n_bins
    )


def projected(y: Tensor, bins: Bins, *, out_of_range: str = "clip") -> Tensor:
    """Split the mass of each y between its two nearest centers: HL-Projected, two-hot.

    The mean over centers is exactly y.

    Parameters
    ----------
    y : Tensor of shape (...)
        Beyond the first or the last center (also inside the bins) y is moved onto it.
    bins : Bins
    out_of_range : {"clip", "truncate", "error"}

    Returns
    -------
    Tensor of shape (..., k)

    Examples
    --------
    >>> projected(torch.tensor(1.25), Bins([0.0, 1.0, 2.0, 3.0]))
    tensor([0.2500, 0.7500, 0.0000])
    """
    dtype, y = _result_dtype(y), _checked(y, bins, out_of_range)
    return ProjectedWindows(bins, dtype, y.device)(y).dense(bins.n_bins)


def with_mean(probs: Tensor, y: Tensor, bins: Bins) -> Tensor:
    r"""Tilt target vectors so that their means over the centers are exactly y.

    The nearest vector with that mean, in relative entropy:
    :math:`p_i e^{\lambda c_i}`, normalised.

    Parameters
    ----------
    probs : Tensor of shape (..., k)
        Any targets with more than one bin each: of `one_bin` nothing can be tilted
        (`projected` is what keeps its mean).
    y : Tensor of shape (...)
        A y beyond the outermost centers that have mass is moved onto them.
    bins : Bins

    Returns
    -------
    Tensor of shape (..., k)
        Without gradients in y. Their means are y up to the rounding of its dtype (in
        float64, to 1e-12 of the spread of a target).

    Examples
    --------
    >>> bins = Bins([0.0, 1.0, 2.0, 4.0])
    >>> p = with_mean(torch.tensor([0.2, 0.6, 0.2]), torch.tensor(1.5), bins)
    >>> (p * bins.centers).sum()
    tensor(1.5000, dtype=torch.float64)
    """
    check_bins(bins)
    check_shape("probs", probs, (*y.shape, bins.n_bins), because="for y and the bins")
    wide = float64_on(y.device)
    centers = bins.centers.to(y.device, wide)
    distances = centers - y.detach().to(wide).unsqueeze(-1)  # (..., k)
    return _tilted(probs.detach().to(wide), distances)[0].to(probs.dtype)


def _tilted(
    probs: Tensor,
    distances: Tensor,
    start: Tensor | None = None,
    tolerance: float = 1e-13,
) -> tuple[Tensor, Tensor]:
    """Return probs of mean distance zero, and how much they were tilted for it.

    The mean rises with the tilt, so every trial bounds it. Newton's step is taken where
    it stays within the bounds, and halving (or doubling, while there is no bound) where
    it does not: three to nine steps, and sixteen on bins whose widths differ by 1e5.

    Parameters
    ----------
    probs, distances : Tensors of shape (..., m)
    start : Tensor of shape (..., 1), optional
        A tilt to begin with, per unit of distance.
    tolerance : float
        For the mean distance, in standard deviations of the tilted vector.

    Returns
    -------
    Tensors of shapes (..., m) and (..., 1)
    """
    has_mass = probs > 0
    lowest = distances.where(has_mass, torch.inf).amin(dim=-1, keepdim=True)
    highest = distances.where(has_mass, -torch.inf).amax(dim=-1, keepdim=True)
    # What cannot be reached is moved to what can. Where there is no mass distances do
    # not count, and in units of the others may be infinite.
    distances = distances - lowest.clamp(min=0) - highest.clamp(max=0)
    distances = distances.where(has_mass, 0.0)
    # A power of two, so that no digit changes, and no square leaves the float type.
    smallest = torch.finfo(distances.dtype).tiny
    farthest = distances.abs().amax(dim=-1, keepdim=True).clamp(min=smallest)
    unit = farthest.log2().floor().exp2()
    distances = distances / unit
    scale = (probs * distances**2).sum(dim=-1, keepdim=True).sqrt()
    scale = scale.clamp(min=smallest)
    distances = distances / scale
    logits = probs.log()
    tilt = torch.zeros_like(scale) if start is None else start * unit * scale
    rounding = torch.finfo(probs.dtype).eps / 2
    tolerance = max(tolerance, 16 * rounding)
    low, high = torch.full_like(tilt, -torch.inf), torch.full_like(tilt, torch.inf)
    compiling = torch.compiler.is_compiling()
    for _ in range(_COMPILED_STEPS if compiling else _MOST_STEPS):
        tilted = (logits + tilt * distances).softmax(dim=-1)
        mean = (tilted * distances).sum(dim=-1, keepdim=True)
        spread = (tilted * distances**2).sum(dim=-1, keepdim=True) - mean**2
        # Besides the tolerance: the rounding of distances, where no spread is left.
        is_open = mean.abs() > tolerance * spread.clamp(min=0).sqrt() + rounding
        if has_values(probs) and not is_open.any():
            break
        high, low = torch.where(mean > 0, tilt, high), torch.where(mean < 0, tilt, low)
        newton = tilt - mean / spread
        between = torch.where(
            high.isinf(),
            tilt + (tilt.abs() + 1),
            torch.where(low.isinf(), tilt - (tilt.abs() + 1), low + (high - low) / 2),
        )
        is_within = (newton > low) & (newton < high)
        tilt = torch.where(is_open, torch.where(is_within, newton, between), tilt)
    return tilted, tilt / scale / unit


def from_cdf(cdf: Callable[[Tensor], Tensor], bins: Bins, *, like: Tensor) -> Tensor:
    """Return the bin probabilities of any distribution, restricted to the bins.

    Parameters
    ----------
    cdf : callable, Tensor of shape (k + 1,) -> Tensor of shape (..., k + 1)
        A distribution function, evaluated at the borders (float64), for example
        ``Laplace(y.double().unsqueeze(-1), scale).cdf``.
    bins : Bins
    like : Tensor
        Dtype and device of the result, usually y.

    Returns
    -------
    Tensor of shape (..., k)
        Where no mass lies within the bins, all goes to the end bin on its side.

    Examples
    --------
    >>> from torch.distributions import Laplace
    >>> y = torch.tensor([1.0, 2.5])
    >>> from_cdf(Laplace(y.unsqueeze(-1), 0.5).cdf, Bins([0.0, 1.0, 2.0, 3.0]), like=y)
    tensor([[0.4683, 0.4683, 0.0634],
            [0.0265, 0.1957, 0.7778]])
    """
    check_bins(bins)
    borders = bins.borders.to(like.device, float64_on(like.device))
    at_borders = cdf(borders)  # (..., k + 1)
    if at_borders.shape[-1] != bins.n_bins + 1:
        raise InputError(
            f"cdf must return one value per border, {bins.n_bins + 1} in the last "
            f"dimension, got shape {tuple(at_borders.shape)}"
        )
    at_borders = at_borders.to(borders.dtype)
    if is_free_to_read(at_borders) and not bool((at_borders.diff(dim=-1) >= 0).all()):
        worst = at_borders.diff(dim=-1).min().item()
        raise InputError(
            f"cdf must not decrease between borders, got a step of {worst}"
        )
    mass = at_borders[..., -1:] - at_borders[..., :1]  # (..., 1)
    beyond = torch.where(at_borders[..., :1] > 0.5, 0, bins.n_bins - 1)  # (..., 1)
    end = F.one_hot(beyond.squeeze(-1), bins.n_bins).to(borders.dtype)  # (..., k)
    inside = at_borders.diff(dim=-1) / mass.where(mass > 0, torch.ones_like(mass))
    return torch.where(mass > 0, inside, end).to(_result_dtype(like))


def mixture_weight(
    bins: Bins, epsilon: float | None, epsilon_per_bin: float | None
) -> float:
    """Return the weight of the uniform part from either way of giving it."""
    if (epsilon is None) == (epsilon_per_bin is None):
        raise InputError(
            "give either epsilon or epsilon_per_bin, "
            f"got {epsilon=} and {epsilon_per_bin=}"
        )
    if epsilon_per_bin is not None:
        most = 1 / (bins.n_bins - 1)
        if not 0 <= epsilon_per_bin <= most:
            raise InputError(
                f"epsilon_per_bin must lie in [0, {most:.6g}], 1 over the other bins "
                f"(beyond it a probability is negative), got {epsilon_per_bin=}"
            )
        # p_on = 1 - (k - 1) e and p_off = e are the mixture of weight k e.
        return epsilon_per_bin * bins.n_bins
    if epsilon is None or not 0 <= epsilon <= 1:
        raise InputError(f"epsilon must lie in [0, 1], got {epsilon=}")
    return epsilon


class OneBinWindows:
    """The window form of `one_bin`, with its tables prepared once."""

    def __init__(self, bins: Bins, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype = dtype
        self._inner = bins.borders[1:-1].to(device, float64_on(device))

    def __call__(self, y: Tensor) -> Window:  # (...) -> (..., m)
        """Return the window of each y."""
        y = y.to(self._inner.dtype).contiguous()
        index = torch.bucketize(y, self._inner, right=True)  # (...)
        # A NaN that could not be refused must not pass for the last bin.
        one = torch.where(y.isnan(), math.nan, 1.0).to(self._dtype)
        return Window(index.unsqueeze(-1), one.unsqueeze(-1))


class ProjectedWindows:
    """The window form of `projected`, with its tables prepared once."""

    def __init__(self, bins: Bins, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype = dtype
        self._centers = bins.centers.to(device, float64_on(device))
        self._low, self._high = bins.centers[0].item(), bins.centers[-1].item()

    def __call__(self, y: Tensor) -> Window:  # (...) -> (..., m)
        """Return the window of each y."""
        y = y.to(self._centers.dtype).clamp(self._low, self._high).contiguous()
        lower = torch.bucketize(y, self._centers[1:-1], right=True)  # (...)
        left, right = entries(self._centers, lower), entries(self._centers, lower + 1)
        share = ((y - left) / (right - left)).to(self._dtype)  # (...), of the upper one
        return Window(
            torch.stack([lower, lower + 1], dim=-1),
            torch.stack([1 - share, share], dim=-1),
        )


class GaussianWindows:
    """The window form of `gaussian`: the bins within reach of y, and no others.

    Beyond ``reach`` standard deviations lies less mass than the dtype can resolve next
    to one (3.8e-8 in float32, 1e-16 in float64), so leaving it out changes nothing,
    and the window is narrow: 24 bins of any number at sigma = 2 bins. Positions are
    taken relative to the first border of the window, in float64, so that an offset of
    the bins costs no precision; only then is the dtype of the result used.

    y must lie within the bins. Tables are prepared once, for one dtype and device.
    """

    def __init__(
        self, bins: Bins, sigma: float, dtype: torch.dtype, device: torch.device
    ) -> None:
        borders = bins.borders
        span = bins.high - bins.low
        sigma = min(max(sigma, _USEFUL_SIGMAS[0] * span), _USEFUL_SIGMAS[1] * span)
        reach = (5.5 if dtype == torch.float32 else 8.3) * sigma

        # The window that begins in bin s must contain all that is within reach of any
        # y whose reach begins in s, that is, below the upper border of s.
        last = torch.bucketize(borders[1:] + 2 * reach, borders[1:-1])
        numbers = torch.arange(bins.n_bins + 1, device="cpu")
        size = int((last - numbers[:-1]).max()) + 1
        size = min(max(size, 2), bins.n_bins)

        self._dtype = dtype
        self._wide = float64_on(device)
        self._low, self._reach = bins.low, reach
        self._n_starts = bins.n_bins - size + 1
        # Lengths in the argument of erf, √2 sigma.
        self._unit = math.sqrt(2) * sigma
        # Where the borders are even to the last digit that matters, every window looks
        # the same and places are arithmetic. Far from zero they are rounded.
        width = (bins.high - bins.low) / bins.n_bins
        uneven = (borders - (bins.low + numbers.double() * width)).abs().max().item()
        rounding = torch.finfo(torch.float64).eps * max(abs(bins.low), abs(bins.high))
        negligible = max(torch.finfo(dtype).eps / 8, 1e-13) * width
        self._width = width if uneven + rounding <= negligible else None
        self._steps = numbers[: size + 1].to(device)  # (m + 1,)
        self._even = (self._steps.to(self._wide) * (width / self._unit)).to(dtype)
        self._borders = borders.to(device, self._wide)  # (k + 1,)

    def __call__(self, y: Tensor) -> Window:  # (...) -> (..., m)
        """Return the window of each y."""
        y = y.to(self._wide)
        if self._width is not None:
            place = (y - self._low) / self._width  # (...), in bins
            # A start that rounding moves by one bin changes mass beyond reach only.
            # NaN becomes some start, and its probabilities stay NaN.
            start = (place.detach() - self._reach / self._width).long()
            start = start.clamp(0, self._n_starts - 1)  # (...)
            place = (place - start).to(self._dtype)  # (...), from the window's start
            scale = self._width / self._unit
            z = torch.sub(self._even, place.unsqueeze(-1), alpha=scale)  # (..., m + 1)
            indices = start.unsqueeze(-1) + self._steps[:-1]  # (..., m)
        else:
            begin = (y - self._reach).contiguous()
            firsts = self._borders[1 : self._n_starts]
            start = torch.bucketize(begin, firsts, right=True)  # (...)
            indices = start.unsqueeze(-1) + self._steps  # (..., m + 1), of borders
            # Subtracted in float64: a wide bin may begin a window far from y.
            z = entries(self._borders, indices) - y.unsqueeze(-1)  # (..., m + 1)
            z = (z / self._unit).to(self._dtype)
            indices = indices[..., :-1]  # (..., m), of bins
        # In place where nobody looks back: fresh memory costs more than the arithmetic.
        cdf = z.erf() if z.requires_grad or not has_values(z) else z.erf_()
        probs = cdf.diff(dim=-1) / (cdf[..., -1:] - cdf[..., :1])  # (..., m)
        return Window(indices, probs)


class PlacedWindows:
    """Windows over the places in bins of any widths, as if all were equally wide."""

    def __init__(
        self, bins: Bins, sigma_in_bins: float, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._bins = bins
        places = Bins.uniform(0.0, bins.n_bins, bins.n_bins)
        self._windows = GaussianWindows(places, sigma_in_bins, dtype, device)

    def __call__(self, y: Tensor) -> Window:  # (...) -> (..., m)
        """Return the window of each y."""
        return self._windows(self._bins.place_of(y))


class TiltedWindows:
    """Other windows, tilted so that the mean of each is y; see `with_mean`.

    A table of tilts by place lets each begin so near that a step or two do.
    """

    def __init__(
        self, windows: Callable[[Tensor], Window], bins: Bins, device: torch.device
    ) -> None:
        self._windows = windows
        self._bins = bins
        self._centers = bins.centers.to(device, float64_on(device))
        n_parts = bins.n_bins * _TILTS_PER_BIN
        places = torch.arange(n_parts + 1, device=device) / _TILTS_PER_BIN
        borders = bins.borders.to(device, self._centers.dtype)
        index = places.long().clamp(max=bins.n_bins - 1)
        y = torch.lerp(borders[index], borders[index + 1], (places - index).to(borders))
        _, _, tilts = self._tilted(y, None)
        self._tilts = tilts.squeeze(-1)  # (n_parts + 1,)

    def __call__(self, y: Tensor) -> Window:  # (...) -> (..., m)
        """Return the window of each y."""
        with torch.no_grad():
            place = self._bins.place_of(y) * _TILTS_PER_BIN
            index = place.long().clamp(0, len(self._tilts) - 2)
            start = torch.lerp(
                entries(self._tilts, index),
                entries(self._tilts, index + 1),
                (place - index).clamp(0, 1),
            )
            indices, probs, _ = self._tilted(y, start.unsqueeze(-1))
            return Window(indices, probs)

    def _tilted(self, y: Tensor, start: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        indices, probs = self._windows(y)
        wide = probs.to(self._centers.dtype).clamp(min=0)
        y = y.to(self._centers.dtype).unsqueeze(-1)  # (..., 1)
        tilted, tilt = _tilted(
            wide,
            entries(self._centers, indices) - y,
            start,
            tolerance=1e-13 if probs.dtype == torch.float64 else 1e-7,
        )
        return indices, tilted.to(probs.dtype), tilt


@functools.lru_cache(maxsize=32)
def gaussian_windows(
    bins: Bins,
    sigma: float,
    is_in_bins: bool,
    keeps_mean: bool,
    dtype: torch.dtype,
    device: torch.device,
) -> Callable[[Tensor], Window]:
    """Return the window form of `gaussian` for y within the bins, its tables made once.

    Parameters
    ----------
    bins : Bins
    sigma : float
        In units of y, or if ``is_in_bins`` in bins.
    is_in_bins, keeps_mean : bool
    dtype, device
        Of the probabilities.
    """
    windows: Callable[[Tensor], Window]
    if is_in_bins and not bins.is_uniform:
        windows = PlacedWindows(bins, sigma, dtype, device)
    else:
        size = sigma * bins.width if is_in_bins else sigma
        windows = GaussianWindows(bins, size, dtype, device)
    return TiltedWindows(windows, bins, device) if keeps_mean else windows


def _truncated_gaussian(y: Tensor, borders: Tensor, sigma: float | Tensor) -> Tensor:
    """Return the truncated Gaussian over all bins, for any y and any sigma each.

    Inside the bins: differences of the normal CDF. Outside, at distance d sigma from
    the nearest end: with Δ the distance of a border from that end, in sigmas, the mass
    beyond the border is, relative to the mass beyond the end,

        S(Δ) = exp(-Δ (d + Δ / 2)) erfcx((d + Δ) / √2) / erfcx(d / √2),

    which is between 0 and 1 at any distance, where Φ itself would underflow.
    """
    low, high = borders[0], borders[-1]
    y = y.to(borders.dtype).unsqueeze(-1)  # (..., 1)
    sigma = torch.as_tensor(sigma, dtype=borders.dtype, device=y.device)
    smallest, largest = ((high - low) * each for each in _USEFUL_SIGMAS)
    sigma = sigma.clamp(smallest, largest).unsqueeze(-1)  # (..., 1)

    nearest = y.clamp(low, high)
    z = (borders - nearest) / sigma  # (..., k + 1)
    inside = normal_mass(z[..., :-1], z[..., 1:])  # (..., k)

    # Bounded so that its square is finite; long before, all is in the end bin.
    farthest = math.sqrt(torch.finfo(borders.dtype).max)
    distance = ((y - nearest).abs() / sigma).clamp(max=farthest)  # (..., 1)
    from_end = torch.where(y < low, borders - low, high - borders)
    from_end = from_end / sigma  # (..., k + 1)
    root2 = math.sqrt(2)
    survival = (
        torch.exp(-from_end * (distance + from_end / 2))
        * torch.special.erfcx((distance + from_end) / root2)
        / torch.special.erfcx(distance / root2)
    )  # (..., k + 1)
    outside = survival.diff(dim=-1).abs()  # (..., k)

    mass = torch.where(distance > 0, outside, inside)
    return mass / mass.sum(dim=-1, keepdim=True)


def normal_mass(lower: Tensor, upper: Tensor) -> Tensor:
    """Return Φ(upper) - Φ(lower) with all its digits, for lower <= upper.

    In the tails from erfc, mirrored so that it is small; around zero from erf, which
    is small there. (``torch.special.ndtr`` has the digits of neither.)
    """
    lower, upper = lower / math.sqrt(2), upper / math.sqrt(2)
    mirrored = upper <= 0
    tails = torch.erfc(torch.where(mirrored, -upper, lower)) - (
        torch.erfc(torch.where(mirrored, -lower, upper))
    )
    central = (lower.abs() < 0.5) & (upper.abs() < 0.5)
    return torch.where(central, torch.erf(upper) - torch.erf(lower), tails) / 2


def _result_dtype(y: Tensor) -> torch.dtype:
    check_tensor("y", y)
    return torch.float64 if y.dtype == torch.float64 else torch.float32


def _check_positive_everywhere(name: str, values: Tensor) -> None:
    check_finite(name, values)
    if is_free_to_read(values) and not bool((values > 0).all()):
        raise InputError(
            f"{name} must be positive everywhere, got a smallest {values.min().item()}"
        )


def _checked(y: Tensor, bins: Bins, out_of_range: str) -> Tensor:
    """Return y as the choice for values outside the bins wants it."""
    check_choice("out_of_range", out_of_range, OUT_OF_RANGE)
    check_bins(bins)
    check_finite("y", y)
    return placed(y, bins, out_of_range)


def placed(y: Tensor, bins: Bins, out_of_range: str) -> Tensor:
    """Return y clipped to the bins, left as it is, or refused.

    Clipping is in float64: the ends may not be representable in the dtype of y. A y in
    a tail is moved to the mean of its bin, whatever the choice.
    """
    if not y.is_floating_point():  # torch would compare integers in float32
        y = y.to(float64_on(y.device))
    if out_of_range == "error" and has_values(y):
        outside = (y < bins.lowest) | (y > bins.highest)
        if outside.any():
            raise InputError(
                f"y must lie within the bins [{bins.lowest:g}, {bins.highest:g}], got "
                f"{int(outside.sum())} of {y.numel()} outside, "
                f"the first {y[outside].flatten()[0].item():g}"
            )
    if bins.has_tails:
        y = y.to(float64_on(y.device))
        centers, borders = bins.centers.tolist(), bins.borders.tolist()
        if bins.lower_tail is not None:
            y = torch.where(y < borders[1], centers[0], y)
        if bins.upper_tail is not None:
            y = torch.where(y >= borders[-2], centers[-1], y)
    if out_of_range == "truncate":
        return y
    return y.to(float64_on(y.device)).clamp(bins.low, bins.high)
