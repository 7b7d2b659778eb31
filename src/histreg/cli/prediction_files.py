"""Prediction files: predictions for many Parquet files, one file for each.

A file of predictions appears complete or not at all. It carries a stamp of the model,
of the options and of the file that was predicted, so that a command that was stopped
goes on with the files that are missing, and never takes files of another model or other
options for its own.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from histreg._files import atomic_write, remove_abandoned
from histreg.cli.columns import quoted_names
from histreg.cli.outputs import check_output_folder, files_of_model
from histreg.cli.predicted_columns import Array, Asked, columns_of
from histreg.cli.reading import target_name
from histreg.errors import InputError
from histreg.executors import Pool, WorkerLostError, is_stopping
from histreg.tabular.columns import INSTANT, NUMBER_OR_TIME
from histreg.tabular.parquet_rows import (
    TEXTS,
    ParquetFiles,
    frame_of,
    part_rows,
    read_errors,
)
from histreg.tabular.regressor import HistogramRegressor

STAMP = b"histreg"  # the key of the stamp among the metadata of a file
LOSSES_ALLOWED = 2  # workers that may die of a file
WAIT_S = 0.5
FOOTER_BYTES = 8  # at the end of a Parquet file: the length of its footer, and a mark


@dataclass(frozen=True)
class Task:
    """A file to predict.

    Parameters
    ----------
    model : Path
    model_digest : str
        A worker that has this model in memory does not load it again.
    source, destination : Path
    asked : Asked
    stamp : str
        Says what was predicted, with which model and options.
    n_threads : int, optional
        Of PyTorch, for workers that share a machine.
    """

    model: Path
    model_digest: str
    source: Path
    destination: Path
    asked: Asked
    stamp: str
    n_threads: int | None = None


def tasks_for(
    model: Path,
    files: ParquetFiles,
    out: Path,
    asked: Asked,
    *,
    overwrite: bool,
    n_threads: int | None = None,
) -> list[Task]:
    """Return the files that are still to be predicted.

    Raises
    ------
    InputError
        If the files do not fit the model, or if ``out`` has other files by the names of
        those to be written.
    """
    check_output_folder("--out", out)
    parts = [path for path in sorted(files_of_model(model)) if path.is_file()]
    digest = _digest(*(path.read_bytes() for path in parts))
    regressor = loaded(model, digest)
    check_columns(regressor, files)
    names = predicted_names(regressor, files, asked)
    taken = [name for name in names if name in files.schema.names]
    if taken:
        raise InputError(f"{files.path} must not have a column {taken[0]!r} already")
    if files.path.is_dir() and out.resolve().is_relative_to(files.path.resolve()):
        raise InputError(
            f"--out must not lie in the folder that is read, got {out}; predictions "
            "there would be predicted for the next time"
        )
    sources = {path.resolve() for path in files.paths}
    tasks = []
    for source in files.paths:
        destination = out / source.relative_to(files.root)
        stamp = json.dumps(
            {
                "model": digest,
                "source": _fingerprint(source),
                "asked": asked._asdict(),
                "columns": names,
            }
        )
        if destination.resolve() in sources:
            raise InputError(
                f"--out must not be the folder of a file that this command reads, got "
                f"{out}; name another"
            )
        if destination.exists() and not overwrite:
            if stamp_of(destination) == stamp:
                continue
            raise InputError(
                f"{destination} exists already, but not from this model, these options "
                "and this input; --overwrite replaces it"
            )
        tasks.append(
            Task(
                model.absolute(),
                digest,
                source.absolute(),
                destination.absolute(),
                asked,
                stamp,
                n_threads,
            )
        )
    return tasks


def compute(
    tasks: Sequence[Task], pool: Pool, on_file: Callable[[str], None]
) -> tuple[int, bool]:
    """Predict files, and return the number of finished ones and whether it stopped.

    Parameters
    ----------
    tasks : sequence of Task
    pool : Pool
    on_file : callable
        Called with the name of each file that is finished.

    Raises
    ------
    InputError
        If a file cannot be predicted, or its workers die. Finished files are kept.
    """
    waiting, at_work = deque(tasks), dict[Future[bool], Task]()
    # A worker that dies may take others' tasks with it, so each is tried again alone.
    suspects: deque[Task] = deque()
    losses: Counter[Path] = Counter()
    n_finished = 0
    try:
        while waiting or suspects or at_work:
            while waiting and len(at_work) < 2 * pool.n_workers:
                task = waiting.popleft()
                at_work[pool.submit(predict_file, task)] = task
            if suspects and not at_work:
                task = suspects.popleft()
                at_work[pool.submit(predict_file, task)] = task
            ready, _ = wait(at_work, timeout=WAIT_S, return_when=FIRST_COMPLETED)
            pool.check()
            for future in ready:
                task = at_work.pop(future)
                try:
                    is_finished = future.result()
                except WorkerLostError as error:
                    losses[task.source] += 1
                    if losses[task.source] > LOSSES_ALLOWED:
                        raise InputError(
                            f"the process that predicts {task.source} died "
                            f"{losses[task.source]} times, perhaps for lack of memory; "
                            "finished files are kept: run the same command again to go "
                            "on"
                        ) from error
                    suspects.append(task)
                    continue
                if not is_finished:
                    raise KeyboardInterrupt
                n_finished += 1
                on_file(task.source.name)
    except KeyboardInterrupt:
        pool.stop()
        try:
            wait(at_work)
        except KeyboardInterrupt:  # pressed twice: end at once
            pool.kill()
        # Those on disk: a file may be finished and not yet counted.
        return sum(stamp_of(task.destination) == task.stamp for task in tasks), True
    except BaseException:
        pool.stop()
        raise
    finally:
        for folder in {task.destination.parent for task in tasks}:
            remove_abandoned(folder)  # by workers that died
    return n_finished, False


def predict_file(task: Task) -> bool:
    """Predict for the rows of a file; return False, without a file, if stopped."""
    if task.n_threads is not None:
        torch.set_num_threads(task.n_threads)
    regressor = loaded(task.model, task.model_digest)
    task.destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        with atomic_write(task.destination) as partial:
            _write(task, regressor, partial)
    except _StoppedError:
        return False
    return True


def predicted_names(
    regressor: HistogramRegressor, files: ParquetFiles, asked: Asked
) -> list[str]:
    """Return the names of the columns that are added, as of a row without values."""
    names = feature_names(regressor)
    nulls = pa.table({n: pa.nulls(1, files.schema.field(n).type) for n in names})
    [predictions] = regressor.predict_in_chunks(frame_of(nulls, labels_of(regressor)))
    return list(columns_of(predictions, target_name(regressor), asked))


def check_columns(regressor: HistogramRegressor, files: ParquetFiles) -> None:
    """Raise unless files have the columns that a model was fitted on."""
    names = feature_names(regressor)
    missing = [name for name in names if name not in files.schema.names]
    if missing:
        raise InputError(
            f"{files.path} must have the columns that the model was fitted on, it "
            f"lacks {quoted_names(missing)}"
        )
    for name, kind in zip(names, regressor.model_.kinds, strict=True):
        column = files.schema.field(name)
        if kind != "label" and any(fits(column.type) for fits in TEXTS):
            shown = {NUMBER_OR_TIME: "number", INSTANT: "time"}.get(kind, kind)
            raise InputError(
                f"column {name!r} of {files.path} must hold {shown}s, as it did in "
                f"fit, got {column.type}"
            )


def feature_names(regressor: HistogramRegressor) -> list[str]:
    """Return the columns that a model was fitted on.

    Raises
    ------
    InputError
        If it was fitted on an array, whose columns have no names.
    """
    names = getattr(regressor, "feature_names_in_", None)
    if names is None:
        raise InputError(
            "the model must have been fitted on columns with names, to find them in "
            "Parquet files, got one that was fitted on an array"
        )
    return list(names)


def labels_of(regressor: HistogramRegressor) -> list[str]:
    """Return the columns that a model reads as labels."""
    kinds = zip(feature_names(regressor), regressor.model_.kinds, strict=True)
    return [name for name, kind in kinds if kind == "label"]


def stamp_of(path: Path) -> str | None:
    """Return the stamp of a file of predictions, None if it has none."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return None
    return metadata[STAMP].decode() if STAMP in metadata else None


