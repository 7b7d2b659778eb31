"""Scores: how well a model predicts rows it was not trained on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg import metrics
from histreg.distribution import Histogram
from histreg.errors import InputError

COVERAGE = 0.9
SCORED_SHARE = 0.8  # of censored targets, beyond which few are left to judge by


@dataclass(frozen=True)
class Scores:
    """Means over held-out rows, in units of y; coverage and width of 90 % intervals."""

    mae: float
    rmse: float
    mae_of_median: float  # of skewed targets less than that of the mean
    crps: float
    coverage: float
    width: float


def scores_of(model: Any, X: Any, y: NDArray[np.float64]) -> Scores:
    """Return the scores of a regressor with `predict_dist` and `predict_interval`."""
    distribution = model.predict_dist(X)
    if not isinstance(distribution, Histogram):
        raise InputError(f"one target can be scored, got {len(distribution)}")
    lower, upper = model.predict_interval(X, COVERAGE)
    return Scores(
        *_errors(model.predict(X), y),
        mae_of_median=_errors(model.predict(X, "median"), y)[0],
        crps=metrics.crps(distribution, y).mean().item(),
        coverage=metrics.covered(lower, upper, y).mean().item(),
        width=metrics.width(lower, upper).mean().item(),
    )


@dataclass(frozen=True)
class CensoredScores:
    """Of held-out rows of which some are censored, see `metrics`."""

    concordance: float
    crps: float  # up to the horizon, in units of y
    horizon: float


def censored_scores_of(
    model: Any, X: Any, y: NDArray[np.float64], censored: NDArray[np.bool_]
) -> CensoredScores:
    """Return the scores of a regressor, up to the time that a fifth of y exceed."""
    horizon = float(np.quantile(y, SCORED_SHARE))
    crps = metrics.censored_crps(model.predict_dist(X), y, censored, horizon=horizon)
    return CensoredScores(
        metrics.concordance(model.predict(X), y, censored), crps.mean().item(), horizon
    )


def check_orderable(y: NDArray[np.float64], censored: NDArray[np.bool_]) -> None:
    """Raise, before any work is done, unless held-out rows can be scored."""
    metrics.concordance(y, y, censored)


def scores_of_point(
    predicted: NDArray[np.float64],
    y: NDArray[np.float64],
    residuals: NDArray[np.float64],
) -> Scores:
    """Return the scores of a number per row, with normal errors around it.

    Their standard deviation is that of the residuals, of rows not trained on if the
    comparison is to be fair.
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

    with z the error in units of sigma (Gneiting and Raftery 2007).
    """
    z = error / sigma
    density = torch.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return sigma * (
        z * torch.special.erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi)
    )


def _errors(
    predicted: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[float, float]:
    error = predicted - y
    return float(np.abs(error).mean()), float(np.sqrt((error**2).mean()))
