"""Files that are whole or absent, whatever happens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to; it takes its place when the block ends well.

    It ends in the same name, so that what goes by the suffix still does.
    """
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    partial = path.with_name(f".{os.getpid()}.partial.{path.name}")
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
