"""The loss of Gaussian targets over even bins in one compiled loop.

In a batch of a few hundred samples most of the time goes into the number of operations:
forty from y to the gradient. Numba compiles them into one. It is an extra,
``histreg[fast]``; without it the loss is evaluated in PyTorch alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from histreg._numba import compiled, is_installed
from histreg._windows import even_width
from histreg.bins import Bins

# Targets are interpolated between places within a bin. The mass in a bin has a second
# derivative of at most 2 / sqrt(2 pi e) / sigma^2 (sigma in bins), so with n places per
# sigma the interpolation is off by at most 0.0605 / n^2, 1.5e-8 for 2,048: half a unit
# in the last place of a probability of 1/4 in float32.
_PLACES_PER_SIGMA = 2048
_REACH_IN_SIGMAS = 5.5  # as far as float32 resolves mass beside one
_MAX_TABLE = 2**20  # numbers in the table; without one if there would be more
_NO_LOSSES = np.empty(0, dtype=np.float32)


class CompiledGaussian:
    """The cross-entropy with Gaussian targets over even bins, and its gradient.

    Parameters
    ----------
    bins : Bins
    width, sigma : float
        Of a bin and of the Gaussian, in units of y.
    """

    divides_gradient = True  # see `evaluated_cross_entropy`

    def __init__(self, bins: Bins, width: float, sigma: float) -> None:
        self._low, self._high, self._n_bins = bins.low, bins.high, bins.n_bins
        self._n_places, self._reach = _table_size(width, sigma)
        self._places_per_y = self._n_places / width
        # Entry [r, j] is the mass of bin j - reach of a y at r / n_places into bin 0.
        within = np.arange(self._n_places + 1)[:, None] / self._n_places
        borders = np.arange(-self._reach, self._reach + 2)
        z = torch.from_numpy((borders - within) * (width / sigma / math.sqrt(2)))
        mass = z.erf().diff(dim=-1).numpy() / 2  # (n_places + 1, m)
        self._mass = mass[:-1].astype(np.float32)
        self._rise = np.diff(mass, axis=0).astype(np.float32)

    def __call__(
        self, reduction: str, logits: Tensor, y: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the loss and its gradient: of each sample softmax - target.

        With ``reduction="mean"`` the gradient is divided by the number of samples here,
        where its numbers are at hand anyway.

        Parameters
        ----------
        reduction : {"none", "mean", "sum"}
        logits : Tensor of shape (..., k), float32 on the CPU
        y : Tensor of shape (...)
            Finite and within the bins.
        """
        gradient = logits.softmax(dim=-1)
        is_reduced = reduction != "none"
        losses = _NO_LOSSES if is_reduced else np.empty(y.numel(), dtype=np.float32)
        value = _subtract_targets()(
            logits.numpy().reshape(-1, self._n_bins),
            y.numpy().reshape(-1),
            self._low,
            self._places_per_y,
            self._n_places,
            self._reach,
            self._mass,
            self._rise,
            reduction == "mean",
            losses,
            gradient.numpy().reshape(-1, self._n_bins),
        )
        if not is_reduced:
            return torch.from_numpy(losses).view(y.shape), gradient
        return torch.scalar_tensor(value, dtype=torch.float32), gradient


@functools.lru_cache(maxsize=32)
def compiled_gaussian(bins: Bins, sigma: float) -> CompiledGaussian | None:
    """Return the compiled loss, or None without Numba or for bins that are not even.

    Parameters
    ----------
    bins : Bins
    sigma : float
        In units of y. None if it is so large or small that the table would be large.
    """
    if not is_installed():
        return None
    width = even_width(bins, torch.float32)
    if width is None or not 1e-3 < sigma / width < 1e3:
        return None
    n_places, reach = _table_size(width, sigma)
    if n_places * (2 * reach + 1) * 2 > _MAX_TABLE:
        return None
    return CompiledGaussian(bins, width, sigma)


def _table_size(width: float, sigma: float) -> tuple[int, int]:
    """Return the number of places within a bin, and of bins within reach of a side."""
    n_places = math.ceil(_PLACES_PER_SIGMA * width / sigma)
    return n_places, math.ceil(_REACH_IN_SIGMAS * sigma / width)


@functools.cache
def _subtract_targets() -> Callable[..., float]:
    # Sums may be taken in any order, which lets several numbers be added at once.
    return compiled(subtract_targets, fastmath={"reassoc", "contract"})


def subtract_targets(
    logits: np.ndarray,
    y: np.ndarray,
    low: float,
    places_per_y: float,
    n_places: int,
    reach: int,
    mass: np.ndarray,
    rise: np.ndarray,
    is_mean: bool,
    losses: np.ndarray,
    probs: np.ndarray,
) -> float:
    """Subtract the targets from probs (n, k), and return the sum of the losses.

    If it is to be the mean, both are divided by n. Each loss is also written to
    ``losses``, unless that is empty.
    """
    n, k = logits.shape
    is_divided = is_mean and n > 0
    share = np.float32(1) / np.float32(n) if is_divided else np.float32(1)
    last = k * n_places - 1
    total = 0.0
    for i in range(n):
        place = (np.float64(y[i]) - low) * places_per_y
        index = min(int(place), last)  # y == high is the end of the last bin
        part = np.float32(place - index)
        row, first = index % n_places, index // n_places - reach
        begin, end = max(0, -first), min(mass.shape[1], k - first)
        scale = np.float32(1)
        if end - begin < mass.shape[1]:  # cut off at an end of the bins
            inside = 0.0
            for j in range(begin, end):
                inside += np.float64(mass[row, j]) + part * rise[row, j]
            scale = np.float32(1 / inside)
        # One logit and its probability give the logarithm of the sum: that of the bin
        # of y, or the largest if that probability has lost digits.
        origin = first + reach
        if not probs[i, origin] > 1e-3:
            origin = np.argmax(logits[i])
        logit, log_prob = logits[i, origin], math.log(probs[i, origin])
        excess = np.float32(0)  # of the logits over that one, under the target
        for j in range(begin, end):
            p = (mass[row, j] + part * rise[row, j]) * scale
            excess += p * (logits[i, first + j] - logit)
            probs[i, first + j] -= p
        if is_divided:
            for j in range(k):
                probs[i, j] *= share
        loss = -log_prob - float(excess)
        total += loss
        if len(losses):
            losses[i] = loss
    return total / n if is_divided else total
