"""Tilting: the nearest probability vector, in relative entropy, with a given mean."""

from __future__ import annotations

import torch
from torch import Tensor

from histreg._tensors import is_concrete

_MOST_STEPS = 60  # where y is nearly the last center, only halving makes progress
_COMPILED_STEPS = 8  # the loop is unrolled by the compiler


def tilted_to_zero_mean(
    probs: Tensor,
    distances: Tensor,
    start: Tensor | None = None,
    tolerance: float = 1e-13,
) -> tuple[Tensor, Tensor]:
    """Return probabilities tilted to a mean distance of zero, and the tilt.

    The mean rises with the tilt, so every trial bounds it. Newton's step is taken where
    it stays within the bounds, and halving (or doubling, while there is no bound) where
    it does not: three to nine steps, and sixteen on bins whose widths differ by 1e5.

    Parameters
    ----------
    probs, distances : Tensors of shape (..., m)
    start : Tensor of shape (..., 1), optional
        A tilt to begin with, per unit of distance.
    tolerance : float
        For the mean distance, in standard deviations of the tilted vector.

    Returns
    -------
    Tensors of shapes (..., m) and (..., 1)
    """
    has_mass = probs > 0
    lowest = distances.where(has_mass, torch.inf).amin(dim=-1, keepdim=True)
    highest = distances.where(has_mass, -torch.inf).amax(dim=-1, keepdim=True)
    # A mean that cannot be reached is moved to the nearest that can. Distances without
    # mass do not count, and in units of the others they may be infinite.
    distances = distances - lowest.clamp(min=0) - highest.clamp(max=0)
    distances = distances.where(has_mass, 0.0)
    # A power of two, so that no digit changes, and no square leaves the float type.
    smallest = torch.finfo(distances.dtype).tiny
    farthest = distances.abs().amax(dim=-1, keepdim=True).clamp(min=smallest)
    unit = farthest.log2().floor().exp2()
    distances = distances / unit
    scale = (probs * distances**2).sum(dim=-1, keepdim=True).sqrt()
    scale = scale.clamp(min=smallest)
    distances = distances / scale
    logits = probs.log()
    tilt = torch.zeros_like(scale) if start is None else start * unit * scale
    rounding = torch.finfo(probs.dtype).eps / 2
    tolerance = max(tolerance, 16 * rounding)
    low, high = torch.full_like(tilt, -torch.inf), torch.full_like(tilt, torch.inf)
    compiling = torch.compiler.is_compiling()
    for _ in range(_COMPILED_STEPS if compiling else _MOST_STEPS):
        tilted = (logits + tilt * distances).softmax(dim=-1)
        mean = (tilted * distances).sum(dim=-1, keepdim=True)
        spread = (tilted * distances**2).sum(dim=-1, keepdim=True) - mean**2
        # Besides the tolerance: the rounding of distances, where no spread is left.
        is_open = mean.abs() > tolerance * spread.clamp(min=0).sqrt() + rounding
        if is_concrete(probs) and not is_open.any():
            break
        high, low = torch.where(mean > 0, tilt, high), torch.where(mean < 0, tilt, low)
        newton = tilt - mean / spread
        between = torch.where(
            high.isinf(),
            tilt + (tilt.abs() + 1),
            torch.where(low.isinf(), tilt - (tilt.abs() + 1), low + (high - low) / 2),
        )
        is_within = (newton > low) & (newton < high)
        tilt = torch.where(is_open, torch.where(is_within, newton, between), tilt)
    return tilted, tilt / scale / unit