@functools.lru_cache(maxsize=1)
def loaded(model: Path, digest: str) -> HistogramRegressor:  # noqa: ARG001
    """Return the model of a folder, which is loaded once in a process."""
    return HistogramRegressor.load(model)


class _StoppedError(Exception):
    """The task was asked to stop."""


def _write(task: Task, regressor: HistogramRegressor, partial: Path) -> None:
    """Write the columns of a file and their predictions, a part at a time."""
    names = json.loads(task.stamp)["columns"]
    with read_errors(task.source), pq.ParquetFile(task.source) as file:
        own = file.schema_arrow
        schema = pa.schema(
            [*own, *(pa.field(name, pa.float64()) for name in names)],
            {**(own.metadata or {}), STAMP: task.stamp.encode()},
        )
    with pq.ParquetWriter(partial, schema) as writer:
        for batch, X in _batches(task, regressor):
            if is_stopping():
                raise _StoppedError
            columns = _predicted(regressor, X, task.asked)
            arrays = [*batch.columns, *(pa.array(columns[name]) for name in names)]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def _batches(
    task: Task, regressor: HistogramRegressor
) -> Iterator[tuple[pa.RecordBatch, pd.DataFrame]]:
    """Yield the rows of a file as they are, and the features among them."""
    files = ParquetFiles(task.source)
    names, labels = feature_names(regressor), labels_of(regressor)
    own = pq.read_schema(task.source).names
    columns = [*own, *(name for name in names if name not in own)]
    for group in files.row_groups:
        for batch in files.batches(group, columns, part_rows(len(columns))):
            table = pa.Table.from_batches([batch])
            yield batch.select(own), frame_of(table.select(names), labels)


def _predicted(
    regressor: HistogramRegressor, X: pd.DataFrame, asked: Asked
) -> dict[str, Array]:
    """Return the predicted columns of some rows."""
    name = target_name(regressor)
    parts = [columns_of(part, name, asked) for part in regressor.predict_in_chunks(X)]
    return {
        column: np.concatenate([part[column] for part in parts]) for column in parts[0]
    }


def _fingerprint(path: Path) -> str:
    """Return a digest of the size of a Parquet file and of its footer.

    The footer has the places and sizes of all columns, and usually their extremes.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - FOOTER_BYTES))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(0, size - FOOTER_BYTES - length))
        return _digest(str(size).encode(), file.read())


def _digest(*contents: bytes) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    return digest.hexdigest()[:32]
