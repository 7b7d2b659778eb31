"""Kills: processes ended at any moment, and what is on disk after."""

from __future__ import annotations

import os
import random
import signal
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from histreg import HistogramRegressor
from histreg.study.engine.store import Store
from tests.fuzz.campaign import BrokenPromiseError, Campaign
from tests.fuzz.commands import histreg, started

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
STUDY = [
    *("overall", "--datasets", "diabetes", "--methods", "l2,HL-Gauss"),
    *("--seeds", "1", "--epochs", "150"),
]
LONGEST_S = 60.0


def _killed(rng: random.Random, *arguments: object, cwd: Path, within_s: float) -> str:
    """Start a command, end it at a random moment, and return how it ended."""
    process = started(*arguments, cwd=cwd)
    process.join(rng.uniform(0, within_s))
    ended = "ended before"
    if process.is_alive():
        chosen = rng.choice(SIGNALS)
        os.kill(process.pid or 0, chosen)
        ended = chosen.name
    process.join(LONGEST_S)
    if process.is_alive():
        process.kill()
        raise BrokenPromiseError(f"still running {LONGEST_S:g} s after {ended}")
    return ended


@cache
def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    return pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=x[:, 0] + x[:, 1] ** 2)


def killed_fit(rng: random.Random, folder: Path) -> str:
    """Kill a fit that replaces a model; one of the two must be there."""
    table = _table()
    table.to_csv(folder / "table.csv", index=False)
    fit = ("fit", "table.csv", "--target", "y", "--out", "model", "--no-compare")
    X = table[["a", "b", "c"]]
    first = HistogramRegressor(max_iter=1, random_state=1).fit(X, table["y"])
    first.save(folder / "model")
    old = first.predict(X)
    ended = _killed(
        *(rng, *fit, "--overwrite", "--epochs", "2"), cwd=folder, within_s=3.0
    )
    found = HistogramRegressor.load(folder / "model").predict(X)
    is_old = bool((found == old).all())
    # Another fit cleans up after the one that was killed.
    first.save(folder / "model")
    left = [path.name for path in (folder / "model").iterdir()]
    if len(left) != 2:
        raise BrokenPromiseError(f"left behind after {ended}: {sorted(left)}")
    return f"{ended}: {'old' if is_old else 'new'} model"


def killed_study(rng: random.Random, folder: Path) -> str:
    """Kill a study once or more; what was finished stays, and it ends whole."""
    store = folder / "store"
    command = ("study", "run", *STUDY, "--store", store, "--executor", "in-process")
    kept: dict[Path, bytes] = {}
    ends = []
    for _ in range(rng.choice([1, 2, 3])):
        ends.append(_killed(rng, *command, cwd=folder, within_s=3.0))
        for path, data in kept.items():
            if path.read_bytes() != data:
                raise BrokenPromiseError(f"{path.name} changed after {ends}")
        kept = {path: path.read_bytes() for path in store.rglob("records/**/*.json")}
    deadline = time.monotonic() + LONGEST_S
    answer = histreg(*command)
    if time.monotonic() > deadline:
        raise BrokenPromiseError("the rest took too long")
    status = histreg("study", "status", *STUDY, "--store", store)
    records = list(store.rglob("records/**/*.json"))
    if len(records) != 2 or answer.code:
        raise BrokenPromiseError(f"after {ends}: {answer} {status.out}")
    strays = [
        path.name for path in Store(store).root.rglob("*") if ".partial" in path.name
    ]
    return "resumed" + (" with strays" if strays else "")


CAMPAIGNS = [
    Campaign(
        "killed fits",
        "the old model or the new one, whole; the next save leaves two files",
        killed_fit,
    ),
    Campaign(
        "killed studies",
        "finished records stay as they are, and the same command finishes the rest",
        killed_study,
    ),
]
