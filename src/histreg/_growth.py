"""Growth: the borders of equally many bins over a larger range, by merging."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

MAX_OVERREACH = 100  # maximum range of grown bins, relative to the needed range


class _Extension(NamedTuple):
    """Bins that continue beyond an end, with a constant ratio of widths."""

    width: float  # of the end bin
    slope: float  # logarithm of the outward ratio of widths

    def length(self, n: int) -> float:
        """Return the length of n of these bins; infinite if float64 overflows."""
        try:
            if self.slope == 0:
                return n * self.width
            growth = math.expm1(n * self.slope) / math.expm1(self.slope)
            return self.width * math.exp(self.slope) * growth
        except OverflowError:
            return math.inf

    def n_within(self, length: float) -> float:
        """Return how many of these bins fill a length; infinite if they never do."""
        n = length / self.width
        if self.slope == 0:
            return n
        inner = n * math.expm1(self.slope) / math.exp(self.slope)
        return math.log1p(inner) / self.slope if inner > -1 else math.inf

    def reaching(self, n: int, length: float) -> _Extension:
        """Return the extension of smallest slope whose n bins are at least this long.

        It is this one if it is long enough.
        """
        if self.length(n) >= length:
            return self
        return self._between(self.slope, 700.0 / n + abs(self.slope), n, length)

    def within(self, n: int, length: float) -> _Extension:
        """Return the extension of largest slope whose n bins are at most this long.

        It is this one if it is short enough. The slope is not reduced below zero, so
        the result may still be longer.
        """
        if self.slope <= 0 or self.length(n) <= length:
            return self
        return self._between(0.0, self.slope, n, length)

    def _between(self, least: float, most: float, n: int, length: float) -> _Extension:
        """Return the extension, between two slopes, whose n bins have this length."""
        for _ in range(60):  # bisection down to the last digit of float64
            middle = (least + most) / 2
            if self._replace(slope=middle).length(n) < length:
                least = middle
            else:
                most = middle
        return self._replace(slope=most)


@dataclass(frozen=True)
class Growth:
    """The growth of bins so that they also cover a range of y.

    Parameters
    ----------
    borders : Tensor of shape (k + 1,), float64
    width : float or None
        The width of the bins if they are equally wide.
    y_range : (float, float)
    coordinates : (float, float)
        The positions of both ends, in bins from the first border.
    n_padding : int
        Number of bins to keep beyond them on each side.
    """

    borders: Tensor
    width: float | None
    y_range: tuple[float, float]
    coordinates: tuple[float, float]
    n_padding: int

    def candidates(self) -> Iterator[NDArray[np.float64]]:
        """Yield borders of k bins that each merge 2, 4, 8, ... of the present ones.

        The first with enough room for y are the ones to use. The iterator ends when
        borders exceed float64.
        """
        for n_merged in (2**i for i in range(1, 1000)):
            borders = self._merged(n_merged)
            if borders is None:
                continue
            if not np.isfinite(borders[-1] - borders[0]):
                return
            yield borders

    def _extensions(self, n: int) -> tuple[_Extension, _Extension]:
        """Return the extensions by n bins below the first and above the last border."""
        if self.width is not None:
            return _Extension(self.width, 0.0), _Extension(self.width, 0.0)
        widths = self.borders.diff()
        changes = widths.log().diff()
        usual = changes.abs().median().item()
        ends = []
        for end, width, slope in (
            (self.borders[0].item(), widths[0].item(), -changes[0].item()),
            (self.borders[-1].item(), widths[-1].item(), changes[-1].item()),
        ):
            # Wide enough for float64 to distinguish their borders.
            narrowest = min(width, 64 * np.finfo(np.float64).eps * abs(end))
            least = math.log(narrowest / width) / n if narrowest else -math.inf
            ends.append(_Extension(width, max(-usual, least, min(slope, usual))))
        return ends[0], ends[1]

    def _merged(self, n_merged: int) -> NDArray[np.float64] | None:
        """Return borders of k bins that cover y and each merge n_merged of these.

        None if bins of equal widths do not reach y, or if others would need too large a
        slope.
        """
        borders = self.borders.tolist()
        low, high, n_bins = borders[0], borders[-1], len(borders) - 1
        y_min, y_max = self.y_range
        padding = self.n_padding * n_merged
        n_new = (n_merged - 1) * n_bins  # number of these bins to add beyond the ends
        below, above = self._extensions(n_new)

        def coordinate(y: float, inside: float) -> float:  # infinite if out of reach
            if y < low:
                return -below.n_within(low - y)
            return n_bins + above.n_within(y - high) if y > high else inside

        first, last = map(coordinate, self.y_range, self.coordinates)
        # How many of them each side needs.
        n_below = max(0, padding - np.floor(first))
        n_above = max(0, padding + np.ceil(last) - n_bins)
        if n_below + n_above <= n_new:
            spare = n_new - n_below - n_above
            taken = int(n_below + round(spare * n_below / max(1, n_below + n_above)))
        elif self.width is not None:
            return None
        else:
            # Each side gets what it needs, up to half or what the other side leaves.
            half = n_new // 2
            taken = int(min(n_below, max(half, n_new - n_above)))
            reaches = taken - padding, n_new - taken - padding
            lengths = low - y_min, y_max - high
            extensions = []
            for extension, n, length in zip(
                (below, above), reaches, lengths, strict=True
            ):
                if length > 0 and extension.length(n) < length:
                    if n < max(1, padding / 2):
                        return None  # too few bins: the slope would be too large
                    # Twice as far, so that a slow drift of y does not need another
                    # growth soon.
                    extension = extension.reaching(n, 2 * length)
                extensions.append(extension)
            below, above = extensions

        if self.width is None:
            # Logarithmic bins would soon extend far beyond any y.
            farthest = MAX_OVERREACH * (max(y_max, high) - min(y_min, low))
            below, above = (
                extension.within(n, farthest).reaching(n - padding, length)
                if n > padding
                else extension.within(max(1, n), farthest)
                for extension, n, length in (
                    (below, taken, low - y_min),
                    (above, n_new - taken, y_max - high),
                )
            )

        def border(index: int) -> float:  # counted in these bins
            if index < 0:
                return low - below.length(-index)
            if index > n_bins:
                return high + above.length(index - n_bins)
            return borders[index]

        return np.array([border(i * n_merged - taken) for i in range(n_bins + 1)])
