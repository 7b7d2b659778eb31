"""The linear model: ridge regression on numbers, their normal scores and labels.

Scores, with the flags of gaps, are left out if held-out rows find that better. The
penalty is the one with the lowest generalised cross-validation score (Golub, Heath
and Wahba 1979). All folds are solved from their sums of products, so that the rows are
read once.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from histreg.tabular.feature_model import FeatureModel
from histreg.tabular.simple_models import Fitted, SimpleInputs

PENALTIES = torch.logspace(-6, 3, 19, dtype=torch.float64)  # relative to the rows
MOST_FEATURES = 2_000  # a product of that many squared takes seconds
TINY = torch.finfo(torch.float64).tiny


class LinearModel(FeatureModel):
    """Coefficients of the features.

    Parameters
    ----------
    n_numbers, n_scaled : int
    n_codes : sequence of int
        See `FeatureModel`.
    """

    def __init__(self, n_numbers: int, n_scaled: int, n_codes: Sequence[int]) -> None:
        super().__init__(n_numbers, n_scaled, n_codes)
        self.weight: Tensor  # (p,)
        weight = torch.zeros(self.n_features, dtype=torch.float64)
        self.register_buffer("weight", weight)

    def forward(self, inputs: SimpleInputs) -> Tensor:
        """Return predictions of shape (n,), float64."""
        # Not by a product of matrices, whose rounding depends on the number of rows.
        products = self.features(inputs) * self.weight
        return self.within_limits(products.sum(dim=-1) + self.bias)


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
    if model.n_features > MOST_FEATURES:
        return None
    model.adapt(inputs, y)
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
