"""Runs on tables by the paper's common protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from histreg.study.methods import Method
from histreg.study.tabular.runs import TabularRun

SEEDS = (1, 2, 3, 4, 5)
DATA = ("ct", "song", "bike", "pole")
PROTOCOL = (
    "Each run is a fresh random split, four fifths to learn from, inputs "
    "standardised; a network of ReLU layers\ntrained by Adam (rate 0.001, batches of "
    "256) for a fixed number of epochs, no early stopping. Unless said otherwise\n"
    "histograms have 100 bins, ten of them padding on each side, and a sigma of one "
    "bin. Seeds fix split, first weights and batches,\nso methods are compared seed "
    "by seed."
)
"""Text that the pages of all experiments on tables have in common."""


def tabular(
    methods: Iterable[Method],
    *,
    datasets: Iterable[str] = DATA,
    seeds: Iterable[int] = SEEDS,
    **changes: Any,
) -> tuple[TabularRun, ...]:
    """Return the runs of methods by the common protocol, with some changes."""
    return tuple(
        TabularRun.of(name, method, seed, **changes)
        for name in datasets
        for method in methods
        for seed in seeds
    )
