"""Reading: from a file on disk to the columns that a model needs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd
from rich.console import Console
from rich.markup import escape

from histreg.cli import tables
from histreg.cli.columns import check_columns, check_finite, quoted_names
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
    file = tables.read(path, given.delimiter)
    check_columns(file.frame, [*drop, *labels, target])
    frame = file.frame.drop(columns=drop)
    return ReadTable(path, file, _interpret(path, frame, labels, file, given))


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
    model: HistogramRegressor, path: Path, given: Spelling, target: str | None = None
) -> ReadTable:
    """Return the columns that a model was fitted on, in its order, and the target."""
    file = tables.read(path, given.delimiter)
    frame = file.frame
    if target is not None:
        check_columns(frame, [target])
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
    used = names if target is None else [*names, target]
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
