"""Columns: the kinds of a table's columns, and how they become a network's inputs.

A table is read into numbers (NaN where missing) and labels (None where missing); a
column of times becomes the several numbers of `calendar`. Numbers are then scaled by
`NumberScaling`, labels encoded by `LabelCodes`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Complex, Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from histreg._numba import is_loaded
from histreg.errors import InputError
from histreg.tabular.compiled_columns import score_loop

N_KNOTS = 64  # per column; 256 did no better on Bike and California
MAX_LEVELS = 1000  # per column of labels; the rarer ones are treated as unknown
KINDS = ("number", "time", "duration", "label")  # of columns
TEMPORAL = {"time", "duration"}
NUMBER_OR_TIME = "number or time"  # the kind of numbers in older model files
INSTANT = "instant"  # the kind of times in older model files: one number, no calendar
UNUSABLE = (nw.Binary, nw.List, nw.Array, nw.Struct)
UNKNOWN = 0  # the code of a label that was missing, rare or never seen
DAY_S = 86_400.0
YEAR_IN_DAYS = 365.2425  # of the Gregorian calendar, on average
CYCLES = ("time of day", "weekday", "day of year")
CALENDAR = (
    "time",
    *(f"{wave}{name}" for name in CYCLES for wave in ("", "sine of ", "cosine of ")),
)
"""The numbers that a column of times becomes."""

OBJECTS = {
    "number": (Real, Decimal, np.bool_),
    "duration": (timedelta, time),
    "time": (date,),  # a datetime is one
}


class Table(NamedTuple):
    """The columns of a table, by kind, each kind in the order of the table."""

    numbers: NDArray[np.float64]  # (n, d), NaN where missing; a time has several
    labels: NDArray[np.object_]  # (n, c) of str, None where missing
    kinds: tuple[str, ...]  # of all columns

    def at(self, rows: slice | NDArray[np.int64]) -> Table:
        """Return some of the rows."""
        return Table(self.numbers[rows], self.labels[rows], self.kinds)


def kinds_of(frame: Any) -> tuple[str, ...]:
    """Return ``"number"``, ``"time"``, ``"duration"`` or ``"label"`` for each column.

    Booleans are numbers, dates are times, and a time of day is the duration since
    midnight; text, categories and mixed columns are labels. Columns of objects are what
    their values are.

    Raises
    ------
    InputError
        For a column of lists, structures, bytes or complex numbers, which are none of
        these.
    """
    columns = nw.from_native(frame, eager_only=True).iter_columns()
    return tuple(_kind_of(column) for column in columns)


def calendar(seconds: Tensor) -> Tensor:
    r"""Return the numbers of `CALENDAR` for times: (...) -> (..., 10) float64.

    These are the time itself, and for three cycles a phase p in [0, 1), the sine and
    the cosine of :math:`2 \pi p`: of the day, of the week in whole days from Monday,
    and of the year in whole days. A year has 365.2425 days here, the mean of the
    Gregorian calendar, so that the last phase is within two days of the date and does
    not drift. Times are in UTC. NaN where a time is missing.

    Trees split phases, and to a network the waves show that 23:00 is close to 0:00.

    Parameters
    ----------
    seconds : Tensor of shape (...)
        Since 1970-01-01, a Thursday.
    """
    seconds = seconds.to(torch.float64)
    day = (seconds / DAY_S).floor()
    numbers = [seconds]
    for turns in (seconds / DAY_S, (day + 3) / 7, day / YEAR_IN_DAYS):
        phase = turns - turns.floor()
        angle = 2 * math.pi * phase
        # Rounded, so that libraries agree on them, and trees on equal values.
        waves = ((wave * 2**30).round() / 2**30 for wave in (angle.sin(), angle.cos()))
        numbers += [phase, *waves]
    return torch.stack(numbers, dim=-1)


def n_numbers(kinds: Sequence[str]) -> int:
    """Return how many numbers columns become: a label none, a time several."""
    return sum(map(_width, kinds))


def is_derived(kinds: Sequence[str]) -> NDArray[np.bool_]:
    """Return which of the numbers are computed from the one before them."""
    return np.array([i > 0 for kind in kinds for i in range(_width(kind))], dtype=bool)


def _width(kind: str) -> int:
    return {"label": 0, "time": len(CALENDAR)}.get(kind, 1)


def named_kinds(kinds: Sequence[str]) -> list[str]:
    """Return kinds as files and pages name them, those of older models too."""
    named = {NUMBER_OR_TIME: "number", INSTANT: "time"}
    return [named.get(kind, kind) for kind in kinds]


def described_kinds(kinds: Sequence[str]) -> str:
    """Return how many columns there are of each kind, in words."""
    counts = Counter(named_kinds(kinds))
    words = [f"{counts[kind]} of {kind}s" for kind in ("number", "label")]
    words += [f"{counts[k]} of {k}s" for k in ("time", "duration") if counts[k]]
    return ", ".join(words)


def read_frame(frame: Any, kinds: Sequence[str]) -> Table:
    """Return the columns of a pandas or polars frame, read as these kinds.

    A column of labels may have any type (3, 3.0 and "3" are the same label). A column
    of numbers must hold numbers, or text that can be read as numbers. Times must be
    times, and become the numbers of `calendar`; durations must be durations, and are
    returned in seconds. A column without any value may have any kind.
    """
    wide = nw.from_native(frame, eager_only=True)
    numbers, labels = [], []
    for column, kind in zip(wide.iter_columns(), kinds, strict=True):
        if kind == "label":
            labels.append(_labels_of(column))
            continue
        values = _read_numbers(column, kind)
        if kind == "time":
            numbers += list(calendar(torch.tensor(values)).numpy().T)
        else:
            numbers.append(values)
    n = len(wide)
    return Table(
        np.stack(numbers, axis=1) if numbers else np.empty((n, 0)),
        np.stack(labels, axis=1) if labels else np.empty((n, 0), dtype=object),
        tuple(kinds),
    )


def array_kinds(X: NDArray[Any]) -> tuple[str, ...]:
    """Return the kind of each column of an array of objects or text.

    A column with text that is no number is one of labels, others are numbers.
    """
    return tuple("label" if any(map(_is_text, column)) else "number" for column in X.T)


def read_array(X: NDArray[Any], kinds: Sequence[str]) -> Table:
    """Return an array of objects or text, (n, d), read as these kinds of columns."""
    numbers = np.empty((len(X), kinds.count("number")))
    labels = np.empty((len(X), kinds.count("label")), dtype=object)
    for j, kind in enumerate(kinds):
        place = kinds[:j].count(kind)
        if kind == "label":
            labels[:, place] = [label_text(value) for value in X[:, j]]
        else:
            numbers[:, place] = [_number(value, f"x{j}") for value in X[:, j]]
            _check_finite(numbers[:, place], f"x{j}")
    return Table(numbers, labels, tuple(kinds))


def _is_text(value: Any) -> bool:
    """Whether a value is text that cannot be read as a number."""
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return value != ""  # a missing number
    return False


class NumberScaling(nn.Module):
    """Scale each column to normal scores, by a piecewise linear function.

    A value becomes the normal quantile of its rank among the training values (of the
    middle of its ranks, if values repeat), scaled to unit variance. The function is
    linear between knots and constant beyond the ends, so that heavy tails, offsets and
    units have no effect. Constant columns are dropped. A missing value becomes 0, and a
    column with missing training values gets a second column that flags them.

    Parameters
    ----------
    n_columns : int
        d, the number of input columns.
    kept : sequence of int
        The columns that vary.
    flagged : sequence of int
        The columns that had missing values.
    n_knots : int
    """

    def __init__(
        self,
        n_columns: int,
        kept: Sequence[int],
        flagged: Sequence[int],
        n_knots: int = N_KNOTS,
    ) -> None:
        super().__init__()
        self.n_columns = n_columns
        self.knots: Tensor  # (kept, n_knots), float64
        self.scores: Tensor  # (kept, n_knots), float64
        self.kept: Tensor
        self.flagged: Tensor
        empty = torch.zeros(len(kept), n_knots, dtype=torch.float64)
        self.register_buffer("knots", empty)
        self.register_buffer("scores", empty.clone())
        self.register_buffer("kept", torch.tensor(list(kept), dtype=torch.int64))
        self.register_buffer("flagged", torch.tensor(list(flagged), dtype=torch.int64))

    @classmethod
    def of(
        cls,
        numbers: NDArray[np.float64],
        n_knots: int = N_KNOTS,
        *,
        is_derived: NDArray[np.bool_] | None = None,
    ) -> NumberScaling:
        """Return the scaling learnt from a table of numbers, (n, d).

        Columns that are derived (d,) from another one are missing where that one is,
        so their gaps are not flagged again.
        """
        missing = np.isnan(numbers)
        present = [
            np.sort(column[~gap])
            for column, gap in zip(numbers.T, missing.T, strict=True)
        ]
        has_gaps = np.asarray(missing.any(axis=0))  # (d,)
        if is_derived is not None:
            has_gaps &= ~is_derived
        return cls.of_ordered(present, has_gaps, n_knots)

    @classmethod
    def of_ordered(
        cls,
        columns: Sequence[NDArray[np.float64]],
        has_gaps: NDArray[np.bool_],
        n_knots: int = N_KNOTS,
    ) -> NumberScaling:
        """Return the scaling learnt from the sorted values of each column.

        ``has_gaps`` (d,) says which columns also have missing values that are to be
        flagged; those of a column without any value are not.
        """
        kept = [
            i
            for i, ordered in enumerate(columns)
            if len(ordered) and ordered[-1] > ordered[0]
        ]
        flagged = [i for i in np.flatnonzero(has_gaps).tolist() if len(columns[i])]
        scaling = cls(len(columns), kept, flagged, n_knots)
        for row, i in enumerate(kept):
            knots, scores = _normal_scores(columns[i], n_knots)
            scaling.knots[row] = torch.from_numpy(knots)
            scaling.scores[row] = torch.from_numpy(scores)
        return scaling

    @property
    def n_outputs(self) -> int:
        """The number of output columns."""
        return len(self.kept) + len(self.flagged)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return scaled numbers: (n, d) float64 -> (n, n_outputs) float32."""
        if is_loaded() and numbers.device.type == "cpu":
            scaled = torch.empty(len(numbers), self.n_outputs, dtype=torch.float32)
            parts = (self.kept, self.flagged, self.knots, self.scores, scaled)
            score_loop()(*(part.numpy() for part in (numbers, *parts)))
            return scaled
        columns = numbers.index_select(1, self.kept)  # (n, kept)
        # NaN is located at either end, and replaced below.
        lower = self._knot_below(columns)  # (n, kept)
        knot, next_knot = self._entries(self.knots, lower)
        score, next_score = self._entries(self.scores, lower)
        step = next_knot - knot
        # Padding knots repeat the last one: a step of 0 has no slope.
        share = ((columns - knot) / step.where(step > 0, 1)).clamp(0, 1)
        return self.with_gaps(score + share * (next_score - score), numbers)

    def with_gaps(self, scaled: Tensor, numbers: Tensor) -> Tensor:
        """Return scores (n, kept) with 0 for gaps, and their flags: float32."""
        missing = numbers.index_select(1, self.kept).isnan()
        flags = numbers.index_select(1, self.flagged).isnan()
        scaled = scaled.masked_fill(missing, 0)
        return torch.cat([scaled, flags.to(scaled.dtype)], dim=1).to(torch.float32)

    def _knot_below(self, columns: Tensor) -> Tensor:
        """Return the number of the knot below each value, (n, kept), 0 to K - 2."""
        inner = self.knots[:, 1:-1].contiguous()
        return torch.searchsorted(inner, columns.T.contiguous(), right=True).T

    def _entries(self, table: Tensor, lower: Tensor) -> tuple[Tensor, Tensor]:
        """Return the entries of each row of the table at ``lower`` and after it."""
        n_knots = table.shape[1]
        starts = torch.arange(len(table), device=table.device) * n_knots  # (kept,)
        place = (lower + starts).flatten()
        flat = table.flatten()
        at, after = flat.index_select(0, place), flat.index_select(0, place + 1)
        return at.view_as(lower), after.view_as(lower)


