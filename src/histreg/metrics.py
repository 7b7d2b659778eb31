"""Metrics: how good a predicted distribution is.

Functions take predictions and y of equal shapes (nothing is broadcast), as tensors,
arrays or lists, and return one value per sample, so that they can be averaged,
weighted or paired: float64 on the CPU, without gradients. Smaller is better for all
scores. `SCORERS` are their means as scikit-learn scorers, for any estimator with
``predict_dist``. `concordance` alone is one number of all samples, and greater is
better.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor

from histreg._checks import (
    check_bool,
    check_finite,
    check_fraction,
    check_shape,
    check_weight,
)
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
    "interval_score",
    "log_score",
    "pinball",
    "pit",
    "width",
]


def crps(distribution: Histogram, y: ArrayLike | Tensor) -> Tensor:
    """Return the continuous ranked probability score, as `Histogram.crps`.

    Parameters
    ----------
    distribution : Histogram of batch shape (...)
    y : array-like of shape (...)

    Returns
    -------
    Tensor of shape (...), float64
    """
    y = _observed(distribution, y)
    return as_float64(distribution.crps(y))


def censored_crps(
    distribution: Histogram,
    y: ArrayLike | Tensor,
    censored: ArrayLike | Tensor,
    *,
    horizon: float,
) -> Tensor:
    r"""Return the CRPS up to a horizon, from targets of which some are censored.

    .. math::
        \int_{-\infty}^{\min(y, \tau)} \frac{F(t)^2}{G(t)} dt
        + \frac{1}{G(y-)} \int_y^\tau (1 - F(t))^2 dt

    with the predicted cdf F, the horizon :math:`\tau`, and G(t) the share of samples
    that are not censored up to t, by the Kaplan-Meier estimator; the second term is
    there only for y that are not censored. Its mean is that of the CRPS up to the
    horizon if what censors does not depend on y: the Brier score of Graf et al.
    (1999), integrated over t. It is in units of y; others divide by the length of
    time. Without censoring and with an infinite horizon it is `crps`.

    Parameters
    ----------
    distribution : Histogram of batch shape (n,)
    y : array-like of shape (n,)
    censored : bool array-like of shape (n,)
        Where y is a lower bound.
    horizon : float
        At most the largest y if that one is censored: nothing is known beyond. What
        censoring leaves of the last samples weighs much, so better less.

    Returns
    -------
    Tensor of shape (n,), float64

    Examples
    --------
    >>> d = Histogram(Bins([0.0, 1.0, 3.0]), logits=torch.zeros(3, 2))
    >>> censored_crps(d, [0.5, 1.0, 2.0], [False, True, False], horizon=2.0)
    tensor([0.3542, 0.0833, 0.8750], dtype=torch.float64)
    """
    if distribution.bins.has_tails:
        raise InputError(
            f"censored_crps needs bins without tails, got {distribution.bins}"
        )
    y = as_float64(_observed(distribution, y))
    censored = _flags(censored, y)
    check_finite("y", y)
    if y.dim() != 1 or len(y) == 0:
        raise InputError(f"y must have shape (n,), n > 0, got shape {tuple(y.shape)}")
    last = y.max().item()
    if not horizon <= (last if censored[y == last].any() else math.inf):
        raise InputError(
            f"horizon must not exceed the largest y, {last:g}, which is censored, "
            f"got horizon={horizon}"
        )
    bins = distribution.bins
    cdf = distribution.cdf(bins.borders.unsqueeze(-1)).T.to("cpu", torch.float64)
    horizon = min(horizon, max(bins.high, last))  # beyond, nothing is added
    times, left = _uncensored_share(y, censored)
    end = y.clamp(max=horizon)
    before = _integral_of_square(cdf, bins, end, times, 1 / left)
    whole = torch.full_like(y, horizon)
    none, one = times[:0], torch.ones(1, dtype=torch.float64)
    after = _integral_of_square(1 - cdf, bins, whole, none, one)
    after -= _integral_of_square(1 - cdf, bins, end, none, one)
    # Just before y: what is censored at y itself was still there.
    weight = 1 / left[torch.searchsorted(times, y)]
    return before + (after * weight).masked_fill(censored, 0.0)


def concordance(
    predicted: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    censored: ArrayLike | Tensor | None = None,
) -> float:
    """Return Harrell's C: how often the order of two predictions is that of their y.

    Over all pairs whose order is known: the smaller y is not censored, or, of equal
    ones, one of the two is. Equal predictions count half. 0.5 is chance, 1 perfect.

    Parameters
    ----------
    predicted, y : array-like of shape (n,)
        Greater predictions for greater y.
    censored : bool array-like of shape (n,), optional
        Where y is a lower bound.

    Returns
    -------
    float

    Examples
    --------
    >>> concordance([1.0, 3.0, 2.0], [5.0, 7.0, 6.0], [False, True, False])
    1.0
    """
    predicted, y = _alike(predicted=predicted, y=y)
    check_finite("predicted", predicted)
    check_finite("y", y)
    if y.dim() != 1:
        raise InputError(f"y must have shape (n,), got shape {tuple(y.shape)}")
    censored = (
        torch.zeros_like(y, dtype=torch.bool)
        if censored is None
        else _flags(censored, y)
    )
    # Groups in the order of time, what is censored after the events of its time: the
    # pairs that count are an event and a member of a later group.
    keys = torch.stack([y, censored.to(y.dtype)], dim=-1)
    _, group = keys.unique(dim=0, return_inverse=True)  # (n,), sorted
    n_up_to = torch.bincount(group).cumsum(0)[group]
    n_pairs = (len(y) - n_up_to)[~censored].sum().item()
    if n_pairs == 0:
        raise InputError(
            "concordance needs two y whose order is known, got none among "
            f"{len(y)}, {int(censored.sum())} of them censored"
        )
    n_right, n_wrong = (
        _n_greater_in_later(score, group)[~censored].sum().item()
        for score in (predicted, -predicted)
    )
    return (n_right + (n_pairs - n_right - n_wrong) / 2) / n_pairs


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
    y = _observed(distribution, y)
    return -as_float64(distribution.log_prob(y))


def pit(distribution: Histogram, y: ArrayLike | Tensor) -> Tensor:
    """Return the probability integral transform, cdf(y): uniform if calibrated.

    Parameters
    ----------
    distribution : Histogram of batch shape (...)
    y : array-like of shape (...)

    Returns
    -------
    Tensor of shape (...), float64
    """
    y = _observed(distribution, y)
    return as_float64(distribution.cdf(y))


def pinball(
    quantile: ArrayLike | Tensor, y: ArrayLike | Tensor, *, level: float
) -> Tensor:
    """Return the pinball loss of a predicted quantile, which the true one minimises.

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
    quantile, y = _alike(quantile=quantile, y=y)
    short = y - quantile
    return torch.maximum(level * short, (level - 1) * short)


