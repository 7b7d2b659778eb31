"""Scores: how well a model predicts rows it was not trained on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg import metrics
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.tabular.predictions import Predictions

COVERAGE = 0.9
SCORED_SHARE = 0.8  # of censored targets; beyond it few are left to score


@dataclass(frozen=True)
class Scores:
    """Mean scores of held-out rows, in units of y, and of their 90 % intervals."""

    mae: float
    rmse: float
    mae_of_median: float  # less than ``mae`` if targets are skewed
    crps: float
    coverage: float
    width: float


def scores_of(predictions: Predictions, y: NDArray[np.float64]) -> Scores:
    """Return the scores of predictions for rows with these y, of one target."""
    distribution = _distribution_of(predictions)
    lower, upper = predictions.interval(COVERAGE)
    return Scores(
        *_errors(predictions.mean, y),
        mae_of_median=_errors(predictions.median, y)[0],
        crps=metrics.crps(distribution, y).mean().item(),
        coverage=metrics.covered(lower, upper, y).mean().item(),
        width=metrics.width(lower, upper).mean().item(),
    )


@dataclass(frozen=True)
class CensoredScores:
    """Scores of held-out rows with censored targets, see `histreg.metrics`."""

    concordance: float
    crps: float  # up to the horizon, in units of y
    horizon: float


def censored_scores_of(
    predictions: Predictions, y: NDArray[np.float64], censored: NDArray[np.bool_]
) -> CensoredScores:
    """Return the scores of predictions, up to the time that a fifth of y exceed."""
    distribution = _distribution_of(predictions)
    horizon = float(np.quantile(y, SCORED_SHARE))
    crps = metrics.censored_crps(distribution, y, censored, horizon=horizon)
    return CensoredScores(
        metrics.concordance(predictions.mean, y, censored), crps.mean().item(), horizon
    )


def check_orderable(y: NDArray[np.float64], censored: NDArray[np.bool_]) -> None:
    """Raise unless rows have two y whose order is known, as `concordance` needs."""
    metrics.concordance(y, y, censored)


def scores_of_point(
    predicted: NDArray[np.float64],
    y: NDArray[np.float64],
    residuals: NDArray[np.float64],
) -> Scores:
    """Return the scores of one number per row, with normal errors around it.

    Their standard deviation is the root mean square of the residuals. For a fair
    comparison these come from rows that were not trained on.
    """
    sigma = max(float(np.sqrt(np.mean(residuals**2))), 1e-300)
    half = float(torch.special.ndtri(torch.tensor((1 + COVERAGE) / 2))) * sigma
    mae, rmse = _errors(predicted, y)
    return Scores(
        mae,
        rmse,
        mae_of_median=mae,
        crps=normal_crps(torch.tensor(predicted - y), sigma).mean().item(),
        coverage=float(np.mean(np.abs(predicted - y) <= half)),
        width=2 * half,
    )


def normal_crps(error: Tensor, sigma: float | Tensor) -> Tensor:
    r"""Return the CRPS of normal distributions, (...) -> (...).

    .. math:: \sigma (z (2 \Phi(z) - 1) + 2 \varphi(z) - 1 / \sqrt{\pi})

    with z = error / sigma (Gneiting and Raftery 2007).
    """
    z = error / sigma
    density = torch.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return sigma * (
        z * torch.special.erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi)
    )


def _distribution_of(predictions: Predictions) -> Histogram:
    """Return the distribution of the one target; raise if there are several."""
    distribution = predictions.distribution
    if not isinstance(distribution, Histogram):
        raise InputError(f"only one target can be scored, got {len(distribution)}")
    return distribution


def _errors(
    predicted: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[float, float]:
    error = predicted - y
    return float(np.abs(error).mean()), float(np.sqrt((error**2).mean()))
