"""Slow and plain references, in float64 or more digits."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, permutations

import mpmath
import numpy as np
import torch
from scipy import integrate, stats

from histreg import Bins, Histogram


def gaussian_target(y: float, borders: np.ndarray, sigma: float) -> np.ndarray:
    """Return the truncated normal's bin masses, from SciPy."""
    low, high = (borders[0] - y) / sigma, (borders[-1] - y) / sigma
    return np.diff(stats.truncnorm(low, high, loc=y, scale=sigma).cdf(borders))


def exact_gaussian_target(
    y: float, borders: np.ndarray, sigma: float, digits: int = 400
) -> np.ndarray:
    """Return the same with 400 digits: right at any distance (40 do for y inside)."""
    with mpmath.workdps(digits):
        z = [(mpmath.mpf(float(b)) - mpmath.mpf(float(y))) / sigma for b in borders]
        masses = [
            mpmath.erfc(a / mpmath.sqrt(2)) - mpmath.erfc(b / mpmath.sqrt(2))
            if a > 0
            else mpmath.erfc(-b / mpmath.sqrt(2)) - mpmath.erfc(-a / mpmath.sqrt(2))
            for a, b in pairwise(z)
        ]
        total = sum(masses)
        return np.array([float(mass / total) for mass in masses])


def density(distribution: Histogram):
    """Return the density of a single histogram as SciPy's rv_histogram."""
    bins: Bins = distribution.bins
    probs = distribution.probs.double().numpy()
    return stats.rv_histogram(
        (probs, bins.borders.numpy()), density=False
    )  # divides by the widths itself


def crps(distribution: Histogram, y: float) -> float:
    """Return the integral of (F - 1{z >= y})^2 by quadrature, border by border."""
    cdf = density(distribution).cdf
    borders = distribution.bins.borders.numpy()
    points = np.unique(np.concatenate([borders, [y]]))
    return sum(
        integrate.quad(lambda z: (cdf(z) - (z >= y)) ** 2, a, b, epsabs=1e-13)[0]
        for a, b in pairwise(points)
    )


class ExactHistogram:
    """One histogram in rational arithmetic: its float64 numbers, without rounding."""

    def __init__(self, distribution: Histogram) -> None:
        probs = [Fraction(p) for p in distribution.probs.double().tolist()]
        self.borders = [Fraction(b) for b in distribution.bins.borders.tolist()]
        self.cdf = [sum(probs[:i]) / sum(probs) for i in range(len(probs) + 1)]

    def _bins(self):
        """Return (lower border, upper border, cdf at both) of each bin."""
        borders, cdf = self.borders, self.cdf
        return zip(borders, borders[1:], cdf, cdf[1:], strict=False)

    def mean(self) -> Fraction:
        return sum((b - a) * (low + high) / 2 for low, high, a, b in self._bins())

    def quantile(self, q: float | Fraction) -> Fraction:
        """Return the smallest y with cdf(y) >= q; q = 0 is as small as can be."""
        q = Fraction(q)
        for low, high, a, b in self._bins():
            if b > 0 and b >= q:
                return low + (high - low) * max(q - a, 0) / (b - a)
        raise ValueError(f"{q} exceeds 1")

    def crps(self, y: float) -> Fraction:
        """Return the integral of (F - 1{z >= y})^2, bin by bin."""
        y = Fraction(y)
        total = max(self.borders[0] - y, y - self.borders[-1], Fraction(0))
        for low, high, a, b in self._bins():
            middle = min(max(y, low), high)
            at_y = a + (b - a) * (middle - low) / (high - low)
            total += (middle - low) * (a * a + a * at_y + at_y * at_y) / 3
            c, d = 1 - at_y, 1 - b
            total += (high - middle) * (c * c + c * d + d * d) / 3
        return total

    def shortest_length(self, coverage: float) -> Fraction:
        """Return the length of the shortest interval, over all its candidates."""
        coverage = Fraction(coverage)
        starts = [c for c in self.cdf if c + coverage <= 1]
        starts += [c - coverage for c in self.cdf if c >= coverage]
        return min(self.quantile(c + coverage) - self.quantile(c) for c in starts)


