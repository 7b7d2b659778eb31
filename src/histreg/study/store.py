"""Store: the one class that knows where everything of a study lies on disk.

A store is a folder::

    records/<data set>/<method>/<key>.json   a record, whole or absent
    <name>.jsonl                             records collected, one a line
    failures/<key>.json                      why a run could not be computed
    claims/<key>.lock                        held while a run is being computed
    progress/<stack>.json                    how far a stack is
    checkpoints/<stack>.safetensors          a stack in training

Claims are locks of the operating system, so a process that is killed gives them up.
Several processes, or machines with a common file system, may work on one store.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from histreg.files import whole
from histreg.study.runs import Record, Run

FULL = (errno.ENOSPC, errno.EDQUOT)


class DiskFullError(OSError):
    """There is no room for a record."""


@dataclass(frozen=True)
class State:
    """What has become of a run so far.

    Parameters
    ----------
    name : {"done", "diverged", "running", "failed", "missing"}
    detail : str
        The share done, or why it failed.
    """

    name: str
    detail: str = ""


class Store:
    """A folder of records.

    Parameters
    ----------
    root : path
        Made when something is written.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        if self.root.exists() and not self.root.is_dir():
            raise ValueError(f"the store must be a folder, got file {self.root}")
        self._collected: dict[str, dict[str, Any]] | None = None

    # Records

    def find(self, run: Run) -> Record | None:
        """Return the record of a run, if it is there."""
        path = self._record_path(run)
        try:
            found = json.loads(path.read_text())
        except FileNotFoundError:
            found = self._from_collected().get(run.key)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{path} must be a record, but it is damaged; delete it to compute "
                "the run again"
            ) from error
        return None if found is None else Record.from_json(found, run)

    def has(self, run: Run) -> bool:
        """Return whether the record of a run is there, without reading it."""
        return self._record_path(run).exists() or run.key in self._from_collected()

    def records(self, runs: Iterable[Run]) -> list[Record]:
        """Return the records that are there."""
        found = (self.find(run) for run in runs)
        return [record for record in found if record is not None]

    def save(self, record: Record) -> None:
        """Write a record, whole or not at all."""
        path = self._record_path(record.run)
        self._write(path, json.dumps(record.to_json(), indent=1))
        with suppress(FileNotFoundError):
            self._failure_path(record.run).unlink()

    def fail(self, run: Run, error: BaseException) -> None:
        """Write down why a run could not be computed."""
        told = {
            "run": run.to_json(),
            "reason": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exception(error),
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self._write(self._failure_path(run), json.dumps(told, indent=1))

    def state(self, run: Run) -> State:
        """Return what has become of a run so far."""
        record = self.find(run)
        if record is not None:
            diverged_at = record.outcome.diverged_at
            if diverged_at is not None:
                return State("diverged", f"not finite after step {diverged_at}")
            return State("done")
        if self.is_claimed(run):
            return State("running", self._progress_of(run))
        with suppress(FileNotFoundError, json.JSONDecodeError):
            failure = json.loads(self._failure_path(run).read_text())
            return State("failed", failure["reason"])
        return State("missing")

    def collect(
        self, name: str, runs: Iterable[Run], *, into: Path | None = None
    ) -> tuple[Path, int]:
        """Write the records of these runs into one file, one a line.

        Returns the file, in the store or in another folder, and how many they are.
        """
        records = sorted(self.records(runs), key=lambda r: (r.run.folder, r.run.label))
        lines = [json.dumps(record.to_json()) for record in records]
        path = (into or self.root) / f"{name}.jsonl"
        self._write(path, "".join(f"{line}\n" for line in lines))
        return path, len(lines)

    # Claims and progress

    @contextmanager
    def claim(self, runs: Sequence[Run]) -> Iterator[list[Run]]:
        """Hold those of these runs that nobody holds and nobody has computed."""
        with ExitStack() as held:
            mine = []
            for run in runs:
                lock = self._lock(run)
                try:
                    held.enter_context(lock.acquire(timeout=0))
                except Timeout:
                    continue
                # Another process may have finished it a moment ago.
                if not self._record_path(run).exists():
                    mine.append(run)
            yield mine

    def is_claimed(self, run: Run) -> bool:
        """Return whether a process that is alive holds a run."""
        if not self._lock_path(run).exists():
            return False
        try:
            with self._lock(run).acquire(timeout=0):
                return False
        except Timeout:
            return True

    def report(self, runs: Sequence[Run], share: float, elapsed_s: float) -> None:
        """Tell other processes how far a stack is."""
        told = {
            "runs": [run.key for run in runs],
            "share": share,
            "elapsed_s": elapsed_s,
            "host": socket.gethostname(),
            "process": os.getpid(),
        }
        self._write(self._progress_path(runs), json.dumps(told))

    def forget(self, runs: Sequence[Run]) -> None:
        """Delete what was kept of a stack while it was computed."""
        self._progress_path(runs).unlink(missing_ok=True)
        self._checkpoint_path(runs).unlink(missing_ok=True)
        for run in runs:
            self._lock_path(run).unlink(missing_ok=True)

    def progress(self, runs: Sequence[Run]) -> Mapping[str, Any]:
        """Return what was last reported of a stack; empty if nothing was."""
        try:
            told = json.loads(self._progress_path(runs).read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return dict(told)

    # Checkpoints

    def checkpoint(self, runs: Sequence[Run], *, every_s: float) -> StackCheckpoint:
        """Return where a stack in training is kept."""
        return StackCheckpoint(self, self._checkpoint_path(runs), every_s)

    def checkpointed(self) -> list[list[str]]:
        """Return the keys of the runs of each stack that was stopped in training."""
        found = []
        for path in sorted((self.root / "checkpoints").glob("*.safetensors")):
            with suppress(SafetensorError, OSError), safe_open(path, "pt") as file:
                found.append(json.loads(file.metadata()["notes"])["runs"])
        return found

    # Paths

    def _record_path(self, run: Run) -> Path:
        return self.root.joinpath("records", *run.folder, f"{run.key}.json")

    def _failure_path(self, run: Run) -> Path:
        return self.root / "failures" / f"{run.key}.json"

    def _lock_path(self, run: Run) -> Path:
        return self.root / "claims" / f"{run.key}.lock"

    def _progress_path(self, runs: Sequence[Run]) -> Path:
        return self.root / "progress" / f"{stack_key(runs)}.json"

    def _checkpoint_path(self, runs: Sequence[Run]) -> Path:
        return self.root / "checkpoints" / f"{stack_key(runs)}.safetensors"

    def _lock(self, run: Run) -> FileLock:
        path = self._lock_path(run)
        with _room():
            path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(path)

    def _from_collected(self) -> dict[str, dict[str, Any]]:
        """Return the records of the collected files by key, read once."""
        if self._collected is None:
            self._collected = {}
            for path in sorted(self.root.glob("*.jsonl")):
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    try:
                        found = json.loads(line)
                        self._collected[found["key"]] = found
                    except (json.JSONDecodeError, KeyError, TypeError) as error:
                        raise ValueError(
                            f"{path} must have a record in every line, line {number} "
                            "is none"
                        ) from error
        return self._collected

    def _progress_of(self, run: Run) -> str:
        for path in (self.root / "progress").glob("*.json"):
            with suppress(FileNotFoundError, json.JSONDecodeError):
                told = json.loads(path.read_text())
                if run.key in told["runs"]:
                    return f"{told['share']:.0%}"
        return ""

    def _write(self, path: Path, text: str) -> None:
        with _room():
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole(path) as partial:
                partial.write_text(text)


class StackCheckpoint:
    """Where a stack in training is kept; it is saved now and then."""

    def __init__(self, store: Store, path: Path, every_s: float) -> None:
        self.path = path
        self.every_s = every_s
        self.saved = time.monotonic()
        self.runs: list[str] = []
        self.store = store
        self.must_save = lambda: False
        """Whether to save now, however recent the last one is."""

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return tensors and notes, if a whole checkpoint is there."""
        try:
            with safe_open(self.path, "pt") as file:
                notes = json.loads(file.metadata()["notes"])
                names = file.keys()
                return {name: file.get_tensor(name) for name in names}, notes
        except (FileNotFoundError, SafetensorError):
            return None

    def save(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        """Save, if it is time."""
        due = time.monotonic() - self.saved >= self.every_s
        if not due and not self.must_save():
            return
        text = json.dumps({"runs": self.runs, **notes})
        with _room():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with whole(self.path) as partial:
                save_file(tensors, partial, metadata={"notes": text})
        self.saved = time.monotonic()


def stack_key(runs: Sequence[Run]) -> str:
    """Return sixteen hexadecimal digits that stand for a set of runs."""
    text = " ".join(sorted(run.key for run in runs))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextmanager
def _room() -> Iterator[None]:
    """Tell a full disk in one sentence."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        full = isinstance(error, OSError) and error.errno in FULL
        if full or "No space left" in str(error):
            raise DiskFullError(
                "the disk of the store is full; what was finished is safe, and the "
                "same command goes on from there once there is room"
            ) from error
        raise
