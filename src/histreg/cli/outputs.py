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
from typing import Annotated

import typer

from histreg.errors import InputError, WriteError

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what is there already.")
]


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
        Whether a file that is there may be replaced.
    reads : iterable of Path
        Files that the command reads. They are recognised by any name: relative, or
        through a symbolic or hard link.
    """
    with _write_errors_of(path):
        is_there = os.path.lexists(path)
        if path.exists():
            if not path.is_file():
                raise InputError(
                    f"{option} must be a file, got {path}, which is not one"
                )
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
    """Raise unless a command may write into this folder, made if it is missing.

    Parameters
    ----------
    option : str
        The option that names the folder, for the message.
    folder : Path
    overwrite : bool
        Whether the content that is there may be replaced.
    content : str
        What the command writes, such as "a model".
    is_there : callable
        Whether a folder has such content already; without it, nothing is replaced.
    """
    with _write_errors_of(folder):
        if os.path.lexists(folder) and not folder.is_dir():
            raise InputError(f"{option} must be a folder, got file {folder}")
        if is_there(folder) and not overwrite:
            raise InputError(
                f"{folder} holds {content} already; --overwrite replaces it"
            )
        there = next(each for each in (folder, *folder.parents) if each.exists())
        _try_to_write(there, folder.name)


def _try_to_write(folder: Path, name: str) -> None:
    """Make a file in a folder and remove it again, or raise an OSError.

    Only this tells of permissions, of file systems that are read-only and of names
    that are too long, whoever runs it.
    """
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=f".{name}"):
        pass


@contextmanager
def _write_errors_of(path: Path) -> Iterator[None]:
    """Turn what the operating system answers into a sentence about a path."""
    try:
        yield
    except OSError as error:
        refusal = WriteError(f"{path} cannot be written: {error.strerror}")
        refusal.errno = error.errno
        raise refusal from error
