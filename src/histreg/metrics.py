"""Metrics: scores of predicted distributions.

Functions take predictions and y of equal shapes (nothing is broadcast), as tensors,
arrays or lists. They return one value per sample, which can be averaged, weighted or
paired: float64 on the CPU, without gradients. Smaller is better for all scores.
`SCORERS` holds their means as scikit-learn scorers, for any estimator with
``predict_dist``, and all but the log score for one that predicts a number. Only
`concordance` returns a single number for all samples, and greater is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from histreg._axes import NARROW
from histreg._checks import (
    check_fraction,
    check_shape,
    check_weight,
)
from histreg._observations import as_tensor, observed, same_shape
from histreg._survival import censored_crps, concordance
from histreg._tensors import as_float64
from histreg.bins import Bins
from histreg.distribution import Histogram
from histreg.errors import InputError

__all__ = [
    "SCORERS",
    "Scorer",
    "censored_crps",
    "concordance",
    "covered",
    "crps",
    "interval_log_score",
    "interval_score",
    "log_score",
    "pinball",
    "pit",
    "predicted_distribution",
    "width",
]


def crps(distribution: Histogram, y: ArrayLike | Tensor) -> Tensor:
    """Return the continuous ranked probability score; see `Histogram.crps`.

    Parameters
    ----------
    distribution : Histogram of batch shape (...)
    y : array-like of shape (...)

    Returns
    -------
    Tensor of shape (...), float64
    """
    y = observed(distribution, y)
    return as_float64(distribution.crps(y))


def log_score(distribution: Histogram, y: ArrayLike | Tensor) -> Tensor:
    """Return minus the log density at y, in nats; infinite for y outside the bins.

    Parameters
    ----------
    distribution : Histogram of batch shape (...)
    y : array-like of shape (...)

    Returns
    -------
    Tensor of shape (...), float64
    """
    y = observed(distribution, y)
    return -as_float64(distribution.log_prob(y))


def interval_log_score(
    distribution: Histogram, lower: ArrayLike | Tensor, upper: ArrayLike | Tensor
) -> Tensor:
    """Return minus the log probability of the interval in which y is known to lie.

    Where both bounds are equal, y is known, and this is the `log_score`. In nats;
    infinite for an interval without probability. If the bounds are chosen without a
    look at y beyond that it lies between them (brackets, inspections), the expected
    score is lowest for the true distribution.

    Parameters
    ----------
    distribution : Histogram of batch shape (...)
    lower, upper : array-like of shape (...)
        -inf and inf where there is no bound.

    Returns
    -------
    Tensor of shape (...), float64

    Examples
    --------
    >>> d = Histogram(Bins([0.0, 1.0, 3.0]), probs=torch.tensor([[0.25, 0.75]]))
    >>> interval_log_score(d, [1.0], [float("inf")]).exp()
    tensor([1.3333], dtype=torch.float64)
    """
    low, high = same_shape(lower=lower, upper=upper)
    low, high = as_float64(low), as_float64(high)
    check_shape("lower", low, distribution.batch_shape, because="like the distribution")
    known = low == high
    if not bool(((low < high) | (known & low.isfinite())).all()):
        raise InputError("lower must not exceed upper, and neither may be NaN")
    probability = as_float64(distribution.prob(low, high))
    if not bool(known.any()):
        return -probability.log()
    # Where y is not known, any number will do for the density.
    y = torch.where(known, low, distribution.bins.low)
    return torch.where(known, log_score(distribution, y), -probability.log())


def pit(
    distribution: Histogram,
    y: ArrayLike | Tensor,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the probability integral transform, cdf(y): uniform if calibrated.

    A bin that is nearly a point, as those of a target that takes few values, counts
    half wherever y lies in it (the mid-distribution), so that the mean is still 1/2.

    Parameters
    ----------
    distribution : Histogram of batch shape (...)
    y : array-like of shape (...)
    generator : torch.Generator, optional
        With it, such a bin counts by a share that is drawn for each y, so that the
        result is uniform there too (the randomised transform).

    Returns
    -------
    Tensor of shape (...), float64
    """
    y = observed(distribution, y)
    bins = distribution.bins
    is_point = bins.widths < NARROW * bins.widths.max()
    if is_point.any():
        index = torch.bucketize(y, bins.borders[1:-1].to(y), right=True)
        share = torch.full_like(y, 0.5)
        if generator is not None:
            share = torch.rand(y.shape, dtype=y.dtype, generator=generator).to(y.device)
        at = bins.borders.to(y)[index] + share * bins.widths.to(y)[index]
        y = torch.where(is_point.to(y.device)[index], at, y)
    return as_float64(distribution.cdf(y))


