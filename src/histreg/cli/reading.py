"""Reading: from a file on disk to the columns that a model needs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape

from histreg.cli import tables
from histreg.cli.columns import (
    check_columns,
    check_finite,
    groups_in,
    order_by,
    quoted_names,
    split_target,
)
from histreg.cli.interpretation import Interpretation, interpret
from histreg.cli.spelling import Spelling
from histreg.errors import InputError
from histreg.tabular.regressor import HistogramRegressor

MAX_LINES = 5  # with the same message about different columns


class ReadTable(NamedTuple):
    """A table as written in its file, and its interpreted columns."""

    path: Path
    file: tables.TableFile
    interpretation: Interpretation

    @property
    def as_written(self) -> pd.DataFrame:
        """All columns, as text unless the file has types."""
        return self.file.frame

    @property
    def frame(self) -> pd.DataFrame:
        """The interpreted columns: numbers, times, durations and labels."""
        return self.interpretation.frame

    @property
    def spelling(self) -> Spelling:
        """How numbers and dates are written, as far as it is known."""
        return self.interpretation.spelling

    def print_notes(self) -> None:
        """Print, to standard error, what was detected, assumed and doubted."""
        notes = self.interpretation
        doubts = [
            f"column {name!r} is treated as labels: {reason}"
            for name, reason in notes.doubts.items()
        ]
        facts = [*self.file.facts, *notes.facts]
        lines = [f"{self.path} is read with {'; '.join(facts)}"] if facts else []
        for messages in (notes.assumptions, doubts):
            lines += messages[:MAX_LINES]
            if len(messages) > MAX_LINES:
                n_more = len(messages) - MAX_LINES
                lines.append(f"the same applies to {n_more:,} more columns")
        for line in lines:
            Console(stderr=True).print(escape(line), highlight=False, soft_wrap=True)


def read_to_fit(
    path: Path, given: Spelling, *, drop: list[str], labels: list[str], target: str
) -> ReadTable:
    """Return a table to fit a model to, without the dropped columns.

    Parameters
    ----------
    path : Path
    given : Spelling
        The spelling given by options.
    drop : list of str
        Columns to leave out; their types do not matter.
    labels : list of str
        Columns to read as labels in any case.
    target : str
    """
    for option, names in (("--drop", drop), ("--label", labels)):
        if target in names:
            raise InputError(f"{option} must not name the target, got {target!r}")
    file = tables.read(path, given.delimiter)
    check_columns(file.frame, [*drop, *labels, target])
    frame = file.frame.drop(columns=drop)
    return ReadTable(path, file, _interpret(path, frame, labels, file, given))


@dataclass(frozen=True, eq=False)
class KnownRows:
    """The rows of a table whose target is known, and how they may be split.

    Parameters
    ----------
    table : ReadTable
        All rows.
    X : DataFrame of n rows
        All columns but the target.
    y : ndarray of shape (n,)
    special : list of str
        Columns that are no features.
    groups, order : ndarrays of shape (n,), optional
        Numbers of groups, and places in the order of time.
    """

    table: ReadTable
    X: pd.DataFrame
    y: NDArray[np.float64]
    special: list[str]
    groups: NDArray[np.int64] | None
    order: NDArray[np.int64] | None

    @property
    def features(self) -> pd.DataFrame:
        """The columns to learn from."""
        return self.X.drop(columns=self.special)

    def at(self, rows: NDArray[np.int64]) -> KnownRows:
        """Return some of the rows."""
        return replace(
            self,
            X=self.X.iloc[rows],
            y=self.y[rows],
            groups=None if self.groups is None else self.groups[rows],
            order=None if self.order is None else self.order[rows],
        )


def read_known_rows(
    path: Path,
    given: Spelling,
    *,
    target: str,
    drop: list[str],
    labels: list[str],
    groups: str | None,
    time: str | None,
    keep_time: bool = False,
) -> KnownRows:
    """Return the rows of a table with a known target, after checks of its columns.

    The columns of groups and time are no features, unless the time is to be kept.
    """
    table = read_to_fit(path, given, drop=drop, labels=labels, target=target)
    X, y = split_target(table.frame, target)
    splitting = [name for name in (groups, time) if name is not None]
    check_columns(X, splitting)
    special = [name for name in splitting if not (keep_time and name == time)]
    check_finite(X)
    if X.shape[1] == len(special):
        raise InputError(
            f"{path} must have a column beside the target {target!r} to predict it from"
        )
    return KnownRows(
        table,
        X,
        y,
        special,
        None if groups is None else groups_in(X, groups),
        None if time is None else np.argsort(order_by(X, time)),
    )


def read_columns(
    path: Path, given: Spelling, names: list[str], labels: list[str], fitted: Spelling
) -> ReadTable:
    """Return some columns of a table, read as another table was."""
    file = tables.read(path, given.delimiter)
    missing = [name for name in names if name not in file.frame.columns]
    if missing:
        raise InputError(
            f"{path} must have the columns of the other table, it lacks "
            f"{quoted_names(missing)}"
        )
    frame = file.frame[names]
    return ReadTable(path, file, _interpret(path, frame, labels, file, given, fitted))


def read_for_model(
    model: HistogramRegressor,
    path: Path,
    given: Spelling,
    target: str | None = None,
    beside: Collection[str] = (),
    if_there: Collection[str] = (),
) -> ReadTable:
    """Return the columns that a model was fitted on, in its order, and others.

    Parameters
    ----------
    model : HistogramRegressor
    path : Path
    given : Spelling
        The spelling given by options.
    target : str, optional
        The column of true values, returned too.
    beside, if_there : collections of str
        Further columns to return; those of ``if_there`` may be missing.
    """
    file = tables.read(path, given.delimiter)
    frame = file.frame
    others = [*beside, *([] if target is None else [target])]
    check_columns(frame, others)
    others += [name for name in if_there if name in frame.columns]
    names = list(getattr(model, "feature_names_in_", frame.columns))
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"{path} must have the columns that the model was fitted on, it lacks "
            f"{quoted_names(missing)}"
        )
    kinds = dict(zip(names, model.model_.kinds, strict=True))
    labels = [name for name, kind in kinds.items() if kind == "label"]
    fitted = Spelling(**model.notes_.get("spelling", {}))
    used = list(dict.fromkeys([*names, *others]))
    interpretation = _interpret(path, frame[used], labels, file, given, fitted)
    for name, reason in interpretation.doubts.items():
        if name in kinds:
            raise InputError(
                f"column {name!r} must hold {kinds[name]}s, as it did in fit: {reason}"
            )
    check_finite(interpretation.frame[names])
    return ReadTable(path, file, interpretation)


def _interpret(
    path: Path,
    frame: pd.DataFrame,
    labels: list[str],
    file: tables.TableFile,
    given: Spelling,
    fitted: Spelling | None = None,
) -> Interpretation:
    known = Spelling(file.delimiter, given.decimal, given.day_first)
    try:
        return interpret(frame, labels, known, fitted)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def target_name(model: HistogramRegressor) -> str:
    """Return the name of the column that a model predicts, ``"y"`` if not known."""
    return str(model.notes_.get("target", "y"))
