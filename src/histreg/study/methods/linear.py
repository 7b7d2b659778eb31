"""Linear regression: the one method without a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from histreg.study.methods.method import Method


@dataclass(frozen=True)
class LinearRegression(Method):
    """Ordinary least squares."""

    name: ClassVar[str] = "Linear Regression"

    def fit(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the coefficients, the last for the constant: (n, d), (n,) -> (d + 1,).

        Of several that are as good, the shortest: some data sets have columns without
        variation.
        """
        # Through singular values, which alone stand such columns.
        return torch.linalg.lstsq(_with_one(x), y[:, None], driver="gelsd").solution[
            :, 0
        ]

    def predict(self, x: Tensor, coefficients: Tensor) -> Tensor:
        """Return predictions: (n, d), (d + 1,) -> (n,)."""
        return _with_one(x) @ coefficients


def _with_one(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_ones(len(x), 1)], dim=1)
