"""Windows: the part of a target vector that is not zero, its tables made once."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from histreg._tensors import float64_on, is_concrete, take
from histreg._tilting import tilted_to_zero_mean
from histreg.bins import Bins

# Sigmas in spans of the bins at which the limits (one bin; uniform) are reached to
# rounding. Between them nothing overflows or vanishes, in float32 either.
USEFUL_SIGMAS = 1e-30, 1e6
_TILTS_PER_BIN = 8  # of the table that a tilt begins with


def even_width(bins: Bins, dtype: torch.dtype) -> float | None:
    """Return the common width of bins that are even to the last digit that matters.

    None for others, also for even ones so far from zero that they are rounded.
    """
    width = (bins.high - bins.low) / bins.n_bins
    numbers = torch.arange(bins.n_bins + 1, device="cpu").double()
    uneven = (bins.borders - (bins.low + numbers * width)).abs().max().item()
    rounding = torch.finfo(torch.float64).eps * max(abs(bins.low), abs(bins.high))
    negligible = max(torch.finfo(dtype).eps / 8, 1e-13) * width
    return width if uneven + rounding <= negligible else None


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


class OneBinWindows:
    """The window form of `one_bin`, with its tables prepared once."""

    def __init__(self, bins: Bins, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype = dtype
        self._inner = bins.borders[1:-1].to(device, float64_on(device))

    def __call__(self, y: Tensor) -> Window:  # (...) -> (..., m)
        """Return the window of each y."""
        y = y.to(self._inner.dtype).contiguous()
        index = torch.bucketize(y, self._inner, right=True)  # (...)
        # A NaN that was not refused must not count as the last bin.
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
        left, right = take(self._centers, lower), take(self._centers, lower + 1)
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
        sigma = min(max(sigma, USEFUL_SIGMAS[0] * span), USEFUL_SIGMAS[1] * span)
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
        # Where the borders are even, every window looks the same and places are
        # arithmetic.
        self._width = even_width(bins, dtype)
        width = (bins.high - bins.low) / bins.n_bins
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
            z = take(self._borders, indices) - y.unsqueeze(-1)  # (..., m + 1)
            z = (z / self._unit).to(self._dtype)
            indices = indices[..., :-1]  # (..., m), of bins
        # In place if no gradient is needed: allocating costs more than the arithmetic.
        cdf = z.erf() if z.requires_grad or not is_concrete(z) else z.erf_()
        probs = cdf.diff(dim=-1) / (cdf[..., -1:] - cdf[..., :1])  # (..., m)
        return Window(indices, probs)


class CoordinateWindows:
    """Windows over bin coordinates: bins of any widths, as if all were equally wide."""

    def __init__(
        self, bins: Bins, sigma_in_bins: float, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._bins = bins
        places = Bins.uniform(0.0, bins.n_bins, bins.n_bins)
        self._windows = GaussianWindows(places, sigma_in_bins, dtype, device)

    def __call__(self, y: Tensor) -> Window:  # (...) -> (..., m)
        """Return the window of each y."""
        return self._windows(self._bins.bin_coordinate(y))


class TiltedWindows:
    """Other windows, tilted so that the mean of each is y; see `with_mean`.

    A table of tilts by bin coordinate gives starts so near that a step or two suffice.
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
            place = self._bins.bin_coordinate(y) * _TILTS_PER_BIN
            index = place.long().clamp(0, len(self._tilts) - 2)
            start = torch.lerp(
                take(self._tilts, index),
                take(self._tilts, index + 1),
                (place - index).clamp(0, 1),
            )
            indices, probs, _ = self._tilted(y, start.unsqueeze(-1))
            return Window(indices, probs)

    def _tilted(self, y: Tensor, start: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        indices, probs = self._windows(y)
        wide = probs.to(self._centers.dtype).clamp(min=0)
        y = y.to(self._centers.dtype).unsqueeze(-1)  # (..., 1)
        tilted, tilt = tilted_to_zero_mean(
            wide,
            take(self._centers, indices) - y,
            start,
            tolerance=1e-13 if probs.dtype == torch.float64 else 1e-7,
        )
        return indices, tilted.to(probs.dtype), tilt


class TabulatedWindows:
    """Other windows, computed once for the y that training comes back to.

    Parameters
    ----------
    windows : callable, y (...) -> Window of shape (..., m)
    distinct : Tensor of shape (u,), float64
        Increasing, and within the bins.
    """

    def __init__(self, windows: Callable[[Tensor], Window], distinct: Tensor) -> None:
        self._windows = windows
        self._distinct = distinct
        self._table = windows(distinct)

    def __call__(self, y: Tensor) -> Window:  # (...) -> (..., m)
        """Return the window of each y; one that is not in the table is computed."""
        index = torch.searchsorted(self._distinct, y.contiguous())
        index = index.clamp(max=len(self._distinct) - 1)
        if not torch.equal(take(self._distinct, index), y):
            return self._windows(y)
        return Window(*(take(part, index) for part in self._table))


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
        windows = CoordinateWindows(bins, sigma, dtype, device)
    else:
        size = sigma * bins.width if is_in_bins else sigma
        windows = GaussianWindows(bins, size, dtype, device)
    return TiltedWindows(windows, bins, device) if keeps_mean else windows
