"""Store: the only class that knows where the files of a study are.

A store is a folder::

    records/<data set>/<method>/<key>.json   a record, complete or absent
    <name>.jsonl                             collected records, one per line
    failures/<key>.json                      why a run could not be computed
    claims/<key>.lock                        held while a run is being computed
    progress/<stack>.json                    the progress of a stack
    checkpoints/<key>.safetensors            a network in training
    <any of these>.damaged                   set aside for inspection

Claims are locks of the operating system: a process that is killed releases them. The
progress it reported stays, but means nothing without a claim. Several processes, or
machines with a common file system, may work on one store.

Damaged files count as absent, and a `DamageWarning` names them. Reading changes nothing
on disk. The process that claims a run renames its damaged files to ``NAME.damaged``
before the run is computed again; `Store.collect` moves damaged lines to
``NAME.jsonl.damaged``. Progress holds no result: the next report replaces it.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from histreg._files import atomic_write
from histreg.errors import InputError
from histreg.study.engine.checkpoints import RunCheckpoint
from histreg.study.engine.runs import (
    DamagedError,
    Record,
    Run,
    check_parts,
    check_record,
)
from histreg.study.engine.store_files import parsed, set_aside, writing_to

GLANCE_S = 0.2  # far longer than a check of whether a lock is free


class DamageWarning(UserWarning):
    """A file of a store, or a line of one, is damaged."""


@dataclass(frozen=True)
class State:
    """The state of a run.

    Parameters
    ----------
    name : {"done", "diverged", "running", "failed", "missing"}
    detail : str
        The completed share, or the reason of the failure.
    """

    name: str
    detail: str = ""


class Store:
    """A folder of records.

    Parameters
    ----------
    root : path
        Created when something is written.
    """

    def __init__(self, root: str | Path) -> None:
        # Absolute, because workers may have another working directory.
        self.root = Path(root).absolute()
        if self.root.exists() and not self.root.is_dir():
            raise InputError(f"the store must be a folder, got file {self.root}")
        self._collected: dict[str, dict[str, Any]] | None = None
        self._named: set[Path] = set()  # files that a warning has named

    # Records

    def find(self, run: Run) -> Record | None:
        """Return the record of a run, if it exists and is not damaged."""
        content = self._content(run)
        return None if content is None else Record.from_json(content, run)

    def has(self, run: Run) -> bool:
        """Return whether the record of a run exists and is not damaged."""
        return self.find(run) is not None

    def records(self, runs: Iterable[Run]) -> list[Record]:
        """Return the existing records of these runs."""
        records = map(self.find, runs)
        return [record for record in records if record is not None]

    def save(self, record: Record) -> None:
        """Write a record atomically."""
        path = self._record_path(record.run)
        self._write(path, json.dumps(record.to_json(), indent=1))
        self._failure_path(record.run).unlink(missing_ok=True)

    def fail(self, run: Run, error: BaseException) -> None:
        """Record why a run could not be computed."""
        failure = {
            "run": run.to_json(),
            "reason": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exception(error),
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self._write(self._failure_path(run), json.dumps(failure, indent=1))

    def state(self, run: Run) -> State:
        """Return the state of a run."""
        record = self.find(run)
        if record is not None:
            diverged_at = record.outcome.diverged_at
            if diverged_at is not None:
                return State("diverged", f"not finite after step {diverged_at}")
            return State("done")
        if self.is_claimed(run):
            return State("running", self._progress_of(run))
        try:
            reason = self._failure(run)
        except DamagedError as damage:
            self._name(self._failure_path(run), damage)
            reason = None
        if reason is not None:
            return State("failed", reason)
        epoch = self.epoch(run)
        return State("missing", f"stopped after epoch {epoch}" if epoch else "")

    def collect(
        self, name: str, runs: Iterable[Run], *, into: Path | None = None
    ) -> tuple[Path, int]:
        """Write the records of these runs into one file, one per line.

        Records are copied as they were written, also those of older versions. Records
        of other runs stay in the file: no record is ever deleted. Damaged lines are
        moved to ``NAME.jsonl.damaged``. Processes that collect into one file wait for
        each other.

        Returns the file, in the store or in another folder, and how many of these
        runs are in it.
        """
        path = (into or self.root) / f"{name}.jsonl"
        with _alone_at(path):
            lines, damaged = _lines_of(path)
            self._set_lines_aside(path, damaged)
            self._collected = None  # read again, now that no other process writes
            contents = map(self._content, runs)
            ours = {record["key"]: record for record in contents if record is not None}
            for key, record in ours.items():
                # The same record may be in several files, written by several versions.
                if key not in lines or not _is_same(lines[key], record):
                    lines[key] = record
            ordered = sorted(
                lines.values(),
                key=lambda line: (json.dumps(line.get("run")), line["key"]),
            )
            self._write(path, "".join(f"{json.dumps(line)}\n" for line in ordered))
        return path, len(ours)

    # Claims and progress

    @contextmanager
    def claim(self, stack: Sequence[Run]) -> Iterator[list[Run]]:
        """Claim those runs of a stack that are neither claimed nor computed.

        The process that claims the first run gets all: two processes that plan the same
        stack do not split it.
        """
        with ExitStack() as held:
            mine: list[Run] = []
            for i, run in enumerate(stack):
                try:
                    # Another process may hold the lock briefly in `is_claimed`.
                    held.enter_context(self._lock(run).acquire(timeout=GLANCE_S))
                except Timeout:
                    if i == 0:
                        break
                    continue
                self._set_damaged_aside(run)
                # Another process may have finished it in the meantime.
                if not self._record_path(run).exists():
                    mine.append(run)
            yield mine

    def is_claimed(self, run: Run) -> bool:
        """Return whether a running process has claimed a run."""
        if not self._lock_path(run).exists():
            return False
        try:
            with self._lock(run).acquire(timeout=0):
                return False
        except Timeout:
            return True

    def report(self, stack: Sequence[Run], share: float) -> None:
        """Report the progress of a stack to other processes."""
        progress = {
            "runs": [run.key for run in stack],
            "share": share,
            "when": time.time(),
            "host": socket.gethostname(),
            "process": os.getpid(),
        }
        self._write(self._progress_path(stack), json.dumps(progress))

    def progress(self, stack: Sequence[Run]) -> float | None:
        """Return the share of a stack that was last reported, if any was."""
        progress = self._progress(self._progress_path(stack))
        return None if progress is None else float(progress["share"])

    def forget(self, stack: Sequence[Run]) -> None:
        """Delete the progress of a stack, and the leftovers of its finished runs."""
        self._progress_path(stack).unlink(missing_ok=True)
        for run in stack:
            if self._record_path(run).exists():
                self.checkpoint(run).path.unlink(missing_ok=True)
                self._lock_path(run).unlink(missing_ok=True)

    # Checkpoints

    def checkpoint(self, run: Run, **options: Any) -> RunCheckpoint:
        """Return the checkpoint of a run, see `RunCheckpoint`."""
        path = self.root / "checkpoints" / f"{run.key}.safetensors"
        return RunCheckpoint(path, **options)

    def epoch(self, run: Run) -> int:
        """Return the epochs of a run that are done; 0 if it has to start over."""
        checkpoint = self.checkpoint(run)
        try:
            checkpoint.check()
        except DamagedError as damage:
            self._name(checkpoint.path, damage)
        return checkpoint.epoch

    # Damage

    def _name(self, path: Path, damage: DamagedError, what_next: str = "") -> None:
        """Warn of a damaged file, once."""
        if path in self._named:
            return
        self._named.add(path)
        what_next = what_next or (
            f"the next `histreg study run` renames it to {path.name}.damaged and "
            "computes the run again"
        )
        warnings.warn(
            f"{path} is damaged ({damage}) and ignored; {what_next}",
            DamageWarning,
            stacklevel=3,
        )

    def _set_damaged_aside(self, run: Run) -> None:
        """Rename the damaged files of a run that is claimed."""
        checkpoint = self.checkpoint(run)
        for path, read in (
            (self._record_path(run), self._record_file),
            (self._failure_path(run), self._failure),
            (checkpoint.path, lambda _: checkpoint.check()),
        ):
            try:
                read(run)
            except DamagedError:
                set_aside(path)

    def _set_lines_aside(self, path: Path, damaged: Sequence[_DamagedLine]) -> None:
        """Add damaged lines of a collected file to those set aside before."""
        if not damaged:
            return
        aside = path.with_name(f"{path.name}.damaged")
        before = aside.read_bytes().splitlines() if aside.exists() else []
        # A line may be there already, from a collection that was killed.
        lines = dict.fromkeys([*before, *(line.content for line in damaged)])
        with writing_to(aside), atomic_write(aside) as partial:
            partial.write_bytes(b"".join(line + b"\n" for line in lines))
        self._name(
            path, _damage_of(damaged), f"the damaged lines were moved to {aside.name}"
        )

    # Files

    def _content(self, run: Run) -> dict[str, Any] | None:
        """Return the record of a run as it was written, see `find`."""
        try:
            content = self._record_file(run)
        except DamagedError as damage:
            self._name(self._record_path(run), damage)
            content = None
        return content or self._from_collected().get(run.key)

    def _record_file(self, run: Run) -> dict[str, Any] | None:
        """Return the content of the file of a record, if it exists."""
        file = _read(self._record_path(run))
        if file is None:
            return None
        Record.from_json(file.content, run)  # raises if it is damaged
        content: dict[str, Any] = file.content
        return content

    def _failure(self, run: Run) -> str | None:
        """Return why a run failed, if it did."""
        file = _read(self._failure_path(run))
        if file is None:
            return None
        check_parts(file.content, {"reason": str})
        return str(file.content["reason"])

    def _progress(self, path: Path) -> dict[str, Any] | None:
        try:
            file = _read(path)
            if file is None:
                return None
            progress: dict[str, Any] = file.content
            number = (float, int)
            check_parts(progress, {"runs": list, "share": number, "when": number})
            if not 0 <= progress["share"] <= 1:
                raise DamagedError(f"its 'share' cannot be {progress['share']}")
        except DamagedError as damage:
            self._name(path, damage, "the next report of progress replaces it")
            return None
        return progress

    # Paths

    def _record_path(self, run: Run) -> Path:
        return self.root.joinpath("records", *run.folder, f"{run.key}.json")

    def _failure_path(self, run: Run) -> Path:
        return self.root / "failures" / f"{run.key}.json"

    def _lock_path(self, run: Run) -> Path:
        return self.root / "claims" / f"{run.key}.lock"

    def _progress_path(self, stack: Sequence[Run]) -> Path:
        return self.root / "progress" / f"{stack_digest(stack)}.json"

    def _lock(self, run: Run) -> FileLock:
        path = self._lock_path(run)
        with writing_to(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(path)

    def _from_collected(self) -> dict[str, dict[str, Any]]:
        """Return the records of the collected files by key, read once."""
        if self._collected is None:
            self._collected = {}
            for path in _shown_files(self.root, "*.jsonl"):
                lines, damaged = _lines_of(path)
                self._collected |= lines
                if damaged:
                    next_ = "`histreg study run` computes the runs that it lacks again"
                    self._name(path, _damage_of(damaged), next_)
        return self._collected

    def _progress_of(self, run: Run) -> str:
        """Return the share done of a run that is claimed, as reported last."""
        files = _shown_files(self.root / "progress", "*.json")
        shares = [
            (progress["when"], progress["share"])
            for progress in map(self._progress, files)
            if progress is not None and run.key in progress["runs"]
        ]
        return f"{max(shares)[1]:.0%}" if shares else ""

    def _write(self, path: Path, text: str) -> None:
        with writing_to(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as partial:
                partial.write_text(text)


def stack_digest(runs: Sequence[Run]) -> str:
    """Return sixteen hexadecimal digits that identify a set of runs."""
    text = " ".join(sorted(run.key for run in runs))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _DamagedLine:
    """A line of a collected file that is not a record."""

    number: int
    content: bytes
    why: str


def _is_same(line: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two lines are of one computation, whatever fields they were given."""
    parts = ("finished", "elapsed_s", "metrics", "environment")
    return all(line[part] == other[part] for part in parts)


