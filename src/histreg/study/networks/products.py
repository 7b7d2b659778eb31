"""Products: those of a stack's layers, by NumPy where it is faster than PyTorch.

Both write into tensors; NumPy's arrays are views of them, so nothing is copied. Their
results differ by rounding.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from histreg.study.engine.instructions import numpy_is_faster

WIDE = 128
"""Width of hidden layers from which NumPy multiplies, if it is faster. OpenBLAS treats
products of less than a million terms in another way, which rounds differently: those of
narrow networks would depend on the size of the stack."""


class Products(Protocol):
    """Matrix products of tensors."""

    def product(self, a: Tensor, b: Tensor, *, out: Tensor) -> None:
        """Write ``a @ b``: (n, d) by (d, h), or M such pairs."""

    def affine(self, bias: Tensor, x: Tensor, weight: Tensor, *, out: Tensor) -> None:
        """Write ``x @ weight + bias``: (n, d), (d, h), (1, h), or M of each."""


class ByTorch:
    """Products by PyTorch."""

    def product(self, a: Tensor, b: Tensor, *, out: Tensor) -> None:
        """See `Products`."""
        if a.ndim == 2:
            torch.mm(a, b, out=out)
        else:
            torch.bmm(a, b, out=out)

    def affine(self, bias: Tensor, x: Tensor, weight: Tensor, *, out: Tensor) -> None:
        """See `Products`."""
        if x.ndim == 2:
            torch.addmm(bias, x, weight, out=out)
        else:
            torch.baddbmm(bias, x, weight, out=out)


class ByNumpy:
    """Products by NumPy, of tensors without gradients."""

    def product(self, a: Tensor, b: Tensor, *, out: Tensor) -> None:
        """See `Products`."""
        with np.errstate(all="ignore"):  # of networks that diverge, as PyTorch does
            np.matmul(a.numpy(), b.numpy(), out=out.numpy())

    def affine(self, bias: Tensor, x: Tensor, weight: Tensor, *, out: Tensor) -> None:
        """See `Products`."""
        self.product(x, weight, out=out)
        out += bias


def fastest(width: int) -> Products:
    """Return the products for networks of this width, whatever the stack."""
    return ByNumpy() if width >= WIDE and numpy_is_faster() else ByTorch()
