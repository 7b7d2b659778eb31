"""Interpretation: which columns of a table are numbers, times, durations or labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from histreg.cli import cells
from histreg.cli.cells import MISSING, NumberSpelling
from histreg.cli.spelling import Spelling
from histreg.errors import InputError

CELLS_AT_ONCE = 2**16  # read as numbers in one call; bounds the memory
N_NAMED = 3  # columns that a message names
USABLE_TYPES = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_temporal,
    pa.types.is_dictionary,
    pa.types.is_null,
)
T = TypeVar("T")
ORDERS = {True: "day first", False: "month first"}


@dataclass(frozen=True)
class Interpretation:
    """A table whose columns are numbers, times, durations or labels.

    Parameters
    ----------
    frame : DataFrame
    spelling : Spelling
        Spelling of the table, as far as it is known.
    facts : list of str
        Conclusions that are certain but not obvious, such as a decimal comma.
    assumptions : list of str
        Guesses that may be wrong, each with the option that corrects it.
    doubts : dict
        By column name: why it was read as labels, although it looks like numbers or
        times.
    """

    frame: pd.DataFrame
    spelling: Spelling
    facts: list[str]
    assumptions: list[str]
    doubts: dict[str, str]


def interpret(
    table: pd.DataFrame,
    labels: Collection[str] = (),
    given: Spelling | None = None,
    fitted: Spelling | None = None,
) -> Interpretation:
    """Read the text columns of a table as numbers, times, durations or labels.

    A text column holds numbers, times or durations if all its cells do; otherwise it
    holds labels. Empty cells and cells such as ``NA`` are missing. Where ``1,234`` or
    ``05/06/2013`` is ambiguous, the given spelling decides, then the other cells of
    the table, then the table that a model was fitted on.

    Parameters
    ----------
    table : DataFrame
        As `tables.read` returns it.
    labels : collection of str
        Columns to read as labels in any case.
    given : Spelling, optional
        What is known of the table: its delimiter, and the options of the command.
    fitted : Spelling, optional
        Spelling of the table that a model was fitted on.

    Raises
    ------
    InputError
        If the type of a column is none of these.
    """
    return _Interpreter(given or Spelling(), fitted or Spelling()).result(
        table, set(labels)
    )


class _Interpreter:
    """Reads one table, and collects facts, assumptions and doubts."""

    def __init__(self, given: Spelling, fitted: Spelling) -> None:
        if (
            given.delimiter is not None
            and fitted.delimiter is not None
            and given.delimiter != fitted.delimiter
        ):  # another program wrote it, and may write numbers differently too
            fitted = replace(fitted, decimal=None)
        self.given, self.fitted = given, fitted
        self.spelling = given
        self.columns: dict[str, Any] = {}
        self.facts: list[str] = []
        self.assumptions: list[str] = []
        self.doubts: dict[str, str] = {}

    def result(self, table: pd.DataFrame, labels: set[str]) -> Interpretation:
        """Return the interpretation of a table."""
        is_text = {
            dtype: pd.api.types.is_string_dtype(dtype) for dtype in set(table.dtypes)
        }
        text_columns = []
        for name, dtype in zip(table.columns, table.dtypes, strict=True):
            if is_text[dtype]:
                text_columns.append(name)
            else:
                is_label = name in labels
                self.columns[name] = _with_numpy_type(table[name], is_label=is_label)
        for block, joined in _blocks(
            table, [name for name in text_columns if name in labels]
        ):
            for i, name in enumerate(block):
                self.columns[name] = _text(joined, i, len(table))
        numbers, texts = [], {}
        for name, column in _parsed(
            table, [n for n in text_columns if n not in labels]
        ):
            self.columns[name] = column
            if column.dtype == object:
                texts[name] = _Cells.of(column)
            else:
                numbers.append(name)
        spelled = _spelled(texts)
        if spelled or self._may_have_decimal_commas():
            spelled |= _spelled(_with_points(table, numbers))
        self._read_numbers(spelled)
        self._read_times({name: texts[name] for name in texts if name not in spelled})
        return Interpretation(
            _frame(self.columns, list(table.columns), table.index),
            self.spelling,
            self.facts,
            self.assumptions,
            self.doubts,
        )

    def _may_have_decimal_commas(self) -> bool:
        return self.given.delimiter == ";" or "," in (
            self.given.decimal,
            self.fitted.decimal,
        )

    def _read_numbers(self, spelled: dict[str, _Spelled]) -> None:
        agreed = _only(
            decimal
            for column in spelled.values()
            for decimal in column.possible
            if len(column.possible) == 1
        )
        decimal = self.given.decimal or agreed or self.fitted.decimal
        self.spelling = replace(self.spelling, decimal=decimal)
        alike: dict[NumberSpelling, list[str]] = {}
        for name, column in spelled.items():
            if column.is_ambiguous and decimal is None:
                self._assume_decimal(name, column)
                continue
            if decimal in column.possible and column.is_ambiguous:
                spelling = column.possible[decimal]
            else:
                spelling = next(iter(column.possible.values()))
            if self.given.decimal and self.given.decimal not in column.possible:
                self.columns[name] = column.cells.text
                self.doubts[name] = (
                    f"its numbers, such as {column.cells.shown(column.example)}, do "
                    f"not have the decimal mark {decimal!r} of --decimal"
                )
                continue
            self.columns[name] = column.numbers(spelling)
            if spelling != NumberSpelling(".", ""):
                alike.setdefault(spelling, []).append(name)
        for spelling, names in alike.items():
            example = _as_read(spelled[names[0]].example, spelling)
            self.facts.append(f"{_columns(names)} with {spelling} ({example})")

    def _assume_decimal(self, name: str, column: _Spelled) -> None:
        """Read cells such as 1,234 where nothing shows which mark is the decimal one.

        Tables with decimal commas usually separate cells by semicolons.
        """
        has_point = any("." in cell for cell in column.cells.distinct)
        decimal = "," if self.given.delimiter == ";" and not has_point else "."
        spelling = column.possible[decimal]
        other = column.possible["," if decimal == "." else "."]
        self.columns[name] = column.numbers(spelling)
        self.assumptions.append(
            f"column {name!r} is read with {spelling}: "
            f"{_as_read(column.example, spelling)}; with --decimal '{other.decimal}' "
            f"{_as_read(column.example, other)}"
        )
        if self.spelling.decimal is None:
            self.spelling = replace(self.spelling, decimal=decimal)

    def _read_times(self, texts: dict[str, _Cells]) -> None:
        dates: dict[str, _Dates] = {}
        spans: dict[str, _Cells] = {}
        for name, text in texts.items():
            mark = cells.ambiguous_date_mark(text.distinct)
            orders = (True,) if mark is None else (True, False)
            possible = {
                order: times
                for order in orders
                if (times := cells.times_of(text.distinct, day_first=order)) is not None
            }
            if possible and mark is not None:
                dates[name] = _Dates(text, possible, mark)
            elif possible:
                self.columns[name] = text.spread(possible[True], np.datetime64("NaT"))
            elif (durations := cells.durations_of(text.distinct)) is not None:
                self.columns[name] = text.spread(durations, np.timedelta64("NaT"))
                spans[name] = text
            elif (doubt := cells.doubt_of(text.counts)) is not None:
                self.doubts[name] = f"{doubt.reason}, such as {text.shown(doubt.cell)}"
            if possible and cells.has_mixed_zones(text.distinct):
                self.assumptions.append(
                    f"times without a zone in column {name!r} are read as UTC"
                )
        if spans:
            self.facts.append(f"{_columns(list(spans))} as hours and minutes")
        self._read_dates(dates)

    def _read_dates(self, dates: dict[str, _Dates]) -> None:
        agreed = _only(
            order
            for column in dates.values()
            for order in column.possible
            if len(column.possible) == 1
        )
        ways = (self.given.day_first, agreed, self.fitted.day_first)
        day_first = next((order for order in ways if order is not None), None)
        self.spelling = replace(self.spelling, day_first=day_first)
        alike: dict[bool, list[str]] = {}
        for name, column in dates.items():
            order = day_first
            if order not in column.possible:
                order = _only(column.possible)
            if order is None and column.mark == ".":
                order = True  # dates with points have the day first
                self.assumptions.append(
                    f"dates in column {name!r} are read day first: "
                    f"{column.as_read(True)}; use --month-first for the other order"
                )
            elif order is None:
                self.doubts[name] = (
                    f"its dates, such as {column.cells.shown(column.cells.distinct[0])}"
                    ", are ambiguous; use --day-first or --month-first"
                )
                continue
            else:
                alike.setdefault(order, []).append(name)
            self.columns[name] = column.times(order)
        for order, names in alike.items():
            example = dates[names[0]].as_read(order)
            self.facts.append(
                f"{_columns(names)} as dates, {ORDERS[order]} ({example})"
            )


class _Cells(NamedTuple):
    """The cells of a column of text, without those that are missing."""

    distinct: list[str]
    codes: NDArray[np.int64]  # (n,), of each row's cell in distinct, -1 if missing

    @classmethod
    def of(cls, text: NDArray[np.object_]) -> _Cells:
        """Return the cells of a column that has None where a cell is missing."""
        codes, distinct = pd.factorize(text)
        return cls(list(distinct), codes)

    def spread(self, values: NDArray[Any], missing: Any) -> NDArray[Any]:
        """Return one value per row, given one per distinct cell."""
        return np.append(values, np.array([missing], dtype=values.dtype))[self.codes]

    @property
    def text(self) -> NDArray[np.object_]:
        """The cell of each row, None where missing."""
        return self.spread(np.array(self.distinct, dtype=object), None)

    def shown(self, cell: str) -> str:
        """Return a cell, and the first row that holds it, for a message."""
        row = int((self.codes == self.distinct.index(cell)).argmax())
        return f"{cell!r} in row {row + 1}"

    @property
    def counts(self) -> dict[str, int]:
        """How often each cell occurs."""
        counts = np.bincount(self.codes[self.codes >= 0])
        return dict(zip(self.distinct, counts.tolist(), strict=True))


class _Spelled(NamedTuple):
    """A column whose cells are numbers in one spelling or in two."""

    cells: _Cells
    possible: dict[str, NumberSpelling]

    @property
    def is_ambiguous(self) -> bool:
        """Whether two spellings give different numbers."""
        return len({spelling.thousands for spelling in self.possible.values()}) == 2

    def numbers(self, spelling: NumberSpelling) -> NDArray[np.float64]:
        """Return the number of each row, NaN where missing."""
        numbers = cells.numbers_of(self.cells.distinct, spelling)
        return self.cells.spread(numbers, np.nan)

    @property
    def example(self) -> str:
        """The cell with the most marks, which shows best how numbers are written."""
        return max(self.cells.distinct, key=lambda cell: sum(map(cell.count, ",. '")))


class _Dates(NamedTuple):
    """A column of dates that may have the day or the month first."""

    cells: _Cells
    possible: dict[bool, NDArray[np.datetime64]]  # of the distinct cells, by day_first
    mark: str

    def times(self, day_first: bool) -> NDArray[np.datetime64]:
        return self.cells.spread(self.possible[day_first], np.datetime64("NaT"))

    def as_read(self, day_first: bool) -> str:
        time = pd.Timestamp(self.possible[day_first][0])
        return f"{self.cells.distinct[0]!r} is {time:%Y-%m-%d}"


def _blocks(
    table: pd.DataFrame, names: Sequence[str]
) -> Iterator[tuple[Sequence[str], pa.Array]]:
    """Yield blocks of columns and their text, concatenated; null where missing.

    Several short columns share a call, whose overhead exceeds their own cost.
    """
    n_at_once = max(1, CELLS_AT_ONCE // len(table))
    for start in range(0, len(names), n_at_once):
        block = names[start : start + n_at_once]
        chunks: list[pa.Array] = []
        for name in block:
            text = pa.array(table[name].array, pa.large_string(), from_pandas=True)
            chunks += text.chunks if isinstance(text, pa.ChunkedArray) else [text]
        joined = pa.concat_arrays(chunks)
        is_missing = pc.is_in(joined, value_set=pa.array(sorted(MISSING), joined.type))
        yield block, pc.if_else(is_missing, None, joined)


def _parsed(table: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield columns as numbers if all cells are, else as text with None for gaps."""
    n = len(table)
    for block, joined in _blocks(table, names):
        numbers = _floats(joined).reshape(-1, n)
        gaps = joined.is_null().to_numpy(zero_copy_only=False).reshape(-1, n)
        are_numbers = (gaps | ~np.isnan(numbers)).all(axis=1)
        for i, name in enumerate(block):
            yield name, numbers[i] if are_numbers[i] else _text(joined, i, n)