def _lines_of(path: Path) -> tuple[dict[str, dict[str, Any]], list[_DamagedLine]]:
    """Return the records of a collected file by key, and its damaged lines."""
    records, damaged = {}, []
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = parsed(line)
            check_record(record)
            records[record["key"]] = record
        except DamagedError as damage:
            damaged.append(_DamagedLine(number, line, str(damage)))
    return records, damaged


def _damage_of(lines: Sequence[_DamagedLine]) -> DamagedError:
    """Return which lines of a file are damaged, and why the first of them is."""
    first = lines[0]
    others = f" and {len(lines) - 1} more lines" if len(lines) > 1 else ""
    return DamagedError(f"line {first.number}: {first.why}{others}")


@dataclass(frozen=True)
class _Read:
    """The content of a file, which may be null."""

    content: Any


def _read(path: Path) -> _Read | None:
    """Return the content of a JSON file, if it exists."""
    try:
        return _Read(parsed(path.read_bytes()))
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise DamagedError("it is a folder") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


@contextmanager
def _alone_at(path: Path) -> Iterator[None]:
    """Hold a lock on a file against other processes that use this function.

    The lock file lies beside the file, where processes of other stores, machines and
    users find it, and is removed afterwards. filelock handles processes that wait for a
    lock file that is removed.
    """
    lock = path.with_name(f".{path.name}.lock")
    with ExitStack() as held:
        with writing_to(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(FileLock(lock))
        held.callback(lock.unlink, missing_ok=True)  # while it is held
        yield


def _shown_files(folder: Path, pattern: str) -> list[Path]:
    """Return sorted files, without those that are being written."""
    return sorted(path for path in folder.glob(pattern) if path.name[0] != ".")
