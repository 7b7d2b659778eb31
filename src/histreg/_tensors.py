"""Tensors: conversion, lookup, and whether values can be read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

_functorch = torch._C._functorch  # looked up once, since losses ask at every step


def float64_on(device: torch.device) -> torch.dtype:
    """Return the widest float type of a device: float64, or float32 on Apple's MPS."""
    return torch.float32 if device.type == "mps" else torch.float64


def take(table: Tensor, index: Tensor) -> Tensor:
    """Return ``table[index]`` for an index of any shape into the first dimension.

    Indexing by brackets takes three times as long. With a scalar index it also reads
    the value, which waits for a device and fails under ``torch.func.vmap``.
    """
    chosen = table.index_select(0, index.flatten())
    return chosen.view(index.shape + table.shape[1:])


def broadcast_shapes(*shapes: Sequence[int]) -> torch.Size:
    """Return the shape that tensors of these shapes broadcast to.

    ``torch.broadcast_shapes`` imports torch's compiler when it is first called, which
    takes longer than predicting a table.
    """
    if not torch.compiler.is_compiling():  # then there are sizes without a value
        with suppress(ValueError):  # torch's error is raised instead
            return torch.Size(np.broadcast_shapes(*map(tuple, shapes)))
    return torch.broadcast_shapes(*shapes)


def n_below(table: Tensor, values: Tensor, *, inclusive: bool = False) -> Tensor:
    """Return how many entries of a sorted row lie below each value.

    While a model is exported, by comparing with all of them: ONNX has no searchsorted.

    Parameters
    ----------
    table : Tensor of shape (k,) or (..., k)
        Increasing in the last dimension.
    values : Tensor of shape (...) for one row, or (..., m) for one row each
    inclusive : bool
        Whether entries equal to the value count as below it.

    Returns
    -------
    Tensor of the shape of the values, int64
    """
    # Before torch 2.7 export counts as compiling, and cannot be told from it.
    is_exporting = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)
    values = values.contiguous()
    if is_exporting():
        table = table if table.dim() == 1 else table.unsqueeze(-2)
        values = values.unsqueeze(-1)
        below = table <= values if inclusive else table < values
        return below.to(torch.int64).sum(dim=-1)
    if table.dim() == 1:
        return torch.bucketize(values, table, right=inclusive)
    return torch.searchsorted(table.contiguous(), values, right=inclusive)


def writable(value: Any) -> Any:
    """Return a copy of an array that is read-only, as those of pandas are.

    PyTorch warns of such arrays, even if it is not going to write to them.
    """
    is_read_only = isinstance(value, np.ndarray) and not value.flags.writeable
    return value.copy() if is_read_only else value


def as_float64(values: ArrayLike | Tensor) -> Tensor:
    """Return a new float64 CPU tensor of a tensor, array, frame column or list."""
    if isinstance(values, Tensor):
        return values.detach().to("cpu", torch.float64, copy=True)
    if isinstance(values, Sequence) and any(isinstance(v, Tensor) for v in values):
        values = [float(v) for v in values]
    return torch.from_numpy(np.array(values, dtype=np.float64))


def at_least_float32(logits: Tensor) -> Tensor:
    """Return half precision as float32, wider floats as they are."""
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point, got {logits.dtype}")
    return logits.float() if logits.dtype.itemsize < 4 else logits


def is_concrete(tensor: Tensor) -> bool:
    """Whether a tensor has values to read: not while compiling or under vmap."""
    return (
        not torch.compiler.is_compiling()
        and not tensor.is_meta
        # There is no public name for "inside a torch.func transform", nor for the
        # older one behind is_grads_batched.
        and not _functorch.is_functorch_wrapped_tensor(tensor)
        and not _functorch.is_legacy_batchedtensor(tensor)
    )


def is_free_to_read(tensor: Tensor) -> bool:
    """Whether the values can be read without waiting for a device."""
    return tensor.is_cpu and is_concrete(tensor)
