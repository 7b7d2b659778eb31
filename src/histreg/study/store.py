"""Store: the one class that knows where everything of a study lies on disk.

A store is a folder::

    records/<data set>/<method>/<key>.json   a record, whole or absent
    <name>.jsonl                             records collected, one a line
    failures/<key>.json                      why a run could not be computed
    claims/<key>.lock                        held while a run is being computed
    progress/<stack>.json                    how far a stack is
    checkpoints/<key>.safetensors            a network in training

Claims are locks of the operating system, so a process that is killed gives them up.
What it told of its progress stays, but means nothing without a claim. Several
processes, or machines with a common file system, may work on one store.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from histreg.errors import InputError
from histreg.files import whole
from histreg.study.runs import Record, Run

CHECKPOINT_FORMAT = 2
"""Of what networks in training keep; others are not gone on from, but begun anew."""
FULL = (errno.ENOSPC, errno.EDQUOT)
GLANCE_S = 0.2  # far longer than it takes to see whether a lock is free


class DiskFullError(InputError, OSError):
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
        # Absolute, so that workers in other folders mean the same.
        self.root = Path(root).absolute()
        if self.root.exists() and not self.root.is_dir():
            raise InputError(f"the store must be a folder, got file {self.root}")
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
            raise InputError(
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
        self._failure_path(record.run).unlink(missing_ok=True)

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
        failure = _read(self._failure_path(run))
        if failure is not None:
            return State("failed", failure["reason"])
        epoch = self.checkpoint(run).epoch
        return State("missing", f"stopped after epoch {epoch}" if epoch else "")

    def collect(
        self, name: str, runs: Iterable[Run], *, into: Path | None = None
    ) -> tuple[Path, int]:
        """Write the records of these runs into one file, one a line.

        What the file has of other runs stays in it: a record is never thrown away.
        Returns the file, in the store or in another folder, and how many of these
        runs are in it.
        """
        path = (into or self.root) / f"{name}.jsonl"
        lines = _lines_of(path) if path.exists() else {}
        found = {record.run.key: record.to_json() for record in self.records(runs)}
        lines |= found
        ordered = sorted(
            lines.values(), key=lambda line: (json.dumps(line["run"]), line["key"])
        )
        self._write(path, "".join(f"{json.dumps(line)}\n" for line in ordered))
        return path, len(found)

    # Claims and progress

    @contextmanager
    def claim(self, stack: Sequence[Run]) -> Iterator[list[Run]]:
        """Hold those runs of a stack that nobody holds and nobody has computed.

        Whoever has the first has them all: two processes that plan the same stack do
        not take it apart.
        """
        with ExitStack() as held:
            mine: list[Run] = []
            for i, run in enumerate(stack):
                try:
                    # Somebody may hold it for a moment, only to see if he can.
                    held.enter_context(self._lock(run).acquire(timeout=GLANCE_S))
                except Timeout:
                    if i == 0:
                        break
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

    def report(self, stack: Sequence[Run], share: float) -> None:
        """Tell other processes how far a stack is."""
        told = {
            "runs": [run.key for run in stack],
            "share": share,
            "when": time.time(),
            "host": socket.gethostname(),
            "process": os.getpid(),
        }
        self._write(self._progress_path(stack), json.dumps(told))

    def progress(self, stack: Sequence[Run]) -> float | None:
        """Return the share of a stack that was last reported, if any was."""
        told = _read(self._progress_path(stack))
        return None if told is None else float(told["share"])

    def forget(self, stack: Sequence[Run]) -> None:
        """Delete what was told of a stack, and what is no longer needed of its runs."""
        self._progress_path(stack).unlink(missing_ok=True)
        for run in stack:
            if self._record_path(run).exists():
                self.checkpoint(run).path.unlink(missing_ok=True)
                self._lock_path(run).unlink(missing_ok=True)

    # Checkpoints

    def checkpoint(self, run: Run, **options: Any) -> RunCheckpoint:
        """Return where a run is kept while it is computed; see `RunCheckpoint`."""
        path = self.root / "checkpoints" / f"{run.key}.safetensors"
        return RunCheckpoint(path, **options)

    # Paths

    def _record_path(self, run: Run) -> Path:
        return self.root.joinpath("records", *run.folder, f"{run.key}.json")

    def _failure_path(self, run: Run) -> Path:
        return self.root / "failures" / f"{run.key}.json"

    def _lock_path(self, run: Run) -> Path:
        return self.root / "claims" / f"{run.key}.lock"

    def _progress_path(self, stack: Sequence[Run]) -> Path:
        return self.root / "progress" / f"{stack_key(stack)}.json"

    def _lock(self, run: Run) -> FileLock:
        path = self._lock_path(run)
        with _room():
            path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(path)

    def _from_collected(self) -> dict[str, dict[str, Any]]:
        """Return the records of the collected files by key, read once."""
        if self._collected is None:
            self._collected = {}
            for path in _shown_files(self.root, "*.jsonl"):
                self._collected |= _lines_of(path)
        return self._collected

    def _progress_of(self, run: Run) -> str:
        """Return the share of a run that is claimed, by the newest that tells of it."""
        files = _shown_files(self.root / "progress", "*.json")
        told = [each for each in map(_read, files) if each is not None]
        shares = [
            (each["when"], each["share"]) for each in told if run.key in each["runs"]
        ]
        return f"{max(shares)[1]:.0%}" if shares else ""

    def _write(self, path: Path, text: str) -> None:
        with _room():
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole(path) as partial:
                partial.write_text(text)


class RunCheckpoint:
    """Where a run is kept while it is computed.

    Parameters
    ----------
    path : Path
    every_s : float
        Seconds between two savings.
    must_save : callable, optional
        Whether to save now, however recent the last one is.
    share : int
        Of how many runs that are computed together it is one: its part of the time.
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
        self.started = self.saved = time.monotonic()
        self.spent_before_s = 0.0

    @property
    def spent_s(self) -> float:
        """Seconds of one core that went into the run, in this process and before."""
        return self.spent_before_s + (time.monotonic() - self.started) / self.share

    @property
    def epoch(self) -> int:
        """The epochs that are done; 0 if there is no checkpoint to go on from."""
        found = self._notes()
        return 0 if found is None else int(found["epoch"])

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return tensors and notes; None if there is no checkpoint to go on from.

        One that is not whole is none, nor is one of another `CHECKPOINT_FORMAT`.
        """
        notes = self._notes()
        if notes is None:
            return None
        self.spent_before_s = notes.pop("spent_s")
        with safe_open(self.path, "pt") as file:
            names = file.keys()
            return {name: file.get_tensor(name) for name in names}, notes

    def is_due(self) -> bool:
        """Return whether it is time to save."""
        return time.monotonic() - self.saved >= self.every_s or self.must_save()

    def save(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        """Save tensors, and notes that JSON can hold."""
        text = json.dumps(
            {"spent_s": self.spent_s, "format": CHECKPOINT_FORMAT, **notes}
        )
        with _room():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with whole(self.path) as partial:
                save_file(tensors, partial, metadata={"notes": text})
        self.saved = time.monotonic()

    def _notes(self) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, "pt") as file:
                notes = dict(json.loads(file.metadata()["notes"]))
        except (FileNotFoundError, SafetensorError):
            return None
        return notes if notes.pop("format", None) == CHECKPOINT_FORMAT else None


def stack_key(runs: Sequence[Run]) -> str:
    """Return sixteen hexadecimal digits that stand for a set of runs."""
    text = " ".join(sorted(run.key for run in runs))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _lines_of(path: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a collected file by key."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            record = json.loads(line)
            found[record["key"]] = record
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} must have a record in every line, line {number} is none"
            ) from error
    return found


def _read(path: Path) -> dict[str, Any] | None:
    """Return what a file has, if it is there and whole."""
    try:
        return dict(json.loads(path.read_text()))
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def _shown_files(folder: Path, pattern: str) -> list[Path]:
    """Return files in order, without those that are being written."""
    return sorted(path for path in folder.glob(pattern) if path.name[0] != ".")


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
