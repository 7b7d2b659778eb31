"""Observations: y beside a prediction, in any form that a metric takes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from histreg._checks import check_shape
from histreg._tensors import as_float64
from histreg.distribution import Histogram


def as_tensor(y: ArrayLike | Tensor) -> Tensor:
    """Return y as it is: its float type tells what an end of the bins rounds to."""
    return y if isinstance(y, Tensor) else torch.from_numpy(np.array(y))


def observed(distribution: Histogram, y: ArrayLike | Tensor) -> Tensor:
    if not isinstance(distribution, Histogram):
        raise TypeError(
            "distribution must be a Histogram (of several targets, score each), "
            f"got {type(distribution).__name__}"
        )
    y = as_tensor(y)
    check_shape("y", y, distribution.batch_shape, because="like the distribution")
    return y


def same_shape(**named: ArrayLike | Tensor) -> list[Tensor]:
    """Return all in float64, refusing different shapes."""
    values = {name: as_float64(value) for name, value in named.items()}
    (first, reference), *others = values.items()
    for name, value in others:
        check_shape(name, value, reference.shape, because=f"like {first}")
    return list(values.values())
