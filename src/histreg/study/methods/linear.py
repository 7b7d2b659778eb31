"""Linear regression: the only method without a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from histreg.study.methods.method import Method

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class LinearRegression(Method):
    """Ordinary least squares."""

    name: ClassVar[str] = "Linear Regression"

    def fit(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the coefficients, the intercept last: (n, d), (n,) -> (d + 1,).

        If the solution is not unique, as with constant columns, it is the one of
        smallest norm.
        """
        import torch

        # By singular values: other drivers fail on constant columns.
        return torch.linalg.lstsq(_with_one(x), y[:, None], driver="gelsd").solution[
            :, 0
        ]

    def predict(self, x: Tensor, coefficients: Tensor) -> Tensor:
        """Return predictions: (n, d), (d + 1,) -> (n,)."""
        return _with_one(x) @ coefficients


def _with_one(x: Tensor) -> Tensor:
    import torch

    return torch.cat([x, x.new_ones(len(x), 1)], dim=1)
