r"""Tails: the distribution of mass within an unbounded end bin.

The share of the bin's mass at a distance of more than z beyond the threshold is

.. math:: S(z) = (1 + \xi z / s)^{-1 / \xi}

with scale s and shape ξ. This is the generalised Pareto distribution, to which the
excesses over a high threshold converge for nearly every distribution. For ξ = 0 it is
the exponential distribution, exp(-z / s). The mean exists for ξ < 1, which is required.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg._checks import check_choice, check_positive
from histreg._names import TAILS
from histreg.errors import InputError

__all__ = ["Tail"]

TAIL_SHARE = 0.02  # of the targets, to which a tail is fitted
MIN_TAIL_TARGETS = 25  # at which the standard error of the shape is at least 0.2


@dataclass(frozen=True)
class Tail:
    """The distribution of distances beyond the threshold, in units of y.

    Parameters
    ----------
    scale : float
        Positive.
    shape : float in [0, 1)
        0 is exponential; the k-th moment is finite if the shape is below 1 / k.

    Examples
    --------
    >>> Tail(2.0).mean, Tail(2.0, 0.5).mean
    (2.0, 4.0)
    """

    scale: float
    shape: float = 0.0

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        if not 0 <= self.shape < 1:
            raise InputError(
                "shape must lie in [0, 1), where the tail is unbounded and has a mean, "
                f"got shape={self.shape}"
            )

    @classmethod
    def of(cls, distances: NDArray[np.float64], kind: str) -> Tail:
        """Return the maximum likelihood fit to these distances.

        Parameters
        ----------
        distances : ndarray of shape (n,)
            Beyond the threshold, positive.
        kind : {"exponential", "gpd"}
            If the generalised Pareto distribution is bounded (negative shape), an
            exponential one is fitted instead; one without a mean (shape 1 or more)
            raises an InputError.
        """
        check_choice("kind", kind, TAILS[1:])
        mean = float(np.mean(distances))
        if kind == "exponential":
            return cls(mean)
        from scipy.stats import genpareto  # takes half a second to import

        shape, _, scale = genpareto.fit(distances / mean, floc=0)
        if shape <= 0:
            return cls(mean)
        if shape >= 1:
            raise InputError(
                'tails="gpd" must have a mean and thus a shape below 1, got a shape of '
                f"{shape:.2f} for {len(distances)} targets; use bins with "
                "logarithmic or quantile spacing instead of tails"
            )
        return cls(float(scale) * mean, float(shape))

    def in_units_of(self, unit: float) -> Tail:
        """Return the tail of distances measured in another unit."""
        return Tail(self.scale / unit, self.shape)

    @property
    def mean(self) -> float:
        """The mean distance."""
        return self.scale / (1 - self.shape)

    @property
    def variance(self) -> float:
        """The variance; infinite if the shape is one half or more."""
        if self.shape >= 0.5:
            return math.inf
        return self.mean**2 / (1 - 2 * self.shape)

    @property
    def entropy(self) -> float:
        """The differential entropy, in nats."""
        return math.log(self.scale) + self.shape + 1

    def log_survival(self, z: Tensor) -> Tensor:
        """Return log S at distances z >= 0, which may be infinite."""
        z = z / self.scale
        return -(torch.log1p(self.shape * z) / self.shape if self.shape else z)

    def log_density(self, z: Tensor) -> Tensor:
        """Return the log density at distances z >= 0."""
        return (1 + self.shape) * self.log_survival(z) - math.log(self.scale)

    def distance(self, survival: Tensor) -> Tensor:
        """Return the z at which S equals ``survival``; infinite for 0."""
        log = survival.log()
        if not self.shape:
            return -self.scale * log
        return self.scale / self.shape * torch.expm1(-self.shape * log)

    def survival_within(self, z: Tensor) -> Tensor:
        """Return the integral of S from 0 to z."""
        beyond = torch.exp((1 - self.shape) * self.log_survival(z))
        return self.mean * (1 - beyond)

    @property
    def squared_survival(self) -> float:
        """The integral of S² over all distances."""
        return self.scale / (2 - self.shape)


def checked_kinds(tails: str | Sequence[str]) -> tuple[str, str]:
    """Return the kinds of the lower and upper tail, from one name or a pair."""
    pair = (tails, tails) if isinstance(tails, str) else tails
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise InputError(f"tails must be a name or a pair of names, got {tails!r}")
    for kind in pair:
        check_choice("tails", kind, TAILS)
    return pair[0], pair[1]


def tails_of(
    y: NDArray[np.float64], kinds: tuple[str, str]
) -> tuple[tuple[float, Tail] | None, tuple[float, Tail] | None]:
    """Return threshold and tail of the lower and the upper side, fitted to targets.

    A threshold lies midway between two different values, so that equal values are on
    the same side of it.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Finite.
    kinds : pair of {"clip", "exponential", "gpd"}
        ``"clip"`` gives None. So does a side with fewer than ten different values
        beyond its threshold, and the side of zero if all targets have one sign. Both
        are None if fewer than two different values lie between the thresholds.
    """
    if kinds == ("clip", "clip"):
        return None, None
    min_targets = 4 * MIN_TAIL_TARGETS
    if len(y) < min_targets:
        raise InputError(
            f"tails must be fitted to at least {min_targets} targets, got {len(y)}"
        )
    n_beyond = max(MIN_TAIL_TARGETS, math.ceil(TAIL_SHARE * len(y)))
    low, high = float(y.min()), float(y.max())
    beyond: list[NDArray[np.float64] | None] = []
    for sign, kind in zip((-1, 1), kinds, strict=True):
        ordered = np.sort(sign * y)
        outer = ordered[ordered > ordered[-n_beyond - 1]]
        if kind == "clip" or ordered[-1] <= 0 or len(np.unique(outer)) < 10:
            beyond.append(None)
            continue
        inner = ordered[-n_beyond - 1]
        threshold = inner + (outer[0] - inner) / 2
        beyond.append(outer - threshold)
        low, high = (low, threshold) if sign > 0 else (-threshold, high)
    if len(np.unique(y[(y >= low) & (y <= high)])) < 2:
        return None, None
    lower, upper = (
        None if distances is None else (end, Tail.of(distances, kind))
        for end, distances, kind in zip((low, high), beyond, kinds, strict=True)
    )
    return lower, upper
