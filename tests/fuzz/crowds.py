"""Crowds: several that save, load, fit and collect at once."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

from histreg import HistogramRegressor
from histreg.executors import InProcess
from histreg.study.catalogue import EXPERIMENTS, selected
from histreg.study.engine import runner
from histreg.study.engine.store import Store
from tests.fuzz.campaign import BrokenPromiseError, Campaign
from tests.fuzz.commands import started

X = np.random.default_rng(0).normal(size=(60, 2))
Y = X[:, 0] + X[:, 1] ** 2
N_COLLECTS = 3


@cache
def _models() -> tuple[HistogramRegressor, ...]:
    return tuple(
        HistogramRegressor(8, max_iter=1, random_state=seed).fit(X, Y)
        for seed in range(3)
    )


def saves_and_loads(rng: random.Random, folder: Path) -> str:
    """Save three models into one folder again and again while others load."""
    models = _models()
    known = {model.predict(X).tobytes() for model in models}
    path = folder / "model"
    models[0].save(path)
    over = threading.Event()

    def save(model: HistogramRegressor, n: int) -> None:
        for _ in range(n):
            model.save(path)

    def load() -> int:
        n = 0
        while not over.is_set():
            found = HistogramRegressor.load(path).predict(X).tobytes()
            if found not in known:
                raise BrokenPromiseError("a model was loaded that nobody saved")
            n += 1
        return n

    with ThreadPoolExecutor(6) as threads:
        loads = [threads.submit(load) for _ in range(2)]
        saves = [threads.submit(save, m, rng.randrange(1, 8)) for m in models]
        try:
            for each in saves:
                each.result()
        finally:
            over.set()
        for each in loads:
            each.result()
    left = sorted(each.name for each in path.iterdir())
    if len(left) != 2:
        raise BrokenPromiseError(f"left behind: {left}")
    return "whole"


def fits(rng: random.Random, folder: Path) -> str:  # noqa: ARG001
    """Fit the same in several threads, and once alone."""
    seed = rng.randrange(2**31)

    def fitted(_: int) -> bytes:
        model = HistogramRegressor(8, max_iter=2, random_state=seed, n_estimators=2)
        return model.fit(X, Y).predict(X).tobytes()

    with ThreadPoolExecutor(4) as threads:
        found = set(threads.map(fitted, range(4)))
    if found != {fitted(0)}:
        raise BrokenPromiseError(f"{len(found)} models of one random_state")
    return "equal"


def collects(rng: random.Random, folder: Path) -> str:
    """Collect from several stores into one file at once."""
    runs = selected(
        EXPERIMENTS["overall"].runs,
        datasets=["diabetes"],
        methods=["Linear Regression"],
    )
    chosen = rng.sample(list(runs), min(len(runs), N_COLLECTS))
    commands = []
    for i, run in enumerate(chosen):
        runner.run([run], Store(folder / f"store{i}"), InProcess())
        commands.append(
            (
                *("study", "collect", "overall", "--datasets", "diabetes"),
                *("--store", folder / f"store{i}", "--out", folder / "out"),
            )
        )
    (folder / "out").mkdir()
    processes = [started(*command, cwd=folder) for command in commands]
    for process in processes:
        process.join(60)
    found = Store(folder / "out").records(runs)
    if len(found) != len(chosen):
        log = (folder / "command.log").read_text()
        raise BrokenPromiseError(f"{len(found)} of {len(chosen)} records\n{log}")
    left = sorted(each.name for each in (folder / "out").iterdir())
    if left != ["overall.jsonl"]:
        raise BrokenPromiseError(f"left behind: {left}")
    return "all records"


CAMPAIGNS = [
    Campaign(
        "saves and loads at once",
        "every load meets one of the saved models; two files are left",
        saves_and_loads,
    ),
    Campaign("fits in threads", "one random_state, one model", fits),
    Campaign("collects at once", "no record is lost, nothing is left beside", collects),
]
