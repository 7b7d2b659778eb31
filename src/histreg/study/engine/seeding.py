"""Seeding: each purpose of a run has a random generator of its own.

What a run draws for one purpose does not depend on what is drawn for another. So a run
has the same random numbers whichever runs share its stack, and a run that continues
from a checkpoint draws what it would have drawn without the interruption.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def generator_for(seed: int, *purpose: str | int) -> torch.Generator:
    """Return a generator that depends on the seed and the purpose only."""
    import torch  # here, since descriptions of methods import this module

    return torch.Generator().manual_seed(seed_of(seed, *purpose))


def seed_of(seed: int, *purpose: str | int) -> int:
    """Return a seed for what draws from torch's own generator."""
    text = "/".join(map(str, (seed, *purpose)))
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
