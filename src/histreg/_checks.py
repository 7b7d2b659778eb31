"""One form for every complaint: the argument, the requirement, the value."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Sequence
from numbers import Real
from typing import TYPE_CHECKING

from histreg.errors import InputError

if TYPE_CHECKING:  # functions that look at tensors import it, the others do without
    from torch import Tensor


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        likely = _likely(value, choices)
        raise InputError(
            f"{name} must be one of {listed}, got {name}={value!r}"
            + (f"; did you mean {likely!r}?" if likely else "")
        )


def _likely(value: object, choices: Collection[str]) -> str | None:
    """Return the choice that is spelt most like ``value``, if one nearly is."""
    by_name = {str(choice).lower(): choice for choice in choices}
    nearest = difflib.get_close_matches(str(value).lower(), by_name, n=1, cutoff=0.75)
    return by_name[nearest[0]] if nearest else None


def check_real(name: str, value: object) -> None:
    """Raise unless ``value`` is one real number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {name}={value!r}")


def check_positive(name: str, value: float) -> None:
    """Raise unless ``value`` is a finite number above zero."""
    check_real(name, value)
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} must be finite and positive, got {name}={value!r}")


def check_fraction(name: str, value: float) -> None:
    """Raise unless ``value`` lies strictly between zero and one."""
    check_real(name, value)
    if not 0 < value < 1:
        raise InputError(f"{name} must lie between 0 and 1, got {name}={value!r}")


def check_count(name: str, value: int, *, at_least: int) -> None:
    """Raise unless ``value`` is a whole number of at least ``at_least``."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or value % 1 != 0 or value < at_least:
        raise InputError(
            f"{name} must be a whole number of at least {at_least}, got {name}={value}"
        )


def check_tensor(name: str, value: object) -> None:
    """Raise unless ``value`` is a Tensor."""
    import torch

    if not isinstance(value, torch.Tensor):
        raise TypeError(
            f"{name} must be a Tensor, got {type(value).__name__}; "
            f"torch.as_tensor({name}) makes one"
        )


def check_bool(name: str, tensor: Tensor) -> None:
    """Raise unless a Tensor holds True and False, not numbers that stand for them."""
    import torch

    if tensor.dtype != torch.bool:
        raise TypeError(f"{name} must hold bool, got {tensor.dtype}")


def check_shape(
    name: str, tensor: Tensor, shape: Sequence[int], *, because: str
) -> None:
    """Raise unless it is a Tensor of exactly this shape; nothing is broadcast."""
    check_tensor(name, tensor)
    if tuple(tensor.shape) != tuple(shape):
        raise InputError(
            f"{name} must have shape {tuple(shape)} {because}, "
            f"got shape {tuple(tensor.shape)}"
        )


def check_finite(name: str, tensor: Tensor) -> None:
    """Raise if a value is NaN or infinite, if reading the values costs nothing."""
    import torch

    from histreg._tensors import is_free_to_read

    if not is_free_to_read(tensor):
        return
    bad = ~torch.isfinite(tensor)
    if bad.any():
        first = tensor[bad].flatten()[0].item()
        raise InputError(
            f"{name} must be finite, got {int(bad.sum())} of {tensor.numel()} values "
            f"that are not, the first {first}"
        )


def check_weight(name: str, weight: Tensor) -> None:
    """Raise on weights that have no mean, if reading the values costs nothing."""
    from histreg._tensors import is_free_to_read

    if weight.numel() and is_free_to_read(weight):
        smallest, largest = (extreme.item() for extreme in weight.detach().aminmax())
        if not 0 <= smallest <= largest < math.inf or largest == 0:
            raise InputError(
                f"{name} must be finite, non-negative and not all zero, "
                f"got values from {smallest:g} to {largest:g}"
            )
