"""Baselines: simple models that a fitted one is compared with, and models by name."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, is_regressor
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import all_estimators

from histreg.errors import InputError
from histreg.tabular.columns import LabelCodes, kinds_of, read_frame

CONSTANT = "constant"
LINEAR = "linear regression"
BOOSTING = "boosting"
L2 = "networks with l2"
MOST_CATEGORIES = 254  # of scikit-learn's boosting, one code being unknown


class TableEncoder(TransformerMixin, BaseEstimator):
    """Read a data frame as `HistogramRegressor` does, for other models.

    Numbers, durations and the calendar columns of times become numbers, with NaN where
    one is missing; labels become categories, those seen once or never one of their own.
    """

    def fit(self, X: Any, y: Any = None) -> TableEncoder:  # noqa: ARG002
        """Learn the kinds of columns and the labels."""
        self.kinds_ = kinds_of(X)
        table = read_frame(X, self.kinds_)
        self.codes_ = LabelCodes.of(table.labels)
        self.is_empty_ = np.isnan(table.numbers).all(axis=0)
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """Return a data frame of numbers and categories, with numbered columns."""
        table = read_frame(X, self.kinds_)
        codes = self.codes_(table.labels).numpy()
        # Boosting fails on a column without any value.
        filled = np.where(self.is_empty_, 0.0, table.numbers)
        numbers = pd.DataFrame(filled).add_prefix("number ")
        labels = {
            f"label {i}": pd.Categorical(codes[:, i], categories=range(n))
            if n <= MOST_CATEGORIES
            else codes[:, i].astype(np.float64)
            for i, n in enumerate(self.codes_.n_codes)
        }
        return pd.concat([numbers, pd.DataFrame(labels, index=numbers.index)], axis=1)


def baseline(name: str, X: Any, *, random_state: int = 0) -> Any:
    """Return an unfitted model for a data frame, by name.

    Parameters
    ----------
    name : str
        ``"constant"``, ``"linear regression"``, ``"boosting"``, the name of a
        regressor of scikit-learn such as ``"RandomForestRegressor"``, or an import
        such as ``"lightgbm.LGBMRegressor"``.
    X : data frame
        The table that it will be fitted to.
    random_state : int
        For a model that takes one.
    """
    if name == CONSTANT or not X.shape[1]:
        return DummyRegressor()
    if name == LINEAR:
        return _on_numbers(LinearRegression())
    if name == BOOSTING:
        model = HistGradientBoostingRegressor(random_state=random_state)
        return make_pipeline(TableEncoder(), model)
    model = _regressor_named(name)
    if "random_state" in model.get_params():
        model.set_params(random_state=random_state)
    if isinstance(model, HistGradientBoostingRegressor):
        return make_pipeline(TableEncoder(), model)
    return _on_numbers(model)


def _on_numbers(model: Any) -> Any:
    """Return a model on scaled numbers without gaps, and labels as 0 and 1."""
    return make_pipeline(
        TableEncoder(),
        make_column_transformer(
            (
                make_pipeline(
                    SimpleImputer(strategy="median", keep_empty_features=True),
                    StandardScaler(),
                ),
                make_column_selector(dtype_include="number"),
            ),
            (
                OneHotEncoder(
                    handle_unknown="ignore", max_categories=100, sparse_output=False
                ),
                make_column_selector(dtype_include="category"),
            ),
        ),
        model,
    )


def _regressor_named(name: str) -> Any:
    module, _, attribute = name.replace(":", ".").rpartition(".")
    if module:
        try:
            made = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise InputError(f"model {name!r} cannot be imported: {error}") from None
    else:
        made = dict(all_estimators(type_filter="regressor")).get(name)
    try:
        model = made() if made is not None else None
    except TypeError as error:
        raise InputError(f"model {name!r} needs arguments: {error}") from None
    if model is None or not is_regressor(model):
        raise InputError(
            f"a model must be one of {CONSTANT!r}, {LINEAR!r}, {BOOSTING!r}, {L2!r}, "
            "a regressor of scikit-learn such as 'RandomForestRegressor' or an import "
            f"such as 'lightgbm.LGBMRegressor', got {name!r}"
        )
    return model
