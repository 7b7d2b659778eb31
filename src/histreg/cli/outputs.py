"""Outputs: the one rule for every file and folder that a command writes.

A command never replaces a file that it reads, and replaces any other only with
``--overwrite``. Both are checked before any work is done.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from histreg._names import MODEL_JSON
from histreg.errors import InputError, WriteError


def check_output(
    option: str, path: Path, *, overwrite: bool, reads: Iterable[Path] = ()
) -> None:
    """Raise unless a command may write this file.

    Parameters
    ----------
    option : str
        The option that names the file, for the message.
    path : Path
    overwrite : bool
        Whether an existing file may be replaced.
    reads : iterable of Path
        Files that the command reads. They are recognised under any name: a relative
        path, a symbolic link or a hard link.
    """
    with _write_errors(path):
        is_there = os.path.lexists(path)
        if path.exists():
            if not path.is_file():
                raise InputError(f"{option} must be a regular file, got {path}")
            for read in reads:
                if read.exists() and read.samefile(path):
                    raise InputError(
                        f"{option} must not be a file that this command reads, got "
                        f"{path}; name another"
                    )
        if is_there and not overwrite:
            raise InputError(f"{path} exists already; --overwrite replaces it")
        if not path.parent.is_dir():
            raise InputError(
                f"{path} cannot be written: there is no folder {path.parent}"
            )
        _try_to_write(path.parent, path.name)


def check_output_folder(
    option: str,
    folder: Path,
    *,
    overwrite: bool = False,
    content: str = "",
    is_there: Callable[[Path], bool] = lambda _: False,
) -> None:
    """Raise unless a command may write into this folder, or create it.

    Parameters
    ----------
    option : str
        The option that names the folder, for the message.
    folder : Path
    overwrite : bool
        Whether existing content may be replaced.
    content : str
        What the command writes, such as "a model".
    is_there : callable
        Whether a folder already has such content; by default, it never has.
    """
    with _write_errors(folder):
        if os.path.lexists(folder) and not folder.is_dir():
            raise InputError(f"{option} must be a folder, got file {folder}")
        if is_there(folder) and not overwrite:
            raise InputError(
                f"{folder} holds {content} already; --overwrite replaces it"
            )
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        _try_to_write(existing, folder.name)


def files_of_model(folder: Path) -> list[Path]:
    """Return the files that a model is read from; they may be missing."""
    return [folder / MODEL_JSON, *folder.glob("*.safetensors")]


def _try_to_write(folder: Path, name: str) -> None:
    """Make a file in a folder and remove it again, or raise an OSError.

    Only this finds missing permissions, read-only file systems and names that are too
    long, for every user.
    """
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=f".{name}"):
        pass


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Turn an error of the operating system into a sentence about a path."""
    try:
        yield
    except OSError as error:
        write_error = WriteError(f"{path} cannot be written: {error.strerror}")
        write_error.errno = error.errno
        raise write_error from error
