"""Peers: our regressor and the methods that it is compared with on tables.

All take a frame with labels, gaps and times, run on one thread, and have the defaults
of their authors. The module lists them; their libraries are imported when used.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from histreg.study.shapes.predictors import installed
from histreg.study.tables.encodings import (
    Encoding,
    Frame,
    as_categories,
    as_imputed,
    as_matrix,
    as_text,
    label_columns,
)

if TYPE_CHECKING:
    from histreg.study.datasets.source import Floats
    from histreg.study.shapes.predictions import Prediction

OURS = "HistogramRegressor"
PredictNumbers = Callable[[Frame], "Floats"]
PredictDistributions = Callable[[Frame], "Prediction"]
FIVE_FOLDS, ONE_FOLD = 5, 1


@dataclass(frozen=True)
class Peer:
    """A method.

    Parameters
    ----------
    fit : callable
        (training X, training y, seed) -> a function from other X to a `Prediction` or,
        if ``n_residual_folds`` is given, to numbers of shape (n,).
    package : str
        What it needs; imported before the fit is timed.
    n_residual_folds : int
        For a method that predicts one number: how many fifths of the training rows are
        held out in turn, to get its residuals. The distribution is the predicted number
        plus these residuals. 0 for a method with a distribution of its own.
    """

    fit: Callable[[Frame, Floats, int], Any]
    package: str
    n_residual_folds: int = 0


def histogram_regressor(X: Frame, y: Floats, seed: int) -> PredictDistributions:
    """Fit our regressor with its defaults."""
    from histreg.study.shapes.predictions import Prediction
    from histreg.tabular.regressor import HistogramRegressor

    model = HistogramRegressor(random_state=seed).fit(X, y)
    return lambda rows: Prediction.of_model(model, rows, calibrates=True)


def constant(X: Frame, y: Floats, seed: int) -> PredictDistributions:  # noqa: ARG001
    """Predict the mean and the quantiles of the training targets, whatever the row."""
    import numpy as np

    from histreg.study.shapes.predictions import Prediction

    return lambda rows: Prediction.of_residuals(
        np.full(len(rows), y.mean()), y - y.mean()
    )


def ridge(X: Frame, y: Floats, seed: int) -> PredictNumbers:  # noqa: ARG001
    """Fit linear regression with a ridge penalty chosen by leave-one-out error."""
    import numpy as np
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-3, 4, 15)))
    return _fitted(model, as_matrix, X, y)


def hist_gradient_boosting(X: Frame, y: Floats, seed: int) -> PredictNumbers:
    """Fit scikit-learn's boosting; labels are categories."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(
        categorical_features="from_dtype", random_state=seed
    )
    return _fitted(model, as_categories, X, y)


def lightgbm(X: Frame, y: Floats, seed: int) -> PredictNumbers:
    """Fit LightGBM; labels are categories."""
    model = installed("lightgbm").LGBMRegressor(random_state=seed, n_jobs=1, verbose=-1)
    return _fitted(model, as_categories, X, y)


def xgboost(X: Frame, y: Floats, seed: int) -> PredictNumbers:
    """Fit XGBoost; labels are categories."""
    model = installed("xgboost").XGBRegressor(
        random_state=seed, n_jobs=1, enable_categorical=True
    )
    return _fitted(model, as_categories, X, y)


def catboost(X: Frame, y: Floats, seed: int) -> PredictNumbers:
    """Fit CatBoost by the squared error; it encodes labels itself."""
    return _fitted(_catboost(X, seed), as_text, X, y)


def catboost_quantiles(X: Frame, y: Floats, seed: int) -> PredictDistributions:
    """Fit all levels in one model of CatBoost."""
    from histreg.study.shapes.predictions import LEVELS, Prediction

    levels = ",".join(f"{level:g}" for level in LEVELS)
    model = _catboost(X, seed, loss_function=f"MultiQuantile:alpha={levels}")
    predict = _fitted(model, as_text, X, y)
    return lambda rows: Prediction.of_quantiles(predict(rows))


