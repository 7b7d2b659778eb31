"""Parquet rows: the rows of many Parquet files, read a part at a time.

The types of the files say what a column is: text and dictionaries are labels, dates and
times are times, everything else is a number. Folders named such as ``year=2024`` are
columns of the files in them, and a model is fitted on those whose values can differ.
"""

from __future__ import annotations

import glob
import re
from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from histreg.errors import InputError
from histreg.tabular.columns import label_text
from histreg.tabular.streaming import Part, is_among

Array = NDArray[np.float64]
SUFFIX = ".parquet"
PART_ROWS = 2**16  # that are read, and shuffled, at once, of narrow tables
PART_CELLS, LEAST_PART_ROWS = 2**20, 2**12  # of wide ones
N_OPEN = 8  # row groups that a shuffled part is mixed of
BUFFER_BYTES = 2**16  # of a column to read at once, instead of the whole row group
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # in the name of a folder
NUMBERS = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_null,
)
TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)


def part_rows(n_columns: int) -> int:
    """Return how many rows of so many columns are read at once."""
    return max(LEAST_PART_ROWS, min(PART_ROWS, PART_CELLS // max(1, n_columns)))


class ParquetFiles:
    """The Parquet files of a folder, or of a pattern such as ``data/2024-*.parquet``.

    The files in subfolders of a folder belong to it too, but not those whose name, or
    that of a subfolder, starts with ``.`` or ``_``.

    Parameters
    ----------
    path : str or Path

    Attributes
    ----------
    root : Path
        The folder that all files are in.
    paths : list of Path
        Of the files, sorted.
    schema : pyarrow Schema
        Their columns, and those in the names of folders.
    constant_keys : set of str
        Those in the names of the root and of the folders that it is in.

    Raises
    ------
    InputError
        If there is no file, one cannot be read, or their columns have types that cannot
        be joined.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.root, self.paths = _found(self.path)
        self._group_rows: list[list[int]] = []  # of each row group of each file
        schemas = []
        for name in self.paths:
            with read_errors(name), pq.ParquetFile(name) as file:
                metadata = file.metadata
                groups = range(metadata.num_row_groups)
                self._group_rows.append(
                    [metadata.row_group(i).num_rows for i in groups]
                )
                schemas.append(file.schema_arrow.remove_metadata())
        outer = set(_keys_of(self.root))
        self.constant_keys = outer - set(schemas[0].names)
        # A folder that all files are in may be named like one of their columns.
        ignored = outer - self.constant_keys
        self._keys = [
            {n: value for n, value in _keys_of(path.parent).items() if n not in ignored}
            for path in self.paths
        ]
        self.schema = self._joined_schema(schemas)

    @property
    def n_rows(self) -> int:
        """The number of rows of all files."""
        return sum(map(sum, self._group_rows))

    @property
    def row_groups(self) -> list[RowGroup]:
        """The row groups of all files, in the order of the rows."""
        groups, first = [], 0
        for i, sizes in enumerate(self._group_rows):
            start = first
            for number, n_rows in enumerate(sizes):
                groups.append(RowGroup(i, number, first, start))
                first += n_rows
        return groups

    def batches(
        self, group: RowGroup, columns: Sequence[str], n_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of a row group, at most so many rows at a time.

        The parts of the row group are read when they are needed, so that a large one
        does not have to fit into memory.
        """
        path, keys = self.paths[group.file], self._keys[group.file]
        own = [name for name in columns if name not in keys]
        with (
            read_errors(path),
            pq.ParquetFile(path, buffer_size=BUFFER_BYTES, pre_buffer=False) as file,
        ):
            # Threads would save little of a fit's time, and each takes memory.
            for batch in file.iter_batches(
                n_rows, [group.number], columns=own, use_threads=False
            ):
                arrays = []
                for name in columns:
                    kind = self.schema.field(name).type
                    if name in keys:
                        arrays.append(pa.array([keys[name]] * len(batch), kind))
                    else:
                        # Whole numbers that are too large for float64 are rounded.
                        is_safe = not pa.types.is_floating(kind)
                        arrays.append(batch.column(name).cast(kind, safe=is_safe))
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _joined_schema(self, schemas: list[pa.Schema]) -> pa.Schema:
        """Return the columns of all files, and those in the names of folders."""
        first = set(schemas[0].names)
        for path, schema in zip(self.paths, schemas, strict=True):
            names = schema.names
            for name, count in Counter(names).most_common(1):
                if count > 1:
                    raise InputError(
                        f"column names must be unique, {path} has {name!r} twice"
                    )
            if set(names) != first:
                name = sorted(first.symmetric_difference(names))[0]
                lacking = self.paths[0] if name in names else path
                raise InputError(
                    f"all files of {self.path} must have the same columns, {lacking} "
                    f"lacks {name!r}"
                )
        for path, keys in zip(self.paths, self._keys, strict=True):
            if set(keys) != set(self._keys[0]) or first & set(keys):
                raise InputError(
                    f"the folders of {path} must be named like those of "
                    f"{self.paths[0]}, and not like a column"
                )
        # A number in one folder and text in another is text.
        for name in self._keys[0]:
            given = [keys for keys in self._keys if keys[name] is not None]
            if len({type(keys[name]) for keys in given}) > 1:
                for keys in given:
                    keys[name] = str(keys[name])
        schemas = schemas + [
            pa.schema([(name, pa.scalar(value).type) for name, value in keys.items()])
            for keys in self._keys
        ]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException as error:
            raise InputError(
                f"the columns of {self.path} must have types that can be joined: "
                f"{str(error).splitlines()[0]}"
            ) from error


class RowGroup(NamedTuple):
    """A row group of one of several files."""

    file: int  # its place among the files
    number: int  # in the file
    first_row: int  # its number among all rows
    file_row: int  # the number of the first row of its file


@dataclass(frozen=True, eq=False)
class ParquetRows:
    """Rows to train on, of the Parquet files in a folder or of a pattern.

    For `HistogramRegressor.fit_stream`. The types of the columns decide: text is
    labels, dates and times are times, other columns are numbers. Rows without a target
    and those of weight 0 are left out.

    Parameters
    ----------
    path : str or Path
        A folder, or a pattern such as ``data/2024-*.parquet``.
    target : str
        The column to predict.
    weight : str, optional
        The column of row weights.
    drop : collection of str
        Columns to leave out.
    labels : collection of str
        Columns of numbers to read as labels.
    without : ndarray of int64
        Row numbers to leave out, see `without_rows`.

    Examples
    --------
    >>> import tempfile, pandas
    >>> folder = tempfile.mkdtemp()
    >>> table = pandas.DataFrame({"x": [1.0, 2.0], "y": [3.0, None]})
    >>> table.to_parquet(f"{folder}/a.parquet")
    >>> rows = ParquetRows(folder, target="y")
    >>> rows.n_rows, [part.y for part in rows.parts()]
    (2, [array([3.])])
    """

    path: str | Path
    target: str
    weight: str | None = None
    drop: Collection[str] = ()
    labels: Collection[str] = ()
    without: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        columns = self.files.schema.names
        special = [self.target, *([] if self.weight is None else [self.weight])]
        for name in (*special, *self.drop, *self.labels):
            if name not in columns:
                raise InputError(
                    f"{self.path} must have the column {name!r}, got "
                    f"{', '.join(columns)}"
                )
        if not self.features:
            raise InputError(
                f"{self.path} must have a feature column beside the target "
                f"{self.target!r}"
            )
        for name in special:
            kind = self.files.schema.field(name).type
            if not any(fits(kind) for fits in NUMBERS):
                raise InputError(f"column {name!r} must hold numbers, got {kind}")
        for name in self.features:
            check_type(self.files.schema.field(name))

    @cached_property
    def files(self) -> ParquetFiles:
        """The files."""
        return ParquetFiles(self.path)

    @property
    def n_rows(self) -> int:
        """The number of rows of all files, also those that are left out."""
        return self.files.n_rows

    @property
    def features(self) -> list[str]:
        """The columns to learn from."""
        others = {self.target, self.weight, *self.drop, *self.files.constant_keys}
        return [name for name in self.files.schema.names if name not in others]

    @property
    def _part_rows(self) -> int:
        return part_rows(len(self.features))

    def without_rows(self, numbers: NDArray[np.int64]) -> ParquetRows:
        """Return the same rows without some, which keep the others' numbers."""
        rows = replace(self, without=np.union1d(self.without, numbers))
        vars(rows)["files"] = self.files  # which were read already
        return rows

    def parts(self, generator: np.random.Generator | None = None) -> Iterator[Part]:
        """Yield all rows once, in random order if there is a generator.

        Row groups are read in random order, some of them at a time, and the rows that
        are read together are shuffled.
        """
        groups = self.files.row_groups
        if generator is None:
            for batch in self._read(groups, n_open=1):
                yield self._part([batch])
            return
        shuffled = [groups[i] for i in generator.permutation(len(groups))]
        some: list[_Rows] = []
        n_rows, most = 0, self._part_rows
        for batch in self._read(shuffled, n_open=N_OPEN):
            some.append(batch)
            n_rows += len(batch.numbers)
            if n_rows >= most:
                yield self._part(some, generator)
                n_rows = 0
        if some:
            yield self._part(some, generator)

    def take(self, numbers: NDArray[np.int64]) -> Part:
        """Return the rows of these numbers, in their order in the files.

        Raises
        ------
        InputError
            If all of them are left out.
        """
        ordered = np.sort(numbers)
        batches = []
        for batch in self._read(self.files.row_groups, n_open=1):
            chosen = np.flatnonzero(is_among(batch.numbers, ordered))
            if len(chosen):
                batches.append(batch.at(chosen))
        if not batches:
            raise InputError(
                f"{self.path} must have rows with a {self.target!r}"
                f"{'' if self.weight is None else f' and a {self.weight!r} above 0'}, "
                f"got none among {len(numbers):,} rows"
            )
        return self._part(batches)

    def _read(self, groups: Sequence[RowGroup], n_open: int) -> Iterator[_Rows]:
        """Yield batches of rows, in turns from so many row groups at a time."""
        waiting = iter(groups)
        turns = deque(self._read_group(g, n_open) for g in islice(waiting, n_open))
        while turns:
            source = turns.popleft()
            rows = next(source, None)
            if rows is not None:
                yield rows
                turns.append(source)
            elif (group := next(waiting, None)) is not None:
                turns.append(self._read_group(group, n_open))

    def _read_group(self, group: RowGroup, n_open: int) -> Iterator[_Rows]:
        """Yield batches of the rows of a group that are not left out."""
        special = [self.target, *([] if self.weight is None else [self.weight])]
        names = [*self.features, *special]
        first = group.first_row
        for batch in self.files.batches(group, names, self._part_rows // n_open):
            numbers = np.arange(first, first + batch.num_rows)
            first += batch.num_rows
            y, weight = self._numbers_of(batch, self.target), None
            is_used = ~np.isnan(y) & ~is_among(numbers, self.without)
            if self.weight is not None:
                weight = self._numbers_of(batch, self.weight)
                is_used &= weight != 0
            rows = _Rows(numbers, batch).at(np.flatnonzero(is_used))
            try:
                self._check(rows.batch)
            except _WrongCellError as wrong:
                row = rows.numbers[wrong.row] - group.file_row + 1
                raise InputError(
                    f"column {wrong.column!r} must hold {wrong.requirement}, got "
                    f"{wrong.value:g} in row {row:,} of {self.files.paths[group.file]}"
                ) from None
            if len(rows.numbers):
                yield rows

    def _check(self, batch: pa.RecordBatch) -> None:
        """Raise if a number of a batch cannot be used."""
        for name, kind in zip(batch.schema.names, batch.schema.types, strict=True):
            if not pa.types.is_floating(kind) or name in self.labels:
                continue
            values = self._numbers_of(batch, name)
            wrong = np.flatnonzero(np.isinf(values))
            if len(wrong):
                raise _WrongCellError(name, "finite numbers", wrong[0], values)
        if self.weight is not None:
            values = self._numbers_of(batch, self.weight)
            wrong = np.flatnonzero(~(values > 0))
            if len(wrong):
                requirement = "weights that are not negative or missing"
                raise _WrongCellError(self.weight, requirement, wrong[0], values)

    def _part(
        self, batches: list[_Rows], generator: np.random.Generator | None = None
    ) -> Part:
        """Return rows as a data frame and arrays, shuffled if there is a generator.

        The list is emptied, so that its memory can be used again.
        """
        table = pa.Table.from_batches([one.batch for one in batches])
        numbers = np.concatenate([one.numbers for one in batches])
        batches.clear()
        if generator is not None:
            order = generator.permutation(len(numbers))
            table, numbers = table.take(pa.array(order)), numbers[order]
        weight = np.ones(len(numbers))
        if self.weight is not None:
            weight = self._numbers_of(table, self.weight)
        return Part(
            numbers,
            frame_of(table.select(self.features), self.labels),
            self._numbers_of(table, self.target),
            weight,
        )

    @staticmethod
    def _numbers_of(table: pa.Table | pa.RecordBatch, name: str) -> Array:
        return numbers_of(table.column(name))


class _Rows(NamedTuple):
    """Rows as they are read, and their numbers."""

    numbers: NDArray[np.int64]
    batch: pa.RecordBatch

    def at(self, rows: NDArray[np.int64]) -> _Rows:
        if len(rows) == len(self.numbers):  # which are all, since they are in order
            return self
        return _Rows(self.numbers[rows], self.batch.take(pa.array(rows)))


class _WrongCellError(Exception):
    """A number of a batch cannot be used."""

    def __init__(self, column: str, requirement: str, row: int, values: Array) -> None:
        super().__init__(column)
        self.column, self.requirement = column, requirement
        self.row, self.value = row, values[row]


def check_type(column: pa.Field) -> None:
    """Raise unless the type of a column is one of numbers, times or labels."""
    kind = column.type
    if not any(fits(kind) for fits in (*NUMBERS, *TEXTS, pa.types.is_temporal)):
        raise InputError(
            f"column {column.name!r} holds {kind} values, which are neither numbers "
            "nor times nor labels; leave it out"
        )


def frame_of(table: pa.Table, labels: Collection[str] = ()) -> pd.DataFrame:
    """Return a table as a data frame whose columns have types that all parts share.

    Numbers are float64, NaN where missing, and labels are objects, None where missing.
    """
    columns: dict[str, Any] = {}
    for column in table.schema:
        check_type(column)
        values = table.column(column.name)
        if any(fits(column.type) for fits in TEXTS) or column.name in labels:
            texts = [label_text(value) for value in values.to_pylist()]
            columns[column.name] = pd.Series(texts, dtype=object)
        elif pa.types.is_temporal(column.type):
            columns[column.name] = _times_of(values)
        else:
            columns[column.name] = numbers_of(values)
    return pd.DataFrame(columns)


def numbers_of(column: pa.ChunkedArray | pa.Array) -> Array:
    """Return a column of numbers or booleans as float64, NaN where missing."""
    values = column.cast(pa.float64(), safe=False)
    return (
        values.to_numpy(zero_copy_only=False)
        if isinstance(values, pa.Array)
        else (values.to_numpy())
    )


def _times_of(column: pa.ChunkedArray) -> pd.Series[Any]:
    """Return times, and durations for those of a day, in microseconds."""
    kind = column.type
    if pa.types.is_time(kind):
        column = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
        column = column.cast(pa.duration("us"))
    elif pa.types.is_duration(kind):
        column = column.cast(pa.duration("us"), safe=False)
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        zone = getattr(kind, "tz", None)
        column = column.cast(pa.timestamp("us", zone), safe=False)
    return column.to_pandas()


def _keys_of(folder: Path) -> dict[str, int | str | None]:
    """Return the columns in the names of a folder and those it is in, with values."""
    keys: dict[str, int | str | None] = {}
    for part in folder.parts:
        name, is_key, text = part.partition("=")
        if name and is_key:
            value = unquote(text)
            if value == NO_VALUE:
                keys[name] = None
            else:
                is_number = re.fullmatch(r"-?[0-9]{1,18}", value) is not None
                keys[name] = int(value) if is_number else value
    return dict(sorted(keys.items()))


def _found(path: Path) -> tuple[Path, list[Path]]:
    """Return the folder that all files of a path are in, and their sorted paths."""
    if path.is_dir():
        files = [
            file
            for file in path.rglob(f"*{SUFFIX}")
            if file.is_file()
            and not any(part[0] in "._" for part in file.relative_to(path).parts)
        ]
        root = path
    elif path.is_file():
        root, files = path.parent, [path]
    else:
        parts = takewhile(lambda part: not glob.has_magic(part), path.parts[:-1])
        root = Path(*parts)
        pattern = str(path.relative_to(root))
        files = [file for file in root.glob(pattern) if file.is_file()]
        wrong = [file for file in files if file.suffix.lower() != SUFFIX]
        if wrong:
            raise InputError(f"{wrong[0]} must be named {SUFFIX}")
    if not files:
        raise InputError(f"there is no {SUFFIX} file in {path}")
    return root, sorted(files)


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Report a file that cannot be read in one sentence."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"{path} cannot be read as {SUFFIX}: {first_line}") from error
