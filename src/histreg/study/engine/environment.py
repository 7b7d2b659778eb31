"""Environment: the versions, machine and commit that a record stores."""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

import torch

import histreg

OF_EXTRAS = (
    "ale-py",  # the emulator of the Atari games
    *("catboost", "lightgbm", "xgboost", "ngboost", "quantile-forest", "pytabkit"),
)
"""Packages of others that some runs are computed by, if they are installed."""


@functools.cache
def environment() -> dict[str, Any]:
    """Return versions, the kind of machine, and the commit if there is one."""
    facts = {
        "histreg": version("histreg"),
        "torch": version("torch"),
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "commit": _commit(),
    }
    for package in OF_EXTRAS:
        with suppress(PackageNotFoundError):
            facts[package] = version(package)
    return facts


def avoid_avx512() -> None:
    """Let worker processes that start from now on compute without AVX-512.

    PyTorch's sums with AVX-512 depend on the shape of a stack, by rounding, so that a
    network's numbers would depend on its company. Without it steps take as long: the
    matrix products, which take most of the time, are MKL's.
    """
    if torch.backends.cpu.get_cpu_capability() == "AVX512":
        os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx2")


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
