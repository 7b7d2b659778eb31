"""Readings: the numbers of a prediction that can be explained, one per row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from histreg._checks import check_choice
from histreg.errors import InputError
from histreg.tabular.predictions import (
    Predictions,
    checked_levels,
    checked_thresholds,
)

Array = NDArray[np.float64]
Reading = Callable[[Predictions], Array]
OF = ("mean", "spread")  # readings that need no number


def readings_of(
    of: Sequence[str] = OF,
    *,
    quantiles: float | Sequence[float] = (),
    above: float | Sequence[float] = (),
    or_none: bool = False,
) -> dict[str, Reading]:
    """Return functions of the predictions for n rows, each -> (n,), by their names.

    Parameters
    ----------
    of : sequence of {"mean", "spread"}
        The spread is the standard deviation of the predicted distribution.
    quantiles : float or sequence of floats in [0, 1]
        Their levels; the quantile at 0.9 has the name ``"q0.9"``.
    above : float or sequence of floats
        Thresholds t; the probability has the name ``"P(y > t)"``.
    or_none : bool
        Whether it is fine to name nothing.
    """
    if isinstance(of, str):
        of = (of,)
    for name in of:
        check_choice("of", name, OF)
    chosen: dict[str, Reading] = {}
    if "mean" in of:
        chosen["mean"] = lambda predictions: predictions.mean.ravel()
    if "spread" in of:
        chosen["spread"] = lambda p: np.sqrt(p.variance).ravel()
    for level in checked_levels(quantiles):
        chosen[quantile_name(level)] = _quantile(level)
    for threshold in np.atleast_1d(np.asarray(above, dtype=np.float64)).tolist():
        checked_thresholds(threshold, 1)
        chosen[above_name(threshold)] = _probability(threshold)
    if not (chosen or or_none):
        raise InputError(
            "of, quantiles or above must name something to explain, got nothing"
        )
    return chosen


def quantile_name(level: float) -> str:
    """Return the name of a quantile, such as ``"q0.9"``."""
    return f"q{_text(level)}"


def above_name(threshold: float) -> str:
    """Return the name of a probability, such as ``"P(y > 400)"``."""
    return f"P(y > {_text(threshold)})"


def read_all(
    parts: Iterable[Predictions], readings: dict[str, Reading]
) -> dict[str, Array]:
    """Return the readings of all rows, (n,) each, from predictions in chunks."""
    read = [{name: of(part) for name, of in readings.items()} for part in parts]
    return {name: np.concatenate([one[name] for one in read]) for name in readings}


def _text(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def _quantile(level: float) -> Reading:
    return lambda predictions: predictions.quantiles(level).ravel()


def _probability(threshold: float) -> Reading:
    return lambda predictions: predictions.prob_above(threshold).ravel()
