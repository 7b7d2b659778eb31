"""Windows: what is known at an origin, and the values that follow it.

An origin is a number of values seen: the window of origin t ends with value t - 1, and
the first value to forecast is value t.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from histreg.errors import InputError


@dataclass(frozen=True)
class WindowShape:
    """What a window consists of.

    Parameters
    ----------
    window : int
        w, the number of values seen.
    horizon : int
        h, the number of values to forecast.
    n_columns : int
        c, the number of exogenous columns.
    known : tuple of int
        Positions of those that are known ahead, for the h steps as well.
    """

    window: int
    horizon: int
    n_columns: int = 0
    known: tuple[int, ...] = ()

    @property
    def n_inputs(self) -> int:
        """The number of inputs, d: changes, columns and columns ahead."""
        past = self.window * (1 + self.n_columns) - 1
        return past + self.horizon * len(self.known)

    def origins(self, n: int) -> Tensor:
        """Return all origins of n values that have a window and h values to follow."""
        return torch.arange(self.window, n - self.horizon + 1)

    def inputs(self, y: Tensor, X: Tensor, origins: Tensor) -> Inputs:
        """Return what is known at some origins.

        Parameters
        ----------
        y : Tensor of shape (n, s)
            s series.
        X : Tensor of shape (n', c)
            Exogenous columns, perhaps none; known ones up to the last of h steps.
        origins : Tensor of shape (o,), int64
        """
        past = origins.unsqueeze(-1) + torch.arange(-self.window, 0)  # (o, w)
        values = y[past].movedim(1, -1)  # (o, s, w)
        last = values[..., -1]  # (o, s)
        changes = values[..., :-1] - last.unsqueeze(-1)  # (o, s, w - 1)
        columns = [X[past].flatten(1)]
        if self.known:
            columns.append(X[:, list(self.known)][self._ahead(origins)].flatten(1))
        return Inputs(last, changes, torch.cat(columns, dim=1))

    def targets(self, y: Tensor, origins: Tensor) -> Tensor:
        """Return the values that follow some origins: (n, s), (o,) -> (o, s, h)."""
        return y[self._ahead(origins)].movedim(1, -1)

    def _ahead(self, origins: Tensor) -> Tensor:  # (o, h)
        return origins.unsqueeze(-1) + torch.arange(self.horizon)


@dataclass(frozen=True, eq=False)
class Inputs:
    """What is known at o origins of s series.

    Parameters
    ----------
    last : Tensor of shape (o, s)
        The last value seen.
    changes : Tensor of shape (o, s, w - 1)
        The values before it, minus the last.
    columns : Tensor of shape (o, e)
        Exogenous numbers, the same for all series.
    """

    last: Tensor
    changes: Tensor
    columns: Tensor

    def rows(self, scale: Tensor) -> Tensor:
        """Return one row per origin and series, changes divided by (s,): (o s, d)."""
        o, s = self.last.shape
        columns = self.columns.unsqueeze(1).expand(o, s, -1)
        changes = self.changes / scale.unsqueeze(-1)
        return torch.cat([changes, columns], dim=-1).flatten(0, 1)


def held_out_blocks(
    origins: Tensor, n_blocks: int, horizon: int
) -> tuple[Tensor, Tensor]:
    """Divide origins into consecutive blocks, each with what it must not be judged by.

    Windows whose values to forecast overlap with those of a block are held out with
    it, so that no network is judged by values that it was trained on.

    Parameters
    ----------
    origins : Tensor of shape (o,)
        Increasing.
    n_blocks : int
        M.
    horizon : int

    Returns
    -------
    block : Tensor of shape (o,), int64
        The block of each origin.
    held_out : Tensor of shape (M, o), bool
    """
    block = torch.arange(len(origins)) * n_blocks // len(origins)
    held_out = []
    for i in range(n_blocks):
        own = origins[block == i]
        held_out.append((origins > own[0] - horizon) & (origins < own[-1] + horizon))
    return block, torch.stack(held_out)


def check_length(n: int, shape: WindowShape, n_blocks: int) -> None:
    """Raise unless n values leave enough windows outside of every block."""
    # A block and a horizon on both sides are held out; half of the rest is the least.
    least = max(4 * shape.horizon, 10 * n_blocks) + shape.window + shape.horizon
    if n < least:
        raise InputError(
            f"y must have at least {least} values for window={shape.window}, "
            f"horizon={shape.horizon} and n_estimators={n_blocks}, got {n}"
        )
