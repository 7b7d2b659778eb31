"""Table check: what is in a table, and what to know before a model is fitted to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from histreg.errors import InputError
from histreg.tabular.columns import CALENDAR, CYCLES, Table, kinds_of, read_frame

MAX_ROWS = 4000  # on which relations to y are judged, drawn at random
MIN_ROWS = 30  # fewer say nothing about relations
MIN_ID_ROWS = 20  # fewer rising numbers may be chance or a small design
MANY_LEVELS = 100
MANY_GAPS = 0.5
N_NEIGHBOURS = 2  # on each side, by which a number predicts y
N_FOLDS = 5
LEAK = 0.99  # the share of the variance of y that one column explains
LINEAR_LEAK = 0.999  # the same for a linear combination, which fits more by chance
STRONG = 0.8
MAX_COMBINED = 8  # columns of a linear combination that is worth a message
ALIKE = 0.5  # the share of the variance of y between groups
MIN_GROUPS = 20
FEW_VALUES = 10  # of a target that may be a class
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ColumnSummary:
    """A column as it was understood."""

    name: str
    kind: str  # "number", "time", "duration" or "label"
    n_missing: int
    n_distinct: int
    content: str  # its range, or its most frequent labels


@dataclass(frozen=True)
class TableFinding:
    """Something to know about a table, and what to do about it.

    Parameters
    ----------
    kind : str
        Such as ``"leak"``.
    columns : tuple of str
    sentence : str
        What was found.
    advice : str
        What to do.
    is_problem : bool
        Whether a model would learn something that is wrong, or its test would promise
        too much. Other findings are notes.
    """

    kind: str
    columns: tuple[str, ...]
    sentence: str
    advice: str
    is_problem: bool

    def __str__(self) -> str:
        return f"{self.sentence}. {self.advice}."


@dataclass(frozen=True)
class TableCheck:
    """The columns of a table, and findings: problems first, then notes."""

    n_rows: int
    columns: tuple[ColumnSummary, ...]
    findings: tuple[TableFinding, ...]

    @property
    def problems(self) -> tuple[TableFinding, ...]:
        """The findings that should be dealt with before a fit."""
        return tuple(finding for finding in self.findings if finding.is_problem)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "nothing unusual was found"


def check_table(
    X: Any, y: ArrayLike, *, groups: str | None = None, time: str | None = None
) -> TableCheck:
    """Return what is in a table, and what to know before a model is fitted to it.

    Relations to y are judged on at most 4,000 rows: by the mean over neighbours or a
    straight line in a column of numbers, the mean over other rows with the same label,
    or least squares on several numbers. Findings are hints; only you know what a
    column means.

    Parameters
    ----------
    X : data frame of shape (n, d)
        Of pandas or polars.
    y : array-like of shape (n,)
        Finite numbers.
    groups : str, optional
        A column whose groups of rows will be kept together in a split.
    time : str, optional
        A column by which a split will be ordered.

    Returns
    -------
    TableCheck

    Examples
    --------
    >>> import pandas as pd
    >>> rides = pd.DataFrame({"casual": range(60), "other": [7, 1, 4] * 20})
    >>> check = check_table(rides, rides["casual"] + 2.0 * rides["other"])
    >>> [finding.kind for finding in check.problems]
    ['leak', 'id']
    """
    if not nw.dependencies.is_into_dataframe(X):
        raise InputError(f"X must be a data frame, got {type(X).__name__}")
    target = np.asarray(y, dtype=np.float64)
    columns = _columns_of(X)
    n = len(nw.from_native(X, eager_only=True))
    if target.shape != (n,) or not np.isfinite(target).all():
        raise InputError(
            f"y must hold a finite number for each of the {n} rows, got shape "
            f"{target.shape}"
        )
    is_split_safely = groups is not None or time is not None
    used = [column for column in columns if column.name not in (groups, time)]
    scaled = _scaled(target)  # its squares are neither zero nor infinite
    findings = [
        *_about_target(target),
        *_about_columns(used),
        *_about_groups([column for column in columns if column.name == groups]),
        *_leaks(used, scaled),
        *(finding for column in used for finding in column.findings()),
        *_same_columns(used),
        *([] if is_split_safely else _same_rows(columns, target)),
        *([] if is_split_safely else _alike_groups(used, scaled)),
    ]
    findings.sort(key=lambda finding: not finding.is_problem)  # stable
    summaries = tuple(column.summary() for column in columns)
    return TableCheck(n, summaries, tuple(findings))


@dataclass(frozen=True, eq=False)
class _Column:
    """A column: its values as numbers, and for labels the codes of their levels."""

    name: str
    kind: str
    values: Floats  # (n,), NaN where missing; codes of labels, from 0
    levels: tuple[str, ...] = ()  # of labels, by falling frequency

    @property
    def is_label(self) -> bool:
        return self.kind == "label"

    @cached_property
    def present(self) -> Floats:
        return self.values[~np.isnan(self.values)]

    @cached_property
    def n_distinct(self) -> int:
        return len(self.levels) if self.is_label else len(np.unique(self.present))

    def summary(self) -> ColumnSummary:
        n_missing = len(self.values) - len(self.present)
        return ColumnSummary(
            self.name, self.kind, n_missing, self.n_distinct, self._content()
        )

    def _content(self) -> str:
        if not len(self.present):
            return "no value"
        if self.is_label:
            more = ", ..." if len(self.levels) > 3 else ""
            return ", ".join(self.levels[:3]) + more
        low, high = self.present.min(), self.present.max()
        if self.kind == "time":
            return " to ".join(_time(seconds) for seconds in (low, high))
        unit = " s" if self.kind == "duration" else ""
        return f"{low:.6g} to {high:.6g}{unit}"

    def findings(self) -> Iterator[TableFinding]:
        """Yield what there is to know about this column alone."""
        n, n_present = len(self.values), len(self.present)
        named = (self.name,)
        n_missing = n - n_present
        if self.n_distinct < 2:
            what = "has no value" if not n_present else "has the same value in all rows"
            yield TableFinding(
                *("constant", named, f"{self.name!r} {what}"),
                *("It is ignored and can be dropped", False),
            )
            return
        if n_missing > MANY_GAPS * n:
            yield TableFinding(
                *("gaps", named),
                f"{self.name!r} is missing in {n_missing / n:.0%} of the rows".replace(
                    "%", " %"
                ),
                "Gaps need no imputation; find out why they are there, because the "
                "model will use that a value is missing",
                False,
            )
        if self._is_id():
            yield TableFinding(
                *("id", named, f"{self.name!r} looks like an id: {self._why_id()}"),
                "Drop it, since it says nothing about new rows"
                + ("; or order the test by it (--time)" * (not self.is_label)),
                True,
            )
        elif self.is_label and self.n_distinct > MANY_LEVELS:
            counts = np.bincount(self.present.astype(int))
            n_single = int((counts == 1).sum())
            yield TableFinding(
                *("levels", named),
                f"{self.name!r} has {self.n_distinct:,} labels in {n:,} rows, "
                f"{n_single:,} of them only once",
                "Labels seen once are treated as unknown; coarser labels may help",
                False,
            )
        elif self.kind == "time":
            yield TableFinding(
                *("time", named),
                f"{self.name!r} holds times, used as {_listed(('time', *CYCLES))}",
                "If you will predict the future, test on the latest rows (--time, "
                "and --keep-time to use it as a feature too)",
                False,
            )
        elif self.kind == "number" and (likely := self._likely_time()):
            yield TableFinding(
                *("time", named, f"{self.name!r} looks like {likely} but is a number"),
                "Convert it to a date if it is one, so that it gets calendar columns",
                False,
            )

    def _is_id(self) -> bool:
        if self.n_distinct < max(len(self.values), MIN_ID_ROWS):
            return False
        if self.is_label:
            return True
        if self.kind != "number" or (self.values % 1 != 0).any():
            return False
        # All whole numbers of a range, or nearly: prices and areas leave more out.
        is_dense = np.ptp(self.values) < 2 * len(self.values)
        return bool(is_dense or self._rises())

    def _rises(self) -> bool:
        return bool((np.diff(self.values) > 0).all())

    def _why_id(self) -> str:
        rises = not self.is_label and self._rises()
        return "it rises with the row" if rises else "all its values are different"

    def _likely_time(self) -> str | None:
        """Return what a column of whole numbers may be, None if not a time."""
        values = self.present
        if len(values) < MIN_ROWS or (values % 1 != 0).any():
            return None
        low, high = values.min(), values.max()
        if low >= 19_000_101 and high <= 21_001_231:
            month, day = values // 100 % 100, values % 100
            if ((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
                return f"a date such as {values[0]:.0f}"
        if low >= 631_152_000 and high <= 4_102_444_800:  # 1990 to 2100
            return f"a Unix time ({_time(values[0])})"
        return None


def _columns_of(X: Any) -> list[_Column]:
    kinds = kinds_of(X)
    names = nw.from_native(X, eager_only=True).columns
    table = read_frame(X, kinds)
    return list(_split(table, names))


def _split(table: Table, names: Sequence[str]) -> Iterator[_Column]:
    """Yield the columns of a table, of a time only the time itself."""
    numbers, labels = iter(table.numbers.T), iter(table.labels.T)
    for name, kind in zip(names, table.kinds, strict=True):
        if kind == "label":
            yield _label_column(name, next(labels))
            continue
        values = next(numbers)
        if kind == "time":
            for _ in CALENDAR[1:]:
                next(numbers)
        yield _Column(name, kind, values)


def _label_column(name: str, labels: NDArray[np.object_]) -> _Column:
    is_there = np.array([label is not None for label in labels], dtype=bool)
    values = np.full(len(labels), np.nan)
    if not is_there.any():
        return _Column(name, "label", values)
    levels, codes, counts = np.unique(
        labels[is_there].astype(str), return_inverse=True, return_counts=True
    )
    ranked = np.argsort(-counts, kind="stable")
    rank = np.empty(len(levels))
    rank[ranked] = np.arange(len(levels))
    values[is_there] = rank[codes]
    return _Column(name, "label", values, tuple(map(str, levels[ranked])))


def _about_target(y: Floats) -> Iterator[TableFinding]:
    distinct = np.unique(y)
    if len(distinct) == 1:
        yield TableFinding(
            *("target", (), f"the target is {distinct[0]:g} in all rows"),
            *("There is nothing to predict", True),
        )
    elif len(distinct) <= FEW_VALUES and len(y) >= 10 * len(distinct):
        listed = ", ".join(f"{value:g}" for value in distinct)
        yield TableFinding(
            *("target", (), f"the target has only the values {listed}"),
            "If they stand for classes, use a classifier",
            False,
        )


def _about_columns(columns: Sequence[_Column]) -> Iterator[TableFinding]:
    """Yield that no column varies, so that nothing can be learnt from them."""
    if len(columns) > 0 and all(column.n_distinct < 2 for column in columns):
        yield TableFinding(
            *("constant", tuple(column.name for column in columns)),
            "no column has more than one value",
            *("There is nothing to predict the target from", True),
        )


def _about_groups(columns: Sequence[_Column]) -> Iterator[TableFinding]:
    """Yield that a column of groups cannot split the rows."""
    for column in columns:
        if column.n_distinct < 2:
            yield TableFinding(
                *("groups", (column.name,)),
                f"{column.name!r} has the same value in all rows",
                "A split by groups needs at least two; name another column",
                True,
            )


def _leaks(columns: Sequence[_Column], y: Floats) -> Iterator[TableFinding]:
    """Yield columns, and linear combinations of them, that predict y nearly exactly."""
    rows = _sample(len(y))
    if len(rows) < MIN_ROWS or np.ptp(y[rows]) == 0:
        return
    shares = {column.name: _share_by_one(column, y, rows) for column in columns}
    leaks = [name for name, share in shares.items() if share >= LEAK]
    for name, share in shares.items():
        if share >= STRONG:
            yield TableFinding(
                *("leak" if name in leaks else "strong", (name,)),
                f"{name!r} alone explains {_percent(share)} of the variance of the "
                "target",
                "Drop it if it is not known when you predict",
                name in leaks,
            )
    numbers = [c for c in columns if not c.is_label and c.name not in leaks]
    combination = _linear_combination(numbers, y, rows)
    if combination is not None:
        names, share = combination
        yield TableFinding(
            *("leak", names),
            f"a linear combination of {_listed(list(map(repr, names)))} explains "
            f"{_percent(share)} of the variance of the target",
            "Drop those that are not known when you predict; they may be its parts",
            True,
        )


def _share_by_one(column: _Column, y: Floats, rows: NDArray[np.int64]) -> float:
    """Return the share of the variance of y that a column explains, of other rows."""
    x, target = column.values[rows], y[rows]
    is_there = ~np.isnan(x)
    x, target = x[is_there], target[is_there]
    if len(x) < max(MIN_ROWS, len(rows) / 2) or np.ptp(target) == 0:
        return 0.0
    if column.is_label:
        predicted = _means_of_others(x.astype(int), target)
    else:
        predicted = _means_of_neighbours(x, target)
    share = 1 - float(np.sum((predicted - target) ** 2)) / _variation(target)
    if column.is_label or np.ptp(x) == 0:
        return share
    # Means of few neighbours are noisy; a straight line is not, where it fits.
    return max(share, float(np.corrcoef(_scaled(x), target)[0, 1] ** 2))


def _means_of_others(codes: NDArray[np.int64], y: Floats) -> Floats:
    """Return the mean of y over the other rows of the same code, or of all."""
    counts, sums = np.bincount(codes), np.bincount(codes, weights=y)
    n_others = counts[codes] - 1
    means = (sums[codes] - y) / np.maximum(n_others, 1)
    return np.where(n_others > 0, means, y.mean())


def _means_of_neighbours(x: Floats, y: Floats) -> Floats:
    """Return the mean of y over the nearest rows on each side, ties in random order."""
    shuffled = np.random.default_rng(0).permutation(len(x))
    order = shuffled[np.argsort(x[shuffled], kind="stable")]
    ordered = y[order]
    padded = np.pad(ordered, N_NEIGHBOURS, mode="reflect")  # the ends have one side
    n = len(y)
    shifts = [shift for shift in range(2 * N_NEIGHBOURS + 1) if shift != N_NEIGHBOURS]
    means = np.mean([padded[shift : shift + n] for shift in shifts], axis=0)
    predicted = np.empty(n)
    predicted[order] = means
    return predicted


def _linear_combination(
    columns: Sequence[_Column], y: Floats, rows: NDArray[np.int64]
) -> tuple[tuple[str, ...], float] | None:
    """Return the fewest columns that predict y nearly exactly, greedily, and how well.

    Each step adds the column that leaves the least of y. Shares are those of rows that
    the coefficients were not fitted to.
    """
    values = [_scaled(column.values[rows]) for column in columns]
    matrix = np.stack(values, axis=1) if values else None
    if matrix is None:
        return None
    is_usable = ~np.isnan(matrix).any(axis=0) & (np.ptp(matrix, axis=0) > 0)
    names = [c.name for c, usable in zip(columns, is_usable, strict=True) if usable]
    matrix = matrix[:, is_usable]
    if len(names) < 2:
        return None
    matrix = (matrix - matrix.mean(axis=0)) / matrix.std(axis=0)
    target = y[rows] - y[rows].mean()
    chosen: list[int] = []
    while len(chosen) < min(MAX_COMBINED, len(names), len(rows) // 10):
        residual = target - _fitted(matrix[:, chosen], target)
        gains = np.abs(matrix.T @ residual)
        gains[chosen] = -1
        chosen.append(int(gains.argmax()))
        share = _cross_validated_share(matrix[:, chosen], target)
        if len(chosen) > 1 and share >= LINEAR_LEAK:
            return tuple(names[i] for i in sorted(chosen)), share
    return None


def _fitted(matrix: Floats, y: Floats) -> Floats:
    if not matrix.shape[1]:
        return np.zeros_like(y)
    return matrix @ np.linalg.lstsq(matrix, y, rcond=None)[0]


def _cross_validated_share(matrix: Floats, y: Floats) -> float:
    errors = np.empty(len(y))
    for fold in range(N_FOLDS):
        is_test = np.arange(len(y)) % N_FOLDS == fold  # rows are shuffled already
        fitted = np.linalg.lstsq(matrix[~is_test], y[~is_test], rcond=None)[0]
        errors[is_test] = matrix[is_test] @ fitted - y[is_test]
    return 1 - float(np.sum(errors**2)) / _variation(y)


def _same_columns(columns: Sequence[_Column]) -> Iterator[TableFinding]:
    """Yield groups of columns that say the same in every row."""
    by_content: dict[bytes, list[str]] = {}
    for column in columns:
        if column.n_distinct > 1:
            by_content.setdefault(_content_key(column), []).append(column.name)
    for names in by_content.values():
        if len(names) > 1:
            yield TableFinding(
                *("same", tuple(names)),
                f"{_listed(list(map(repr, names)))} determine each other in every row",
                "One of them is enough",
                False,
            )


def _content_key(column: _Column) -> bytes:
    """Return bytes that are equal for columns that determine each other.

    Columns with many different values determine each other by chance, so those must
    be equal.
    """
    values = column.values
    if column.n_distinct > len(values) / 4:
        return values.tobytes()
    is_there = ~np.isnan(values)
    codes = np.zeros(len(values), dtype=np.int64)  # by first appearance, from 1
    _, first, inverse = np.unique(
        values[is_there], return_index=True, return_inverse=True
    )
    codes[is_there] = np.argsort(np.argsort(first))[inverse] + 1
    return codes.tobytes()


def _same_rows(columns: Sequence[_Column], y: Floats) -> Iterator[TableFinding]:
    n = len(y)
    matrix = np.stack([*(column.values for column in columns), y], axis=1)
    matrix = np.nan_to_num(matrix, nan=np.inf) + 0.0  # one NaN and one zero
    n_same = n - len({row.tobytes() for row in matrix})
    if not n_same:
        return
    # Rows of a few coarse columns repeat by chance, those of a measurement do not.
    n_distinct = max([column.n_distinct for column in columns] + [len(np.unique(y))])
    are_copies = n_distinct > n / 4 and n_same >= n / 100
    yield TableFinding(
        *("duplicates", ()),
        f"{n_same:,} of {n:,} rows repeat{'s' * (n_same == 1)} another one, target "
        "included",
        "If they are copies, remove them: a random split puts them on both sides of "
        "the test",
        are_copies,
    )


def _alike_groups(columns: Sequence[_Column], y: Floats) -> Iterator[TableFinding]:
    """Yield columns of ids whose rows have targets that are alike."""
    n = len(y)
    if np.ptp(y) == 0:
        return
    for column in columns:
        is_whole = column.is_label or (
            column.kind == "number" and not (column.present % 1 != 0).any()
        )
        n_groups = column.n_distinct
        is_id = (
            is_whole
            and len(column.present) == n
            and MIN_GROUPS <= n_groups <= n / 2
            and (column.is_label or _is_id_range(column.present))
        )
        if not is_id:
            continue
        codes = np.unique(column.values, return_inverse=True)[1]
        share = 1 - float(np.sum((_means_of_others(codes, y) - y) ** 2)) / _variation(y)
        if share >= ALIKE:
            yield TableFinding(
                *("groups", (column.name,)),
                f"{column.name!r} has {n_groups:,} groups of {n / n_groups:.0f} rows "
                f"whose targets are alike ({_percent(share)} of the variance lies "
                "between groups)",
                "If you will predict for new groups, keep each on one side of the test "
                f"(--groups {column.name})",
                True,
            )


def _is_id_range(values: Floats) -> bool:
    """Whether whole numbers may be ids of groups: many, without order in the rows.

    A group is then a run of rows, or numbers are far larger than the number of groups.
    """
    n_runs = 1 + np.count_nonzero(np.diff(values))
    n_groups = len(np.unique(values))
    return bool(n_runs == n_groups or np.abs(values).max() > 10 * n_groups)


def _sample(n: int) -> NDArray[np.int64]:
    """Return row numbers in random order, at most `MAX_ROWS`."""
    return np.random.default_rng(0).permutation(n)[:MAX_ROWS]


def _scaled(values: Floats) -> Floats:
    """Return values from -1 to 1, whose squares are finite; NaN stays NaN."""
    largest = np.nanmax(np.abs(values), initial=0)
    return values / largest if largest > 0 else values


def _variation(y: Floats) -> float:
    return float(np.sum((y - y.mean()) ** 2))


def _time(seconds: float) -> str:
    """Return a time as text, without hours or seconds that are zero."""
    unit = "D" if seconds % 86_400 == 0 else "m" if seconds % 60 == 0 else "s"
    time = np.datetime64(int(seconds), "s").astype(f"M8[{unit}]")
    return str(time).replace("T", " ")


def _percent(share: float) -> str:
    """Return a share in percent, never rounded up to 100 unless it is nearly exact."""
    for digits in (0, 1, 2, 3):
        text = f"{100 * share:.{digits}f}"
        if float(text) < 100:
            return f"{text} %"
    return "100 %"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
