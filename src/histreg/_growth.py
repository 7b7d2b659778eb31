"""Growth: borders of as many bins that reach further, neighbours merged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

MOST_BEYOND = 100  # a growth reaches so many times as far as is needed, at most


class _Onward(NamedTuple):
    """How bins go on beyond an end: by a constant ratio of widths."""

    width: float  # of the end bin
    slope: float  # logarithm of the ratio, outwards

    def length(self, n: int) -> float:
        """Return how far n of them reach; infinity beyond float64."""
        try:
            if self.slope == 0:
                return n * self.width
            growth = math.expm1(n * self.slope) / math.expm1(self.slope)
            return self.width * math.exp(self.slope) * growth
        except OverflowError:
            return math.inf

    def n_within(self, length: float) -> float:
        """Return how many reach that far; infinity if none ever do."""
        n = length / self.width
        if self.slope == 0:
            return n
        inner = n * math.expm1(self.slope) / math.exp(self.slope)
        return math.log1p(inner) / self.slope if inner > -1 else math.inf

    def reaching(self, n: int, length: float) -> _Onward:
        """Return the least steep of which n reach that far, this one if it does."""
        if self.length(n) >= length:
            return self
        return self._between(self.slope, 700.0 / n + abs(self.slope), n, length)

    def within(self, n: int, length: float) -> _Onward:
        """Return the steepest of which n reach no further, this one if it does not.

        Even at least, which may reach further.
        """
        if self.slope <= 0 or self.length(n) <= length:
            return self
        return self._between(0.0, self.slope, n, length)

    def _between(self, least: float, most: float, n: int, length: float) -> _Onward:
        """Return that between two slopes of which n reach so far."""
        for _ in range(60):  # halves what is not known to a unit in the last place
            middle = (least + most) / 2
            if self._replace(slope=middle).length(n) < length:
                least = middle
            else:
                most = middle
        return self._replace(slope=most)


@dataclass(frozen=True)
class Growth:
    """Bins that are to reach around a range of y as well.

    Parameters
    ----------
    borders : Tensor of shape (k + 1,), float64
    width : float or None
        The width of the bins if they are equally wide.
    y_range : (float, float)
    coordinates : (float, float)
        Where the two lie, counted in bins from the first border.
    n_padding : int
        Bins to keep beyond them on each side.
    """

    borders: Tensor
    width: float | None
    y_range: tuple[float, float]
    coordinates: tuple[float, float]
    n_padding: int

    def candidates(self) -> Iterator[NDArray[np.float64]]:
        """Yield borders of k bins, each of them 2, 4, 8, ... of the present ones.

        The first that leave room for y are wanted. They end where float64 does.
        """
        for n_merged in (2**i for i in range(1, 1000)):
            borders = self._merged(n_merged)
            if borders is None:
                continue
            if not np.isfinite(borders[-1] - borders[0]):
                return
            yield borders

    def _onward(self, n: int) -> tuple[_Onward, _Onward]:
        """Return how n bins go on below the first border and above the last."""
        if self.width is not None:
            return _Onward(self.width, 0.0), _Onward(self.width, 0.0)
        widths = self.borders.diff()
        changes = widths.log().diff()
        usual = changes.abs().median().item()
        ends = []
        for end, width, slope in (
            (self.borders[0].item(), widths[0].item(), -changes[0].item()),
            (self.borders[-1].item(), widths[-1].item(), changes[-1].item()),
        ):
            # Not so narrow that float64 could not tell their borders apart.
            narrowest = min(width, 64 * np.finfo(np.float64).eps * abs(end))
            least = math.log(narrowest / width) / n if narrowest else -math.inf
            ends.append(_Onward(width, max(-usual, least, min(slope, usual))))
        return ends[0], ends[1]

    def _merged(self, n_merged: int) -> NDArray[np.float64] | None:
        """Return borders of k bins around y, each n_merged of these, if there are any.

        Even bins that do not reach y have none, and others that would have to become
        too steep.
        """
        borders = self.borders.tolist()
        low, high, n_bins = borders[0], borders[-1], len(borders) - 1
        y_min, y_max = self.y_range
        padding = self.n_padding * n_merged
        n_new = (n_merged - 1) * n_bins  # of these bins, to be put beyond the ends
        below, above = self._onward(n_new)

        def coordinate(y: float, inside: float) -> float:  # infinite if out of reach
            if y < low:
                return -below.n_within(low - y)
            return n_bins + above.n_within(y - high) if y > high else inside

        first, last = map(coordinate, self.y_range, self.coordinates)
        # How many of them each side asks for.
        n_below = max(0, padding - np.floor(first))
        n_above = max(0, padding + np.ceil(last) - n_bins)
        if n_below + n_above <= n_new:
            spare = n_new - n_below - n_above
            taken = int(n_below + round(spare * n_below / max(1, n_below + n_above)))
        elif self.width is not None:
            return None
        else:
            # Each side takes what it asks for, up to half or what the other one leaves.
            half = n_new // 2
            taken = int(min(n_below, max(half, n_new - n_above)))
            reaches = taken - padding, n_new - taken - padding
            lengths = low - y_min, y_max - high
            onwards = []
            for onward, n, length in zip((below, above), reaches, lengths, strict=True):
                if length > 0 and onward.length(n) < length:
                    if n < max(1, padding / 2):
                        return None  # too few, so too steep
                    # Twice as far, so that y which goes on slowly does not ask for more
                    # soon.
                    onward = onward.reaching(n, 2 * length)
                onwards.append(onward)
            below, above = onwards

        if self.width is None:
            # Bins that are even in a logarithm soon reach where nothing will ever be.
            farthest = MOST_BEYOND * (max(y_max, high) - min(y_min, low))
            below, above = (
                onward.within(n, farthest).reaching(n - padding, length)
                if n > padding
                else onward.within(max(1, n), farthest)
                for onward, n, length in (
                    (below, taken, low - y_min),
                    (above, n_new - taken, y_max - high),
                )
            )

        def border(place: int) -> float:  # counted in these bins
            if place < 0:
                return low - below.length(-place)
            if place > n_bins:
                return high + above.length(place - n_bins)
            return borders[place]

        return np.array([border(i * n_merged - taken) for i in range(n_bins + 1)])
