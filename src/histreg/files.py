"""Files and folders that are whole or absent, whatever happens."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from histreg.errors import InputError, WriteError

CANNOT_WRITE = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
"""What an operating system answers when a file may not be, or no longer is, written."""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to; it takes its place when the block ends well.

    It ends in the same name, so that what goes by the suffix still does.
    """
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    partial = path.with_name(f".{os.getpid()}.partial.{path.name}")
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        if error.errno not in CANNOT_WRITE or isinstance(error, WriteError):
            raise
        refusal = WriteError(f"{path} cannot be written: {error.strerror}")
        refusal.errno = error.errno
        raise refusal from error
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path, *, is_ours: Callable[[Path], bool]) -> Iterator[Path]:
    """Yield a new folder to write to; it takes the place when the block ends well.

    What is there already is replaced if it is an empty folder, or one of which
    `is_ours` says that it may be; else it is refused before anything is done.
    """
    path = path.absolute()
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} must be a folder, got a file")
    if path.exists() and any(path.iterdir()) and not is_ours(path):
        raise InputError(f"{path} has files that are not of this command; name another")
    partial = path.with_name(f".{os.getpid()}.partial.{path.name}")
    replaced = path.with_name(f".{os.getpid()}.replaced.{path.name}")
    partial.mkdir()
    try:
        yield partial
        if path.exists():
            path.rename(replaced)
        partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)
