"""Summaries of training curves: how fast errors fall, how steady gradients are."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean, pstdev

from histreg.errors import InputError
from histreg.study.engine.runs import Record

FIRST_EPOCHS = 10
SMALLEST_NORM = 1e-38


def early_area(record: Record, epochs: int = FIRST_EPOCHS) -> float:
    """Return the mean of train MAE over the first epochs: the area under its curve.

    Over all epochs, if there are fewer. All must have been recorded, as with the
    probe "gradients": a mean over some of them would not be comparable.
    """
    curves = record.outcome.curves
    first = curves["epoch"][:epochs]
    if first != list(range(1, len(first) + 1)):
        raise InputError(
            f"the curves of {record.run.label} must have the first {epochs} epochs, "
            f"got {first}"
        )
    return fmean(curves["train MAE"][:epochs])


def steepness(record: Record) -> list[float]:
    """Return the norm of the gradient over the excess loss, after each epoch.

    A norm of zero, of a network that fits exactly or is dead, is replaced by the
    smallest positive number of float32.
    """
    curves = record.outcome.curves
    pairs = zip(curves["gradient norm"], curves["excess loss"], strict=True)
    return [max(norm, SMALLEST_NORM) / excess for norm, excess in pairs]


def unsteadiness(record: Record) -> float:
    """Return the standard deviation over epochs of log10 of the steepness.

    Without a unit, so that losses of different scales compare.
    """
    return pstdev(map(math.log10, steepness(record)))


def jumpiness(record: Record) -> float:
    """Return the change of log10 of the steepness from one epoch to the next.

    It is a root mean square; unlike `unsteadiness` it ignores slow trends.
    """
    logs = [math.log10(value) for value in steepness(record)]
    changes = [(b - a) ** 2 for a, b in pairwise(logs)]
    return math.sqrt(fmean(changes)) if changes else 0.0
