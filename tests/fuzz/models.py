"""Damaged models: files with right checksums that say something wrong."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np

from histreg import HistogramRegressor
from tests import damage
from tests.fuzz.campaign import BrokenPromiseError, Campaign
from tests.fuzz.commands import histreg

NAMES = [*damage.DAMAGES, *damage.FILE_DAMAGES]


@cache
def _sound() -> HistogramRegressor:
    return damage.sound_model()


def _check(folder: Path, what: str) -> str:
    """Load a model as the command line does; it must be refused, or predict numbers."""
    answer = histreg("inspect", folder / "model")
    if answer.code:
        return "refused"
    table, _ = damage.sound_table()
    found = HistogramRegressor.load(folder / "model").predict(table)
    if not np.isfinite(found).all():
        raise BrokenPromiseError(f"{what}: loaded, and predicted {found}")
    return "harmless"


def damaged_model(rng: random.Random, folder: Path) -> str:
    """Apply one to three of the known damages."""
    _sound().save(folder / "model")
    chosen = rng.sample(NAMES, rng.choice([1, 1, 2, 3]))
    for name in chosen:
        try:
            damage.apply(name, folder / "model")
        except Exception:
            break  # the damage before has left nothing to damage like this
    return _check(folder, ", ".join(chosen))


def flipped_model(rng: random.Random, folder: Path) -> str:
    """Change, cut or add bytes of one of the files, checksums as they were."""
    _sound().save(folder / "model")
    path = rng.choice(sorted((folder / "model").iterdir()))
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    match rng.choice(["flip", "cut", "add", "repeat"]):
        case "flip":
            data[at] ^= 1 << rng.randrange(8)
        case "cut":
            data = data[:at]
        case "add":
            data[at:at] = rng.randbytes(8)
        case _:
            data += data[at:]
    path.write_bytes(data)
    return _check(folder, path.name)


CAMPAIGNS = [
    Campaign(
        "damaged models",
        "one sentence, or a model that predicts finite numbers",
        damaged_model,
    ),
    Campaign(
        "changed bytes of models",
        "one sentence, or a model that predicts finite numbers",
        flipped_model,
    ),
]