def interval_score(
    lower: ArrayLike | Tensor,
    upper: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    *,
    coverage: float,
) -> Tensor:
    """Return the width plus 2 / (1 - coverage) times the distance of y outside.

    The central interval of the true distribution minimises it (Gneiting and Raftery,
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
    lower, upper, y = _alike(lower=lower, upper=upper, y=y)
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
    lower, upper, y = _alike(lower=lower, upper=upper, y=y)
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
    lower, upper = _alike(lower=lower, upper=upper)
    return upper - lower


@dataclass(frozen=True)
class Scorer:
    """The mean of a metric as a scikit-learn scorer: ``scorer(estimator, X, y)``.

    The estimator must have ``predict_dist(X)``, or end in one that does: a pipeline,
    or a search such as ``GridSearchCV``. Greater is better for a scorer, so a
    score is negated. Pass it as ``scoring=`` to ``cross_val_score`` and the like.

    Parameters
    ----------
    metric : callable, (Histogram, Tensor) -> Tensor of values per sample
    sign : {-1, 1}
    """

    metric: Callable[[Histogram, Tensor], Tensor]
    sign: int = -1

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: ArrayLike | Tensor,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the (weighted) mean of the metric on this data, times ``sign``."""
        values = as_float64(self.metric(_predicted(estimator, X), _tensor(y)))
        if sample_weight is None:
            return self.sign * values.mean().item()
        weight = as_float64(sample_weight)
        check_shape("sample_weight", weight, values.shape, because="like y")
        check_weight("sample_weight", weight)
        return self.sign * ((values * weight).sum() / weight.sum()).item()