def _floats(text: pa.Array) -> NDArray[np.float64]:
    """Return cells as numbers in Python's notation, NaN where a cell is not one."""
    try:  # ten times as fast, but fails if a single cell is not a number
        return text.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return pd.to_numeric(
            text.to_numpy(zero_copy_only=False), errors="coerce"
        ).astype(np.float64)


def _text(joined: pa.Array, i: int, n: int) -> NDArray[np.object_]:
    """Return column i of a block, None where missing."""
    return joined.slice(i * n, n).to_numpy(zero_copy_only=False)


def _frame(
    columns: dict[str, Any], order: Sequence[str], index: pd.Index[Any]
) -> pd.DataFrame:
    """Return a table of columns; those of numbers are stacked in one call.

    Labels are objects, so that a missing one is None.
    """
    numbers = {
        name: column
        for name, column in columns.items()
        if isinstance(column, np.ndarray) and column.dtype == np.float64
    }
    others = {
        name: pd.Series(column, index=index, dtype=column.dtype)
        for name, column in columns.items()
        if name not in numbers
    }
    if not numbers:
        return pd.DataFrame(others, index=index)[order]
    stacked = pd.DataFrame(
        np.stack(list(numbers.values()), axis=1), index=index, columns=list(numbers)
    )
    return pd.concat([stacked, pd.DataFrame(others, index=index)], axis=1)[order]


