"""Seeding: each purpose of a run has its own random generator.

The random numbers of one purpose do not depend on those of another. So a run has the
same random numbers in any stack, and a run that continues from a checkpoint draws the
same numbers as without the interruption.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def generator_for(seed: int, *purpose: str | int) -> torch.Generator:
    """Return a generator that depends on the seed and the purpose only."""
    import torch  # imported here, because descriptions of methods import this module

    return torch.Generator().manual_seed(seed_of(seed, *purpose))


def seed_of(seed: int, *purpose: str | int) -> int:
    """Return a seed for code that draws from torch's global generator."""
    text = "/".join(map(str, (seed, *purpose)))
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
