"""Column groups: columns of a table that are shuffled, set or explained as one.

A column of the table is one group even if it becomes several inputs of the network, as
labels and times do. Columns that belong together, such as one-hot columns that the
caller made, can be named as one group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from histreg.errors import InputError
from histreg.tabular.columns import Table, calendar, n_numbers

if TYPE_CHECKING:
    from histreg.tabular.regressor import HistogramRegressor

MAX_NAMES = 10  # of columns, in a message
MISSING = "missing"  # how a missing value is shown


def column_names(model: HistogramRegressor) -> list[str]:
    """Return the names of a model's columns; ``x0, x1, ...`` if they had none."""
    d = model.n_features_in_
    return [str(name) for name in getattr(model, "feature_names_in_", [])] or [
        f"x{i}" for i in range(d)
    ]


def column_groups(
    model: HistogramRegressor, groups: Mapping[str, Sequence[str]] | None = None
) -> dict[str, list[int]]:
    """Return the positions of the columns of each group, by its name.

    Parameters
    ----------
    model : HistogramRegressor
    groups : mapping from str to sequences of str, optional
        Columns to treat as one, by a name for them. Every other column is a group.
    """
    names = column_names(model)
    found: dict[str, list[int]] = {}
    taken: set[int] = set()
    for group, members in (groups or {}).items():
        if isinstance(members, str) or not len(members):
            raise InputError(
                f"groups must map names to lists of columns, got {members!r} for "
                f"{group!r}"
            )
        places = [column_position(names, member, "groups") for member in members]
        if taken & set(places) or len(set(places)) < len(places):
            raise InputError(
                f"groups must name each column once, got one of {list(members)} twice"
            )
        taken |= set(places)
        found[str(group)] = places
    for place, name in enumerate(names):
        if place not in taken:
            if name in found:
                raise InputError(
                    f"groups must not have the name of another column, got {name!r}"
                )
            found[name] = [place]
    return found


def column_position(names: Sequence[str], name: str, argument: str) -> int:
    """Return the position of a column by its name; raise if there is none."""
    if name not in names:
        more = ", ..." if len(names) > MAX_NAMES else ""
        raise InputError(
            f"{argument} must name a column of the model, one of "
            f"{', '.join(names[:MAX_NAMES])}{more}, got {name!r}"
        )
    return names.index(name)


def check_one_target(model: HistogramRegressor) -> None:
    """Raise unless a model predicts one target."""
    if model.n_outputs_ != 1:
        raise InputError(
            f"explanations need a model of one target, got {model.n_outputs_} targets; "
            "fit a model of each"
        )


def sampled_rows(
    n: int, max_rows: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the rows to use, in their order: all, or a random choice of many."""
    if n <= max_rows:
        return np.arange(n)
    return np.sort(generator.choice(n, max_rows, replace=False))


def with_columns_of(table: Table, other: Table, columns: Sequence[int]) -> Table:
    """Return a table with these columns from another table of as many rows."""
    numbers, labels = table.numbers.copy(), table.labels.copy()
    for column in columns:
        is_label, place = _place(table.kinds, column)
        if is_label:
            labels[:, place] = other.labels[:, place]
        else:
            numbers[:, place] = other.numbers[:, place]
    return table._replace(numbers=numbers, labels=labels)


def with_value(table: Table, column: int, value: Any) -> Table:
    """Return a table with one value in all rows of a column.

    A number is NaN and a label None if it is missing; times are in seconds since 1970.
    """
    numbers, labels = table.numbers.copy(), table.labels.copy()
    is_label, place = _place(table.kinds, column)
    if table.kinds[column] == "time":
        numbers[:, place] = calendar(torch.tensor(value, dtype=torch.float64)).numpy()
    else:
        (labels if is_label else numbers)[:, place] = value
    return table._replace(numbers=numbers, labels=labels)


def stacked(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables as one."""
    return tables[0]._replace(
        numbers=np.concatenate([table.numbers for table in tables]),
        labels=np.concatenate([table.labels for table in tables]),
    )


def values_of(table: Table, column: int) -> NDArray[Any]:  # (n,)
    """Return a column: float64, times in seconds, or for labels objects."""
    is_label, place = _place(table.kinds, column)
    # The first number of a time is the time itself.
    return (table.labels if is_label else table.numbers)[:, place.start]


def shown_value(kind: str, value: Any) -> str:
    """Return a value of a column of some kind as text."""
    if value is None or value != value:
        return MISSING
    if kind == "label":
        return str(value)
    if kind == "time":
        moment = np.datetime64(round(value * 1e6), "us").astype("datetime64[s]")
        return str(moment).replace("T", " ").removesuffix(" 00:00:00")
    return f"{value:,.6g}" + (" s" if kind == "duration" else "")


def _place(kinds: Sequence[str], column: int) -> tuple[bool, slice]:
    """Return whether a column is one of labels, and where it is among those.

    Of the numbers, a column of times takes several.
    """
    before, kind = kinds[:column], kinds[column]
    if kind == "label":
        start = before.count("label")
        return True, slice(start, start + 1)
    start = n_numbers(before)
    return False, slice(start, start + n_numbers([kind]))
