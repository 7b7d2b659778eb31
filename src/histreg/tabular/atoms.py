r"""Atoms: values that targets repeat, such as counts, ratings, and zero.

Where nearly all targets repeat others, a predicted distribution need not spread between
the values: the mass around each goes to a bin around it that is almost a point
(`ValueAtoms`). What is kept beside them is the share of new targets that will be at
none of the values, estimated by the share of training targets that occur once (Good
1953).
Where many targets are at the lowest or highest one and the others are not, such as
spending, damage and rainfall, the mass near that end and beyond it goes to that value
(`EndAtoms`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from histreg._tensors import n_below
from histreg.bins import Bins
from histreg.errors import InputError

MOST_ATOMS = 400
MOST_UNSEEN = 0.05  # the largest share of new targets at none of the values
LEAST_UNSEEN = 1e-3  # so that no target is impossible
MIN_REPEATS = 5  # rows for each value, in the mean
# The bin of a value reaches from below it to just above, in least distances between
# values: a threshold at the value has its mass below, as P(y <= value) should.
BELOW, ABOVE = 1e-4, 1e-8
LEAST_AT_END, MIN_AT_END = 0.05, 10  # share and number of targets at an end
END_REACH = 1.0  # bins of the networks beside an end that belong to its value, at least


class Atoms(nn.Module, ABC):
    """The m values of a target that have mass, and bins around them.

    Parameters
    ----------
    n_values : int
        m.
    n_shares : int
        The number of `unseen`.
    """

    def __init__(self, n_values: int, n_shares: int) -> None:
        super().__init__()
        self.values: Tensor  # (m,), rising
        self.unseen: Tensor  # (n_shares,) or (), of the targets around values
        shares = (n_shares,) if n_shares else ()
        self.register_buffer("values", torch.arange(n_values, dtype=torch.float64))
        self.register_buffer(
            "unseen", torch.full(shares, LEAST_UNSEEN, dtype=torch.float64)
        )

    def __len__(self) -> int:
        return len(self.values)

    @property
    @abstractmethod
    def step(self) -> Tensor:  # ()
        """The length by which the bin of a value is measured."""

    @abstractmethod
    def bins(self, divided: Bins) -> Bins:
        """Return the bins of the distribution, given the divided ones of networks."""

    @abstractmethod
    def in_bins(self, probs: Tensor) -> Tensor:
        """Return the mass in `bins` for what a blend has mixed."""

    def rounded(self, y: Tensor) -> Tensor:
        """Return numbers with those in the bin of a value moved to the value."""
        index = n_below(self.values, y - self._above)
        value = self.values[index.clamp(max=len(self) - 1)]  # the first from y on
        # A little more than the width, for rounding at its lower border.
        is_in = ((value - y) <= 1.01 * self._below) & (y <= value + self._above)
        return torch.where(is_in, value, y)

    def centered(self, y: Tensor) -> Tensor:
        """Return targets with those at a value moved to the center of its bin.

        Their cdf then has half of the mass at the value, and is neither too low nor too
        high on average: what calibration needs.
        """
        index = torch.searchsorted(self.values, y.contiguous()).clamp(max=len(self) - 1)
        value = self.values[index]
        return torch.where(y == value, value - (self._below - self._above) / 2, y)

    def check(self) -> None:
        """Raise unless the values are rising and the shares are some."""
        if not (self.values.isfinite().all() and (self.values.diff() > 0).all()):
            raise InputError("the values of a blend's atoms must be finite and rising")
        if not ((self.unseen > 0) & (self.unseen < 1)).all():
            raise InputError(
                "the share of unseen values must lie between 0 and 1, got "
                f"{self.unseen.tolist()}"
            )

    @property
    def _below(self) -> Tensor:
        return BELOW * self.step

    @property
    def _above(self) -> Tensor:
        return ABOVE * self.step


def _total(probs: Tensor) -> Tensor:
    """Return the sum of each row, (n, k) -> (n, 1), in the same order for any n."""
    return probs.cumsum(dim=1)[:, -1:]


def _can_be_told(step: Tensor, values: Tensor) -> bool:
    """Whether the bins of values differ from the values in float64."""
    least = 16 * torch.finfo(torch.float64).eps * values.abs().max()
    return bool(ABOVE * step >= least)


class ValueAtoms(Atoms):
    """The m values of a target that takes few, and bins around them.

    Cells reach halfway to the next values. The bins are, from the lowest, one below the
    first value, one at it, one between it and the second, and so on: 2m + 1.

    Parameters
    ----------
    n_values : int
        m, at least 2.
    """

    def __init__(self, n_values: int) -> None:
        super().__init__(n_values, n_shares=0)

    @classmethod
    def of(cls, y: Tensor, bins: Bins) -> ValueAtoms | None:
        """Return the values of targets (n,), None if they do not repeat enough.

        There are none either if bins have tails, or do not reach beyond all targets.
        """
        values, counts = y.to(torch.float64).unique(return_counts=True)
        unseen = (counts == 1).sum().item() / len(y)
        n_values = len(values)
        repeats = len(y) / n_values
        if not (2 <= n_values <= MOST_ATOMS and repeats >= MIN_REPEATS):
            return None
        if unseen > MOST_UNSEEN or bins.has_tails:
            return None
        if not (bins.low < values[0] and values[-1] < bins.high):
            return None
        if not _can_be_told(values.diff().min(), values):
            return None
        atoms = cls(n_values)
        atoms.values[:] = values
        atoms.unseen.fill_(max(LEAST_UNSEEN, unseen))
        return atoms

    @property
    def step(self) -> Tensor:
        """The least distance between values."""
        return self.values.diff().min()

    def cells(self, bins: Bins) -> Tensor:  # (m + 1,)
        """Return the borders between cells, and the ends of the bins."""
        middle = (self.values[1:] + self.values[:-1]) / 2
        return torch.cat([bins.borders[:1], middle, bins.borders[-1:]])

    def bins(self, divided: Bins) -> Bins:
        """Return the 2m + 1 bins at and between the values."""
        ends = torch.stack([self.values - self._below, self.values + self._above], 1)
        outer = divided.borders
        return Bins(torch.cat([outer[:1], ends.flatten(), outer[-1:]]))

    def shares(self, bins: Bins) -> Tensor:  # (k, m)
        """Return the share of each bin that lies in each cell."""
        cells, borders = self.cells(bins), bins.borders
        start = torch.maximum(borders[:-1, None], cells[:-1])  # (k, m)
        end = torch.minimum(borders[1:, None], cells[1:])
        return (end - start).clamp(min=0) / bins.widths[:, None]

    def in_bins(self, probs: Tensor) -> Tensor:
        """Return the mass in the bins for that of cells: (n, m) -> (n, 2m + 1)."""
        beside = self.unseen * probs / 2  # of each cell, on each side of its value
        edge = torch.zeros_like(beside[:, :1])
        between = torch.cat([beside, edge], dim=1) + torch.cat([edge, beside], dim=1)
        at = (1 - self.unseen) * probs
        pairs = torch.stack([between[:, :-1], at], dim=2).flatten(1)  # (n, 2m)
        return torch.cat([pairs, between[:, -1:]], dim=1)


class EndAtoms(Atoms):
    """The lowest or the highest value of a target, or both, at which many targets are.

    The bins of a mixture near such an end, and beyond it, become three: one beyond the
    value, one at it, and one between it and the bins that stay. Nothing is predicted
    beyond the value but `LEAST_UNSEEN` of their mass, and between them is a share of it
    that is the same for all rows: that of the other training targets in these bins.

    Parameters
    ----------
    n_low, n_high : int
        Bins at the lower and at the upper end, 0 if it has no atom; not both.
    """

    def __init__(self, n_low: int, n_high: int) -> None:
        n_values = (n_low > 0) + (n_high > 0)
        super().__init__(n_values, n_shares=n_values)
        self.n_low, self.n_high = n_low, n_high
        self.width: Tensor  # (), of a bin beside a value
        self.register_buffer("width", torch.ones((), dtype=torch.float64))

    @classmethod
    def of(cls, y: Tensor, bins: Bins, n_divided: int = 1) -> EndAtoms | None:
        """Return the ends of targets (n,) at which many of them are, None without any.

        There is none either if bins have tails, or do not reach beyond the targets.

        Parameters
        ----------
        y : Tensor of shape (n,)
        bins : Bins
            Of the networks.
        n_divided : int
            Into how many parts each of them is divided.
        """
        y = y.to(torch.float64)
        ends = torch.stack([y.min(), y.max()])
        if bins.has_tails or not (bins.low < ends[0] < ends[1] < bins.high):
            return None
        place = torch.searchsorted(bins.borders[1:-1].contiguous(), ends)
        width = bins.widths[place]  # (2,)
        counts = (y[:, None] == ends).sum(dim=0)  # (2,)
        has_atom = counts >= max(MIN_AT_END, LEAST_AT_END * len(y))
        if not has_atom.any():
            return None
        borders = bins.divided(n_divided).borders
        k = len(borders) - 1
        # The first border that is far enough from the end; a little less will do, since
        # an end that lies on a border may do so by rounding.
        reach = 0.99 * END_REACH * width
        n_low = int(n_below(borders, ends[0] + reach[0])) if has_atom[0] else 0
        n_high = 0
        if has_atom[1]:
            n_high = k + 1 - int(n_below(borders, ends[1] - reach[1], inclusive=True))
        if n_low + n_high >= k or not _can_be_told(width.min(), ends):
            return None
        if min(ends[0] - bins.low, bins.high - ends[1]) <= BELOW * width.min():
            return None  # no room for the bin of a value
        atoms = cls(n_low, n_high)
        atoms.values[:] = ends[has_atom]
        atoms.width.copy_(width.min())
        is_inner = torch.stack([y < borders[n_low], y > borders[k - n_high]])
        others = is_inner.sum(dim=1) - counts
        shares = (others / (others + counts)).clamp(LEAST_UNSEEN, 1 - LEAST_UNSEEN)
        atoms.unseen[:] = shares[has_atom]
        return atoms

    @property
    def step(self) -> Tensor:
        """The width of a bin."""
        return self.width

    def bins(self, divided: Bins) -> Bins:
        """Return the bins around the values, and those that stay.

        Raises if none would stay.
        """
        borders = divided.borders
        if self.n_low + self.n_high >= divided.n_bins:
            raise InputError(
                f"the atoms at the ends must leave some of the {divided.n_bins} bins, "
                f"got {self.n_low} and {self.n_high} of them"
            )
        around = torch.stack([self.values - self._below, self.values + self._above], 1)
        parts = [borders[self.n_low : len(borders) - self.n_high]]
        if self.n_low:
            parts = [borders[:1], around[0], *parts]
        if self.n_high:
            parts = [*parts, around[-1], borders[-1:]]
        return Bins(torch.cat(parts))

    def in_bins(self, probs: Tensor) -> Tensor:
        """Return the mass in `bins` for that in divided bins: (n, k) -> (n, k')."""
        k = probs.shape[1]
        parts = [probs[:, self.n_low : k - self.n_high]]
        if self.n_low:
            own = _total(probs[:, : self.n_low])
            parts = [own * self._split(0), *parts]
        if self.n_high:
            own = _total(probs[:, k - self.n_high :])
            parts = [*parts, own * self._split(-1).flip(0)]
        return torch.cat(parts, dim=1)

    def check(self) -> None:
        """Raise unless values, shares and the width make sense."""
        super().check()
        if not 0 < self.width < torch.inf:
            raise InputError(
                f"the width of a blend's end atoms must be positive, got {self.width}"
            )

    def _split(self, i: int) -> Tensor:  # (3,)
        """Return the shares beyond a value, at it, and between it and other bins."""
        inner = (1 - LEAST_UNSEEN) * self.unseen[i]
        beyond = torch.full_like(inner, LEAST_UNSEEN)
        return torch.stack([beyond, 1 - beyond - inner, inner])
