"""Training curves: how steady and how fast a network learnt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from histreg.study.runs import Record

N_EARLY = 10  # epochs


def normalised_norms(record: Record) -> NDArray[np.float64]:
    """Return the gradient norm over the excess loss after each epoch."""
    curves = record.outcome.curves
    return np.array(curves["gradient norm"]) / np.array(curves["excess loss"])


def stability(record: Record) -> float:
    """Return the standard deviation over epochs of log10 of the normalised norm.

    The lower, the steadier; NaN with one epoch.
    """
    norms = normalised_norms(record)
    return float(np.std(np.log10(norms), ddof=1)) if len(norms) > 1 else float("nan")


def early_area(record: Record, n: int = N_EARLY) -> float:
    """Return the mean train MAE over the first n epochs, or those that there are."""
    curves = record.outcome.curves
    early = [
        error
        for epoch, error in zip(curves["epoch"], curves["train MAE"], strict=True)
        if epoch <= n
    ]
    return float(np.mean(early))
