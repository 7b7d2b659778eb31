"""Environment: what a record says about where it came from."""

from __future__ import annotations

import functools
import platform
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


@functools.cache
def environment() -> dict[str, Any]:
    """Return versions, the kind of machine, and the commit if there is one."""
    told = {
        "histreg": version("histreg"),
        "torch": version("torch"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "commit": _commit(),
    }
    with suppress(PackageNotFoundError):  # it comes with an extra
        told["ale-py"] = version("ale-py")  # by which games of Atari are replayed
    return told


def _commit() -> str | None:
    """Return the commit of the source, marked if files differ from it."""
    here = Path(__file__).resolve()
    root = here.parents[3]
    if not (root / ".git").exists():  # an installed package
        return None
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
