"""Bins of the targets: built from y, given or grown; and targets outside them.

Functions take the `HistogramRegressor` for its options. Those that warn take
``stacklevel`` as `warnings.warn` does, counted from their caller.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from histreg._names import ON_NUMBERS
from histreg._tensors import as_float64
from histreg.bins import (
    SMALLEST_SPREAD,
    Bins,
    checked_bins,
    least_spread,
)
from histreg.errors import InputError
from histreg.tabular.objectives import LEAST_RELATIVE_SPREAD, ON_TARGETS
from histreg.tabular.options import tail_kinds

if TYPE_CHECKING:
    from histreg.tabular.regressor import HistogramRegressor

MIN_TARGETS_IN_TAIL = 25  # to warn of, and half of all


def bins_for(options: HistogramRegressor, y: Tensor) -> tuple[Bins, ...]:
    """Return the bins of each target: those given, or new ones over y (n, m)."""
    n_targets = y.shape[1]
    if isinstance(options.bins, str):
        return tuple(
            Bins.of(
                column,
                n_bins=int(options.n_bins),
                sigma_in_bins=options.sigma_in_bins,
                padding_in_sigmas=options.padding_in_sigmas,
                spacing=options.bins,
                tails=tail_kinds(options),
            )
            for column in _within_ranges(options, y)
        )
    given = checked_bins(options.bins)
    bins = (given,) * n_targets if isinstance(given, Bins) else given
    if len(bins) != n_targets:
        raise InputError(
            f"bins must be one Bins, or one for each of the {n_targets} columns of "
            f"y, got {len(bins)}"
        )
    return bins


def grown_bins(
    options: HistogramRegressor, bins: Sequence[Bins], y: Tensor
) -> tuple[Bins, ...]:
    """Return bins that cover new targets (n, m); the same if they already do.

    Bins with tails do not grow, and none do if ``bins_grow`` forbids it.
    """
    grows = options.bins_grow
    if grows == "auto":
        grows = isinstance(options.bins, str) and options.y_range is None
    if not grows:
        return tuple(bins)
    padding = min(
        options.sigma_in_bins * options.padding_in_sigmas, bins[0].n_bins // 4
    )
    # Not before half of the padding is used up: every growth costs resolution, and
    # until then little of a smoothed target lies beyond the end.
    return tuple(
        own_bins
        if own_bins.has_tails
        else own_bins.grown(
            column, padding_in_bins=padding, min_padding_in_bins=padding / 2
        )
        for own_bins, column in zip(bins, y.T, strict=True)
    )


def n_outside(y: Tensor, bins: Sequence[Bins]) -> int:
    """Return how many of the targets (n, m) lie outside their bins."""
    low = torch.tensor([own_bins.lowest for own_bins in bins], dtype=torch.float64)
    high = torch.tensor([own_bins.highest for own_bins in bins], dtype=torch.float64)
    return int(((y < low) | (y > high)).sum())


def warn_if_unresolved(
    options: HistogramRegressor, y: Tensor, *, stacklevel: int
) -> None:
    """Warn if targets differ by too little for float64, so that they count as equal."""
    on_bins = options.loss not in ON_NUMBERS
    if on_bins and not isinstance(options.bins, str):
        return
    columns = _within_ranges(options, y) if on_bins else list(y.T)
    for i, column in enumerate(columns):
        low, high = (end.item() for end in column.aminmax())
        spread, magnitude = high - low, max(abs(low), abs(high))
        least = (
            least_spread(magnitude, int(options.n_bins))
            if on_bins
            else LEAST_RELATIVE_SPREAD * magnitude
        )
        if not 0 < spread <= least:
            continue
        name = "y" if len(columns) == 1 else f"column {i} of y"
        remedy = (
            f"subtract a constant such as {low:g} from y"
            if least > SMALLEST_SPREAD
            else "multiply y by a large constant"
        )
        warnings.warn(
            f"{name} varies by only {spread:g} at a magnitude of {magnitude:g}, "
            "too little for float64 to resolve, so it is predicted as if it were "
            f"constant; {remedy} before fitting",
            stacklevel=stacklevel + 1,
        )


def warn_if_outside(
    options: HistogramRegressor,
    n_outside: int,
    n_targets: int,
    bins: Sequence[Bins],
    *,
    stacklevel: int,
) -> None:
    """Warn that some targets lie outside the bins, and what that leads to."""
    if n_outside:
        ranges = " and ".join(f"[{own.lowest:g}, {own.highest:g}]" for own in bins)
        consequence = (
            "they are clipped for training"
            if options.loss in ON_TARGETS
            else "predicted distributions do not reach them"
        )
        warnings.warn(
            f"{n_outside} of {n_targets} targets lie outside the bins {ranges}: "
            f"{consequence}",
            stacklevel=stacklevel + 1,
        )


def warn_if_in_tails(y: Tensor, bins: Sequence[Bins], *, stacklevel: int) -> None:
    """Warn if many more targets (n, m) than a tail was fitted to lie in it."""
    for own_bins, column in zip(bins, y.T, strict=True):
        lower, upper = (
            column < own_bins.borders[1],
            column >= own_bins.borders[-2],
        )
        for tail, beyond in (
            (own_bins.lower_tail, lower),
            (own_bins.upper_tail, upper),
        ):
            n_beyond = int(beyond.sum())
            if tail is not None and n_beyond > max(
                MIN_TARGETS_IN_TAIL, len(column) / 2
            ):
                warnings.warn(
                    f"{n_beyond} of {len(column)} targets lie in the tail bin, which "
                    "cannot distinguish them; refit with tails='clip'",
                    stacklevel=stacklevel + 1,
                )


def _within_ranges(options: HistogramRegressor, y: Tensor) -> list[Tensor]:
    """Return the targets that bins are built from, clipped to ``y_range`` if given."""
    if options.y_range is None:
        return list(y.T)
    pairs = np.atleast_2d(np.asarray(options.y_range, dtype=np.float64))
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) not in (1, y.shape[1]):
        raise InputError(
            "y_range must be a pair (low, high), or one for each of the "
            f"{y.shape[1]} columns of y, got y_range={options.y_range!r}"
        )
    if not (np.isfinite(pairs).all() and (pairs[:, 0] < pairs[:, 1]).all()):
        raise InputError(
            "y_range must have low below high, both finite, "
            f"got y_range={options.y_range!r}"
        )
    pairs = np.broadcast_to(pairs, (y.shape[1], 2))
    return [
        torch.cat([column.clamp(low, high), as_float64([low, high])])
        for column, (low, high) in zip(y.T, pairs.tolist(), strict=True)
    ]
