"""Rebinning: move a linear readout to other bins and keep its predictions."""

from __future__ import annotations

import torch
from torch import Tensor

from histreg._tensors import float64_on
from histreg.bins import Bins
from histreg.distribution import Histogram

MASS_BEYOND = 0.005  # placed beyond each old end when features are given
MAX_MEAN_SHIFT = 0.25  # by that mass, in widths of the bins with mass
DENSITY_BEYOND = 0.01  # relative to the end bin's density, without features
FITTING_STEPS = 30


def rebin_readout(
    weight: Tensor, bias: Tensor, old: Bins, new: Bins, features: Tensor | None = None
) -> None:
    """Change a linear layer in place so that its logits are over other bins.

    The number of bins stays. See `HistogramHead.rebin`.

    Parameters
    ----------
    weight : Tensor of shape (..., d, k)
    bias : Tensor of shape (..., k)
    old, new : Bins
    features : Tensor of shape (n, d) or (..., n, d), optional
    """
    matrix = old.averaging_over(new)  # (k, k)
    shift = new.widths.log() - matrix @ old.widths.log()
    wide = float64_on(weight.device)
    matrix, shift = matrix.to(weight.device, wide), shift.to(weight.device, wide)
    old_weight, old_bias = weight.to(wide), bias.to(wide)
    new_weight = old_weight @ matrix.T
    new_bias = old_bias @ matrix.T + shift
    ends = _beyond(old, new)
    is_beyond = (ends[0] | ends[1]).to(weight.device)  # (k,)
    if features is None or not features.numel():
        for end, first in zip(ends, (-1, 0), strict=True):
            if end.any():
                widening = new.widths[end] / new.widths[end][first]
                factor = DENSITY_BEYOND / widening.clamp(min=1) ** 2
                new_bias[..., end] += factor.log().to(new_bias)
    else:
        features = features.detach().to(wide)
        logits = features @ old_weight + old_bias.unsqueeze(-2)  # (..., n, k)
        probs = Histogram(old, logits=logits).rebinned(new).probs
        if is_beyond.any():
            predicted = Histogram(new, probs=probs.flatten(0, -2).mean(0))
            beyond = _shares_beyond(old, predicted).to(probs)
            probs = (1 - beyond.sum()) * probs + beyond
            # A plane through the log masses of the old range keeps the mass beyond it
            # small in every row; the end bin's weights would put most into a few rows.
            logits = features @ new_weight + new_bias.unsqueeze(-2)
            slope, start = _plane(features, logits[..., ~is_beyond].logsumexp(-1))
            new_weight[..., is_beyond] = slope.unsqueeze(-1)
            new_bias[..., is_beyond] = start.unsqueeze(-1) + beyond[is_beyond].log()
        new_weight, new_bias = _fitted(new_weight, new_bias, features, probs)
    weight.copy_(new_weight)
    bias.copy_(new_bias)


def _beyond(old: Bins, new: Bins) -> tuple[Tensor, Tensor]:  # (k,) each
    """Return which new bins lie below the old ones, and which above them.

    Decided by their centers, except that the new bin around the middle of the old ones
    is never beyond them, however wide it is.
    """
    middle = old.low + (old.high - old.low) / 2
    below = (new.centers < old.low) & (new.borders[1:] <= middle)
    above = (new.centers > old.high) & (new.borders[:-1] > middle)
    return below, above


def _shares_beyond(old: Bins, predicted: Histogram) -> Tensor:  # (k,)
    """Return the share of the mass of each new bin beyond the old ends, in float64.

    Shares are proportional to 1 / distance from the predicted mean, so that each bin
    shifts the mean equally: a mass that is small among equal widths would dominate the
    mean where a bin is a thousand times as wide. The shares of an end sum to
    `MASS_BEYOND`, or to less if the mean would shift by more than `MAX_MEAN_SHIFT`.
    """
    new, mean = predicted.bins, predicted.mean.item()
    log_widths = new.widths.log().to(predicted.probs)
    max_shift = MAX_MEAN_SHIFT * (predicted.probs * log_widths).sum().exp().item()
    shares = torch.zeros(new.n_bins, dtype=torch.float64)
    for beyond in _beyond(old, new):
        if beyond.any():
            inverse = 1 / (new.centers[beyond] - mean).abs()
            shift = min(MASS_BEYOND / inverse.sum().item(), max_shift / len(inverse))
            shares[beyond] = shift * inverse
    return shares


def _plane(features: Tensor, height: Tensor) -> tuple[Tensor, Tensor]:
    """Return slope (..., d) and intercept (...) of a ridge regression on features."""
    center, middle = features.mean(-2, keepdim=True), height.mean(-1, keepdim=True)
    spread = features - center  # (..., n, d)
    products = spread.mT @ spread
    # A thousandth of the variance: there may be more features than rows, or all equal.
    ridge = 1e-3 * products.diagonal(dim1=-2, dim2=-1).mean(-1) + 1e-12
    eye = torch.eye(features.shape[-1], dtype=spread.dtype, device=spread.device)
    moments = spread.mT @ (height - middle).unsqueeze(-1)
    slope = torch.linalg.solve(products + ridge[..., None, None] * eye, moments)
    start = middle.squeeze(-1) - (center @ slope)[..., 0, 0]
    return slope.squeeze(-1), start


def _fitted(
    weight: Tensor, bias: Tensor, features: Tensor, probs: Tensor
) -> tuple[Tensor, Tensor]:
    """Return weight and bias fitted to probs (..., n, k) on features (..., n, d)."""
    parameters = [tensor.clone().requires_grad_() for tensor in (weight, bias)]
    optimizer = torch.optim.LBFGS(
        parameters, max_iter=FITTING_STEPS, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = features @ parameters[0] + parameters[1].unsqueeze(-2)
        value = -(probs * logits.log_softmax(-1)).sum(-1).mean(-1).sum()
        value.backward()
        return value

    with torch.enable_grad():
        optimizer.step(loss)
    return parameters[0].detach(), parameters[1].detach()
