"""Tables on disk: CSV, TSV and Parquet, in and out.

What a CSV file says is read as text, so that it can be written again as it was;
`histreg.cli.interpretation` then tells numbers, times and labels apart.
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
from collections.abc import Collection
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa

from histreg._files import whole
from histreg.cli.cells import Spelling
from histreg.cli.interpretation import interpret
from histreg.errors import InputError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
DELIMITERS = (",", ";", "\t", "|")
NAMES_OF_DELIMITERS = {"\t": "tab"}
N_SAMPLED = 20  # rows that the delimiter is told by
GZIP = b"\x1f\x8b"
BINARY_FORMATS = {b"PAR1": "a Parquet file", b"PK\x03\x04": "an Excel or zip file"}


class TableFile(NamedTuple):
    """A table as it is written in a file."""

    frame: pd.DataFrame  # of text, unless the file has types
    delimiter: str | None  # None if the file has types
    facts: list[str]  # what had to be found out to read it


def read(path: Path, delimiter: str | None = None) -> pd.DataFrame:
    """Return the table of a file as it is written, see `read_file`."""
    return read_file(path, delimiter).frame


def read_file(path: Path, delimiter: str | None = None) -> TableFile:
    """Return the table of a file, its kind told by the name.

    ``.csv``, ``.tsv`` (each also ``.gz``), whose cells stay text, and ``.parquet``,
    which has types of its own. The delimiter of a text file is the one of ``,``, ``;``,
    tab and ``|`` that gives the first rows as many cells as the header has, if it is
    not given. Text is UTF-8, or else Windows-1252.

    Raises
    ------
    InputError
        In one sentence, for a file that is missing, empty or not what its name says.
    """
    kind = _kind_of(path)
    if path.is_dir():
        raise InputError(f"{path} must be a file, got a folder")
    if not path.is_file():
        raise InputError(f"there is no file {path}")
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
        raise InputError(f"{path} cannot be read as {kind}: {first_line}") from error
    if file.frame.empty:
        raise InputError(f"{path} must hold at least one row and one column, got none")
    file.frame.columns = file.frame.columns.map(str)
    return file


def _read_parquet(path: Path) -> pd.DataFrame:
    """Return a table with types of Arrow, so that what is written again has them."""
    try:
        return pd.read_parquet(path, dtype_backend="pyarrow")
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        # What pandas noted in the file is damaged: it looks things up in it unchecked.
        raise InputError("its notes on the columns are damaged") from error


def typed(table: pd.DataFrame, labels: Collection[str] = ()) -> pd.DataFrame:
    """Return a table whose columns of text are numbers, times or labels.

    See `interpretation.interpret`, which also tells how they were understood.
    """
    return interpret(table, labels).frame


def write(table: pd.DataFrame, path: Path, spelling: Spelling | None = None) -> None:
    """Write a table, its kind told by the name; the file is whole or absent.

    A CSV file has the delimiter and the decimal mark of a spelling, if there is one.
    """
    check_writable(path)
    kind = _kind_of(path)
    with whole(path) as partial:
        if kind == ".parquet":
            table.to_parquet(partial, index=False)
        else:
            options = text_options(spelling)
            if kind == ".tsv" or options["sep"] == SEPARATORS[".tsv"]:
                options["sep"] = SEPARATORS[kind]
            table.to_csv(partial, index=False, **options)


def text_options(spelling: Spelling | None) -> dict[str, str]:
    """Return the options of pandas that write text by a spelling."""
    spelling = spelling or Spelling()
    return {"sep": spelling.delimiter or ",", "decimal": spelling.decimal or "."}


def check_writable(path: Path) -> None:
    """Raise, before any work is done, if a table cannot be written to this path."""
    _kind_of(path)
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")


def checked_delimiter(given: str | None) -> str | None:
    """Return the delimiter that a person names: one character, or the word tab."""
    if given in ("tab", "\\t"):
        return "\t"
    if given is not None and (len(given) != 1 or given in '"\r\n'):
        raise InputError(f"--delimiter must be one character or 'tab', got {given!r}")
    return given


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


def _read_text(path: Path, kind: str, delimiter: str | None) -> TableFile:
    text, facts = _decoded(_unpacked(path))
    named = re.match(r"sep=(.)\r?\n", text)  # a line by which Excel tells it
    if named:
        text = text[named.end() :]
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
            raise InputError(f"it must name each column once, got {name!r} twice")
    with warnings.catch_warnings():
        # Rows longer than the first line would be cut, with a warning.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame = pd.read_csv(
            io.StringIO(text),
            sep=delimiter,
            dtype=str,
            na_filter=False,
            index_col=False,
        )
    return TableFile(frame, delimiter, facts)


def _unpacked(path: Path) -> bytes:
    """Return the bytes of a text file, or refuse what is none."""
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
    """Return text, and what had to be found out to decode it."""
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
    found: list[list[str]] = []
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    with suppress(csv.Error):
        found.extend(islice((record for record in records if record), n))
    return found


def _delimiter_of(text: str, usual: str) -> str:
    """Return the delimiter that gives the first rows as many cells as the header.

    Where several do, or none, it is the usual one if it is among those, or the one
    that gives the header the most cells.
    """
    n_cells = {}
    is_even = {}
    for delimiter in (usual, *(each for each in DELIMITERS if each != usual)):
        counts = [len(row) for row in _first_records(text, delimiter, N_SAMPLED)]
        n_cells[delimiter] = counts[0] if counts else 0
        is_even[delimiter] = len(set(counts)) == 1 and counts[0] > 1
    if is_even[usual]:
        return usual
    even = [delimiter for delimiter in n_cells if is_even[delimiter]]
    return max(even or n_cells, key=lambda each: n_cells[each])