def kaplan_meier(y: np.ndarray, censored: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the estimate of P(Y > t) at each t, by the product of its definition.

    Of equal times, events come before what is censored. lifelines 0.30.3 and
    scikit-survival 0.28.0 find the same (benchmarks/survival.py --check).
    """
    events = np.unique(y[~censored])
    factors = [1 - (y[~censored] == t).sum() / (y >= t).sum() for t in events]
    return np.array(
        [
            np.prod([f for t, f in zip(events, factors, strict=True) if t <= u])
            for u in at
        ]
    )


def concordance(
    predicted: np.ndarray, y: np.ndarray, censored: np.ndarray
) -> float | None:
    """Return Harrell's C pair by pair, None if there is none whose order is known.

    Ties as in lifelines 0.30.3 (benchmarks/survival.py --check).
    """
    worth = []
    for i, j in permutations(range(len(y)), 2):
        is_first = y[i] < y[j] or (y[i] == y[j] and censored[j])
        if is_first and not censored[i]:
            tied = predicted[i] == predicted[j]
            worth.append(0.5 if tied else float(predicted[i] < predicted[j]))
    return float(np.mean(worth)) if worth else None


def censored_crps(
    distribution: Histogram, y: np.ndarray, censored: np.ndarray, horizon: float
) -> list[float]:
    """Return the integral of each weighted Brier score, by quadrature."""
    borders = distribution.bins.borders.numpy()
    points = np.unique(np.concatenate([borders, y, [horizon]]))
    points = points[points <= horizon]

    def share_left(t: float) -> float:
        """Return the share that is not censored up to t; events come first."""
        lost = [u for u in np.unique(y[censored]) if u <= t]
        there = [(y > u).sum() + (censored & (y == u)).sum() for u in lost]
        gone = [(censored & (y == u)).sum() for u in lost]
        return float(np.prod([1 - g / n for g, n in zip(gone, there, strict=True)]))

    total = []
    for i, cut in enumerate(y):
        cdf = density(distribution[i]).cdf
        parts = 0.0
        for a, b in pairwise(points):
            if b <= cut:
                square = integrate.quad(lambda t, f=cdf: f(t) ** 2, a, b)[0]
                parts += square / share_left((a + b) / 2)
            elif not censored[i]:
                square = integrate.quad(lambda t, f=cdf: (1 - f(t)) ** 2, a, b)[0]
                parts += square / share_left(np.nextafter(cut, -np.inf))
        total.append(parts)
    return total


def rounding(bins: Bins, sigma: float, dtype: torch.dtype) -> float:
    """Return what the module promises: a few units in the last place, times the span
    of the window in sigmas (11 in float32, 17 in float64, and one even bin).

    Even borders are taken for exact up to the eighth part of a float32 unit, or 1e-13
    of a width; a density of at most 0.4 / sigma turns lengths into mass.
    """
    width = bins.width / sigma if bins.is_uniform else 0.0
    eps = torch.finfo(dtype).eps
    return eps * (8 + width / 2) + 0.4 * width * max(eps / 8, 1e-13)


def two_hot(y: float, centers: np.ndarray) -> np.ndarray:
    """Return the hat functions of all centers at y, by interpolation of each."""
    return np.array([np.interp(y, centers, row) for row in np.eye(len(centers))])


def bellman_backup(
    probs: np.ndarray,
    centers: np.ndarray,
    reward: float,
    discount: float,
    target: Callable[[float], np.ndarray],
) -> np.ndarray:
    """Return the sum of the targets of r + gamma c, center by center."""
    parts = zip(probs, centers, strict=True)
    return sum(p * target(reward + discount * c) for p, c in parts)


def n_step(
    rewards: np.ndarray,
    discounts: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
) -> tuple[float, float, int]:
    """Return reward, discount and last index of steps that are walked one by one."""
    total, discount = 0.0, 1.0
    for j, reward in enumerate(rewards):
        total += discount * reward
        discount *= discounts[j]
        if terminated[j]:
            return total, 0.0, j
        if truncated[j]:
            return total, discount, j
    return total, discount, len(rewards) - 1
