"""Real files if there are any, and nothing from this computer by accident."""

import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from histreg.study.datasets import Table, source

REPOSITORY = Path(__file__).resolve().parents[3]
# Read on import, before `cache` hides it.
DATA = Path(os.environ.get("HISTREG_DATA") or REPOSITORY.parent / "shared" / "data")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """Keep HISTREG_DATA and earlier downloads away; return where downloads go."""
    folder = tmp_path / "cache" / "histreg"
    monkeypatch.delenv("HISTREG_DATA", raising=False)
    # Not by its dotted name, which is also that of a function.
    module = import_module("histreg.study.datasets.source")
    monkeypatch.setattr(module, "cache_folder", lambda: folder)
    return folder


@pytest.fixture
def real():
    """Return a function that gives the table of a real file, or skips the test."""

    def load(name: str) -> Table:
        data = source(name)
        folder = DATA if DATA.is_dir() else None
        if data.find(folder) is None:
            pytest.skip(f"needs {data.files[0]} in the folder of HISTREG_DATA")
        return data.load(folder)

    return load


@pytest.fixture
def least_squares_errors():
    """Return a function: mean MAE and RMSE, train then test, over random splits."""

    def errors(table: Table, n_splits: int) -> np.ndarray:
        inputs = np.column_stack([table.X, np.ones(len(table.y))])
        n_train = int(0.8 * len(table.y))
        found = []
        for seed in range(n_splits):
            order = np.random.default_rng(seed).permutation(len(table.y))
            train, test = order[:n_train], order[n_train:]
            with threadpool_limits(1):  # several wait for one another on a busy machine
                weights = np.linalg.lstsq(inputs[train], table.y[train], rcond=None)[0]
            error = inputs @ weights - table.y
            found.append(
                [
                    score
                    for rows in (train, test)
                    for score in (
                        np.abs(error[rows]).mean(),
                        np.sqrt(np.square(error[rows]).mean()),
                    )
                ]
            )
        return np.mean(found, axis=0)  # (4,)

    return errors
