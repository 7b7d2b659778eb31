"""Tables on disk: CSV, TSV and Parquet, in and out."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t"}
ISO_DATE = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?"


def read(path: Path) -> pd.DataFrame:
    """Return the table of a file, its kind told by the name.

    ``.csv``, ``.tsv`` (each also ``.gz``) and ``.parquet``. A CSV file whose first line
    has semicolons and no comma is read with those. Columns of ISO dates become times;
    other text stays text.

    Raises
    ------
    ValueError
        In one sentence, for a file that is missing, empty or not what its name says.
    """
    kind = _kind_of(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        if kind == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, sep=_separator_of(path, kind))
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except (OSError, ValueError, pd.errors.ParserError, EOFError) as error:
        first_line = str(error).strip().splitlines()[0]
        raise ValueError(f"{path} cannot be read as {kind}: {first_line}") from error
    if table.empty:
        raise ValueError(f"{path} must hold at least one row and one column, got none")
    table.columns = table.columns.map(str)
    for name in table.columns[table.columns.duplicated()]:
        raise ValueError(f"{path} must name each column once, got {name!r} twice")
    for name, column in table.items():
        if pd.api.types.is_string_dtype(column.dtype) and _is_dates(column):
            table[name] = pd.to_datetime(column, format="ISO8601")
    return table


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table, its kind told by the name; the file is whole or absent."""
    kind = _kind_of(path)
    partial = path.with_name(f".{os.getpid()}.partial.{path.name}")
    try:
        if kind == ".parquet":
            table.to_parquet(partial, index=False)
        else:
            table.to_csv(partial, index=False, sep=SEPARATORS[kind])
        partial.replace(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def _kind_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind not in (*SEPARATORS, ".parquet"):
        raise ValueError(
            f"{path} must be named .csv, .tsv or .parquet (the first two also .gz)"
        )
    return kind


def _separator_of(path: Path, kind: str) -> str:
    if kind == ".csv":
        opened = gzip.open if path.suffix.lower() == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            header = file.readline()
        if ";" in header and "," not in header:
            return ";"
    return SEPARATORS[kind]


def _is_dates(column: pd.Series) -> bool:
    """Whether every value that is there reads as an ISO date."""
    found = column.dropna()
    return len(found) > 0 and bool(found.str.fullmatch(ISO_DATE).all())
