"""Backtest: forecasts from past origins beside the values that came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from histreg import metrics
from histreg.forecasting.forecast import Forecast

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts from o origins, each made without the values after it.

    Parameters
    ----------
    origins : ndarray of shape (o,)
        How many values were known.
    forecasts : sequence of o Forecasts
        Each of batch shape (h,), or (h, s) for s series.
    y, lower, upper : ndarrays of shape (o, h) or (o, h, s)
        The values that came, and the ends of the calibrated intervals.
    coverage : float
        The coverage that the intervals were asked for.
    """

    origins: NDArray[np.int64]
    forecasts: Sequence[Forecast]
    y: Floats
    lower: Floats
    upper: Floats
    coverage: float

    def scores(self) -> dict[str, Floats]:
        """Return mean scores of each step over origins and series, each (h,).

        ``crps`` and ``mae`` (of the median) in units of y, ``coverage`` and ``width``
        of the calibrated intervals.
        """
        y = torch.from_numpy(self.y)
        pairs = list(zip(self.forecasts, y, strict=True))
        by_cell = {
            "crps": torch.stack([d.crps(own) for d, own in pairs]),
            "mae": torch.stack([(d.median - own).abs() for d, own in pairs]),
            "coverage": metrics.covered(self.lower, self.upper, y),
            "width": metrics.width(self.lower, self.upper),
        }
        return {
            name: values.double().flatten(2).mean(dim=(0, 2)).numpy()
            if values.ndim > 2
            else values.double().mean(dim=0).numpy()
            for name, values in by_cell.items()
        }

    def __repr__(self) -> str:
        scores = {name: float(values.mean()) for name, values in self.scores().items()}
        means = ", ".join(f"{name} {value:.4g}" for name, value in scores.items())
        return f"Backtest({len(self.origins)} origins: {means})"
