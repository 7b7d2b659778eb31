"""The shape of the package: who may import whom, and what a bare import costs."""

import ast
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import histreg

SOURCE = Path(histreg.__file__).parent
TESTS = Path(__file__).parent

# Imports point down this list only; names on one line do not know each other.
LAYERS = [
    {"__main__"},
    {"cli"},
    {"report"},
    {"study"},
    {"skpro"},
    {"forecasting"},
    {"tabular"},
    {"rl"},
    {"displays", "heads", "losses"},
    {"_compiled", "_cross_entropy", "_rebinning", "metrics", "theory"},
    {"_survival"},
    {"_observations"},
    {"distribution", "targets"},
    {"_windows"},
    {"bins"},
    {"spacings", "tails"},
    {"_growth", "_tilting", "executors"},
    {"_axes", "_checks", "_files", "_numba", "_threads"},
    {"_tensors"},
    {"_names", "errors"},
]
PARTS = [path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]
PACKAGES = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
MODULES = sorted(path.stem for path in PARTS if path.parent == SOURCE)


def level(name: str) -> int:
    return next(i for i, layer in enumerate(LAYERS) if name in layer)


def name_of(part: Path) -> str:
    """Return a module's own name, or that of the package it belongs to."""
    return part.relative_to(SOURCE).with_suffix("").parts[0]


def imported_by(part: Path) -> set[str]:
    """Return the modules and packages of histreg that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(part.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "histreg":
                names = parts[1:2] or [alias.name for alias in node.names]
                found.update(names)
        elif isinstance(node, ast.Import):
            parts = [alias.name.split(".") for alias in node.names]
            # `import histreg` is the public door, which loads names when they are used.
            found.update(
                names[1] for names in parts if names[0] == "histreg" != names[-1]
            )
    return found


# The same inside the study. An entry stands for all modules below it that have no entry
# of their own.
STUDY_LAYERS = [
    {"claims", "coverage"},
    {"catalogue"},
    {"analysis"},
    {"measurements"},
    {"tables"},
    {"tabular", "sines", "series", "atari", "shapes", "theory"},
    {"analysis.estimates", "networks", "methods", "datasets"},
    {"engine"},
]
STUDY = SOURCE / "study"
STUDY_PARTS = [path for path in STUDY.rglob("*.py") if path.parent != STUDY] + [
    path for path in STUDY.glob("*.py") if path.name != "__init__.py"
]


def study_entry(module: str) -> str:
    """Return the longest entry of STUDY_LAYERS that a module of the study is in."""
    names = module.split(".")
    entries = set().union(*STUDY_LAYERS)
    prefixes = (".".join(names[:n]) for n in range(len(names), 0, -1))
    return next(prefix for prefix in prefixes if prefix in entries)


def study_level(module: str) -> int:
    entry = study_entry(module)
    return next(i for i, layer in enumerate(STUDY_LAYERS) if entry in layer)


def study_module(part: Path) -> str:
    names = part.relative_to(STUDY).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def study_modules_imported_by(part: Path) -> set[str]:
    """Return the modules of the study that a file imports, also inside functions."""
    start = "histreg.study."
    modules = set()
    for node in ast.walk(ast.parse(part.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            # A name may be a module of the package that it is imported from.
            paths = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names]
        else:
            continue
        modules.update(path.removeprefix(start) for path in paths if start in path)
    return modules


def test_every_room_of_the_study_has_its_place():
    rooms = {study_module(part).split(".")[0] for part in STUDY_PARTS}
    entries = set().union(*STUDY_LAYERS)
    assert rooms == {entry.split(".")[0] for entry in entries}
    for entry in entries:
        path = STUDY.joinpath(*entry.split("."))
        assert path.is_dir() or path.with_suffix(".py").exists()


@pytest.mark.parametrize(
    "part", STUDY_PARTS, ids=lambda part: str(part.relative_to(STUDY))
)
def test_imports_inside_the_study_point_downwards(part):
    module = study_module(part)
    for other in study_modules_imported_by(part):
        if study_entry(other) != study_entry(module):
            assert study_level(other) > study_level(module), (
                f"{module} must not import {other}"
            )


def test_every_module_has_its_place():
    assert set(MODULES) | PACKAGES == set().union(*LAYERS)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.relative_to(SOURCE)))
def test_imports_point_downwards(part):
    name = name_of(part)
    for other in imported_by(part) - ({name} if name in PACKAGES else set()):
        assert level(other) > level(name), f"{name} must not import {other}"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.relative_to(SOURCE)))
def test_every_module_has_its_test_file(part):
    folder = TESTS / part.parent.relative_to(SOURCE)
    assert (folder / f"test_{part.stem.strip('_')}.py").exists()


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
    heavy += ["torch", "numpy"]  # come with the first name that is used
    code = f"import sys, histreg; print([m for m in {heavy} if m in sys.modules])"
    assert run(code) == "[]"


LIGHT = [
    "histreg.study.catalogue",
    "histreg.study.datasets",
    "histreg.study.methods",
    "histreg.study.measurements",
    "histreg.study.engine.runner",
]


@pytest.mark.parametrize("module", LIGHT)
def test_experiments_are_described_without_what_computes_them(module):
    heavy = ["torch", "numpy", "scipy", "sklearn", "pandas", "matplotlib", "dask"]
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    assert run(code) == "[]"


def test_only_these_know_scikit_learn():
    knowing = {part.stem for part in PARTS if "sklearn" in part.read_text()}
    in_study = {
        "diabetes",
        "made",
        "predictors",
        "execution",
        "encodings",
        "peers",
    }  # where functions are called
    in_forecasting = {"forecaster", "model"}
    in_tabular = {
        "regressor",
        "tree_model",
        "forest_model",
        "baselines",
        "comparison",
    }
    assert knowing == in_tabular | in_forecasting | in_study | {"skpro"}


def test_an_unknown_name_is_refused_as_python_does():
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        histreg.nope  # noqa: B018


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
    assert public - set(histreg.__all__) <= {*MODULES, *PACKAGES, "TYPE_CHECKING"}


def names_in_examples(cls: type) -> set[str]:
    """Return the classes that the examples in a class's docstrings use."""
    sources = [
        example.source
        for test in doctest.DocTestFinder().find(cls)
        for example in test.examples
    ]
    nodes = (node for source in sources for node in ast.walk(ast.parse(source)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return {name for name in names if name[0].isupper() and len(name) > 1}


def test_the_door_has_every_name_that_a_document_imports_from_it():
    root = TESTS.parent
    documents = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("examples/*")]
    imported = {
        name.strip()
        for path in documents
        if path.is_file()
        for names in re.findall(r"^from histreg import (.+)$", path.read_text(), re.M)
        for name in names.split(",")
    }
    assert {"Bins", "HistogramRegressor", "metrics"} <= imported
    assert imported <= set(histreg.__all__)


def test_the_door_has_every_class_that_its_examples_use():
    classes = [getattr(histreg, name) for name in histreg.__all__ if name[0].isupper()]
    used = set().union(*(names_in_examples(c) for c in classes if isinstance(c, type)))
    assert "Tail" in used
    assert used <= set(histreg.__all__)


def test_the_version_is_said_once_and_the_same():
    from importlib.metadata import version

    assert version("histreg") == histreg.__version__


def test_the_package_is_typed():
    assert (SOURCE / "py.typed").exists()
