"""What the columns of a table are, and what is said about it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histreg.cli.interpretation import interpret
from histreg.cli.spelling import Spelling
from histreg.errors import InputError

SEMICOLON, COMMA, TAB = Spelling(";"), Spelling(","), Spelling("\t")


def read(given=None, fitted=None, labels=(), **columns):
    return interpret(pd.DataFrame(columns), labels, given, fitted)


@given(st.lists(st.floats(allow_nan=False), min_size=1), st.booleans())
def test_numbers_are_what_python_reads_whatever_stands_beside_them(numbers, alone):
    texts = list(map(repr, numbers))
    beside = {} if alone else {"b": ["x"] * len(texts)}
    np.testing.assert_array_equal(read(a=texts, **beside).frame["a"], numbers)


@given(st.lists(st.integers(-(10**30), 10**30), min_size=1), st.booleans())
def test_whole_numbers_are_what_python_reads(numbers, alone):
    texts = list(map(str, numbers))
    beside = {} if alone else {"b": ["x"] * len(texts)}
    expected = [float(number) for number in numbers]
    np.testing.assert_array_equal(read(a=texts, **beside).frame["a"], expected)


def test_many_columns_in_blocks_are_the_same_as_each_alone(monkeypatch):
    table = {
        "a": ["1", "NA", "3"],
        "b": ["x", "", "y"],
        "c": ["1,5", "2", "null"],
        "d": ["", "", ""],
        "e": ["2020-01-01", "", "2020-01-02"],
    }
    together = read(**table).frame
    assert together.columns.tolist() == list(table)
    for name, cells in table.items():
        alone = read(**{name: cells}).frame[name]
        pd.testing.assert_series_equal(together[name], alone)
    monkeypatch.setattr("histreg.cli.interpretation.CELLS_AT_ONCE", 1)
    pd.testing.assert_frame_equal(read(**table).frame, together)
    assert together["b"].tolist() == ["x", None, "y"]
    assert together["d"].isna().all() and together["d"].dtype == float


def test_a_decimal_comma_is_understood_and_said():
    found = read(SEMICOLON, a=["1,5", "2"], b=["7,25", ""], c=["1", "2"])
    assert found.frame["a"].tolist() == [1.5, 2.0]
    np.testing.assert_array_equal(found.frame["b"], [7.25, np.nan])
    assert found.facts == ["columns 'a', 'b' with decimal comma ('1,5' is 1.5)"]
    assert found.spelling == Spelling(";", ",") and not found.assumptions


def test_other_columns_tell_what_a_mark_means():
    commas = read(SEMICOLON, a=["1,5"], b=["1.234"], c=["1,234"])
    assert commas.frame.iloc[0].tolist() == [1.5, 1234.0, 1.234]
    assert not commas.assumptions
    points = read(SEMICOLON, a=["1.5"], b=["1.234"], c=["1,234"])
    assert points.frame.iloc[0].tolist() == [1.5, 1.234, 1234.0]
    assert points.spelling.decimal == "." and not points.assumptions


@pytest.mark.parametrize(
    "file, cell, number, otherwise",
    [
        (COMMA, "1,234", 1234.0, "1.234"),
        (TAB, "1,234", 1234.0, "1.234"),
        (SEMICOLON, "1,234", 1.234, "1234"),
        (SEMICOLON, "1.234", 1.234, "1234"),
    ],
)
def test_what_is_assumed_of_an_ambiguous_cell_is_said(file, cell, number, otherwise):
    found = read(file, a=[cell])
    assert found.frame["a"].tolist() == [number]
    [sentence] = found.assumptions
    assert f"'{cell}' is {number:g};" in sentence
    assert "with --decimal" in sentence and sentence.endswith(f"is {otherwise}")


def test_points_in_a_file_with_commas_between_cells_are_no_question():
    found = read(COMMA, a=["1.234", "5.678"])
    assert found.frame["a"].tolist() == [1.234, 5.678]
    assert not found.assumptions and not found.facts


def test_what_is_given_decides():
    for decimal, number in ((",", 1.234), (".", 1234.0)):
        found = read(Spelling(";", decimal), a=["1,234"])
        assert found.frame["a"].tolist() == [number] and not found.assumptions
    assert read(Spelling(",", ","), a=["1.234"]).frame["a"].tolist() == [1234.0]
    doubted = read(Spelling(";", ","), a=["1.5"])
    assert doubted.frame["a"].tolist() == ["1.5"]
    assert "decimal mark ','" in doubted.doubts["a"]


def test_the_table_of_the_fit_decides_unless_another_program_wrote_this_one():
    fitted = Spelling(";", ",")
    assert read(SEMICOLON, fitted, a=["1.234"]).frame["a"].tolist() == [1234.0]
    assert read(SEMICOLON, fitted, a=["1.5"]).frame["a"].tolist() == [1.5]
    assert read(COMMA, fitted, a=["1.234"]).frame["a"].tolist() == [1.234]
    assert read(Spelling(), fitted, a=["1.234"]).frame["a"].tolist() == [1234.0]
    assert read(SEMICOLON, fitted, a=["3"]).spelling.decimal == ","


def test_thousands_are_understood_and_said():
    found = read(COMMA, a=["1 234", "5"], b=["1'234.5", ""])
    assert found.frame["a"].tolist() == [1234.0, 5.0]
    assert found.frame["b"].iloc[0] == 1234.5
    assert found.facts == [
        "column 'a' with ' ' between thousands ('1 234' is 1234)",
        "column 'b' with \"'\" between thousands (\"1'234.5\" is 1234.5)",
    ]


def test_times_with_a_zone_are_times():
    found = read(a=["2013-05-17T18:00:00Z", ""], b=["2013-05-17 20:00:00+02:00", ""])
    expected = pd.Timestamp("2013-05-17 18:00")
    assert found.frame.iloc[0].tolist() == [expected] * 2
    assert found.frame.iloc[1].isna().all()
    mixed = read(a=["2013-05-17T18:00:00Z", "2013-05-17T18:00:00"])
    assert "column 'a' are read as UTC" in mixed.assumptions[0]


def test_a_day_beyond_12_tells_the_order_of_all_dates():
    found = read(a=["05/17/2013", "05/06/2013"], b=["01/02/2013", ""])
    assert found.frame["a"].tolist() == [
        pd.Timestamp("2013-05-17"),
        pd.Timestamp("2013-05-06"),
    ]
    assert found.frame["b"].iloc[0] == pd.Timestamp("2013-01-02")
    [fact] = found.facts
    assert fact.startswith("columns 'a', 'b' as dates, month first ('05/17/2013' is")
    assert found.spelling.day_first is False and not found.doubts


def test_dates_whose_order_is_open_stay_labels_and_are_doubted():
    found = read(a=["05/06/2013", "07/08/2013"])
    assert found.frame["a"].tolist() == ["05/06/2013", "07/08/2013"]
    assert "--day-first or --month-first" in found.doubts["a"]
    june, may = pd.Timestamp("2013-06-05"), pd.Timestamp("2013-05-06")
    for order, time in ((True, june), (False, may)):
        known = Spelling(day_first=order)
        assert read(known, a=["05/06/2013"]).frame["a"].tolist() == [time]
        assert read(None, known, a=["05/06/2013"]).frame["a"].tolist() == [time]
    dotted = read(a=["05.06.2013"])
    assert dotted.frame["a"].tolist() == [june]
    assert "read day first: '05.06.2013' is 2013-06-05" in dotted.assumptions[0]


def test_times_of_day_are_durations_and_said():
    found = read(a=["18:00", ""])
    assert found.frame["a"].iloc[0] == pd.Timedelta(hours=18)
    assert found.facts == ["column 'a' as hours and minutes"]


def test_labels_stay_as_they_are_and_are_not_doubted():
    found = read(labels=["a"], a=["1,5", "?"], b=["1", "2"])
    assert found.frame["a"].tolist() == ["1,5", "?"]
    assert not (found.facts or found.doubts)


def test_a_doubt_names_cell_and_row():
    found = read(a=["1", "", "2", "?"])
    reason = "not all of its cells are numbers, such as '?' in row 4"
    assert found.doubts == {"a": reason}


def arrow(values, kind):
    return pd.Series(values, dtype=pd.ArrowDtype(kind))


def test_types_of_arrow_become_numbers_times_or_labels():
    frame = read(
        whole=arrow([2**60, None], pa.int64()),
        large=arrow([2**64 - 1, None], pa.uint64()),
        exact=arrow(["1.50", None], pa.decimal128(5, 2)),
        truth=arrow([True, None], pa.bool_()),
        flag=arrow([True, False], pa.bool_()),
        nothing=arrow([None, None], pa.null()),
        code=arrow(["x", None], pa.dictionary(pa.int32(), pa.string())),
        text=arrow(["1,5", None], pa.string()),
    ).frame
    row = [2.0**60, 2.0**64, 1.5, 1.0, True, "x", 1.5]
    assert frame.drop(columns="nothing").iloc[0].tolist() == row
    assert frame["nothing"].isna().all()
    assert frame["flag"].dtype == bool and frame["code"].iloc[1] is None
    assert read(labels=["a"], a=arrow([2**60 + 1], pa.int64())).frame["a"].tolist() == [
        2**60 + 1
    ]


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.list_(pa.int8()), pa.map_(pa.string(), pa.int8())]
)
def test_types_that_are_of_no_use_are_refused(kind):
    with pytest.raises(InputError, match=r"column 'a' holds .*; use --drop"):
        read(a=arrow([None, None], kind))
