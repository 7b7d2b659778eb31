"""Table formats: which files are tables, by the end of their name."""

from __future__ import annotations

import glob
from pathlib import Path

from histreg.errors import InputError

SEPARATORS = {".csv": ",", ".tsv": "\t"}


def table_format(path: Path) -> str:
    """Return ``".csv"``, ``".tsv"`` or ``".parquet"``; the first two may end in .gz."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in (*SEPARATORS, ".parquet"):
        raise InputError(
            f"{path} must be named .csv, .tsv or .parquet (the first two also .gz)"
        )
    return suffix


def check_table_input(path: Path) -> None:
    """Raise, before any library is loaded, unless this is the path of a table."""
    table_format(path)
    if path.is_dir():
        raise InputError(f"{path} must be a file, got a folder")
    if not path.is_file():
        raise InputError(f"there is no file {path}")


def is_partitioned(path: Path) -> bool:
    """Return whether a path is a folder, or a pattern of names and not a file."""
    return path.is_dir() or (not path.exists() and glob.has_magic(str(path)))


def check_table_output(path: Path) -> None:
    """Raise, before any work is done, if a table cannot be written to this path."""
    table_format(path)
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
