"""Files and folders that are whole or absent, whatever happens.

While something is written, it is named ``.<machine>-<process>-<token>.partial.<name>``,
so that the next writer can tell what a killed process left behind, and remove it.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import re
import secrets
import shutil
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from histreg.errors import InputError, WriteError

try:
    import fcntl
except ImportError:  # on Windows, where folders cannot be locked
    fcntl = None  # type: ignore[assignment]

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
TEMPORARY = re.compile(
    r"\.(?P<machine>[0-9a-f]{8})-(?P<process>[0-9]{1,9})-[0-9a-f]{8}"
    r"\.(?P<role>partial|replaced)\.(?P<name>.+)",
    re.DOTALL,
)
"""Names of files and folders that are written, or that are about to be removed."""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to; it takes its place when the block ends well.

    It ends in the same name, so that what goes by the suffix still does.
    """
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    remove_abandoned(path.parent)
    partial = _temporary(path, "partial")
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
    `is_ours` says that it may be; else it is refused before anything is done. A process
    that is killed while it replaces a folder may leave it under a temporary name; the
    next write into the parent folder puts it back.
    """
    path = path.absolute()
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    remove_abandoned(path.parent)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} must be a folder, got a file")
    if path.exists() and any(path.iterdir()) and not is_ours(path):
        raise InputError(f"{path} has files that are not of this command; name another")
    partial, replaced = _temporary(path, "partial"), _temporary(path, "replaced")
    partial.mkdir()
    try:
        yield partial
        with locked(path.parent):
            try:
                if path.exists():
                    path.rename(replaced)
                partial.rename(path)
            finally:
                _remove_replaced(replaced, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock on a folder against other threads and processes, which wait.

    Only callers of this function respect the lock. It is given up by a process that is
    killed. File systems that cannot lock a folder go without.

    Parameters
    ----------
    folder : Path
    shared : bool
        Whether others may hold it too, if theirs is shared.
    """
    descriptor = _lock(folder, shared=shared)
    try:
        yield
    finally:
        if descriptor is not None:
            # Closing is not enough: a process that was forked meanwhile has a copy.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def remove_abandoned(folder: Path) -> None:
    """Remove what killed processes of this machine left unfinished in a folder.

    A folder that was being replaced is put back if nothing took its place.
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(".")]
    except OSError:  # one that may be written to but not listed
        return
    for name in names:
        match = TEMPORARY.fullmatch(name)
        if match is None or match["machine"] != _machine() or _lives(match["process"]):
            continue
        abandoned = folder / name
        if match["role"] == "replaced":
            _remove_replaced(abandoned, folder / match["name"])
        elif abandoned.is_dir():
            shutil.rmtree(abandoned, ignore_errors=True)
        else:
            with suppress(OSError):  # another process may be doing the same
                abandoned.unlink()


def _lock(folder: Path, *, shared: bool) -> int | None:
    """Return what holds a lock, once there is one; None where there cannot be."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # a folder that may be written to but not listed
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_replaced(replaced: Path, path: Path) -> None:
    """Remove a folder that was replaced, or put it back if it was not."""
    if path.exists():
        shutil.rmtree(replaced, ignore_errors=True)
    else:
        with suppress(OSError):  # there is none, or another process put it back
            replaced.rename(path)


def _temporary(path: Path, role: str) -> Path:
    """Return a name beside a path that nobody else uses."""
    writer = f"{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"
    return path.with_name(f".{writer}.{role}.{path.name}")


@functools.cache
def _machine() -> str:
    """Return what tells apart machines, and containers that number processes anew."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    except OSError:
        namespace = ""  # not on Linux
    facts = f"{socket.gethostname()} {uuid.getnode()} {namespace}"
    return hashlib.sha256(facts.encode()).hexdigest()[:8]


def _lives(process: str) -> bool:
    """Whether there is a process of this number, which may be another by now."""
    if os.name == "nt":
        return True  # where the question itself would end the process
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # of another user
    return True
