"""Tables on disk: CSV, TSV and Parquet, in and out.

What a CSV file says is read as text, so that it can be written again as it was; `typed`
then tells numbers, dates and labels apart.
"""

from __future__ import annotations

import csv
import gzip
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import IO

import pandas as pd

from histreg.errors import InputError
from histreg.files import whole

SEPARATORS = {".csv": ",", ".tsv": "\t"}
MISSING = {"", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"}
ISO_DATE = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?"


def read(path: Path) -> pd.DataFrame:
    """Return the table of a file, its kind told by the name.

    ``.csv``, ``.tsv`` (each also ``.gz``), whose cells stay text, and ``.parquet``,
    which has types of its own. A CSV file whose first line has semicolons and no
    comma is read with those.

    Raises
    ------
    ValueError
        In one sentence, for a file that is missing, empty or not what its name says.
    """
    kind = _kind_of(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        table = pd.read_parquet(path) if kind == ".parquet" else _read_text(path, kind)
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty") from None
    except (OSError, EOFError, ValueError, pd.errors.ParserWarning) as error:
        first_line = str(error).strip().splitlines()[0]
        raise InputError(f"{path} cannot be read as {kind}: {first_line}") from error
    if table.empty:
        raise InputError(f"{path} must hold at least one row and one column, got none")
    table.columns = table.columns.map(str)
    return table


def typed(table: pd.DataFrame, labels: Collection[str] = ()) -> pd.DataFrame:
    """Return a table whose columns of text are numbers, dates or labels.

    A column of text is numbers if all its cells are, or dates if all are ISO dates;
    what stays text is labels. Cells such as ``NA`` and empty ones are missing.

    Parameters
    ----------
    table : DataFrame
        As `read` returns it.
    labels : collection of str
        Columns that are labels, whatever they look like.
    """
    result = {}
    for name, column in table.items():
        if not pd.api.types.is_string_dtype(column.dtype):
            is_label = name in labels
            result[name] = column.astype("category") if is_label else column
            continue
        text = column.astype(object).where(column.notna() & ~column.isin(MISSING), None)
        result[name] = text if name in labels else _typed(text)
    return pd.DataFrame(result, index=table.index)


def odd_cells(column: pd.Series) -> pd.Series:
    """Return the cells that alone keep a column of text from being numbers.

    There are none in a column that is mostly text (a tenth of its cells, or more).
    """
    found = column.dropna()
    if not pd.api.types.is_object_dtype(column.dtype):
        return found.iloc[:0]
    odd = found[pd.to_numeric(found, errors="coerce").isna()]
    return odd if len(odd) < 0.1 * len(found) else found.iloc[:0]


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table, its kind told by the name; the file is whole or absent."""
    check_writable(path)
    kind = _kind_of(path)
    with whole(path) as partial:
        if kind == ".parquet":
            table.to_parquet(partial, index=False)
        else:
            table.to_csv(partial, index=False, sep=SEPARATORS[kind])


def check_writable(path: Path) -> None:
    """Raise, before any work is done, if a table cannot be written to this path."""
    _kind_of(path)
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")


def _kind_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind not in (*SEPARATORS, ".parquet"):
        raise InputError(
            f"{path} must be named .csv, .tsv or .parquet (the first two also .gz)"
        )
    return kind


def _read_text(path: Path, kind: str) -> pd.DataFrame:
    with _opened(path) as file:
        header = file.readline().lstrip("\ufeff")
    separator = SEPARATORS[kind]
    if kind == ".csv" and ";" in header and "," not in header:
        separator = ";"
    names = next(csv.reader([header], delimiter=separator), [])
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"it must name each column once, got {twice[0]!r} twice")
    with warnings.catch_warnings():
        # Rows longer than the first line would be cut, with a warning.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            path, sep=separator, dtype=str, na_filter=False, index_col=False
        )


def _opened(path: Path) -> IO[str]:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def _typed(text: pd.Series) -> pd.Series:
    """Return a column of text as numbers or times, if all that is there is one."""
    found = text.dropna()
    if len(found) == 0:
        return text.astype("float64")
    numbers = pd.to_numeric(found, errors="coerce")
    if numbers.notna().all():
        return pd.to_numeric(text).astype("float64")
    if found.str.fullmatch(ISO_DATE).all():
        times = pd.to_datetime(found, format="ISO8601", errors="coerce")
        if times.notna().all():  # 0000-00-00 is none
            return pd.to_datetime(text, format="ISO8601")
    return text
