"""Cells: reading the text of a column as numbers, times or durations.

All functions take the cells of one column and return None (or nothing) unless every
cell can be read: a single cell that cannot be read makes it a column of labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from histreg.cli.spelling import DECIMALS

MISSING = {"", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"}
SAME_CHARACTER = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"}
)
"""Non-breaking spaces, a curly apostrophe and a typographic minus."""
NUMBER_CHARACTERS = set("0123456789+-eE., '") | {chr(c) for c in SAME_CHARACTER}

FLAGS = re.IGNORECASE | re.ASCII
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".lower().split()
_NAME = rf"(?P<name>{'|'.join(MONTHS)})[a-z]*\.?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
_SECONDS = r"(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?"
_CLOCK = (
    rf"(?P<hour>\d\d?):(?P<minute>\d\d)(?::{_SECONDS})?(?: ?(?P<half>[ap])\.?m\.?)?"
)
_ZONE = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?"
_TIME = rf"(?:(?:T| |, ){_CLOCK})?{_ZONE}"
_DAY, _YEAR = r"(?P<day>\d\d?)", r"(?P<year>\d{4})"
DAY_OR_MONTH_FIRST = re.compile(
    rf"(?P<one>\d\d?)(?P<mark>[-/.])(?P<other>\d\d?)(?P=mark){_YEAR}{_TIME}", FLAGS
)
LAYOUTS = (
    re.compile(rf"{_YEAR}(?P<mark>[-/.])(?P<month>\d\d?)(?P=mark){_DAY}{_TIME}", FLAGS),
    re.compile(
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)T(?P<hour>\d\d)(?P<minute>\d\d)"
        rf"(?:{_SECONDS})?{_ZONE}",
        FLAGS,
    ),
    DAY_OR_MONTH_FIRST,
    re.compile(rf"{_WEEKDAY}{_DAY}[ -]{_NAME}[ -]{_YEAR}{_TIME}", FLAGS),
    re.compile(rf"{_WEEKDAY}{_NAME} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}{_TIME}", FLAGS),
)
COMMON_TIME = re.compile(  # the part of the first layout that pandas reads itself
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)
DURATION = re.compile(
    r"(?:(?P<days>-?\d+) days?,? ?)?"
    r"(?:(?P<sign>[+-])?(?P<hour>\d{1,4}):(?P<minute>[0-5]\d)"
    r"(?::(?P<second>[0-5]\d)(?:[.,](?P<fraction>\d+))?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?)?",
    FLAGS,
)
SHORT_YEAR = re.compile(r"\d\d?(?P<mark>[-/.])\d\d?(?P=mark)\d\d", FLAGS)
_LIKE_A_NUMBER = (
    r"(?:\d{1,3}(?:,\d{2,3})+|\d{1,3}(?:[. ']\d{3})+|\d+)(?:[.,]\d*)?|[.,]\d+"
)
DECORATED = re.compile(
    r"(?P<before>(?:[^\w\s.,+-]{1,2}|[A-Z]{3}) ?)?"
    rf"[+-]?(?:{_LIKE_A_NUMBER})(?:[eE][+-]?\d+)?"
    r"(?P<after> ?[^\W\d_][^\d]{0,5}| ?[^\w\s.,]{1,2})?"
)
MAX_DECORATIONS = 2  # per column; with more, cells are codes such as 12A, 7B and 3C


class NumberSpelling(NamedTuple):
    """How the numbers of a column are written."""

    decimal: str
    thousands: str  # empty if there are no separators

    def __str__(self) -> str:
        words = ["decimal comma"] if self.decimal == "," else []
        if self.thousands:
            words.append(f"{self.thousands!r} between thousands")
        return " and ".join(words) or "decimal point"


def number_spellings(cells: Iterable[str]) -> dict[str, NumberSpelling]:
    """Return the spellings by which all cells are numbers, by their decimal mark.

    There are two if cells such as ``1,234`` are ambiguous, and none if a cell is not
    a number.
    """
    characters = set("".join(cells))
    if characters - NUMBER_CHARACTERS:
        return {}
    numbers = _plain_characters(cells)
    marks = set("".join(numbers)) & set("., '")
    possible = {}
    for decimal in DECIMALS:
        thousands = "".join(marks - {decimal})
        if len(thousands) <= 1:
            pattern = _number_pattern(decimal, thousands)
            if all(pattern.fullmatch(number) for number in numbers):
                possible[decimal] = NumberSpelling(decimal, thousands)
    return possible


def numbers_of(cells: Iterable[str], spelling: NumberSpelling) -> NDArray[np.float64]:
    """Return the cells as numbers, in a spelling of `number_spellings`."""
    decimal, thousands = spelling
    return np.array(
        [
            float(number.replace(thousands, "").replace(decimal, "."))
            for number in _plain_characters(cells)
        ],
        dtype=np.float64,
    )


def times_of(cells: Sequence[str], *, day_first: bool) -> NDArray[np.datetime64] | None:
    """Return the cells as instants in UTC, or None unless all are times.

    ISO 8601 with or without its marks, year first with slashes or dots, day or month
    first with a year of four digits, and English names of months; each with or without
    a time of day and a zone. A time without a zone is UTC.
    """
    if all(map(COMMON_TIME.fullmatch, cells)):
        times = _instants(cells)
    else:
        matches = _matches(cells)
        if not all(matches):
            return None
        times = _instants(_iso_texts(matches, day_first))
    return None if np.isnat(times).any() else times


def ambiguous_date_mark(cells: Sequence[str]) -> str | None:
    """Return the mark between day and month of dates such as 05/06/2013.

    None if the first cell is not such a date.
    """
    match = DAY_OR_MONTH_FIRST.fullmatch(cells[0].strip())
    return match["mark"] if match else None


def has_mixed_zones(cells: Sequence[str]) -> bool:
    """Whether some of the times in cells have a zone and others have none."""
    return len({match["zone"] is None for match in _matches(cells) if match}) == 2


def durations_of(cells: Sequence[str]) -> NDArray[np.timedelta64] | None:
    """Return the cells as durations, or None unless all are durations.

    Hours, minutes and perhaps seconds, with or without days before them. A time of day
    is the duration since midnight.
    """
    microseconds = []
    for cell in cells:
        match = DURATION.fullmatch(cell.strip())
        if not match or not (match["hour"] or match["days"]):
            return None
        fields = match.groupdict()
        clock = (_hour(fields) * 60 + int(fields["minute"] or 0)) * 60
        clock = (clock + int(fields["second"] or 0)) * 10**6 + _microseconds(fields)
        sign = -1 if fields["sign"] == "-" else 1
        days = int(fields["days"] or 0) * 86400 * 10**6
        microseconds.append(days + sign * clock)
    try:
        return np.array(microseconds, dtype="timedelta64[us]")
    except OverflowError:
        return None


class Doubt(NamedTuple):
    """Why a column of labels may be meant as something else, with an example cell."""

    reason: str
    cell: str


def doubt_of(counts: Mapping[str, int]) -> Doubt | None:
    """Return why a column that looks like numbers or times was read as labels.

    None if at most half of its cells look like either: labels are right then.

    Parameters
    ----------
    counts : mapping
        How often each distinct cell occurs.
    """
    return _doubt_of_numbers(counts) or _doubt_of_times(counts)


def _doubt_of_numbers(counts: Mapping[str, int]) -> Doubt | None:
    plain = {cell: cell.translate(SAME_CHARACTER).strip() for cell in counts}
    decorations: dict[str, str] = {}  # the text around the number of a cell
    for cell, text in plain.items():
        match = DECORATED.fullmatch(text)
        if match:
            decorations[cell] = " ".join(
                part.strip() for part in match.groups() if part is not None
            )
    sums: Counter[str] = Counter()
    for cell, decoration in decorations.items():
        sums[decoration] += counts[cell]
    if not _is_most(sums.total(), counts) or len(sums) > MAX_DECORATIONS:
        return None
    [(decoration, _)] = sums.most_common(1)
    if decoration:
        cell = next(cell for cell, its in decorations.items() if its == decoration)
        return Doubt(f"its numbers are written with {decoration!r}", cell)
    odd = min((_odd_cells(plain, decimal) for decimal in DECIMALS), key=len)
    return Doubt("not all of its cells are numbers", odd[0]) if odd else None


def _doubt_of_times(counts: Mapping[str, int]) -> Doubt | None:
    cells = list(counts)
    short = [cell for cell in cells if SHORT_YEAR.fullmatch(cell.strip())]
    if _is_most(sum(counts[cell] for cell in short), counts):
        return Doubt("the years of its dates have two digits instead of four", short[0])
    layouts: Counter[re.Pattern[str]] = Counter()
    for cell in cells:
        layout = _layout_of(cell)
        if layout is not None:
            layouts[layout] += counts[cell]
    if not _is_most(layouts.total(), counts):
        return None
    [(layout, _)] = layouts.most_common(1)
    matches = [layout.fullmatch(cell.strip()) for cell in cells]
    odd = np.ones(len(cells), dtype=bool)
    for day_first in (True, False):
        odd &= np.isnat(_instants(_iso_texts(matches, day_first)))
    # All cells may be dates, some with the day first and others with the month first.
    cell = cells[int(odd.argmax())]
    return Doubt("not all of its cells are times in the same format", cell)


def _is_most(count: int, counts: Mapping[str, int]) -> bool:
    return 2 * count > sum(counts.values())


def _odd_cells(plain: Mapping[str, str], decimal: str) -> list[str]:
    """Return the cells that are not numbers with this decimal mark."""
    patterns = [_number_pattern(decimal, mark) for mark in {*"., '"} - {decimal}]
    return [
        cell
        for cell, text in plain.items()
        if not any(pattern.fullmatch(text) for pattern in patterns)
    ]


def _plain_characters(cells: Iterable[str]) -> list[str]:
    return [cell.translate(SAME_CHARACTER).strip() for cell in cells]


@lru_cache
def _number_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    whole = r"\d+"
    if thousands:  # not in 0,123: no number starts with a group that is zero
        whole = rf"(?:[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+|\d+)"
    point = re.escape(decimal)
    return re.compile(
        rf"[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?", re.ASCII
    )


def _layout_of(cell: str) -> re.Pattern[str] | None:
    """Return the date layout that matches a cell."""
    text = cell.strip()
    return next((layout for layout in LAYOUTS if layout.fullmatch(text)), None)


def _matches(cells: Sequence[str]) -> list[re.Match[str] | None]:
    """Match the cells with the layout of the first of them."""
    layout = _layout_of(cells[0])
    if layout is None:
        return [None]
    return [layout.fullmatch(cell.strip()) for cell in cells]


def _iso_texts(matches: Sequence[re.Match[str] | None], day_first: bool) -> list[str]:
    """Return matched times as ISO 8601, an empty text where nothing matched."""
    return [
        _iso_text(match.groupdict(), day_first) if match else "" for match in matches
    ]


def _instants(texts: Sequence[str]) -> NDArray[np.datetime64]:
    """Return ISO 8601 texts as instants in UTC, NaT where a text is not a time."""
    times = pd.to_datetime(
        pd.Series(texts, dtype=object), format="ISO8601", utc=True, errors="coerce"
    )
    return times.dt.tz_localize(None).to_numpy()


def _iso_text(fields: dict[str, str | None], day_first: bool) -> str:
    """Return the fields of a matched time as ISO 8601, with a zone."""
    if fields.get("one") is not None:
        names = ("day", "month") if day_first else ("month", "day")
        fields.update(zip(names, (fields["one"], fields["other"]), strict=True))
    elif fields.get("name") is not None:
        fields["month"] = str(MONTHS.index(str(fields["name"]).lower()) + 1)
    date = f"{fields['year']}-{fields['month']:0>2}-{fields['day']:0>2}"
    clock = (
        f"{_hour(fields):02}:{fields['minute'] or 0:0>2}:{fields['second'] or 0:0>2}"
    )
    zone = (fields["zone"] or "Z").upper()
    if zone[0] in "+-":
        digits = zone[1:].replace(":", "")
        zone = f"{zone[0]}{digits[:2]}:{digits[2:] or '00'}"
    else:
        zone = "Z"
    return f"{date}T{clock}.{_microseconds(fields):06}{zone}"


def _hour(fields: Mapping[str, str | None]) -> int:
    """Return the hour from 0 to 23; am and pm are accounted for."""
    hour, half = int(fields["hour"] or 0), fields.get("half")
    return hour if half is None else hour % 12 + 12 * (half in "pP")


def _microseconds(fields: Mapping[str, str | None]) -> int:
    return int((fields["fraction"] or "0")[:6].ljust(6, "0"))
