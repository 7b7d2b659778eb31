"""Tables on disk: CSV, TSV and Parquet, in and out.

The cells of a CSV file stay text, so that they can be written again unchanged;
`histreg.cli.interpretation` reads them as numbers, times and labels.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import warnings
import zlib
from collections import Counter
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa

from histreg._files import atomic_write
from histreg.cli.spelling import Spelling
from histreg.cli.table_formats import (
    SEPARATORS,
    check_table_input,
    check_table_output,
    table_format,
)
from histreg.errors import InputError

DELIMITERS = (",", ";", "\t", "|")
NAMES_OF_DELIMITERS = {"\t": "tab"}
N_SAMPLED = 20  # rows by which the delimiter is detected
GZIP = b"\x1f\x8b"
BINARY_FORMATS = {b"PAR1": "a Parquet file", b"PK\x03\x04": "an Excel or zip file"}


class TableFile(NamedTuple):
    """A table as it is written in a file."""

    frame: pd.DataFrame  # text, unless the file has types
    delimiter: str | None  # None if the file has types
    facts: list[str]  # what was detected while reading it


def read(path: Path, delimiter: str | None = None) -> TableFile:
    """Return the table of a file, whose format is given by the end of its name.

    The cells of ``.csv`` and ``.tsv`` files (also ``.gz``) stay text; ``.parquet``
    files have types. If no delimiter is given, it is the one of ``,``, ``;``, tab and
    ``|`` that gives the first rows as many cells as the header has. Text is UTF-8, or
    else Windows-1252.

    Raises
    ------
    InputError
        If the file is missing or empty, or does not have the format of its name.
    """
    check_table_input(path)
    kind = table_format(path)
    try:
        if kind == ".parquet":
            file = TableFile(_read_parquet(path), None, [])
        else:
            file = _read_text(path, kind, delimiter)
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty") from None
    except (
        *(OSError, EOFError, ValueError, zlib.error, csv.Error, pa.ArrowException),
        pd.errors.ParserWarning,
    ) as error:
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        lengths = re.search(
            r"Expected (\d+) fields in line (\d+), saw (\d+)", first_line
        )
        if lengths is not None:
            first_line = (
                f"line {lengths[2]} has {lengths[3]} cells, but the header has "
                f"{lengths[1]}"
            )
        raise InputError(f"{path} cannot be read as {kind}: {first_line}") from error
    if file.frame.empty:
        raise InputError(f"{path} must hold at least one row and one column, got none")
    file.frame.columns = file.frame.columns.map(str)
    return file


def _read_parquet(path: Path) -> pd.DataFrame:
    """Return a table with Arrow types, which are kept when it is written again."""
    try:
        return pd.read_parquet(path, dtype_backend="pyarrow")
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        # pandas does not check the metadata that it wrote into the file.
        raise InputError("its metadata of columns is damaged") from error


def write(table: pd.DataFrame, path: Path, spelling: Spelling | None = None) -> None:
    """Write a table atomically, in the format given by the end of the name.

    A CSV file has the delimiter and the decimal mark of the spelling, if given.
    """
    check_table_output(path)
    kind = table_format(path)
    with atomic_write(path) as partial:
        if kind == ".parquet":
            table.to_parquet(partial, index=False)
        else:
            options = text_options(spelling)
            if kind == ".tsv" or options["sep"] == SEPARATORS[".tsv"]:
                options["sep"] = SEPARATORS[kind]
            table.to_csv(partial, index=False, **options)


def text_options(spelling: Spelling | None) -> dict[str, str]:
    """Return the options of `pandas.DataFrame.to_csv` for a spelling."""
    spelling = spelling or Spelling()
    return {"sep": spelling.delimiter or ",", "decimal": spelling.decimal or "."}


def _read_text(path: Path, kind: str, delimiter: str | None) -> TableFile:
    text, facts = _decoded(_unpacked(path))
    named = re.match(r"sep=(.)\r?\n", text)  # the first line, as Excel writes it
    if named:
        text = (
            "\n" + text[named.end() :]
        )  # an empty line, so that numbers of lines stay
        delimiter = delimiter or named[1]
    if delimiter is None:
        delimiter = _delimiter_of(text, SEPARATORS[kind])
        if delimiter != SEPARATORS[kind]:
            shown = NAMES_OF_DELIMITERS.get(delimiter, repr(delimiter))
            facts.append(f"delimiter {shown}")
    header = _first_records(text, delimiter, 1)
    if not header and text.strip():
        raise InputError(
            f"its header has a cell of more than {csv.field_size_limit():,} "
            "characters; perhaps a quote is not closed"
        )
    for name, count in Counter(header[0] if header else []).most_common(1):
        if count > 1:
            raise InputError(f"column names must be unique, got {name!r} twice")
    with warnings.catch_warnings():
        # Rows longer than the header would be cut, with a warning.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame = pd.read_csv(
            io.StringIO(text),
            sep=delimiter,
            dtype=str,
            na_filter=False,
            index_col=False,
        )
    if (frame.iloc[:, -1] == "").any():  # also where pandas has filled a short row
        facts += _short_rows(text, delimiter, len(frame.columns))
    return TableFile(frame, delimiter, facts)


def _short_rows(text: str, delimiter: str, n_columns: int) -> list[str]:
    """Return in words how many rows have fewer cells than the header, if any."""
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    short: list[tuple[int, int]] = []
    line = 1
    with suppress(csv.Error):
        for record in records:
            is_blank = len(record) == 1 and not record[0].strip()  # no row
            if 0 < len(record) < n_columns and not is_blank:
                short.append((line, len(record)))
            line = records.line_num + 1
    if not short:
        return []
    n, (line, n_cells) = len(short), short[0]
    rows = "a row that has" if n == 1 else f"{n:,} rows that have"
    first = "" if n == 1 else "the first in "
    return [
        f"empty cells for {rows} fewer than the header ({first}line {line}, {n_cells} "
        f"of {n_columns} cells)"
    ]


def _unpacked(path: Path) -> bytes:
    """Return the bytes of a text file, decompressed; raise if it is binary."""
    data = path.read_bytes()
    is_packed = path.suffix.lower() == ".gz"
    if is_packed and data[:2] != GZIP:
        raise InputError("it is not compressed by gzip; name it without .gz")
    if is_packed:
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"its gzip data is damaged ({error})") from error
    elif data[:2] == GZIP:
        raise InputError("it is compressed by gzip; name it with .gz at the end")
    for magic, format_name in BINARY_FORMATS.items():
        if data.startswith(magic):
            raise InputError(f"it is {format_name}, not text")
    return data


def _decoded(data: bytes) -> tuple[str, list[str]]:
    """Return the text, and how it was decoded if that is worth mentioning."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError("it is UTF-16 text; save it as UTF-8")
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise InputError(f"line {line} has a NUL byte, so it is damaged or not text")
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
    try:
        return data.decode("cp1252"), [
            f"encoding Windows-1252, since line {line} is not UTF-8"
        ]
    except UnicodeDecodeError:
        raise InputError(f"line {line} is not UTF-8 text; save it as UTF-8") from None


def _first_records(text: str, delimiter: str, n: int) -> list[list[str]]:
    """Return the header and the rows after it, up to one with too long a cell."""
    first: list[list[str]] = []
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    with suppress(csv.Error):
        first.extend(islice((record for record in records if record), n))
    return first


def _delimiter_of(text: str, usual: str) -> str:
    """Return the delimiter that gives the first rows as many cells as the header.

    If several do, or none, prefer the usual one, then the one that gives the header
    the most cells.
    """
    n_cells = {}
    is_even = {}
    for delimiter in dict.fromkeys((usual, *DELIMITERS)):
        counts = [len(row) for row in _first_records(text, delimiter, N_SAMPLED)]
        n_cells[delimiter] = counts[0] if counts else 0
        is_even[delimiter] = len(set(counts)) == 1 and counts[0] > 1
    if is_even[usual]:
        return usual
    even = [delimiter for delimiter in n_cells if is_even[delimiter]]
    return max(even or n_cells, key=lambda delimiter: n_cells[delimiter])
