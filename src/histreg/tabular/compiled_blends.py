"""The mixture of networks and simple models in one compiled loop, if Numba is there.

The operations of `Blend.mixed` are short and many; in one loop over the rows nothing of
them leaves the cache.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg._numba import compiled, is_installed
from histreg.bins import Bins
from histreg.tabular.atoms import ValueAtoms
from histreg.tabular.blending import (
    MOST_SPREAD,
    SPREAD_MASS,
    Blend,
    Part,
    bounded_centers,
)
from histreg.tabular.polynomials import (
    E3,
    E4,
    E5,
    E6,
    E7,
    E8,
    E9,
    E10,
    E11,
    E12,
    E13,
    LG1,
    LG2,
    LG3,
    LG4,
    LG5,
    LG6,
    LG7,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    ROUNDING,
    SQRT_HALF_BITS,
)
from histreg.tabular.simple_models import SimpleInputs

Floats = NDArray[np.float64]

LANES = 8  # sums are taken in this many parts, which a processor adds at once
LEAST = 1e-300  # of a cdf, for its log odds
N_STEPS = 512  # to find the points of residuals by
MOST_LOG_ODDS = 700.0  # whose exponential is finite


class CompiledBlend:
    """A `Blend` as arrays for the compiled loop.

    Parameters
    ----------
    blend : Blend
    bins : Bins
        Of the networks.
    """

    def __init__(self, blend: Blend, bins: Bins) -> None:
        self.own_bins, self.bins = bins, blend.bins(bins)
        self._n_divided, self._atoms = blend.n_divided, blend.atoms
        borders = bins.divided(blend.n_divided).borders
        borders = (borders - blend.center) / blend.scale
        self._borders = borders.numpy()
        self._centers = bounded_centers(borders).numpy()
        self._typical_spread = blend.typical_spread.item()
        self._sharpness = blend.sharpness.item()
        self._weights = blend.weights.numpy().copy()
        parts = [part for part in blend.parts if isinstance(part, Part)]
        self._models = [part.model for part in parts]
        self._is_networks = np.array([part.model is None for part in parts])
        self._powers = np.array([part.power.item() for part in parts])
        n_points = [len(part.residuals.points) for part in parts]
        self._n_points = np.array(n_points)
        shape = (len(parts), max(n_points))
        self._points, self._slopes = np.zeros(shape), np.zeros(shape)
        self._levels = np.zeros(shape)
        self._guides = np.zeros((len(parts), N_STEPS), dtype=np.int64)
        for i, part in enumerate(parts):
            points, n = part.residuals.points, n_points[i]
            levels = part.residuals.levels
            width = points.diff()
            slopes = levels.diff() / width.where(width > 0, 1)
            steps = torch.arange(N_STEPS).to(points) / N_STEPS
            starts = points[0] + (points[-1] - points[0]) * steps
            self._points[i, :n], self._levels[i, :n] = points, levels
            self._slopes[i, : n - 1] = slopes.where(width > 0, 0)
            # A step is found by a division that may round to the next one.
            guide = torch.searchsorted(points, starts) - 2
            self._guides[i] = guide.clamp(min=0)

    def probs(self, outputs: Tensor, inputs: SimpleInputs) -> Tensor:
        """Return the mixture in `bins`: outputs of the networks (M, n, k) -> (n, b)."""
        loop = mixture()
        assert loop is not None  # see `compiled_blend`
        n = outputs.shape[1]
        predicted = np.empty((len(self._models), n))
        for own, model in zip(predicted, self._models, strict=True):
            if model is not None:
                own[:] = model(inputs).numpy()
        probs = torch.empty(n, len(self._centers), dtype=torch.float64)
        loop(
            # In float32 a probability is off by 1e-7 of itself, and one below 1e-38 is
            # nothing beside what other parts have in every bin.
            outputs.softmax(dim=-1).numpy(),
            self._n_divided,
            self._borders,
            self._centers,
            self._typical_spread,
            MOST_SPREAD,
            self._weights,
            predicted,
            self._is_networks,
            self._powers,
            self._points,
            self._slopes,
            self._levels,
            self._n_points,
            self._guides,
            SPREAD_MASS,
            self._sharpness,
            probs.numpy(),
        )
        return probs if self._atoms is None else self._atoms.in_bins(probs)


_COMPILED: WeakKeyDictionary[Blend, CompiledBlend | None] = WeakKeyDictionary()


def compiled_blend(blend: Blend, bins: Bins) -> CompiledBlend | None:
    """Return the blend for the compiled loop, None where that is not used.

    It needs Numba, and another part beside the networks: without one their smallest
    probabilities matter, which need float64. The ends of residuals must not be points
    of mass. Forests, and targets that take few values, are not part of the loop.

    Parameters
    ----------
    blend : Blend
        That does not change any more.
    bins : Bins
        Of the networks.
    """
    if not is_installed():
        return None
    if blend not in _COMPILED or (
        (kept := _COMPILED[blend]) is not None and kept.own_bins != bins
    ):
        points = [p.residuals.points for p in blend.parts if isinstance(p, Part)]
        is_fit = bool(points) and all(bool(own[-1] > own[-2]) for own in points)
        is_fit = is_fit and bins.n_bins > 2 and len(points) == len(blend.parts)
        is_fit = is_fit and not isinstance(blend.atoms, ValueAtoms)
        _COMPILED[blend] = CompiledBlend(blend, bins) if is_fit else None
    return _COMPILED[blend]


@functools.cache
def mixture() -> Callable[..., None] | None:
    """Return `mix` compiled, or None without Numba."""
    if not is_installed():
        return None
    # A division by zero is no error, or loops with divisions are not vectorised.
    return compiled(mix, fastmath={"contract"}, error_model="numpy")


def mix(
    networks: NDArray[np.float32],
    n_divided: int,
    borders: Floats,
    centers: Floats,
    typical_spread: float,
    most_spread: float,
    weights: Floats,
    predicted: Floats,
    is_networks: NDArray[np.bool_],
    powers: Floats,
    points: Floats,
    slopes: Floats,
    levels: Floats,
    n_points: NDArray[np.int64],
    guides: NDArray[np.int64],
    spread_mass: float,
    sharpness: float,
    probs: Floats,
) -> None:
    """Write the probabilities of the mixture of n rows.

    Parameters
    ----------
    networks : ndarray of shape (M, n, k)
        Probabilities of each network in its bins.
    n_divided : int
        r, the parts of each bin.
    borders : ndarray of shape (k r + 1,)
        Of the divided bins, in standard units, as all that follows.
    centers : ndarray of shape (k r,)
        By which the networks' mean and spread are taken.
    typical_spread, most_spread : float
    weights : ndarray of shape (1 + J,)
    predicted : ndarray of shape (J, n)
        By each part; those of the networks' mean are written here.
    is_networks : ndarray of shape (J,)
        Which parts these are.
    powers : ndarray of shape (J,)
        Of the spread.
    points, slopes, levels : ndarrays of shape (J, q)
        The cdf of the residuals at most q points: it rises by ``slopes[i]`` from
        ``levels[i]`` at ``points[i]``.
    n_points : ndarray of shape (J,)
    guides : ndarray of shape (J, g)
        The last point below each of g equal steps from the first point to the last.
    spread_mass : float
        Of each part, in equal parts in all bins.
    sharpness : float
    probs : ndarray of shape (n, k r)
    """
    n_models, n, k = networks.shape
    n_bins, n_parts, n_steps = len(centers), len(powers), guides.shape[1]
    average, own, mixed = np.empty(k), np.empty(n_bins), np.empty(n_bins)
    below, above = np.empty(n_bins), np.empty(n_bins)
    odds, scaled, poly = np.empty(n_bins), np.empty(n_bins), np.empty(n_bins)
    odds_bits, scaled_bits = odds.view(np.int64), scaled.view(np.int64)
    sums, lanes = np.empty(LANES), n_bins - n_bins % LANES
    even = 0.0
    for i in range(n_parts):
        even += weights[1 + i] * spread_mass / n_bins
    share = 1.0 / (n_models * n_divided)
    for row in range(n):
        # The mean over the networks, in the divided bins.
        average[:] = 0.0
        for model in range(n_models):
            for j in range(k):
                average[j] += np.float64(networks[model, row, j])
        if n_divided == 1:
            for j in range(k):
                own[j] = average[j] * share
        else:
            for j in range(k):
                for part in range(n_divided):
                    own[j * n_divided + part] = average[j] * share
        # Its mean and spread.
        sums[:] = 0.0
        for j in range(0, lanes, LANES):
            for lane in range(LANES):
                sums[lane] += own[j + lane] * centers[j + lane]
        mean = 0.0
        for lane in range(LANES):
            mean += sums[lane]
        for j in range(lanes, n_bins):
            mean += own[j] * centers[j]
        sums[:] = 0.0
        for j in range(0, lanes, LANES):
            for lane in range(LANES):
                away = centers[j + lane] - mean
                sums[lane] += own[j + lane] * away * away
        variance = 0.0
        for lane in range(LANES):
            variance += sums[lane]
        for j in range(lanes, n_bins):
            variance += own[j] * (centers[j] - mean) ** 2
        spread = np.sqrt(variance) / typical_spread
        spread = min(max(spread, 1 / most_spread), most_spread)
        for j in range(n_bins):
            mixed[j] = weights[0] * own[j] + even
        for i in range(n_parts):
            if is_networks[i]:
                predicted[i, row] = mean
            location, scale = predicted[i, row], spread ** powers[i]
            origin, inverse = points[i, 0], 1.0 / scale
            steps = n_steps / (points[i, n_points[i] - 1] - origin)
            weight = weights[1 + i] * (1 - spread_mass)
            last = n_points[i] - 1
            # The inner borders that lie between the first point and the last.
            start = location + scale * points[i, 0]
            end = location + scale * points[i, last]
            first, stop = 1, n_bins
            while first < stop:
                middle = (first + stop) // 2
                if borders[middle] > start:
                    stop = middle
                else:
                    first = middle + 1
            before, point, j = 0.0, 0, first
            while j < n_bins and borders[j] < end:
                residual = (borders[j] - location) * inverse
                step = min(int((residual - origin) * steps), n_steps - 1)
                point = max(point, guides[i, max(step, 0)])
                while point + 1 < last and points[i, point + 1] <= residual:
                    point += 1
                cdf = levels[i, point] + slopes[i, point] * (
                    residual - points[i, point]
                )
                mixed[j - 1] += weight * (cdf - before)
                before = cdf
                j += 1
            mixed[j - 1] += weight * (1.0 - before)
        # Log odds of the cdf at the inner borders, from sums of both ends.
        sum_below, sum_above = 0.0, 0.0
        for j in range(n_bins - 1):
            sum_below += mixed[j]
            sum_above += mixed[n_bins - 1 - j]
            below[j] = sum_below
            above[n_bins - 2 - j] = sum_above
        for j in range(n_bins - 1):
            low = min(max(below[j], LEAST), 1.0)
            odds[j] = min(max(above[j], LEAST), 1.0) / low
        # Times the sharpness: exp(sharpness log(odds)), in steps without branches.
        for j in range(n_bins - 1):
            exponent = (odds_bits[j] - SQRT_HALF_BITS) >> 52
            scaled_bits[j] = odds_bits[j] - (exponent << 52)
            poly[j] = np.float64(exponent)
        for j in range(n_bins - 1):
            f, e = scaled[j] - 1.0, poly[j]
            s = f / (2.0 + f)
            z = s * s
            rest = LG5 + z * (LG6 + z * LG7)
            rest = z * (LG1 + z * (LG2 + z * (LG3 + z * (LG4 + z * rest))))
            half = 0.5 * f * f
            log = e * LN2_HIGH - ((half - (s * (half + rest) + e * LN2_LOW)) - f)
            x = min(max(sharpness * log, -MOST_LOG_ODDS), MOST_LOG_ODDS)
            rounded = x * LOG2_E + ROUNDING
            whole = rounded - ROUNDING
            r = (x - whole * LN2_HIGH) - whole * LN2_LOW
            p = E9 + r * (E10 + r * (E11 + r * (E12 + r * E13)))
            p = E4 + r * (E5 + r * (E6 + r * (E7 + r * (E8 + r * p))))
            poly[j] = 1.0 + r * (1.0 + r * (0.5 + r * (E3 + r * p)))
            odds[j] = rounded
        for j in range(n_bins - 1):
            scaled_bits[j] = (odds_bits[j] + 1023) << 52
        for j in range(n_bins - 1):
            e = poly[j] * scaled[j]
            below[j] = 1.0 / (1.0 + e)
            above[j] = e * below[j]
        below[n_bins - 1], above[n_bins - 1] = 1.0, 0.0
        # Each difference is accurate where its terms are small.
        probs[row, 0] = below[0]
        for j in range(1, n_bins):
            is_upper = below[j - 1] > 0.5
            down, up = above[j - 1] - above[j], below[j] - below[j - 1]
            probs[row, j] = max(down if is_upper else up, 0.0)