def pinball(
    quantile: ArrayLike | Tensor, y: ArrayLike | Tensor, *, level: float
) -> Tensor:
    """Return the pinball loss, which is minimised by the true quantile.

    Parameters
    ----------
    quantile, y : array-like of shape (...)
    level : float in (0, 1)

    Returns
    -------
    Tensor of shape (...), float64

    Examples
    --------
    >>> pinball([1.0, 1.0], [2.0, 0.0], level=0.9)
    tensor([0.9000, 0.1000], dtype=torch.float64)
    """
    check_fraction("level", level)
    quantile, y = same_shape(quantile=quantile, y=y)
    short = y - quantile
    return torch.maximum(level * short, (level - 1) * short)


def interval_score(
    lower: ArrayLike | Tensor,
    upper: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    *,
    coverage: float,
) -> Tensor:
    """Return the width plus a penalty for y outside the interval.

    The penalty is 2 / (1 - coverage) times the distance of y from the interval. The
    central interval of the true distribution minimises the score (Gneiting and Raftery,
    2007, eq. 43).

    Parameters
    ----------
    lower, upper, y : array-like of shape (...)
    coverage : float in (0, 1)

    Returns
    -------
    Tensor of shape (...), float64
    """
    check_fraction("coverage", coverage)
    lower, upper, y = same_shape(lower=lower, upper=upper, y=y)
    outside = (lower - y).clamp(min=0) + (y - upper).clamp(min=0)
    return (upper - lower) + 2 / (1 - coverage) * outside


def covered(
    lower: ArrayLike | Tensor, upper: ArrayLike | Tensor, y: ArrayLike | Tensor
) -> Tensor:
    """Return whether each y lies in its interval, ends included, as 0.0 or 1.0.

    Its mean is the coverage.

    Parameters
    ----------
    lower, upper, y : array-like of shape (...)

    Returns
    -------
    Tensor of shape (...), float64
    """
    lower, upper, y = same_shape(lower=lower, upper=upper, y=y)
    return ((lower <= y) & (y <= upper)).to(torch.float64)


def width(lower: ArrayLike | Tensor, upper: ArrayLike | Tensor) -> Tensor:
    """Return the width of each interval.

    Parameters
    ----------
    lower, upper : array-like of shape (...)

    Returns
    -------
    Tensor of shape (...), float64
    """
    lower, upper = same_shape(lower=lower, upper=upper)
    return upper - lower


@dataclass(frozen=True)
class Scorer:
    """The mean of a metric as a scikit-learn scorer: ``scorer(estimator, X, y)``.

    The estimator should have ``predict_dist(X)``, or be a pipeline, a search such as
    ``GridSearchCV`` or a ``TransformedTargetRegressor`` around one that does, see
    `predicted_distribution`. A regressor that predicts a number is scored as if it were
    certain of it: all quantiles are that number, so its CRPS is the absolute error and
    its intervals have no width; it has no log score. Greater is better for
    scikit-learn, so scores are negated. Pass it as ``scoring=`` to functions such as
    ``cross_val_score``.

    Parameters
    ----------
    metric : callable, (Histogram, Tensor) -> Tensor of values per sample
    sign : {-1, 1}
    of_point : callable, (Tensor, Tensor) -> Tensor, optional
        The metric of one predicted number, for estimators without a distribution.
    """

    metric: Callable[[Histogram, Tensor], Tensor]
    sign: int = -1
    of_point: Callable[[Tensor, Tensor], Tensor] | None = None

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: ArrayLike | Tensor,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the (weighted) mean of the metric on this data, times ``sign``."""
        if hasattr(innermost(estimator), "predict_dist"):
            distribution = predicted_distribution(estimator, X)
            values = as_float64(self.metric(distribution, as_tensor(y)))
        elif self.of_point is not None:
            predicted, truth = same_shape(prediction=estimator.predict(X), y=y)
            values = as_float64(self.of_point(predicted, truth))
        else:
            raise TypeError(
                "the log score needs a distribution, from an estimator with "
                f"predict_dist(X), got {type(estimator).__name__}"
            )
        if sample_weight is None:
            return self.sign * values.mean().item()
        weight = as_float64(sample_weight)
        check_shape("sample_weight", weight, values.shape, because="like y")
        check_weight("sample_weight", weight)
        return self.sign * ((values * weight).sum() / weight.sum()).item()


def predicted_distribution(estimator: Any, X: Any) -> Histogram:
    """Return the distribution that an estimator predicts, in units of y.

    Parameters
    ----------
    estimator : estimator with ``predict_dist``, or around one
        A pipeline, a search such as ``GridSearchCV``, or a
        ``TransformedTargetRegressor``. The borders of its bins are transformed back to
        the units of y, and each bin keeps its probability; quantiles and intervals are
        then those of y. The transformation must be strictly increasing or decreasing
        over all bins, and bins must not have tails.
    X : array-like or data frame of shape (n, d)

    Returns
    -------
    Histogram of batch shape (n,)
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    if hasattr(estimator, "steps"):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        return predicted_distribution(estimator[-1], X)
    if hasattr(estimator, "transformer_") and hasattr(estimator, "regressor_"):
        inner = predicted_distribution(estimator.regressor_, X)
        return _transformed_back(inner, estimator.transformer_)
    if not hasattr(estimator, "predict_dist"):
        raise TypeError(
            f"estimator must have predict_dist(X), got {type(estimator).__name__}"
        )
    return estimator.predict_dist(X)


