r"""Atoms: targets that take few values, such as counts, ratings and classes of sizes.

Where nearly all targets repeat others, a predicted distribution need not spread between
the values: the mass around each goes to a bin around it that is almost a point. What is
kept beside them is the share of new targets that will be at none of the values,
estimated by the share of training targets that occur once (Good 1953).
"""

from __future__ import annotations

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


class Atoms(nn.Module):
    """The m values of a target, and bins around them.

    Cells reach halfway to the next values. The bins are, from the lowest, one below the
    first value, one at it, one between it and the second, and so on: 2m + 1.

    Parameters
    ----------
    n_values : int
        m, at least 2.
    """

    def __init__(self, n_values: int) -> None:
        super().__init__()
        self.values: Tensor  # (m,), rising
        self.unseen: Tensor  # (), the share of new targets at none of them
        self.register_buffer("values", torch.arange(n_values, dtype=torch.float64))
        self.register_buffer("unseen", torch.tensor(LEAST_UNSEEN, dtype=torch.float64))

    @classmethod
    def of(cls, y: Tensor, bins: Bins) -> Atoms | None:
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
        above = ABOVE * values.diff().min()
        if above < 16 * torch.finfo(torch.float64).eps * values.abs().max():
            return None  # such bins cannot be told apart
        atoms = cls(n_values)
        atoms.values[:] = values
        atoms.unseen.fill_(max(LEAST_UNSEEN, unseen))
        return atoms

    def __len__(self) -> int:
        return len(self.values)

    def cells(self, bins: Bins) -> Tensor:  # (m + 1,)
        """Return the borders between cells, and the ends of the bins."""
        middle = (self.values[1:] + self.values[:-1]) / 2
        return torch.cat([bins.borders[:1], middle, bins.borders[-1:]])

    def bins(self, bins: Bins) -> Bins:
        """Return the 2m + 1 bins at and between the values."""
        ends = torch.stack([self.values - self._below, self.values + self._above], 1)
        return Bins(torch.cat([bins.borders[:1], ends.flatten(), bins.borders[-1:]]))

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

    @property
    def _below(self) -> Tensor:
        return BELOW * self.values.diff().min()

    @property
    def _above(self) -> Tensor:
        return ABOVE * self.values.diff().min()

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

    def check(self) -> None:
        """Raise unless the values are rising and the share is one."""
        if not (self.values.isfinite().all() and (self.values.diff() > 0).all()):
            raise InputError("the values of a blend's atoms must be finite and rising")
        if not 0 < self.unseen < 1:
            raise InputError(
                "the share of unseen values must lie between 0 and 1, got "
                f"{self.unseen.item()}"
            )
