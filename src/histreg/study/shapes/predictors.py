"""Predictors: ways to get a distribution from a table, ours and others'.

The module lists them; the libraries that fit and score them are imported when used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from histreg._names import SPACINGS
from histreg.errors import InputError

if TYPE_CHECKING:
    from histreg.study.datasets.source import Floats
    from histreg.study.shapes.predictions import Prediction

Predictor = Callable[["Floats", "Floats", int], Callable[["Floats"], "Prediction"]]
"""(training X, training y, seed) -> a function that predicts for other X.

Only the first call is timed as the fit: work that the point prediction does not need,
such as residuals, belongs to the second.
"""

ONE_NETWORK: dict[str, Any] = {
    "hidden_layer_sizes": (256, 256, 256),
    "n_estimators": 1,
    "blend_with": (),
    "learning_rate_init": 1e-3,
}
"""Options of one network by itself, so that bins are compared and nothing else."""


def histogram(**options: Any) -> Predictor:
    """Return our method with some options."""

    def fit(X: Floats, y: Floats, seed: int) -> Callable[[Floats], Prediction]:
        from histreg.study.shapes.predictions import Prediction
        from histreg.tabular.regressor import HistogramRegressor

        model = HistogramRegressor(random_state=seed, **ONE_NETWORK | options)
        model.fit(X, y)
        return lambda X_test: Prediction.of_model(model, X_test)

    return fit


def log_l2(X: Floats, y: Floats, seed: int) -> Callable[[Floats], Prediction]:
    """Fit the signed logarithm by the squared error, and transform it back.

    The distribution is that of the residuals on a fifth of the rows, from a second
    model that is fitted to the other rows; the point is its mean.
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import KFold

    from histreg.study.shapes.predictions import LEVELS, Prediction
    from histreg.tabular.regressor import HistogramRegressor

    t = np.sign(y) * np.log1p(np.abs(y))
    model = HistogramRegressor(loss="l2", random_state=seed, **ONE_NETWORK)
    fitted = clone(model).fit(X, t)

    def predict(X_test: Floats) -> Prediction:
        learnt, held = next(KFold(5, shuffle=True, random_state=seed).split(X))
        part = clone(model).fit(X[learnt], t[learnt])
        residuals = t[held] - part.predict(X[held])
        predicted = fitted.predict(X_test)[:, None]

        def at(levels: Floats) -> Floats:
            quantiles = predicted + np.quantile(residuals, levels)
            return np.asarray(np.sign(quantiles) * np.expm1(np.abs(quantiles)))

        fine = (2 * np.arange(100) + 1) / 200
        return Prediction.of_quantiles(at(LEVELS), point=at(fine).mean(axis=1))

    return predict


def boosting(X: Floats, y: Floats, seed: int) -> Callable[[Floats], Prediction]:
    """Learn one HistGradientBoosting model for each level."""
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingRegressor

    from histreg.study.shapes.predictions import LEVELS, Prediction

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
    import torch

    from histreg.study.shapes.predictions import LEVELS, Prediction

    levels = ",".join(f"{level:g}" for level in LEVELS)
    model = (
        installed("catboost")
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
    """Learn normal distributions by NGBoost with its defaults, 500 trees."""
    from histreg.study.shapes.predictions import Prediction

    model = (
        installed("ngboost").NGBRegressor(random_state=seed, verbose=False).fit(X, y)
    )

    def predict(X_test: Floats) -> Prediction:
        normal = model.pred_dist(X_test)
        return Prediction.of_normal(normal.loc, normal.scale)

    return predict


OTHERS: dict[str, Predictor] = {
    "l2 of logarithms": log_l2,
    "HistGradientBoosting": boosting,
    "CatBoost": catboost,
    "NGBoost": ngboost,
}
"""Predictors without histograms."""
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


def installed(package: str) -> Any:
    """Return a package, or raise an error that says how to install it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(
            f"{package} must be installed, pip install 'histreg[peers]': {error}"
        ) from error