def innermost(estimator: Any) -> Any:
    """Return the regressor within pipelines, searches and transformed targets."""
    for name in ("best_estimator_", "regressor_"):
        estimator = getattr(estimator, name, estimator)
    return innermost(estimator[-1]) if hasattr(estimator, "steps") else estimator


def _transformed_back(inner: Histogram, transformer: Any) -> Histogram:
    """Return a histogram in the units before a transformer, bin by bin."""
    if inner.bins.has_tails:
        raise InputError(
            "a transformed target cannot be combined with tails, got bins with tails"
        )
    borders = inner.bins.borders.numpy().reshape(-1, 1)
    original = as_float64(transformer.inverse_transform(borders)).flatten()
    steps = original.diff()
    if not bool((steps > 0).all() or (steps < 0).all()) or not bool(
        original.isfinite().all()
    ):
        raise InputError(
            "the inverse of the transformer must rise or fall strictly over all bins, "
            f"from {borders[0, 0]:g} to {borders[-1, 0]:g}, which it does not; set "
            "y_range of the regressor to the range of the transformed y"
        )
    if bool((steps < 0).all()):
        return Histogram(Bins(original.flip(0)), logits=inner.logits.flip(-1))
    return Histogram(Bins(original), logits=inner.logits)


def _absolute_error(prediction: Tensor, y: Tensor) -> Tensor:
    return (prediction - y).abs()


def _interval_score_90(distribution: Histogram, y: Tensor) -> Tensor:
    return interval_score(*distribution.interval(0.9), y, coverage=0.9)


def _interval_score_90_of_point(prediction: Tensor, y: Tensor) -> Tensor:
    return interval_score(prediction, prediction, y, coverage=0.9)


def _covered_90(distribution: Histogram, y: Tensor) -> Tensor:
    return covered(*distribution.interval(0.9), y)


def _covered_by_point(prediction: Tensor, y: Tensor) -> Tensor:
    return covered(prediction, prediction, y)


def _width_90(distribution: Histogram, y: Tensor) -> Tensor:  # noqa: ARG001
    return width(*distribution.interval(0.9))


def _width_of_point(prediction: Tensor, y: Tensor) -> Tensor:  # noqa: ARG001
    return width(prediction, prediction)


def _pinball_90(distribution: Histogram, y: Tensor) -> Tensor:
    return pinball(distribution.icdf(0.9), y, level=0.9)


def _pinball_90_of_point(prediction: Tensor, y: Tensor) -> Tensor:
    return pinball(prediction, y, level=0.9)


SCORERS = {
    "neg_crps": Scorer(crps, of_point=_absolute_error),
    "neg_log_score": Scorer(log_score),
    "neg_pinball_90": Scorer(_pinball_90, of_point=_pinball_90_of_point),
    "neg_interval_score_90": Scorer(
        _interval_score_90, of_point=_interval_score_90_of_point
    ),
    "neg_width_90": Scorer(_width_90, of_point=_width_of_point),
    # The fraction of y inside: compare it with 0.9, do not maximise it.
    "coverage_90": Scorer(_covered_90, sign=1, of_point=_covered_by_point),
}
