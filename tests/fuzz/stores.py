"""Damaged stores: any file of a study's store broken in any way."""

from __future__ import annotations

import atexit
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path

from histreg.executors import InProcess
from histreg.study.catalogue import EXPERIMENTS, selected
from histreg.study.engine import runner
from histreg.study.engine.store import Store
from tests.fuzz.campaign import BrokenPromiseError, Campaign
from tests.fuzz.commands import histreg
from tests.study.damage import PROGRESS_DAMAGES, RECORD_DAMAGES, damage_file

ASKED = [
    *("overall", "--datasets", "diabetes", "--seeds", "1,2", "--epochs", "2"),
    *("--methods", "Linear Regression,l2"),
]
RUNS = selected(
    EXPERIMENTS["overall"].runs,
    datasets=["diabetes"],
    methods=["Linear Regression", "l2"],
    seeds=[1, 2],
    epochs=2,
)


@cache
def _sound() -> Path:
    """Return a store in which half of the records are collected."""
    root = Path(tempfile.mkdtemp(prefix="histreg-fuzz-store-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    store = Store(root)
    runner.run(RUNS[:2], store, InProcess())
    store.collect("overall", RUNS[:2])
    shutil.rmtree(root / "records")
    runner.run(RUNS, Store(root), InProcess())
    store = Store(root)
    store.report(RUNS, 0.5)
    store.fail(RUNS[0], ValueError("an earlier one"))
    return root


def _changed_bytes(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return rng.choice([data[:at], data[:at] + rng.randbytes(9) + data[at:]])


def damaged_store(rng: random.Random, folder: Path) -> str:
    """Damage one to three files; everything must be computed again that is lost."""
    root = folder / "store"
    shutil.copytree(_sound(), root)
    files = sorted(path for path in root.rglob("*.json*") if path.is_file())
    told = []
    for path in rng.sample(files, rng.choice([1, 2, 3])):
        kinds = PROGRESS_DAMAGES if "progress" in path.parts else RECORD_DAMAGES
        name = rng.choice([*kinds, "changed bytes"])
        told.append(f"{path.relative_to(root)}: {name}")
        if name == "changed bytes":
            path.write_bytes(_changed_bytes(rng, path.read_bytes()))
            continue
        try:
            damage_file(path, kinds[name])
        except (ValueError, KeyError, TypeError):  # lines are not one object
            path.write_bytes(path.read_bytes()[: rng.randrange(1, 40)])
    for command in ("status", "table"):
        histreg("study", command, *ASKED, "--store", root)
    answer = histreg("study", "run", *ASKED, "--store", root, "--executor=in-process")
    if answer.code and (root / "overall.jsonl").is_dir():
        return "refused"  # a folder in place of a file is not ours to remove
    sound, mended = Store(_sound()), Store(root)
    for run in RUNS:
        found, expected = mended.find(run), sound.find(run)
        if found is None or expected is None:
            raise BrokenPromiseError(f"{run.label} is lost after {told}: {answer}")
    histreg("study", "table", *ASKED, "--store", root)
    return "mended" if "finished" in answer.out else "not needed"


CAMPAIGNS = [
    Campaign(
        "damaged stores",
        "every command answers, and the same command computes again what is lost",
        damaged_store,
    ),
]
