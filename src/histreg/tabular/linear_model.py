"""The linear model: ridge regression on numbers, their normal scores and labels.

Scores, with the flags of gaps, are left out if held-out rows find that better. The
penalty is the one with the lowest generalised cross-validation score (Golub, Heath
and Wahba 1979). All folds are solved from their sums of products, so that the rows are
read once.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from histreg.errors import InputError
from histreg.tabular.simple_models import Fitted, SimpleInputs, SimpleModel

PENALTIES = torch.logspace(-6, 3, 19, dtype=torch.float64)  # relative to the rows
BEYOND = 0.1  # of the range of y, how far predictions may leave it
FAR = 5.0  # of standardised numbers: beyond it, logarithms
MOST_FEATURES = 2_000  # a product of that many squared takes seconds
MOST_LABELS = 100  # of a column: the most frequent ones
TINY = torch.finfo(torch.float64).tiny


class LinearModel(SimpleModel):
    """Coefficients of standardised numbers, normal scores, flags and labels.

    Parameters
    ----------
    n_numbers : int
        d, columns of numbers.
    n_scaled : int
        d', of their scores and flags.
    n_codes : sequence of int
        Codes of each column of labels.
    """

    def __init__(self, n_numbers: int, n_scaled: int, n_codes: Sequence[int]) -> None:
        super().__init__()
        self.n_codes = tuple(n_codes)
        self.n_scaled = n_scaled
        n_features = n_numbers + n_scaled + sum(self._hot_codes)
        self.center: Tensor  # (d,)
        self.scale: Tensor  # (d,)
        self.weight: Tensor  # (p,)
        self.bias: Tensor  # ()
        self.limits: Tensor  # (2,), lowest and highest prediction
        sizes = {
            "center": (n_numbers,),
            "scale": (n_numbers,),
            "weight": (n_features,),
            "bias": (),
            "limits": (2,),
        }
        for name, size in sizes.items():
            self.register_buffer(name, torch.zeros(size, dtype=torch.float64))

    @property
    def _hot_codes(self) -> list[int]:
        return [min(n, MOST_LABELS) for n in self.n_codes]

    @property
    def is_no_score(self) -> Tensor:
        """The features that are not normal scores of numbers, (p,) bool."""
        start, n_scaled = len(self.center), self.n_scaled
        is_none = torch.ones(len(self.weight), dtype=torch.bool)
        is_none[start : start + n_scaled] = False
        return is_none

    def features(self, inputs: SimpleInputs) -> Tensor:
        """Return the features of n rows, (n, p) float64."""
        standard = (inputs.numbers - self.center) / self.scale
        standard = standard.nan_to_num(nan=0.0)
        size = standard.abs()
        beyond = FAR + (size - FAR).clamp(min=0).log1p()
        bounded = standard.sign() * torch.minimum(size, beyond)
        hot = [
            F.one_hot(codes.clamp(max=n), n + 1)[:, :n].to(torch.float64)
            for codes, n in zip(inputs.codes.unbind(1), self._hot_codes, strict=True)
        ]
        return torch.cat([bounded, inputs.scaled.to(torch.float64), *hot], dim=1)

    def forward(
        self,
        inputs: SimpleInputs,
        *,
        by_search: bool = True,  # noqa: ARG002
    ) -> Tensor:
        """Return predictions of shape (n,), float64; nothing is searched."""
        # Not by a product of matrices, whose rounding depends on the number of rows.
        products = self.features(inputs) * self.weight
        return self.within_limits(products.sum(dim=-1) + self.bias)

    def check(self) -> None:
        """Raise unless all numbers are finite and scales positive."""
        for name, tensor in self.named_buffers():
            if not tensor.isfinite().all():
                raise InputError(f"{name!r} of the linear model must be finite")
        if not (self.scale > 0).all():
            raise InputError("the scales of the linear model must be positive")

    def within_limits(self, predicted: Tensor) -> Tensor:
        """Return predictions no further beyond the training targets than `BEYOND`."""
        return torch.minimum(torch.maximum(predicted, self.limits[0]), self.limits[1])


def fit_linear(
    inputs: SimpleInputs,
    y: Tensor,
    weight: Tensor,
    folds: Tensor,
    n_codes: Sequence[int],
) -> Fitted | None:
    """Fit a linear model on the rows outside of each fold, and average.

    Parameters
    ----------
    inputs : SimpleInputs of n rows
    y : Tensor of shape (n,), float64
    weight : Tensor of shape (n,)
    folds : Tensor of shape (n,), int64
    n_codes : sequence of int
        Codes of each column of labels.

    Returns
    -------
    Fitted, or None for more than `MOST_FEATURES`
    """
    model = LinearModel(inputs.numbers.shape[1], inputs.scaled.shape[1], n_codes)
    if len(model.weight) > MOST_FEATURES:
        return None
    model.center[:], model.scale[:] = _center_and_scale(inputs.numbers)
    low, high = y.min(), y.max()
    beyond = BEYOND * (high - low)
    model.limits[0], model.limits[1] = low - beyond, high + beyond
    features = model.features(inputs)
    # A column of ones in front makes the means part of the products.
    joint = torch.cat([torch.ones_like(y[:, None]), features, y[:, None]], dim=1)
    weighted = joint * weight.to(torch.float64)[:, None]
    is_in = [folds == fold for fold in range(int(folds.max()) + 1)]
    products = [joint[rows].T @ weighted[rows] for rows in is_in]
    total = torch.stack(products).sum(dim=0)
    best = torch.inf
    held_out = torch.empty_like(y)
    # With and without scores: where y is linear in the numbers they only add noise.
    for used in (torch.ones(len(model.weight), dtype=torch.bool), model.is_no_score):
        with_ends = torch.cat([torch.ones(1), used, torch.ones(1)]).bool()
        predicted = torch.empty_like(y)
        slopes, intercepts = [], []
        for rows, own in zip(is_in, products, strict=True):
            of_others = (total - own)[with_ends][:, with_ends]
            slope, intercept = _ridge(of_others, len(y) - int(rows.sum()))
            slopes.append(slope)
            intercepts.append(intercept)
            fitted = features[rows][:, used] @ slope + intercept
            predicted[rows] = model.within_limits(fitted)
        error = (weight * (predicted - y) ** 2).sum().item()
        if error < best:
            best, held_out = error, predicted
            model.weight.zero_()
            model.weight[used] = torch.stack(slopes).mean(dim=0)
            model.bias.fill_(torch.stack(intercepts).mean())
    return Fitted(model, held_out)


def _ridge(products: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Return coefficients (p,) and intercept of n rows, from sums of products."""
    products = products / products[0, 0].clamp(min=TINY)
    means = products[0, 1:]  # (p + 1,)
    centered = products[1:, 1:] - torch.outer(means, means)
    gram, cross, variance = centered[:-1, :-1], centered[:-1, -1], centered[-1, -1]
    if not len(cross):
        return cross, means[-1]
    values, vectors = torch.linalg.eigh(gram)
    values = values.clamp(min=0)
    rotated = vectors.T @ cross  # (p,)
    shrunk = 1 / (values + PENALTIES[:, None])  # (g, p)
    freedom = (values * shrunk).sum(dim=1) + 1  # (g,)
    # What is left of the variance, in the coordinates of the vectors.
    left = variance - (2 * shrunk - values * shrunk**2) @ rotated**2  # (g,)
    left = left.clamp(min=1e-12 * variance.clamp(min=TINY))
    share = 1 - freedom / n
    score = torch.where(share > 0, left / share**2, torch.inf)
    slope = vectors @ (shrunk[score.argmin()] * rotated)
    return slope, means[-1] - means[:-1] @ slope


def _center_and_scale(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Return medians and robust scales of columns (n, d), 0 and 1 without values."""
    center = numbers.nanmedian(dim=0).values.nan_to_num(nan=0.0)
    # Sums of these must be finite, also of the largest numbers there are.
    largest = torch.finfo(torch.float64).max / (2 * max(1, len(numbers)))
    deviation = (numbers - center).abs().clamp(max=largest)
    robust = deviation.nanmedian(dim=0).values.nan_to_num(nan=0.0) / 0.6745
    # Of columns that are mostly one value, the mean deviation.
    plain = deviation.nanmean(dim=0).nan_to_num(nan=0.0) / 0.7979
    scale = torch.where(robust > 0, robust, plain)
    return center, torch.where(scale > 0, scale, torch.ones_like(scale))