def _predicted(estimator: Any, X: Any) -> Histogram:
    """Return the estimator's distribution; pipelines and searches do not pass it on."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if hasattr(estimator, "steps"):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        return _predicted(estimator[-1], X)
    if not hasattr(estimator, "predict_dist"):
        raise TypeError(
            f"estimator must have predict_dist(X), got {type(estimator).__name__}"
        )
    return estimator.predict_dist(X)


def _interval_score_90(distribution: Histogram, y: Tensor) -> Tensor:
    return interval_score(*distribution.interval(0.9), y, coverage=0.9)


def _covered_90(distribution: Histogram, y: Tensor) -> Tensor:
    return covered(*distribution.interval(0.9), y)


def _width_90(distribution: Histogram, y: Tensor) -> Tensor:  # noqa: ARG001
    return width(*distribution.interval(0.9))


def _pinball_90(distribution: Histogram, y: Tensor) -> Tensor:
    return pinball(distribution.icdf(0.9), y, level=0.9)


SCORERS = {
    "neg_crps": Scorer(crps),
    "neg_log_score": Scorer(log_score),
    "neg_pinball_90": Scorer(_pinball_90),
    "neg_interval_score_90": Scorer(_interval_score_90),
    "neg_width_90": Scorer(_width_90),
    # The share of y inside: to be compared with 0.9, not to be maximised.
    "coverage_90": Scorer(_covered_90, sign=1),
}


def _tensor(y: ArrayLike | Tensor) -> Tensor:
    """Return y as it is: its float type tells what an end of the bins rounds to."""
    return y if isinstance(y, Tensor) else torch.from_numpy(np.array(y))


def _observed(distribution: Histogram, y: ArrayLike | Tensor) -> Tensor:
    if not isinstance(distribution, Histogram):
        raise TypeError(
            "distribution must be a Histogram (of several targets, score each), "
            f"got {type(distribution).__name__}"
        )
    y = _tensor(y)
    check_shape("y", y, distribution.batch_shape, because="like the distribution")
    return y


def _flags(censored: ArrayLike | Tensor, y: Tensor) -> Tensor:
    flags = _tensor(censored).to("cpu")
    check_shape("censored", flags, y.shape, because="like y")
    check_bool("censored", flags)
    return flags


def _uncensored_share(y: Tensor, censored: Tensor) -> tuple[Tensor, Tensor]:
    """Return the Kaplan-Meier estimator of the time to censoring.

    Of equal times, events come first, and are no longer there to be censored.

    Returns
    -------
    times : Tensor of shape (j,)
        At which something is censored, increasing.
    left : Tensor of shape (j + 1,)
        The share before the first, then from each on.
    """
    times, n_lost = y[censored].unique(return_counts=True)
    ordered = y.sort().values
    n_there = len(y) - torch.searchsorted(ordered, times)
    n_events = _counts(y[~censored], times)
    left = (1 - n_lost / (n_there - n_events).to(torch.float64)).cumprod(0)
    return times, torch.cat([torch.ones(1, dtype=torch.float64), left])


def _counts(values: Tensor, at: Tensor) -> Tensor:
    """Return how many values equal each of these."""
    values = values.sort().values
    upper = torch.searchsorted(values, at, right=True)
    return upper - torch.searchsorted(values, at)


def _integral_of_square(
    at_borders: Tensor, bins: Bins, end: Tensor, times: Tensor, weights: Tensor
) -> Tensor:
    """Return the weighted integral of the square of piecewise linear functions.

    Parameters
    ----------
    at_borders : Tensor of shape (n, k + 1)
        The functions, linear between borders, constant beyond.
    bins : Bins
    end : Tensor of shape (n,)
        The integral is from ``bins.low`` to here, negative if this is below it.
    times : Tensor of shape (j,)
        Where the weight changes, increasing.
    weights : Tensor of shape (j + 1,)

    Returns
    -------
    Tensor of shape (n,)
    """
    # A bin beyond each end, as wide as it takes, in which the functions are constant.
    room = (bins.high - bins.low) + end.abs().max()
    outer = torch.stack([bins.borders[0] - room, bins.borders[-1] + room])
    borders = torch.cat([outer[:1], bins.borders, outer[1:]])  # (b + 1,)
    at_borders = torch.cat([at_borders[:, :1], at_borders, at_borders[:, -1:]], dim=-1)
    widths = borders.diff()
    # All samples share borders and weights: the moments of the place within a bin up
    # to any point serve them all.
    points = torch.cat([borders, times, end]).unique()
    index = (
        torch.searchsorted(borders, points[:-1], right=True).clamp(1, len(widths)) - 1
    )
    place = torch.stack([points[:-1], points[1:]]) - borders[index]
    place = place / widths[index]  # (2, p), where each piece starts and ends
    weight = weights[torch.searchsorted(times, points[:-1], right=True)] * widths[index]
    powers = torch.arange(1, 4, dtype=torch.float64).unsqueeze(-1)
    pieces = (place[1] ** powers - place[0] ** powers) / powers * weight  # (3, p)
    moments = F.pad(pieces.cumsum(dim=-1), (1, 0))  # (3, p + 1)

    def upto(wanted: Tensor) -> Tensor:  # (...) -> (3, ...)
        return moments[:, torch.searchsorted(points, wanted)]

    start, step = at_borders[:, :-1], at_borders.diff(dim=-1)  # (n, b)
    factors = torch.stack([start**2, 2 * start * step, step**2])  # (3, n, b)
    in_bin = (factors * upto(borders).diff(dim=-1).unsqueeze(1)).sum(dim=0)  # (n, b)
    below = F.pad(in_bin.cumsum(dim=-1), (1, 0))  # (n, b + 1)
    own = (torch.searchsorted(borders, end, right=True) - 1).clamp(0, len(widths) - 1)
    rest = upto(end) - upto(borders[own])  # (3, n)
    last = (factors.gather(-1, own.expand(3, -1).unsqueeze(-1)).squeeze(-1) * rest).sum(
        dim=0
    )
    return below.gather(-1, own.unsqueeze(-1)).squeeze(-1) + last - in_bin[:, 0]


def _n_greater_in_later(score: Tensor, group: Tensor) -> Tensor:
    """Return for each sample how many of later groups have a greater score: (n,)."""
    # By group, and within a group from the greatest score on, so that what comes
    # after a sample and is greater is of a later group.
    order = score.argsort(descending=True)
    order = order[group[order].argsort(stable=True)]
    n = len(order)
    n_padded = 1 << max(0, n - 1).bit_length()
    values = F.pad(score[order], (0, n_padded - n), value=-math.inf)
    counts = torch.zeros(n_padded, dtype=torch.int64)
    size = 1
    while size < n_padded:  # halves of ever larger blocks: n log(n)^2 in all
        left, right = values.view(-1, 2, size).unbind(dim=1)
        right = right.sort(dim=-1).values
        found = size - torch.searchsorted(right, left.contiguous(), right=True)
        counts.view(-1, 2, size)[:, 0] += found
        size *= 2
    return torch.empty(n, dtype=torch.int64).scatter(0, order, counts[:n])


def _alike(**named: ArrayLike | Tensor) -> list[Tensor]:
    """Return all in float64, refusing different shapes."""
    values = {name: as_float64(value) for name, value in named.items()}
    (first, reference), *others = values.items()
    for name, value in others:
        check_shape(name, value, reference.shape, because=f"like {first}")
    return list(values.values())