class LabelCodes:
    """Codes of labels: 1, 2, ... by falling frequency, and 0 for unknown labels.

    Parameters
    ----------
    levels : sequence of sequences of str
        The known labels of each column.
    """

    def __init__(self, levels: Sequence[Sequence[str]]) -> None:
        self.levels = tuple(tuple(column) for column in levels)
        self._codes = [
            {label: code for code, label in enumerate(column, start=1)}
            for column in self.levels
        ]

    @classmethod
    def of(cls, labels: NDArray[np.object_]) -> LabelCodes:
        """Return the codes of the labels (n, c) that occur more than once."""
        levels = []
        for column in labels.T:
            counts = Counter(label for label in column if label is not None)
            # Ties in alphabetical order, so that the order of rows does not matter.
            ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            repeated = [label for label, count in ranked if count > 1]
            levels.append(repeated[:MAX_LEVELS])
        return cls(levels)

    @property
    def n_codes(self) -> tuple[int, ...]:
        """The number of codes of each column, including that of unknown labels."""
        return tuple(len(column) + 1 for column in self.levels)

    def __call__(self, labels: NDArray[np.object_]) -> Tensor:
        """Return codes: (n, c) -> (n, c) int64."""
        coded = np.empty(labels.shape, dtype=np.int64)
        for i, known in enumerate(self._codes):
            coded[:, i] = [known.get(label, UNKNOWN) for label in labels[:, i]]
        return torch.from_numpy(coded)


