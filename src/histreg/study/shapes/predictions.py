"""Predictions: the predictions of a method for test rows, and their scores.

Quantiles are scored by twice the mean pinball loss at 20 levels, which is their CRPS by
the midpoint rule, slightly above the integral. Every prediction with quantiles has this
score too, so that all can be compared. Predictors of one number are given the
distribution of their residuals on rows that they were not fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from histreg.distribution import Histogram
from histreg.study.datasets.source import Floats
from histreg.tabular.scores import normal_crps

if TYPE_CHECKING:
    from histreg.tabular.regressor import HistogramRegressor

COVERAGES = (0.5, 0.8, 0.9, 0.95)
LEVELS = (2 * np.arange(20) + 1) / 40  # midpoints: 0.025, 0.075, ..., 0.975
Interval = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Prediction:
    """The predictions of a method for n test rows.

    Parameters
    ----------
    point : array of shape (n,)
        The mean, or the method's point prediction.
    median : array of shape (n,), optional
    intervals : mapping
        By coverage, lower and upper ends of shape (n,).
    crps_of : callable, optional
        y of shape (n,) -> the mean CRPS; none for methods without a distribution.
    quantiles : array of shape (n, 20), optional
        At `LEVELS`, in order.
    calibrated : callable, optional
        () -> intervals as above, calibrated without rows that were set aside. Not
        computed before it is scored, so that it does not count as time to predict.
    """

    point: Floats
    median: Floats | None = None
    intervals: Mapping[float, Interval] = field(default_factory=dict)
    crps_of: Callable[[Floats], float] | None = None
    quantiles: Floats | None = None
    calibrated: Callable[[], Mapping[float, Interval]] | None = None

    @classmethod
    def of_model(
        cls, model: HistogramRegressor, X: Floats, *, calibrates: bool = False
    ) -> Prediction:
        """Return the predictions of a fitted `HistogramRegressor`.

        With ``calibrates`` the model is calibrated by its own held-out predictions
        when the scores are computed.
        """

        def calibrated() -> Mapping[float, Interval]:
            again = model.calibrate().predict_all(X)
            return {coverage: again.interval(coverage) for coverage in COVERAGES}

        predicted = model.predict_all(X)
        distribution = predicted.distribution
        assert isinstance(distribution, Histogram)  # one target has one
        return cls(
            predicted.mean,
            predicted.median,
            {coverage: predicted.interval(coverage) for coverage in COVERAGES},
            lambda y: distribution.crps(torch.tensor(y)).mean().item(),
            distribution.quantiles(LEVELS.tolist()).T.numpy(),
            calibrated if calibrates else None,
        )

    @classmethod
    def of_quantiles(cls, quantiles: Floats, point: Floats | None = None) -> Prediction:
        """Return predictions from quantiles at `LEVELS`, (n, 20), put into order.

        The point prediction is their mean, unless the method has its own.
        """
        quantiles = np.sort(quantiles, axis=1)
        return cls(
            quantiles.mean(axis=1) if point is None else point,
            np.median(quantiles, axis=1),
            _intervals(lambda level: _at_level(quantiles, level)),
            lambda y: crps_of_quantiles(quantiles, y),
            quantiles,
        )

    @classmethod
    def of_residuals(cls, point: Floats, residuals: Floats) -> Prediction:
        """Return the distribution of residuals around each point.

        The mean is the point itself, without the mean of the residuals.
        """
        ordered = np.sort(residuals)
        return cls(
            point,
            point + np.median(ordered),
            _intervals(lambda level: point + np.quantile(ordered, level)),
            lambda y: residual_crps(y - point, ordered),
            point[:, None] + np.quantile(ordered, LEVELS),
        )

    @classmethod
    def of_normal(cls, loc: Floats, scale: Floats) -> Prediction:
        """Return normal distributions."""
        mean, sd = torch.tensor(loc), torch.tensor(scale)

        def at(level: float) -> Floats:
            deviate = torch.special.ndtri(torch.tensor(level, dtype=torch.float64))
            return np.asarray(loc + deviate.item() * scale)

        return cls(
            loc,
            loc,
            _intervals(at),
            lambda y: normal_crps(torch.tensor(y) - mean, sd).mean().item(),
            np.stack([at(level) for level in LEVELS], axis=1),
        )

    def scores(self, y: Floats) -> dict[str, float]:
        """Return errors, CRPS, and the coverage, width and misses of each interval.

        "above 0.95" is the share of y above the upper end of the 90 % interval, which
        should be 0.05.
        """
        error = self.point - y
        scores = {
            "test MAE": float(np.abs(error).mean()),
            "test RMSE": float(np.sqrt((error**2).mean())),
        }
        if self.median is not None:
            scores["test MAE of the median"] = float(np.abs(self.median - y).mean())
        if self.crps_of is not None:
            scores["test CRPS"] = self.crps_of(y)
        if self.quantiles is not None:
            scores["test CRPS by quantiles"] = crps_of_quantiles(self.quantiles, y)
        for coverage, (low, high) in self.intervals.items():
            scores[f"test coverage {coverage:g}"] = _coverage(low, high, y)
            scores[f"test width {coverage:g}"] = float((high - low).mean())
            scores[f"test above {(1 + coverage) / 2:g}"] = float((y > high).mean())
        if self.calibrated is not None:
            for coverage, (low, high) in self.calibrated().items():
                name = f"test calibrated coverage {coverage:g}"
                scores[name] = _coverage(low, high, y)
        return scores


def _coverage(low: Floats, high: Floats, y: Floats) -> float:
    return float(((low <= y) & (y <= high)).mean())


def crps_of_quantiles(quantiles: Floats, y: Floats) -> float:
    """Return twice the mean pinball loss of quantiles at `LEVELS`, (n, 20)."""
    short = y[:, None] - quantiles
    return float(2 * np.maximum(LEVELS * short, (LEVELS - 1) * short).mean())


def residual_crps(error: Floats, residuals: Floats) -> float:
    """Return the mean CRPS of residuals (sorted) as a distribution of the errors."""
    n = len(residuals)
    # E|R - e| - E|R - R'| / 2, with prefix sums over the sorted residuals.
    below = np.searchsorted(residuals, error)
    sums = np.concatenate([[0.0], np.cumsum(residuals)])
    first = (error * (2 * below - n) - 2 * sums[below] + sums[-1]) / n
    second = np.sum((2 * np.arange(1, n + 1) - n - 1) * residuals) / n**2
    return float((first - second).mean())


def _intervals(at: Callable[[float], Floats]) -> dict[float, Interval]:
    """Return central intervals from quantiles."""
    return {
        coverage: (at((1 - coverage) / 2), at((1 + coverage) / 2))
        for coverage in COVERAGES
    }


def _at_level(quantiles: Floats, level: float) -> Floats:
    """Return the quantile at a level, interpolated between those of `LEVELS`."""
    place = float(np.interp(level, LEVELS, np.arange(len(LEVELS))))
    low = int(place)
    high = min(low + 1, len(LEVELS) - 1)
    return np.asarray(
        quantiles[:, low] + (place - low) * (quantiles[:, high] - quantiles[:, low])
    )
