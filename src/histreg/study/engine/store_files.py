"""Files of a store: JSON that may be damaged, and disks that may be full."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from histreg._files import CANNOT_WRITE
from histreg.errors import InputError, WriteError
from histreg.study.engine.runs import DamagedError

FULL = (errno.ENOSPC, errno.EDQUOT)


class DiskFullError(InputError, OSError):
    """There is no disk space for a record."""


def parsed(text: str | bytes) -> Any:
    """Return the value of a JSON text."""
    try:
        return json.loads(text)
    # Not JSON, not text, numbers with thousands of digits, or deep nesting.
    except (ValueError, RecursionError) as error:
        raise DamagedError("it is no JSON") from error


def reason(error: Exception) -> str:
    """Return the message of an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def set_aside(path: Path) -> None:
    """Rename a file or folder to an unused name."""
    names = (f"{path.name}.damaged{n}" for n in chain([""], count(2)))
    aside = next(p for p in map(path.with_name, names) if not p.exists())
    with writing_to(path), suppress(FileNotFoundError):
        path.rename(aside)


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Report a full disk, or a path that cannot be written, in one sentence."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        full = isinstance(error, OSError) and error.errno in FULL
        if full or "No space left" in str(error):
            raise DiskFullError(
                "the disk of the store is full; finished runs are safe: free some "
                "space and run the same command again to continue"
            ) from error
        if isinstance(error, WriteError):
            raise
        if isinstance(error, OSError) and error.errno in CANNOT_WRITE:
            raise WriteError(f"{path} cannot be written: {error.strerror}") from error
        raise
