"""Scores of predictions when some targets are censored."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor

from histreg._checks import check_bool, check_finite, check_shape
from histreg._observations import as_tensor, observed, same_shape
from histreg._tensors import as_float64
from histreg.bins import Bins
from histreg.distribution import Histogram
from histreg.errors import InputError


def censored_crps(
    distribution: Histogram,
    y: ArrayLike | Tensor,
    censored: ArrayLike | Tensor,
    *,
    horizon: float,
) -> Tensor:
    r"""Return the CRPS up to a horizon when some targets are censored.

    .. math::
        \int_{-\infty}^{\min(y, \tau)} \frac{F(t)^2}{G(t)} dt
        + \frac{1}{G(y-)} \int_y^\tau (1 - F(t))^2 dt

    with the predicted cdf F, the horizon :math:`\tau`, and G(t) the Kaplan-Meier
    estimate of the share of samples that are not censored up to t. The second term
    applies only to y that are not censored. If censoring is independent of y, the mean
    equals that of the CRPS up to the horizon. This is the Brier score of Graf et al.
    (1999), integrated over t, in units of y (others divide by the length of time).
    Without censoring and with an infinite horizon it equals `crps`.

    Parameters
    ----------
    distribution : Histogram of batch shape (n,)
    y : array-like of shape (n,)
    censored : bool array-like of shape (n,)
        Where y is a lower bound.
    horizon : float
        At most the largest y if that one is censored, because nothing is known beyond.
        Choose it smaller than that: the few samples left near the end get large
        weights.

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
    y = as_float64(observed(distribution, y))
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
    horizon = min(horizon, max(bins.high, last))  # the integrand is 0 beyond
    times, left = _uncensored_share(y, censored)
    end = y.clamp(max=horizon)
    before = _integral_of_square(cdf, bins, end, times, 1 / left)
    horizons = torch.full_like(y, horizon)
    none, one = times[:0], torch.ones(1, dtype=torch.float64)
    after = _integral_of_square(1 - cdf, bins, horizons, none, one)
    after -= _integral_of_square(1 - cdf, bins, end, none, one)
    # G just before y: samples censored at y itself still count.
    weight = 1 / left[torch.searchsorted(times, y)]
    return before + (after * weight).masked_fill(censored, 0.0)


