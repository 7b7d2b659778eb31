"""Baselines: what a fitted model is compared with."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder


def linear_baseline(X: pd.DataFrame) -> Any:
    """Return an unfitted linear regression on the numbers and labels of a table."""
    numbers = make_column_selector(
        dtype_include=["number", "bool"], dtype_exclude="timedelta"
    )
    labels = make_column_selector(dtype_include=["category", "object", "string"])
    if not numbers(X) + labels(X):  # only dates, for example: the mean is all it has
        return DummyRegressor()
    return make_pipeline(
        make_column_transformer(
            (SimpleImputer(strategy="median", keep_empty_features=True), numbers),
            (OneHotEncoder(handle_unknown="ignore", max_categories=100), labels),
        ),
        LinearRegression(),
    )
