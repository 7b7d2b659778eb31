"""Predictors: ways to get a distribution from a table, ours and others', scored alike.

Those that predict quantiles are scored by twice the mean pinball loss at 20 levels,
which is their CRPS by the midpoint rule, a little above the integral; all that have
quantiles are scored by it too, for a comparison alike. Those that predict one number
have the distribution of their residuals on rows that they had not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from histreg._names import SPACINGS
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.study.datasets.source import Floats
from histreg.tabular.evaluation import normal_crps

if TYPE_CHECKING:
    from histreg.tabular.regressor import HistogramRegressor

# Scikit-learn, and the regressor with it, is slow to import, and names in the catalogue
# need none of it: functions import what they need.
COVERAGES = (0.5, 0.8, 0.9, 0.95)
LEVELS = (2 * np.arange(20) + 1) / 40  # midpoints: 0.025, 0.075, ..., 0.975
Interval = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a method says of n test rows.

    Parameters
    ----------
    point : array of shape (n,)
        The mean, or what the method has for it.
    median : array of shape (n,), optional
    intervals : mapping
        By coverage, lower and upper ends of shape (n,).
    crps_of : callable, optional
        y of shape (n,) -> the mean CRPS; none for methods without a distribution.
    quantiles : array of shape (n, 20), optional
        At `LEVELS`, in order.
    """

    point: Floats
    median: Floats | None = None
    intervals: Mapping[float, Interval] = field(default_factory=dict)
    crps_of: Callable[[Floats], float] | None = None
    quantiles: Floats | None = None

    @classmethod
    def of_model(cls, model: HistogramRegressor, X: Floats) -> Prediction:
        """Return what a fitted regressor of ours predicts."""
        distribution = model.predict_dist(X)
        assert isinstance(distribution, Histogram)  # one target has one
        return cls(
            model.predict(X),
            model.predict(X, "median"),
            {each: model.predict_interval(X, each) for each in COVERAGES},
            lambda y: distribution.crps(torch.tensor(y)).mean().item(),
            distribution.quantiles(LEVELS.tolist()).T.numpy(),
        )

    @classmethod
    def of_quantiles(cls, found: Floats, point: Floats | None = None) -> Prediction:
        """Return predictions from quantiles at `LEVELS`, (n, 20), put into order.

        The point is their mean, if the method has none of its own.
        """
        quantiles = np.sort(found, axis=1)
        return cls(
            quantiles.mean(axis=1) if point is None else point,
            np.median(quantiles, axis=1),
            _intervals(lambda level: _at_level(quantiles, level)),
            lambda y: crps_of_quantiles(quantiles, y),
            quantiles,
        )

    @classmethod
    def of_residuals(cls, point: Floats, residuals: Floats) -> Prediction:
        """Return the distribution of residuals around each point."""
        ordered = np.sort(residuals)
        return cls(
            point,
            None,
            _intervals(lambda level: point + np.quantile(ordered, level)),
            lambda y: residual_crps(y - point, ordered),
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
        """Return errors, CRPS, and of each interval its share of y, width, and miss.

        "above 0.95" is the share of y above the upper end of the 90 % interval, which
        should be 0.05.
        """
        error = self.point - y
        told = {
            "test MAE": float(np.abs(error).mean()),
            "test RMSE": float(np.sqrt((error**2).mean())),
        }
        if self.median is not None:
            told["test MAE of the median"] = float(np.abs(self.median - y).mean())
        if self.crps_of is not None:
            told["test CRPS"] = self.crps_of(y)
        if self.quantiles is not None:
            told["test CRPS by quantiles"] = crps_of_quantiles(self.quantiles, y)
        for coverage, (low, high) in self.intervals.items():
            inside = (low <= y) & (y <= high)
            told[f"test coverage {coverage:g}"] = float(inside.mean())
            told[f"test width {coverage:g}"] = float((high - low).mean())
            told[f"test above {(1 + coverage) / 2:g}"] = float((y > high).mean())
        return told


Predictor = Callable[[Floats, Floats, int], Callable[[Floats], Prediction]]
"""X and y to learn from, and a seed -> what predicts for other X.

Whatever is not needed for a prediction, such as residuals, belongs to the second part:
the first is what is timed as the fit.
"""


def histogram(**options: Any) -> Predictor:
    """Return our method with some options."""

    def fit(X: Floats, y: Floats, seed: int) -> Callable[[Floats], Prediction]:
        from histreg.tabular.regressor import HistogramRegressor

        model = HistogramRegressor(random_state=seed, **options).fit(X, y)
        return lambda X_test: Prediction.of_model(model, X_test)

    return fit


def log_l2(X: Floats, y: Floats, seed: int) -> Callable[[Floats], Prediction]:
    """Learn the signed logarithm by the squared error, and take it back.

    Around it lie the residuals of a fifth of the rows, which another model, of the
    other four, had not seen; the point is the mean of what comes of that.
    """
    from sklearn.base import clone
    from sklearn.model_selection import KFold

    from histreg.tabular.regressor import HistogramRegressor

    t = np.sign(y) * np.log1p(np.abs(y))
    model = HistogramRegressor(loss="l2", random_state=seed)
    fitted = clone(model).fit(X, t)

    def predict(X_test: Floats) -> Prediction:
        learnt, held = next(KFold(5, shuffle=True, random_state=seed).split(X))
        part = clone(model).fit(X[learnt], t[learnt])
        residuals = t[held] - part.predict(X[held])
        predicted = fitted.predict(X_test)[:, None]

        def at(levels: Floats) -> Floats:
            found = predicted + np.quantile(residuals, levels)
            return np.asarray(np.sign(found) * np.expm1(np.abs(found)))

        fine = (2 * np.arange(100) + 1) / 200
        return Prediction.of_quantiles(at(LEVELS), point=at(fine).mean(axis=1))

    return predict


def boosting(X: Floats, y: Floats, seed: int) -> Callable[[Floats], Prediction]:
    """Learn one HistGradientBoosting model for each level."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    models = [
        HistGradientBoostingRegressor(
            loss="quantile", quantile=level, random_state=seed
        ).fit(X, y)
        for level in LEVELS
    ]
    return lambda X_test: Prediction.of_quantiles(
        np.stack([model.predict(X_test) for model in models], axis=1)
    )


def catboost(X: Floats, y: Floats, seed: int) -> Callable[[Floats], Prediction]:
    """Learn all levels in one model of CatBoost."""
    levels = ",".join(f"{level:g}" for level in LEVELS)
    model = (
        _installed("catboost")
        .CatBoostRegressor(
            loss_function=f"MultiQuantile:alpha={levels}",
            random_seed=seed,
            thread_count=torch.get_num_threads(),
            verbose=False,
            allow_writing_files=False,
        )
        .fit(X, y)
    )
    return lambda X_test: Prediction.of_quantiles(model.predict(X_test))


def ngboost(X: Floats, y: Floats, seed: int) -> Callable[[Floats], Prediction]:
    """Learn normal distributions by NGBoost as it comes, 500 trees."""
    model = (
        _installed("ngboost").NGBRegressor(random_state=seed, verbose=False).fit(X, y)
    )

    def predict(X_test: Floats) -> Prediction:
        found = model.pred_dist(X_test)
        return Prediction.of_normal(found.loc, found.scale)

    return predict


OTHERS: dict[str, Predictor] = {
    "l2 of logarithms": log_l2,
    "HistGradientBoosting": boosting,
    "CatBoost": catboost,
    "NGBoost": ngboost,
}
"""What is done without histograms."""
PREDICTORS: dict[str, Predictor] = {
    **{f"{name} bins": histogram(bins=name) for name in SPACINGS},
    "auto bins and tails": histogram(bins="auto", tails="gpd"),
    # About CatBoost's time on most tables. Four of half the width were better than two
    # of the whole on rows to develop on.
    "auto bins, 4 networks": histogram(
        bins="auto", n_estimators=4, hidden_layer_sizes=(128, 128, 128)
    ),
    **OTHERS,
}


def _installed(package: str) -> Any:
    """Return a package of others, or say how to get it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(
            f"{package} must be installed, pip install 'histreg[peers]': {error}"
        ) from error


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
    return {each: (at((1 - each) / 2), at((1 + each) / 2)) for each in COVERAGES}


def _at_level(quantiles: Floats, level: float) -> Floats:
    """Return the quantile at a level, interpolated between those of `LEVELS`."""
    place = float(np.interp(level, LEVELS, np.arange(len(LEVELS))))
    low = int(place)
    high = min(low + 1, len(LEVELS) - 1)
    return np.asarray(
        quantiles[:, low] + (place - low) * (quantiles[:, high] - quantiles[:, low])
    )
