"""Checkpoints: the state of a run that was interrupted, and how it is restored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # for annotations only
    from torch import Tensor

SavedState = tuple[dict[str, "Tensor"], dict[str, Any]]
"""Tensors, and notes that can be written as JSON."""


class Checkpoint(Protocol):
    """Where the state of one run is saved while the run is computed.

    Each run has its own, so that it can continue in a different stack.
    """

    def load(self) -> SavedState | None:
        """Return the state that was saved last, if any."""

    def is_due(self) -> bool:
        """Return whether it is time to save."""

    def save(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        """Save tensors, and notes that can be written as JSON."""

    def reject(self, why: Exception) -> None:
        """Discard the saved state: it does not belong to this run."""


class CheckpointError(Exception):
    """A checkpoint did not fit its run. It was rejected; the next attempt starts over.

    The model may be half restored, and must not be used.
    """


@contextmanager
def restoring(checkpoint: Checkpoint) -> Iterator[None]:
    """Reject a checkpoint from which a model cannot be restored."""
    try:
        yield
    # Raised by tensors and notes with other names, types or shapes.
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        checkpoint.reject(error)
        raise CheckpointError(str(error)) from error


def check_like(name: str, given: Tensor, expected: Tensor) -> None:
    """Raise a ValueError unless a tensor has the shape and dtype of another."""
    if given.shape != expected.shape or given.dtype != expected.dtype:
        raise ValueError(
            f"{name} must be {expected.dtype} of shape {tuple(expected.shape)}, got "
            f"{given.dtype} of shape {tuple(given.shape)}"
        )


def common_epoch(states: Sequence[SavedState | None]) -> int:
    """Return the epoch of all saved states; 0 if they differ or one is missing.

    A stack continues from its checkpoints only if they are of one epoch: a process may
    have been killed after saving one and before saving the next.
    """
    epochs = {0 if state is None else int(state[1]["epoch"]) for state in states}
    return epochs.pop() if len(epochs) == 1 else 0
