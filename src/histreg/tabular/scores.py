"""Scores: how well a model predicts rows it was not trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from histreg import metrics
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.tabular.predictions import Predictions

COVERAGE = 0.9
Floats = NDArray[np.float64]
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
    r2: float = math.nan  # of the mean
    skill: float = math.nan  # 1 - CRPS / that of a constant distribution, if known


def is_off(coverage: float, n_rows: int) -> bool:
    """Whether the share of n rows in 90 % intervals differs from 90 % beyond chance.

    By more than three standard errors, which happens to 0.3 % of calibrated models.
    Nothing is said of fewer than ten rows: a tenth of calibrated models miss a single
    row.
    """
    if n_rows < 10:
        return False
    return abs(coverage - COVERAGE) > 3 * math.sqrt(COVERAGE * (1 - COVERAGE) / n_rows)


@dataclass(frozen=True, eq=False)
class RowScores:
    """Scores of each of n held-out rows, and of its 90 % interval.

    Parameters
    ----------
    y : ndarray of shape (n,)
    error, error_of_median : ndarrays of shape (n,)
        Of the predicted mean and median, with their sign.
    crps, covered, width : ndarrays of shape (n,)
    """

    y: Floats
    error: Floats
    error_of_median: Floats
    crps: Floats
    covered: Floats
    width: Floats

    @classmethod
    def joined(cls, parts: Sequence[RowScores]) -> RowScores:
        """Return the scores of the rows of all parts."""
        names = [field.name for field in fields(cls)]
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )

    def at(self, rows: NDArray[np.int64]) -> RowScores:
        """Return the scores of some of the rows."""
        return RowScores(*(getattr(self, field.name)[rows] for field in fields(self)))

    def means(self, constant: RowScores | None = None) -> Scores:
        """Return mean scores; the skill is that over a constant for the same rows."""
        squared = float(np.mean(self.error**2))
        crps = float(self.crps.mean())
        return Scores(
            mae=float(np.abs(self.error).mean()),
            rmse=math.sqrt(squared),
            mae_of_median=float(np.abs(self.error_of_median).mean()),
            crps=crps,
            coverage=float(self.covered.mean()),
            width=float(self.width.mean()),
            r2=1 - _ratio(squared, float(self.y.var())),
            skill=math.nan
            if constant is None
            else 1 - _ratio(crps, float(constant.crps.mean())),
        )


def row_scores_of(predictions: Predictions, y: Floats) -> RowScores:
    """Return the scores of predictions for rows with these y, of one target."""
    ends = predictions.interval(COVERAGE)
    return _row_scores(_distribution_of(predictions), ends, y)


def row_scores_of_calibrated(predictions: Predictions, y: Floats) -> RowScores:
    """Return the scores of calibrated distributions; means are those predicted."""
    calibrated = predictions.calibrated
    assert not isinstance(calibrated, tuple)  # row_scores_of refuses several targets
    return replace(
        row_scores_of(predictions, y),
        error_of_median=calibrated.quantiles([0.5])[0].numpy() - y,
        crps=metrics.crps(calibrated.histogram(), y).numpy(),
    )


def row_scores_of_distribution(distribution: Histogram, y: Floats) -> RowScores:
    """Return the scores of distributions (n,) and of their central intervals."""
    lower, upper = distribution.interval(COVERAGE)
    return _row_scores(distribution, (lower.numpy(), upper.numpy()), y)


def _row_scores(
    distribution: Histogram, ends: tuple[Floats, Floats], y: Floats
) -> RowScores:
    lower, upper = ends
    return RowScores(
        y,
        distribution.mean.numpy() - y,
        distribution.median.numpy() - y,
        metrics.crps(distribution, y).numpy(),
        metrics.covered(lower, upper, y).numpy(),
        metrics.width(lower, upper).numpy(),
    )


def row_scores_of_normal(mean: Floats, stddev: Floats, y: Floats) -> RowScores:
    """Return the scores of normal distributions, (n,) each."""
    error = mean - y
    # A standard deviation of 0 is a number alone.
    positive = torch.from_numpy(stddev).clamp(min=1e-150)
    crps = normal_crps(torch.from_numpy(error), positive).numpy()
    half = (
        positive.numpy()
        * torch.special.ndtri(
            torch.tensor((1 + COVERAGE) / 2, dtype=torch.float64)
        ).item()
    )
    inside = (np.abs(error) <= half).astype(np.float64)
    return RowScores(y, error, error, crps, inside, 2 * half)


def scores_of(predictions: Predictions, y: Floats) -> Scores:
    """Return the mean scores of predictions for rows with these y, of one target."""
    return row_scores_of(predictions, y).means()


def row_scores_of_point(predicted: Floats, y: Floats, residuals: Floats) -> RowScores:
    """Return the scores of one number per row, with residuals as its distribution.

    The predicted distribution of a row is that of its number plus each of the
    residuals, y minus prediction; for a fair comparison these come from rows that
    were not trained on. The mean stays the number itself.

    Parameters
    ----------
    predicted, y : ndarrays of shape (n,)
    residuals : ndarray of shape (r,)
    """
    ordered = np.sort(residuals)
    error = predicted - y
    low, middle, high = np.quantile(
        ordered, [(1 - COVERAGE) / 2, 0.5, (1 + COVERAGE) / 2]
    )
    return RowScores(
        y,
        error,
        error + middle,
        sample_crps(ordered, -error),
        ((low <= -error) & (-error <= high)).astype(np.float64),
        np.full(len(y), high - low),
    )


def sample_crps(ordered: Floats, y: Floats) -> Floats:
    r"""Return the CRPS of the empirical distribution of a sample, for each y: (n,).

    .. math:: E|S - y| - E|S - S'| / 2

    with S and S' drawn independently from the sample (Gneiting and Raftery 2007).

    Parameters
    ----------
    ordered : ndarray of shape (r,)
        The sample, ascending.
    y : ndarray of shape (n,)
    """
    r = len(ordered)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, y)  # how many of the sample are below y
    distance = y * (2 * below - r) + sums[-1] - 2 * sums[below]
    # Each of the ordered sample is added as often as it is the larger of a pair.
    ranks = 2 * np.arange(1, r + 1) - r - 1
    spread = float(ranks @ ordered) / r**2
    return distance / r - spread


def _ratio(a: float, b: float) -> float:
    """Return a / b; of nothing to predict, 1 without error and infinity with one."""
    if b == 0:
        return 1.0 if a == 0 else math.inf
    return a / b


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


@dataclass(frozen=True)
class IntervalScores:
    """Mean scores of held-out rows whose y is known to lie in an interval."""

    log_score: float  # minus the log probability of the interval, in nats
    gain: float  # how much lower that is than with one distribution for all rows


def interval_scores_of(
    distributions: Mapping[str, Histogram], lower: Floats, upper: Floats, base: str
) -> dict[str, IntervalScores]:
    """Return the scores of distributions (n,) by name.

    Parameters
    ----------
    distributions : mapping of Histogram
    lower, upper : ndarrays of shape (n,)
        NaN or infinite where there is no bound.
    base : str
        The name of those over which the gain is.
    """
    low = np.where(np.isnan(lower), -np.inf, lower)
    high = np.where(np.isnan(upper), np.inf, upper)
    means = {
        name: metrics.interval_log_score(one, low, high).mean().item()
        for name, one in distributions.items()
    }
    return {
        name: IntervalScores(mean, means[base] - mean) for name, mean in means.items()
    }


def check_orderable(y: NDArray[np.float64], censored: NDArray[np.bool_]) -> None:
    """Raise unless rows have two y whose order is known, as `concordance` needs."""
    metrics.concordance(y, y, censored)


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
