"""Encodings: from a frame with labels, gaps and times to what a method accepts.

Each function takes the training rows and returns a function that encodes any rows, with
the levels and medians of the training rows. Times become days since 1970, for all that
do not accept them; columns are renamed, because some libraries refuse some names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Frame = Any  # a pandas frame
Encoding = Callable[[Frame], Any]
MISSING = "(missing)"  # the label of a gap
MIN_ROWS = 5  # of a label with a column of its own; the rarer ones share one


def label_columns(X: Frame) -> list[int]:
    """Return the numbers of the columns that hold labels."""
    return [i for i, dtype in enumerate(X.dtypes) if dtype.kind == "O"]


def as_text(X: Frame) -> Encoding:  # noqa: ARG001
    """Keep labels as text, with one for gaps; gaps between numbers stay NaN."""
    return lambda rows: _encoded(rows, lambda labels: labels.fillna(MISSING))


def as_categories(X: Frame) -> Encoding:
    """Make labels categories; gaps and labels not seen in training are missing."""
    import pandas as pd

    levels = {f"x{i}": sorted(X.iloc[:, i].dropna().unique()) for i in label_columns(X)}

    def encode(labels: Any) -> Any:
        known = labels.where(labels.isin(levels[labels.name]), None)
        return known.astype(pd.CategoricalDtype(levels[labels.name]))

    return lambda rows: _encoded(rows, encode)


def as_imputed(X: Frame) -> Encoding:
    """Keep labels as text; fill gaps in numbers by the median, and mark them.

    A column of numbers with gaps in training gets a second column, 1 in place of a gap.
    """
    numbers = _encoded(X, lambda labels: labels).select_dtypes("number")
    medians = numbers.median().fillna(0.0)  # of a column without any number
    gaps = [name for name in numbers if numbers[name].isna().any()]

    def encode(rows: Frame) -> Frame:
        encoded = as_text(X)(rows)
        marks = {f"{name} gap": encoded[name].isna().astype(float) for name in gaps}
        return encoded.fillna(medians).assign(**marks)

    return encode


def as_matrix(X: Frame) -> Encoding:
    """Impute as `as_imputed`, and give each label a column of zeros and ones."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    impute = as_imputed(X)
    one_hot = OneHotEncoder(
        min_frequency=MIN_ROWS,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
    )
    labels = [f"x{i}" for i in label_columns(X)]
    encoder = make_column_transformer(
        (one_hot, labels), remainder="passthrough", sparse_threshold=0.0
    ).fit(impute(X))
    return lambda rows: encoder.transform(impute(rows))


def _encoded(rows: Frame, encode_labels: Callable[[Any], Any]) -> Frame:
    """Return columns named x0, x1, ..., with times as days and labels encoded."""
    import pandas as pd

    renamed = rows.set_axis([f"x{i}" for i in range(rows.shape[1])], axis=1)
    labels = {f"x{i}" for i in label_columns(rows)}

    def encoded(column: Any) -> Any:
        if column.name in labels:
            return encode_labels(column)
        if column.dtype.kind == "M":
            return (column - pd.Timestamp(0)) / pd.Timedelta(days=1)
        return column

    return pd.DataFrame({name: encoded(renamed[name]) for name in renamed})
