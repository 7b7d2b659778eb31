"""The shape of the package: who may import whom, and what a bare import costs."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import histreg

SOURCE = Path(histreg.__file__).parent
TESTS = Path(__file__).parent

# Imports point down this list only; names on one line do not know each other.
LAYERS = [
    {"heads", "losses"},
    {"cross_entropy", "metrics", "theory"},
    {"distribution", "targets"},
    {"bins"},
    {"_checks"},
]
MODULES = sorted(path.stem for path in SOURCE.glob("*.py") if path.stem != "__init__")


def level(module: str) -> int:
    return next(i for i, layer in enumerate(LAYERS) if module in layer)


def imported_by(module: str) -> set[str]:
    """Return the modules of the package that a module imports."""
    found = set()
    for node in ast.walk(ast.parse((SOURCE / f"{module}.py").read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "histreg":
                names = parts[1:2] or [alias.name for alias in node.names]
                found.update(names)
        elif isinstance(node, ast.Import):
            parts = [alias.name.split(".") for alias in node.names]
            found.update(names[1] for names in parts if names[0] == "histreg")
    return found


def test_every_module_has_its_place():
    assert set(MODULES) == set().union(*LAYERS)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module):
    for other in imported_by(module):
        assert level(other) > level(module), f"{module} must not import {other}"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_its_test_file(module):
    assert (TESTS / f"test_{module.lstrip('_')}.py").exists()


def run(code: str, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_the_import_brings_no_heavy_libraries():
    heavy = ["sklearn", "scipy", "matplotlib", "pandas", "polars", "dask", "ale_py"]
    code = f"import sys, histreg; print([m for m in {heavy} if m in sys.modules])"
    assert run(code) == "[]"


def test_the_import_has_no_side_effects():
    code = """
import random, numpy, torch
torch.manual_seed(1); numpy.random.seed(1); random.seed(1)
before = (torch.rand(1).item(), torch.get_num_threads(), torch.get_default_dtype())
torch.manual_seed(1); numpy.random.seed(1); random.seed(1)
import histreg
after = (torch.rand(1).item(), torch.get_num_threads(), torch.get_default_dtype())
print(before == after)
"""
    assert run(code) == "True"


def test_the_public_door_is_open():
    for name in histreg.__all__:
        assert hasattr(histreg, name)
    public = {name for name in vars(histreg) if not name.startswith("_")}
    # Submodules that others import show up too; they are no part of the door.
    assert public - set(histreg.__all__) <= set(MODULES)
    assert set(histreg.__all__) == {
        "PRESETS",
        "Bins",
        "Histogram",
        "HistogramHead",
        "HistogramLoss",
        "losses",
        "metrics",
        "targets",
        "theory",
    }


def test_the_version_is_said_once_and_the_same():
    from importlib.metadata import version

    assert version("histreg") == histreg.__version__


def test_the_package_is_typed():
    assert (SOURCE / "py.typed").exists()
