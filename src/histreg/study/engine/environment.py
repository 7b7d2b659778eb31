"""Environment: the versions, machine and commit that a record stores."""

from __future__ import annotations

import functools
import json
import platform
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

import histreg
from histreg.study.engine.instructions import openblas_core

OF_EXTRAS = (
    "ale-py",  # the emulator of the Atari games
    *("catboost", "lightgbm", "xgboost", "ngboost", "quantile-forest", "pytabkit"),
)
"""Packages of others that some runs are computed by, if they are installed."""


@functools.cache
def environment() -> dict[str, Any]:
    """Return versions, the kind of machine, and the commit if there is one."""
    import torch  # needed by workers only, not for plans or the status

    facts = {
        "histreg": version("histreg"),
        "torch": version("torch"),
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "openblas_core": openblas_core(),
        "commit": _commit(),
    }
    for package in OF_EXTRAS:
        with suppress(PackageNotFoundError):
            facts[package] = version(package)
    return facts


def _commit() -> str | None:
    """Return the commit of this code, from its checkout or from its installation."""
    package = Path(histreg.__file__).resolve()
    root = package.parents[2]
    return _checked_out(root) if (root / ".git").exists() else _installed(package)


def _checked_out(root: Path) -> str | None:
    """Return the commit of a checkout, marked if files differ from it."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip()


def _installed(package: Path) -> str | None:
    """Return the commit that was installed, which installers record (PEP 610).

    Only an installation from a repository (``git+https://``, ``git+file://``) has one;
    one from a folder or a package index has none.
    """
    installed = distribution("histreg")
    of_this = installed.locate_file(package.relative_to(package.parents[1]))
    origin = installed.read_text("direct_url.json")
    if origin is None or Path(str(of_this)).resolve() != package:
        return None
    commit: str | None = json.loads(origin).get("vcs_info", {}).get("commit_id")
    return commit and commit[:12]
