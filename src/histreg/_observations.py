"""Observations: conversion and checks of the y that a metric takes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from histreg._checks import check_shape
from histreg._tensors import as_float64
from histreg.distribution import Histogram


def as_tensor(y: ArrayLike | Tensor) -> Tensor:
    """Return y as a tensor of its own dtype, to which ends of the bins are rounded."""
    return y if isinstance(y, Tensor) else torch.from_numpy(np.array(y))


def observed(distribution: Histogram, y: ArrayLike | Tensor) -> Tensor:
    """Return y as a tensor of the distribution's batch shape."""
    if not isinstance(distribution, Histogram):
        raise TypeError(
            "distribution must be a Histogram (score several targets one by one), "
            f"got {type(distribution).__name__}"
        )
    y = as_tensor(y)
    check_shape("y", y, distribution.batch_shape, because="like the distribution")
    return y


def same_shape(**named: ArrayLike | Tensor) -> list[Tensor]:
    """Return all values in float64; different shapes raise an InputError."""
    values = {name: as_float64(value) for name, value in named.items()}
    (first, reference), *others = values.items()
    for name, value in others:
        check_shape(name, value, reference.shape, because=f"like {first}")
    return list(values.values())
