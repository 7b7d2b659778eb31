"""Predicted columns: what was asked for, by the names that files and answers share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from histreg.cli.options import shortest_text
from histreg.tabular.predictions import Predictions

Array = NDArray[np.float64]


class Asked(NamedTuple):
    """What to predict beside the mean."""

    coverages: Sequence[float] = ()
    method: str = "central"
    levels: Sequence[float] = ()
    thresholds: Sequence[float] = ()
    calibrated: bool = False


def columns_of(
    predictions: Predictions,
    name: str,
    asked: Asked,
    ends: tuple[Array, Array] | None = None,
) -> dict[str, Array]:
    """Return columns (n,) of one target: ``price_mean``, ``price_lower_90``, ...

    Parameters
    ----------
    predictions : Predictions
    name : str
        Of the target.
    asked : Asked
    ends : pair of ndarrays of shape (n,), optional
        Of the intervals, if they are not those of the predictions.
    """
    columns = {f"{name}_mean": predictions.mean}
    for coverage in asked.coverages:
        percent = shortest_text(float(100 * Decimal(repr(coverage))))
        lower, upper = ends or predictions.interval(coverage, asked.method)
        columns |= {
            f"{name}_lower_{percent}": lower,
            f"{name}_upper_{percent}": upper,
        }
    calibrated = predictions.calibrated if asked.calibrated else None
    assert not isinstance(calibrated, tuple)  # tables have one target
    for level in asked.levels:
        columns[f"{name}_q{shortest_text(level)}"] = (
            predictions.quantiles(level)
            if calibrated is None
            else calibrated.quantiles([level])[0].numpy()
        )
    for threshold in asked.thresholds:
        columns[f"{name}_above_{shortest_text(threshold)}"] = (
            predictions.prob_above(threshold)
            if calibrated is None
            else calibrated.prob_above(threshold).numpy()
        )
    return columns


def predictions_as_json(columns: Mapping[str, Array], target: str) -> dict[str, Any]:
    """Return predictions as JSON values, an object per row; infinity becomes null."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return {
        "target": target,
        "predictions": [
            {
                name: value if math.isfinite(value) else None
                for name, value in zip(columns, row, strict=True)
            }
            for row in rows
        ],
    }
