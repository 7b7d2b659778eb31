"""Streams of random numbers: each purpose of a run has its own.

What a run draws for one purpose does not depend on what it, or another, draws for
another; so a run has the same numbers whichever runs share its stack, and one that
goes on from a checkpoint draws what it would have drawn.
"""

from __future__ import annotations

import hashlib

import torch


def stream(seed: int, *purpose: str | int) -> torch.Generator:
    """Return a generator that is a function of the seed and the purpose alone."""
    return torch.Generator().manual_seed(seed_of(seed, *purpose))


def seed_of(seed: int, *purpose: str | int) -> int:
    """Return a seed for what draws from torch's own generator."""
    text = "/".join(map(str, (seed, *purpose)))
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
