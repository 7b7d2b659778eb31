"""Checkpoints: the state of a run that was interrupted, and how it is restored."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from safetensors import SafetensorError, safe_open

from histreg._files import atomic_write
from histreg.study.engine.runs import DamagedError, check_parts
from histreg.study.engine.store_files import parsed, reason, set_aside, writing_to

if TYPE_CHECKING:  # for annotations only
    from torch import Tensor

CHECKPOINT_FORMAT = 2
"""Format of checkpoints. A run with a checkpoint of another format starts over."""
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


class RunCheckpoint:
    """The checkpoint of a run: the file with its state while it is computed.

    Parameters
    ----------
    path : Path
    every_s : float
        Seconds between two saves.
    must_save : callable, optional
        Returns whether to save now, however recent the last save is.
    share : int
        The number of runs that are computed together and share the time.
    """

    def __init__(
        self,
        path: Path,
        *,
        every_s: float = math.inf,
        must_save: Callable[[], bool] = lambda: False,
        share: int = 1,
    ) -> None:
        self.path, self.every_s, self.must_save = path, every_s, must_save
        self.share = share
        self.saved = time.monotonic()
        # Of the processor, which does not count what other programs take.
        self.started = time.process_time()
        self.spent_before_s = 0.0
        self.damage = ""  # the reason for rejecting it, if any

    @property
    def spent_s(self) -> float:
        """Seconds of one core spent on the run, in this process and before."""
        return self.spent_before_s + (time.process_time() - self.started) / self.share

    @property
    def epoch(self) -> int:
        """The epochs that are done; 0 without a checkpoint to continue from."""
        notes = self._notes()
        return 0 if notes is None else int(notes["epoch"])

    def check(self) -> None:
        """Raise `DamagedError` if there is a checkpoint that cannot be read."""
        self._read()

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return tensors and notes; None without a checkpoint to continue from.

        Damaged ones, and those of another `CHECKPOINT_FORMAT`, do not count.
        """
        notes = self._notes()
        if notes is None:
            return None
        try:
            with safe_open(self.path, "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError):
            return None
        self.spent_before_s = notes.pop("spent_s")
        return tensors, notes

    def reject(self, why: Exception) -> None:
        """Set the checkpoint aside: it does not fit its run."""
        self.damage = f"{self.path} does not fit its run ({reason(why)})"
        set_aside(self.path)

    def is_due(self) -> bool:
        """Return whether it is time to save."""
        return time.monotonic() - self.saved >= self.every_s or self.must_save()

    def save(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        """Save tensors, and notes that can be written as JSON."""
        from safetensors.torch import save_file  # imports PyTorch

        text = json.dumps(
            {"spent_s": self.spent_s, "format": CHECKPOINT_FORMAT, **notes}
        )
        with writing_to(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path) as partial:
                save_file(tensors, partial, metadata={"notes": text})
        self.saved = time.monotonic()

    def _notes(self) -> dict[str, Any] | None:
        try:
            return self._read()
        except DamagedError:
            return None

    def _read(self) -> dict[str, Any] | None:
        """Return the notes; None if there are none, or they have another format."""
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, "pt") as file:
                metadata = file.metadata()
        except FileNotFoundError:
            return None
        except (OSError, SafetensorError) as error:
            raise DamagedError(reason(error)) from error
        notes = parsed((metadata or {}).get("notes", "null"))
        check_parts(notes, {"format": int})
        if notes.pop("format") != CHECKPOINT_FORMAT:
            return None
        check_parts(notes, {"epoch": int, "spent_s": (float, int)})
        if notes["epoch"] < 1:
            raise DamagedError(f"its 'epoch' cannot be {notes['epoch']}")
        if not 0 <= notes["spent_s"] < math.inf:
            raise DamagedError(f"its 'spent_s' cannot be {notes['spent_s']}")
        return dict(notes)


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
