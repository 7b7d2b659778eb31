"""What the text of cells says: numbers, times, durations, or nothing of the kind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histreg.cli.cells import (
    NumberSpelling,
    ambiguous_date_mark,
    doubt_of,
    durations_of,
    has_mixed_zones,
    number_spellings,
    numbers_of,
    times_of,
)

SPELLINGS = [
    NumberSpelling(decimal, thousands)
    for decimal in ".,"
    for thousands in ("", ".", ",", " ", "'", "\u00a0", "\u202f", "\u2019")
    if thousands != decimal
]


def written(number: float, spelling: NumberSpelling, n_decimals: int) -> str:
    """Return a number as a person writes it."""
    text = f"{number:,.{n_decimals}f}".replace(",", "_").replace(".", spelling.decimal)
    return text.replace("_", spelling.thousands)


@given(
    numbers=st.lists(st.integers(-(10**15), 10**15), min_size=1),
    n_decimals=st.integers(0, 6),
    spelling=st.sampled_from(SPELLINGS),
    minus=st.sampled_from("-\u2212"),
)
def test_numbers_of_every_spelling_are_read_as_what_was_written(
    numbers, n_decimals, spelling, minus
):
    values = [number / 10**n_decimals for number in numbers]
    texts = [written(value, spelling, n_decimals) for value in values]
    # What the digits say, without any of the code under test.
    expected = [float(f"{value:.{n_decimals}f}") for value in values]
    found = number_spellings([text.replace("-", minus) for text in texts])
    assert spelling.decimal in found
    read = numbers_of(texts, found[spelling.decimal])
    np.testing.assert_array_equal(read, expected)


@pytest.mark.parametrize(
    "cells, decimals",
    [
        (["1,5"], ","),
        (["1.5", "2"], "."),
        (["1,234.5"], "."),
        (["1.234,5", "7"], ","),
        (["1,234", "12"], ".,"),
        (["1.234"], ".,"),
        (["0,123"], ","),  # no number begins with a group of zero
        (["1,234", "1,23"], ","),
        (["1,234,567"], "."),
        (["1 234,5"], ","),
        (["-1,5E+03", "+,5"], ","),
        (["1,5", "1.5"], ""),
        (["1,234.5", "1.234,5"], ""),
        (["12,34,56"], ""),
        (["1 234'567"], ""),
        (["12 %"], ""),
        (["1.2.3"], ""),
        (["1,5", "x"], ""),
        (["-"], ""),
    ],
)
def test_cells_have_these_decimal_marks(cells, decimals):
    assert sorted(number_spellings(cells)) == sorted(decimals)


SAME_INSTANT = [
    "2013-05-17T18:00:00Z",
    "2013-05-17T20:00:00+02:00",
    "2013-05-17T20:00:00+0200",
    "2013-05-17 20:00+02",
    "2013-05-17 18:00:00 UTC",
    "2013-05-17 18:00",
    "2013-05-17T18:00:00.000000000",
    "2013-05-17T18:00:00,000",
    "20130517T180000",
    "20130517T1800Z",
    "20130517T143000-0330",
    "2013/05/17 18:00",
    "2013.5.17 18:00",
    "17.05.2013 18:00",
    "17.5.2013, 18:00:00",
    "17/05/2013 6:00 PM",
    "17-05-2013 18:00",
    "17 May 2013 18:00",
    "17-MAY-2013 18:00:00",
    "May 17, 2013 6:00:00 pm",
    "Fri, 17 May 2013 18:00:00 GMT",
]


@pytest.mark.parametrize("cell", SAME_INSTANT)
def test_one_instant_is_read_from_every_form(cell):
    expected = np.datetime64("2013-05-17T18:00")
    assert (times_of([cell, f" {cell}"], day_first=True) == [expected] * 2).all()


def test_parts_of_seconds_and_midnight_are_kept():
    times = times_of(["2013-05-17T00:00:00.25", "2013-05-17"], day_first=True)
    midnight = np.datetime64("2013-05-17")
    assert (times == [midnight + np.timedelta64(250, "ms"), midnight]).all()
    clock = times_of(["5/17/2013 12:30 AM", "5/17/2013 12:30 PM"], day_first=False)
    assert (clock - midnight).astype("timedelta64[m]").astype(int).tolist() == [30, 750]


@pytest.mark.parametrize(
    "cells",
    [
        ["0000-00-00"],
        ["2013-02-30"],
        ["2013-05-17", "soon"],
        ["2013-05-17", "17.05.2013"],
        ["2013-05-17 25:00"],
        ["17.05.13"],
        ["2013-05"],
        ["20130517"],
        ["17 Mai 2013"],
        ["\u0662013-05-17"],
    ],
)
def test_what_is_no_time_is_none(cells):
    assert times_of(cells, day_first=True) is None


def test_the_order_of_day_and_month_is_open_in_some_dates_only():
    assert ambiguous_date_mark(["05/06/2013"]) == "/"
    assert ambiguous_date_mark(["5.6.2013 12:00"]) == "."
    assert ambiguous_date_mark(["2013-05-06"]) is None
    first, second = np.datetime64("2013-06-05"), np.datetime64("2013-05-06")
    assert times_of(["05/06/2013"], day_first=True) == [first]
    assert times_of(["05/06/2013"], day_first=False) == [second]
    assert times_of(["17/06/2013"], day_first=False) is None


def test_mixed_zones_are_noticed():
    assert has_mixed_zones(["2013-05-17 18:00", "2013-05-17 18:00Z"])
    assert not has_mixed_zones(["2013-05-17 18:00", "2013-05-17"])


@pytest.mark.parametrize(
    "cell, seconds",
    [
        ("18:00", 64800),
        ("01:02:03.5", 3723.5),
        ("6:00 pm", 64800),
        ("36:00:00", 129600),
        ("-00:01:00", -60),
        ("2 days 00:00:01", 172801),
        ("-1 days +23:59:59", -1),
        ("3 days", 259200),
    ],
)
def test_durations_are_read(cell, seconds):
    [span] = durations_of([cell])
    assert span / np.timedelta64(1, "s") == seconds


@pytest.mark.parametrize("cell", ["", "1:2", "12:60", "12", "noon", "9" * 30 + " days"])
def test_what_is_no_duration_is_none(cell):
    assert durations_of(["18:00", cell]) is None


@pytest.mark.parametrize(
    "cells, reason, cell",
    [
        (["1", "2.5", "3", "?"], "not all of its cells are numbers", "?"),
        (["1", "2.5", "3,5", "-", "4"], "not all of its cells are numbers", "3,5"),
        (["1,5", "2,5", "3.5"], "not all of its cells are numbers", "3.5"),
        (["12 %", "7 %", "?"], "its numbers are written with '%'", "12 %"),
        (
            ["\u20ac 1,50", "\u20ac2"],
            "its numbers are written with '\u20ac'",
            "\u20ac 1,50",
        ),
        (["USD 5", "USD 6"], "its numbers are written with 'USD'", "USD 5"),
        (["12kg", "13kg"], "its numbers are written with 'kg'", "12kg"),
        (["17.05.13", "18.05.13"], "years of its dates have two digits", "17.05.13"),
        (
            ["2013-05-17", "2013-05-18", "soon"],
            "not all of its cells are times",
            "soon",
        ),
        (["2013-05-17", "2013-02-30"], "not all of its cells are times", "2013-02-30"),
    ],
)
def test_labels_that_look_like_numbers_or_times_are_doubted(cells, reason, cell):
    doubt = doubt_of(dict.fromkeys(cells, 1))
    assert reason in doubt.reason and doubt.cell == cell


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "a"],
        ["a", "b"],
        ["12A", "7B", "3C"],
        ["192.168.0.1", "10.0.0.1"],
        ["1st", "2nd", "3rd"],
        ["A12", "A13"],
        ["flat", "house", "2013-05-17"],
    ],
)
def test_labels_are_not_doubted(cells):
    assert doubt_of(dict.fromkeys(cells, 1)) is None


def test_doubts_count_cells_not_spellings():
    assert doubt_of({"1": 1, "2": 1, "x": 50}) is None
    assert doubt_of({"1": 50, "x": 1, "y": 1}).cell == "x"