def _with_points(table: pd.DataFrame, names: Sequence[str]) -> dict[str, _Cells]:
    """Return the columns with points, which may separate thousands."""
    return {
        name: _Cells.of(_text(joined, i, len(table)))
        for block, joined in _blocks(table, names)
        for i, name in enumerate(block)
        if pc.any(
            pc.match_substring(joined.slice(i * len(table), len(table)), ".")
        ).as_py()
    }


def _spelled(texts: dict[str, _Cells]) -> dict[str, _Spelled]:
    """Return the columns whose cells are numbers, with decimal commas for example."""
    possible = {
        name: cells.number_spellings(text.distinct) for name, text in texts.items()
    }
    return {
        name: _Spelled(texts[name], spellings)
        for name, spellings in possible.items()
        if spellings
    }


def _with_numpy_type(column: pd.Series[Any], *, is_label: bool) -> pd.Series[Any]:
    """Return a typed column with a type of NumPy, if it holds numbers or booleans.

    Booleans with missing values become numbers: NumPy has no missing boolean.
    """
    arrow_type = getattr(column.dtype, "pyarrow_dtype", None)
    if arrow_type is not None and not any(fits(arrow_type) for fits in USABLE_TYPES):
        raise InputError(
            f"column {column.name!r} holds {arrow_type} values, which are neither "
            "numbers nor times nor labels; use --drop to leave it out"
        )
    if is_label:
        return (
            column.astype(object)
            if arrow_type is not None
            else (column.astype("category"))
        )
    if arrow_type is None:
        return column
    if pa.types.is_boolean(arrow_type) and not column.hasnans:
        return column.astype(bool)
    if pa.types.is_dictionary(arrow_type):
        return column.astype(object).where(column.notna(), None)
    if pa.types.is_temporal(arrow_type):
        return column
    return pd.Series(
        column.to_numpy(dtype=np.float64, na_value=np.nan), index=column.index
    )


def _only(values: Iterable[T]) -> T | None:
    """Return the one distinct value, None if there are several or none."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _as_read(cell: str, spelling: NumberSpelling) -> str:
    [number] = cells.numbers_of([cell], spelling)
    return f"{cell!r} is {number:.15g}"


def _columns(names: list[str]) -> str:
    more = f" and {len(names) - N_NAMED:,} more" if len(names) > N_NAMED else ""
    return (
        f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names[:N_NAMED]))}{more}"
    )