def _normal_scores(
    ordered: NDArray[np.float64], n_knots: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return knots and their scores, padded to ``n_knots`` by repeating the last."""
    knots = np.unique(ordered)
    if len(knots) > n_knots:
        places = np.linspace(0, len(ordered) - 1, n_knots).round().astype(int)
        knots = np.unique(ordered[places])
    first = np.searchsorted(ordered, knots, side="left")
    last = np.searchsorted(ordered, knots, side="right")
    middle = torch.from_numpy((first + last) / (2 * len(ordered)))  # in (0, 1)
    scores = torch.special.ndtri(middle).numpy()
    spread = np.interp(ordered, knots, scores)
    scores = (scores - spread.mean()) / spread.std()
    padding = (0, n_knots - len(knots))
    return np.pad(knots, padding, "edge"), np.pad(scores, padding, "edge")


def _kind_of(column: nw.Series[Any]) -> str:
    dtype = column.dtype
    if dtype in UNUSABLE or (dtype == nw.Unknown and "map<" in _native_type(column)):
        raise InputError(
            f"column {column.name!r} holds {dtype} values, which are neither numbers "
            "nor times nor labels; leave it out"
        )
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "number"
    if dtype == nw.Object or dtype == nw.Unknown:  # sparse columns and long doubles
        return _kind_of_objects(column.to_list(), column.name)
    if dtype == nw.Duration or dtype == nw.Time:
        return "duration"
    return "time" if dtype.is_temporal() else "label"


def _native_type(column: nw.Series[Any]) -> str:
    return str(getattr(column.to_native(), "dtype", ""))


def _kind_of_objects(values: list[Any], name: str) -> str:
    """Return the kind of Python objects, as pandas has for dates and decimals."""
    present = [value for value in values if not _is_missing(value)]
    is_numeric = bool(present) and isinstance(present[0], Complex)  # or real
    if is_numeric and any(map(np.iscomplexobj, present)):
        raise InputError(
            f"column {name!r} must hold real numbers, got complex ones; give their "
            "real and imaginary parts as two columns"
        )
    for kind, types in OBJECTS.items():
        # The first value rules out most columns at once.
        if present and isinstance(present[0], types):
            is_kind = all(isinstance(value, types) for value in present)
            return kind if is_kind else "label"
    return "label"


def _read_numbers(column: nw.Series[Any], kind: str) -> NDArray[np.float64]:
    """Return a column that was of a kind in fit as float64, times in seconds."""
    own_kind = _kind_of(column)
    expected = "time" if kind == INSTANT else kind
    if (
        kind != NUMBER_OR_TIME
        and {expected, own_kind} & TEMPORAL
        and expected != own_kind
    ):
        _check_all_missing(column, expected)
        return np.full(len(column), np.nan)
    values = _numbers_of(column, own_kind)
    _check_finite(values, column.name)
    return values


def _numbers_of(column: nw.Series[Any], kind: str) -> NDArray[np.float64]:
    """Return a column of a kind as float64, times and durations in seconds."""
    dtype = column.dtype
    try:
        if dtype == nw.Datetime and dtype.time_zone is not None:  # type: ignore[attr-defined]
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        if dtype == nw.Date or dtype == nw.Datetime:
            instants = column.cast(nw.Datetime("us")).dt.timestamp("us")
            return instants.cast(nw.Float64).to_numpy() / 1e6
        if dtype == nw.Duration:
            return column.dt.total_microseconds().cast(nw.Float64).to_numpy() / 1e6
        if dtype.is_float() or dtype == nw.Boolean:
            return column.cast(nw.Float64).to_numpy().astype(np.float64)
    except Exception as error:  # each library has its own
        raise InputError(
            f"column {column.name!r} must hold numbers, got {dtype} values"
        ) from error
    is_wide = dtype == nw.Int128 or dtype == nw.UInt128  # NumPy has none
    if dtype.is_integer() and not is_wide and not column.is_null().any():
        return column.to_numpy().astype(np.float64)  # a cast fails above 2**53 in Arrow
    if kind in TEMPORAL:
        return np.array([_seconds(value) for value in column.to_list()])
    return np.array([_number(value, column.name) for value in column.to_list()])


def _check_all_missing(column: nw.Series[Any], kind: str) -> None:
    """Raise unless all values are missing in a column of another kind than in fit."""
    for value in column.to_list():
        if not _is_missing(value):
            raise InputError(
                f"column {column.name!r} must hold {kind}s, as it did in fit, got "
                f"{str(value)!r}"
            )


def _check_finite(numbers: NDArray[np.float64], name: str) -> None:
    rows = np.flatnonzero(np.isinf(numbers))
    if len(rows):
        sign = "-" if numbers[rows[0]] < 0 else ""
        raise InputError(
            f"column {name!r} must hold finite numbers, got {sign}infinity in row "
            f"{rows[0] + 1}"
        )


def _number(value: Any, name: str) -> float:
    """Return a text or an object as a number, NaN if it is missing."""
    if _is_missing(value) or value == "":
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        raise InputError(
            f"column {name!r} must hold numbers, as it did in fit, got {value!r}"
        ) from None


def _seconds(value: Any) -> float:
    """Return seconds: since 1970 for a time, since midnight for a time of day.

    A date counts as its midnight, and a time without a zone as UTC.
    """
    if _is_missing(value):
        return np.nan
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, time):
        return (value.hour * 60 + value.minute) * 60 + (
            value.second + value.microsecond / 1e6
        )
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()


def _labels_of(column: nw.Series[Any]) -> NDArray[np.object_]:
    """Return a column as text, None where missing."""
    labels = np.empty(len(column), dtype=object)
    labels[:] = [label_text(value) for value in column.to_list()]
    return labels


def label_text(value: Any) -> str | None:
    """Return a label as text; integers of any type have no decimals."""
    if _is_missing(value):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA (whose comparison is no bool)."""
    if value is None:
        return True
    same = value == value
    return (
        not same
        if isinstance(same, bool | np.bool_)
        else type(value).__name__ == "NAType"
    )