def quantile_forest(X: Frame, y: Floats, seed: int) -> PredictDistributions:
    """Fit a quantile regression forest; its mean is that of a random forest."""
    from histreg.study.shapes.predictions import LEVELS, Prediction

    encode = as_matrix(X)
    forest = installed("quantile_forest").RandomForestQuantileRegressor(
        random_state=seed, n_jobs=1
    )
    forest.fit(encode(X), y)

    def predict(rows: Frame) -> Prediction:
        matrix = encode(rows)
        mean = forest.predict(matrix, quantiles="mean")
        return Prediction.of_quantiles(forest.predict(matrix, LEVELS.tolist()), mean)

    return predict


def ngboost(X: Frame, y: Floats, seed: int) -> PredictDistributions:
    """Fit normal distributions by NGBoost, 500 trees."""
    from histreg.study.shapes.predictors import ngboost

    encode = as_matrix(X)
    predict = ngboost(encode(X), y, seed)
    return lambda rows: predict(encode(rows))


def real_mlp(X: Frame, y: Floats, seed: int) -> PredictNumbers:
    """Fit RealMLP with tuned defaults by the squared error."""
    return _fitted(_pytabkit("RealMLP_TD_Regressor", seed), as_imputed, X, y)


def real_mlp_quantiles(X: Frame, y: Floats, seed: int) -> PredictDistributions:
    """Fit RealMLP by the pinball loss at all levels."""
    return _pinball("RealMLP_TD_Regressor", X, y, seed)


def tabm(X: Frame, y: Floats, seed: int) -> PredictNumbers:
    """Fit TabM with default parameters by the squared error."""
    return _fitted(_pytabkit("TabM_D_Regressor", seed), as_imputed, X, y)


def tabm_quantiles(X: Frame, y: Floats, seed: int) -> PredictDistributions:
    """Fit TabM by the pinball loss at all levels."""
    return _pinball("TabM_D_Regressor", X, y, seed)


PEERS: dict[str, Peer] = {
    OURS: Peer(histogram_regressor, "histreg.tabular.regressor"),
    "CatBoost": Peer(catboost, "catboost", FIVE_FOLDS),
    "CatBoost MultiQuantile": Peer(catboost_quantiles, "catboost"),
    "LightGBM": Peer(lightgbm, "lightgbm", FIVE_FOLDS),
    "XGBoost": Peer(xgboost, "xgboost", FIVE_FOLDS),
    "HistGradientBoosting": Peer(
        hist_gradient_boosting, "sklearn.ensemble", FIVE_FOLDS
    ),
    "quantile forest": Peer(quantile_forest, "quantile_forest"),
    "NGBoost": Peer(ngboost, "ngboost"),
    "RealMLP": Peer(real_mlp, "pytabkit", ONE_FOLD),
    "RealMLP quantiles": Peer(real_mlp_quantiles, "pytabkit"),
    "TabM": Peer(tabm, "pytabkit", ONE_FOLD),
    "TabM quantiles": Peer(tabm_quantiles, "pytabkit"),
    "ridge regression": Peer(ridge, "sklearn.linear_model", FIVE_FOLDS),
    "constant": Peer(constant, "histreg.study.shapes.predictions"),
}
"""Ours first."""


def _fitted(
    model: Any, encoding: Callable[[Frame], Encoding], X: Frame, y: Floats
) -> PredictNumbers:
    """Fit a model to encoded rows; return its predictions for other rows."""
    encode = encoding(X)
    model.fit(encode(X), y)
    return lambda rows: model.predict(encode(rows)).astype(float)


def _catboost(X: Frame, seed: int, **options: Any) -> Any:
    return installed("catboost").CatBoostRegressor(
        cat_features=label_columns(X),
        random_seed=seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        **options,
    )


def _pytabkit(name: str, seed: int, **options: Any) -> Any:
    model = getattr(installed("pytabkit"), name)
    # It reports devices and stops of each fit, across the progress bar.
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    return model(random_state=seed, n_threads=1, device="cpu", **options)


def _pinball(name: str, X: Frame, y: Floats, seed: int) -> PredictDistributions:
    """Fit a network of pytabkit by the mean pinball loss, also to stop early by."""
    from histreg.study.shapes.predictions import LEVELS, Prediction

    metric = f"multi_pinball({','.join(f'{level:g}' for level in LEVELS)})"
    model = _pytabkit(name, seed, train_metric_name=metric, val_metric_name=metric)
    predict = _fitted(model, as_imputed, X, y)
    return lambda rows: Prediction.of_quantiles(predict(rows))
