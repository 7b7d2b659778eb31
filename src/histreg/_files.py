"""Atomic writes: files and folders appear complete or not at all.

A file or folder is written under the name
``.<machine>-<process>-<token>.partial.<name>`` and then renamed. The next writer
recognises and removes what a killed process left behind.
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
"""Errors of the operating system that mean that a file cannot be written."""
TEMPORARY = re.compile(
    r"\.(?P<machine>[0-9a-f]{8})-(?P<process>[0-9]{1,9})-[0-9a-f]{8}"
    r"\.(?P<role>partial|replaced)\.(?P<name>.+)",
    re.DOTALL,
)
"""Names of files and folders being written, or about to be removed."""


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces ``path`` when the block succeeds.

    It has the same suffix, for writers that choose the format by it.
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
def atomic_folder(path: Path, *, may_replace: Callable[[Path], bool]) -> Iterator[Path]:
    """Yield a temporary folder that replaces ``path`` when the block succeeds.

    An existing folder is replaced only if it is empty or ``may_replace`` returns True;
    otherwise an InputError is raised before anything is written. A process that is
    killed while it replaces a folder may leave the old one under a temporary name; the
    next write into the parent folder restores it.
    """
    path = path.absolute()
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    remove_abandoned(path.parent)
    with locked(path.parent, shared=True):  # not while another replaces the folder
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} must be a folder, got a file")
        if path.exists() and any(path.iterdir()) and not may_replace(path):
            raise InputError(
                f"{path} contains files that this command did not write; "
                "choose another folder"
            )
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
    """Hold a lock on a folder; other threads and processes wait for it.

    Only callers of this function respect the lock. It is released when its process is
    killed. On file systems that cannot lock a folder, there is no lock.

    Parameters
    ----------
    folder : Path
    shared : bool
        Whether others may hold a shared lock at the same time.
    """
    descriptor = _lock(folder, shared=shared)
    try:
        yield
    finally:
        if descriptor is not None:
            # Closing is not enough: a process forked in the meantime has a copy.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files that killed processes of this machine left behind.

    A folder that was being replaced is restored if nothing took its place.
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(".")]
    except OSError:  # a folder that can be written to but not listed
        return
    for name in names:
        match = TEMPORARY.fullmatch(name)
        if match is None or match["machine"] != _machine_id():
            continue
        if _is_running(match["process"]):
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
    """Wait for a lock and return its file descriptor; None where locks do not work."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # a folder that can be written to but not listed
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_replaced(replaced: Path, path: Path) -> None:
    """Remove a folder that was replaced; restore it if nothing took its place."""
    if path.exists():
        shutil.rmtree(replaced, ignore_errors=True)
    else:
        with suppress(OSError):  # it is absent, or another process restored it
            replaced.rename(path)


def _temporary(path: Path, role: str) -> Path:
    """Return an unused name in the folder of a path."""
    writer = f"{_machine_id()}-{os.getpid()}-{secrets.token_hex(4)}"
    return path.with_name(f".{writer}.{role}.{path.name}")


@functools.cache
def _machine_id() -> str:
    """Return an identifier of this machine, or of this container's process ids."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    except OSError:
        namespace = ""  # not on Linux
    facts = f"{socket.gethostname()} {uuid.getnode()} {namespace}"
    return hashlib.sha256(facts.encode()).hexdigest()[:8]


def _is_running(process: str) -> bool:
    """Whether a process with this id exists; the id may have been reused."""
    if os.name == "nt":
        return True  # os.kill would end the process there
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # a process of another user
    return True
