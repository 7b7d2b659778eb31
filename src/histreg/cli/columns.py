"""Columns: checks and conversions of the columns that a command uses."""

from __future__ import annotations

import difflib

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from histreg.errors import InputError
from histreg.tabular.columns import TEMPORAL, kinds_of

MAX_NAMES = 10  # of columns, in a message
MAX_TARGET = 1e150  # the squares of larger ones are infinite
FLAGS = {"0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}


def check_columns(frame: pd.DataFrame, names: list[str]) -> None:
    """Raise unless a table has all these columns."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"the table must have the column{'s' * (len(missing) > 1)} "
            f"{quoted_names(missing)}, "
            f"got {_similar_names(missing, list(frame.columns))}"
        )


def quoted_names(names: list[str]) -> str:
    """Return names for a message: the first few, and how many more there are."""
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(map(repr, names[:MAX_NAMES])) + more


def _similar_names(missing: list[str], columns: list[str]) -> str:
    """Return the columns of a table; of many, those most similar to missing ones."""
    if len(columns) <= MAX_NAMES:
        return quoted_names(columns)
    by_lower = {name.lower(): name for name in columns}
    near = [
        by_lower[match]
        for name in missing[:MAX_NAMES]
        for match in difflib.get_close_matches(name.lower(), by_lower, n=3)
    ]
    similar = list(dict.fromkeys(near))[:MAX_NAMES]
    count = f"{len(columns):,} columns"
    if similar:
        return f"{count}, of which the most similar are: {quoted_names(similar)}"
    return f"{count}, such as {quoted_names(columns[:3])}"


def check_finite(frame: pd.DataFrame) -> None:
    """Raise if a number is infinite, and name its row."""
    numbers = frame.select_dtypes("float")
    infinite = np.argwhere(np.isinf(numbers.to_numpy()))
    if len(infinite):
        row, column = infinite[0]
        raise InputError(
            f"column {numbers.columns[column]!r} must hold finite numbers, got "
            f"{numbers.iat[row, column]} in row {row + 1}"
        )


def numbers_in(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """Return a column of finite numbers, NaN where one is missing."""
    kind = kinds_of(frame[[name]])[0]
    if kind in TEMPORAL:
        content = "dates" if kind == "time" else "durations"
        raise InputError(f"column {name!r} must hold numbers, got {content}")
    values = pd.to_numeric(frame[name], errors="coerce")
    wrong = frame[name][values.isna() & frame[name].notna()]
    if len(wrong):
        raise InputError(
            f"column {name!r} must hold numbers, got {wrong.iloc[0]!r} in row "
            f"{wrong.index[0] + 1}"
        )
    check_finite(pd.DataFrame({name: values}))
    return values.to_numpy(dtype=np.float64)


def weights_in(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """Return a column of row weights."""
    weights = numbers_in(frame, name)
    wrong = np.flatnonzero(~(weights >= 0))
    if len(wrong):
        raise InputError(
            f"column {name!r} must hold non-negative weights, got "
            f"{weights[wrong[0]]:g} in row {frame.index[wrong[0]] + 1}"
        )
    return weights


def flags_in(frame: pd.DataFrame, name: str) -> NDArray[np.bool_]:
    """Return a column of 0 and 1, or of true and false."""
    flags = frame[name].map(lambda cell: FLAGS.get(str(cell).lower()))
    wrong = frame[name][flags.isna()]
    if len(wrong):
        raise InputError(
            f"column {name!r} must hold 0 or 1, or true or false, in every row, got "
            f"{wrong.iloc[0]} in row {wrong.index[0] + 1}"
        )
    return flags.to_numpy(dtype=bool)


def order_by(frame: pd.DataFrame, name: str) -> NDArray[np.int64]:
    """Return the row numbers in the order of a column."""
    n_missing = frame[name].isna().sum()
    if n_missing:
        raise InputError(
            "--time must name a column without missing values, "
            f"got {n_missing} in {name!r}"
        )
    if kinds_of(frame[[name]])[0] == "label":
        raise InputError(
            "--time must name a column of times or numbers, got labels such as "
            f"{frame[name].iloc[0]!r} in {name!r}; write times as 2026-01-31"
        )
    return frame[name].argsort(kind="stable").to_numpy()


def groups_in(frame: pd.DataFrame, name: str) -> NDArray[np.int64]:
    """Return a number for each row, the same for rows with the same cell."""
    n_missing = frame[name].isna().sum()
    if n_missing:
        raise InputError(
            "--groups must name a column without missing values, "
            f"got {n_missing} in {name!r}"
        )
    return pd.factorize(frame[name])[0].astype(np.int64)


def has_target(
    frame: pd.DataFrame, target: str, upper: str | None = None
) -> NDArray[np.bool_]:
    """Return which rows have a target, or one of its bounds if it has an upper one."""
    names = [target] if upper is None else [target, upper]
    return frame[names].notna().any(axis=1).to_numpy()


def split_target(
    frame: pd.DataFrame, target: str, upper: str | None = None
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Return the other columns and the target, without rows where it is missing.

    With a column of upper bounds, a row may have one bound only.
    """
    check_columns(frame, [target, *([] if upper is None else [upper])])
    y = numbers_in(frame, target)
    is_known = has_target(frame, target, upper)
    if not is_known.any():
        raise InputError(f"column {target!r} must hold numbers, got none")
    too_large = np.flatnonzero(np.abs(y) > MAX_TARGET)
    if len(too_large):
        raise InputError(
            f"column {target!r} must lie between -{MAX_TARGET:g} and {MAX_TARGET:g}, "
            f"got {y[too_large[0]]:g} in row {too_large[0] + 1}; predict its logarithm "
            "or another unit"
        )
    return frame.drop(columns=target)[is_known], y[is_known]
