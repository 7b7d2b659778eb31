"""Windows: a series as pairs of inputs and targets."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from histreg.study.datasets import Series, Table
from histreg.study.datasets.series import MONTHS


@dataclass(frozen=True, eq=False)
class SeriesWindows:
    """All windows of a part of a series, one starting at each time step.

    Parameters
    ----------
    values : Tensor of shape (T, c)
        Standardised.
    y : Tensor of shape (T,)
        The series to forecast.
    n_inputs, n_steps : int
        Number of time steps that are seen, and that are forecast.
    """

    values: Tensor
    y: Tensor
    n_inputs: int
    n_steps: int

    def __len__(self) -> int:
        return len(self.y) - self.n_inputs - self.n_steps + 1

    def inputs(self, index: Tensor | slice) -> Tensor:
        """Return the inputs of some windows: (b,) -> (b, n_inputs, c)."""
        seen = self.values[: len(self.y) - self.n_steps]
        return seen.unfold(0, self.n_inputs, 1)[index].transpose(1, 2)

    def targets(self, index: Tensor | slice) -> Tensor:
        """Return the targets of some windows: (b,) -> (b, n_steps)."""
        return self.y[self.n_inputs :].unfold(0, self.n_steps, 1)[index]

    def last(self, index: Tensor | slice) -> Tensor:
        """Return y at the last moment of the inputs: (b,) -> (b, 1)."""
        return self.y[self.n_inputs - 1 : -self.n_steps].unsqueeze(-1)[index]


def windows_of(
    series: Series, table: Table, n_inputs: int, n_steps: int
) -> dict[str, SeriesWindows]:
    """Return the windows of each part, all columns standardised by the training part.

    The inputs of the first window of a later part are from the part before it; its
    targets are the first time steps of its own part.
    """
    x, y = torch.tensor(table.X), torch.tensor(table.y)
    known = series.rows("train")
    x, y = (
        (values - values[known].mean(dim=0)) / values[known].std(dim=0, correction=0)
        for values in (x, y)
    )
    return {
        part: SeriesWindows(
            x[rows].to(torch.float32), y[rows].to(torch.float32), n_inputs, n_steps
        )
        for part, rows in ((p, series.rows(p, n_inputs)) for p in MONTHS)
    }