def concordance(
    predicted: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    censored: ArrayLike | Tensor | None = None,
) -> float:
    """Return Harrell's C: the share of pairs of y that predictions put in order.

    Pairs count if their order is known: the smaller y is not censored or, if both are
    equal, exactly one of them is. Equal predictions count half. 0.5 corresponds to
    random predictions and 1 to a perfect order.

    Parameters
    ----------
    predicted, y : array-like of shape (n,)
        Greater predictions should belong to greater y.
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
    predicted, y = same_shape(predicted=predicted, y=y)
    check_finite("predicted", predicted)
    check_finite("y", y)
    if y.dim() != 1:
        raise InputError(f"y must have shape (n,), got shape {tuple(y.shape)}")
    censored = (
        torch.zeros_like(y, dtype=torch.bool)
        if censored is None
        else _flags(censored, y)
    )
    # Groups in the order of y, censored samples after the events of the same y: each
    # pair that counts has an event and a member of a later group.
    keys = torch.stack([y, censored.to(y.dtype)], dim=-1)
    _, group = keys.unique(dim=0, return_inverse=True)  # (n,), sorted
    n_up_to = torch.bincount(group).cumsum(0)[group]
    n_pairs = (len(y) - n_up_to)[~censored].sum().item()
    if n_pairs == 0:
        raise InputError(
            "concordance needs at least two y whose order is known, got none among "
            f"{len(y)}, {int(censored.sum())} of them censored"
        )
    n_right, n_wrong = (
        _n_greater_in_later(score, group)[~censored].sum().item()
        for score in (predicted, -predicted)
    )
    return (n_right + (n_pairs - n_right - n_wrong) / 2) / n_pairs


def _flags(censored: ArrayLike | Tensor, y: Tensor) -> Tensor:
    flags = as_tensor(censored).to("cpu")
    check_shape("censored", flags, y.shape, because="like y")
    check_bool("censored", flags)
    return flags


def _uncensored_share(y: Tensor, censored: Tensor) -> tuple[Tensor, Tensor]:
    """Return the Kaplan-Meier estimator of the time to censoring.

    At equal times events come first and are no longer at risk of being censored.

    Returns
    -------
    times : Tensor of shape (j,)
        Times of censoring, increasing.
    left : Tensor of shape (j + 1,)
        The estimate before the first time, then from each time on.
    """
    times, n_censored = y[censored].unique(return_counts=True)
    ordered = y.sort().values
    n_at_risk = len(y) - torch.searchsorted(ordered, times)
    n_events = _counts(y[~censored], times)
    left = (1 - n_censored / (n_at_risk - n_events).to(torch.float64)).cumprod(0)
    return times, torch.cat([torch.ones(1, dtype=torch.float64), left])


def _counts(values: Tensor, at: Tensor) -> Tensor:
    """Return how many values equal each entry of ``at``."""
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
        Upper limit of the integral from ``bins.low``; negative if it is below.
    times : Tensor of shape (j,)
        Where the weight changes, increasing.
    weights : Tensor of shape (j + 1,)

    Returns
    -------
    Tensor of shape (n,)
    """
    # Add a bin beyond each end, wide enough for all ends; the functions are constant
    # there.
    room = (bins.high - bins.low) + end.abs().max()
    outer = torch.stack([bins.borders[0] - room, bins.borders[-1] + room])
    borders = torch.cat([outer[:1], bins.borders, outer[1:]])  # (b + 1,)
    at_borders = torch.cat([at_borders[:, :1], at_borders, at_borders[:, -1:]], dim=-1)
    widths = borders.diff()
    # All samples share borders and weights, so the moments of the position within a
    # bin are computed once for all of them.
    points = torch.cat([borders, times, end]).unique()
    index = (
        torch.searchsorted(borders, points[:-1], right=True).clamp(1, len(widths)) - 1
    )
    position = torch.stack([points[:-1], points[1:]]) - borders[index]
    position = position / widths[index]  # (2, p), where each piece starts and ends
    weight = weights[torch.searchsorted(times, points[:-1], right=True)] * widths[index]
    powers = torch.arange(1, 4, dtype=torch.float64).unsqueeze(-1)
    pieces = (position[1] ** powers - position[0] ** powers) / powers * weight  # (3, p)
    moments = F.pad(pieces.cumsum(dim=-1), (1, 0))  # (3, p + 1)

    def up_to(limit: Tensor) -> Tensor:  # (...) -> (3, ...)
        return moments[:, torch.searchsorted(points, limit)]

    start, step = at_borders[:, :-1], at_borders.diff(dim=-1)  # (n, b)
    factors = torch.stack([start**2, 2 * start * step, step**2])  # (3, n, b)
    in_bin = (factors * up_to(borders).diff(dim=-1).unsqueeze(1)).sum(dim=0)  # (n, b)
    below = F.pad(in_bin.cumsum(dim=-1), (1, 0))  # (n, b + 1)
    own = (torch.searchsorted(borders, end, right=True) - 1).clamp(0, len(widths) - 1)
    rest = up_to(end) - up_to(borders[own])  # (3, n)
    last = (factors.gather(-1, own.expand(3, -1).unsqueeze(-1)).squeeze(-1) * rest).sum(
        dim=0
    )
    return below.gather(-1, own.unsqueeze(-1)).squeeze(-1) + last - in_bin[:, 0]


def _n_greater_in_later(score: Tensor, group: Tensor) -> Tensor:
    """Return the number of greater scores in later groups, per sample: (n,)."""
    # Sort by group, and within a group by decreasing score: a greater score after a
    # sample then belongs to a later group.
    order = score.argsort(descending=True)
    order = order[group[order].argsort(stable=True)]
    n = len(order)
    n_padded = 1 << max(0, n - 1).bit_length()
    values = F.pad(score[order], (0, n_padded - n), value=-math.inf)
    counts = torch.zeros(n_padded, dtype=torch.int64)
    size = 1
    while size < n_padded:  # count between halves of growing blocks: O(n log(n)^2)
        left, right = values.view(-1, 2, size).unbind(dim=1)
        right = right.sort(dim=-1).values
        n_greater = size - torch.searchsorted(right, left.contiguous(), right=True)
        counts.view(-1, 2, size)[:, 0] += n_greater
        size *= 2
    return torch.empty(n, dtype=torch.int64).scatter(0, order, counts[:n])
