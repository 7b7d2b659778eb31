"""Tables on disk: read, written, refused."""

import gzip
import json
from datetime import date, time
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from histreg.cli import tables
from histreg.cli.interpretation import interpret
from histreg.cli.spelling import Spelling
from histreg.errors import InputError

FRAME = pd.DataFrame(
    {"a": [1.5, np.nan, 3.0], "b": ["x", "y", "ö"], "price": [1.0, 2.0, 3.0]}
)


# Without the time of packing: all workers must name their tests alike.
PACKED = gzip.compress(b"a,b\n" + b"1,2\n" * 999, mtime=0)
CUT_SHORT = PACKED[:-12]
CORRUPT = PACKED[:12] + bytes(255 - byte for byte in PACKED[12:])


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.TSV.gz", "t.parquet"]
)
def test_what_is_written_is_read(name, tmp_path):
    path = tmp_path / name
    tables.write(FRAME, path)
    found = interpret(tables.read(path).frame).frame
    pd.testing.assert_frame_equal(found, FRAME, check_dtype=False)
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_text_is_written_again_as_it_was(tmp_path):
    path = tmp_path / "t.csv"
    said = 'id,code,day,gap\n00001,1.10,2020-01-01T00:00,NA\n00002,"a,b",,\n'
    path.write_text(said)
    tables.write(tables.read(path).frame, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == said


def test_labels_stay_what_the_file_says(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("code,n\n01,1\n02,2\n,3\n")
    free, labelled = (
        interpret(tables.read(path).frame).frame,
        interpret(tables.read(path).frame, ["code"]).frame,
    )
    assert free["code"].tolist()[:2] == [1.0, 2.0]
    assert labelled["code"].tolist() == ["01", "02", None]
    assert labelled["n"].tolist() == [1.0, 2.0, 3.0]


def test_semicolons_are_understood(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;2\n")
    assert tables.read(path).frame.to_dict("list") == {"a": ["1"], "b": ["2"]}
    path.write_text("a,b;c\n1,2\n")  # a semicolon in a name
    assert tables.read(path).frame.to_dict("list") == {"a": ["1"], "b;c": ["2"]}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_delimiter_is_understood_and_written_again(
    delimiter, end, mark, tmp_path
):
    path = tmp_path / "t.csv"
    others = ",;|".replace(delimiter, "")
    rows = [["a", "b,;|"], ["1", "2"], ["1,5", f"x{others}"], ["", "ö"]]
    text = ""
    for row in rows:
        cells = [f'"{cell}"' if delimiter in cell else cell for cell in row]
        text += delimiter.join(cells) + end
    path.write_bytes((mark + text).encode())
    file = tables.read(path)
    assert file.delimiter == delimiter
    assert [file.frame.columns.tolist(), *file.frame.to_numpy().tolist()] == rows
    name = "tab" if delimiter == "\t" else repr(delimiter)
    assert file.facts == ([] if delimiter == "," else [f"delimiter {name}"])
    again = tmp_path / "again.csv"
    tables.write(file.frame, again, Spelling(delimiter))
    if delimiter != "\t":  # of a file that is named otherwise
        assert again.read_text() == text.replace("\r", "")
    assert tables.read(again).frame.equals(file.frame)


def test_parquet_whose_notes_of_pandas_are_damaged_is_refused(tmp_path):
    path = tmp_path / "noted.parquet"
    columns = [{"name": "x", "field_name": "x"}]  # without their types
    notes = {"columns": columns, "index_columns": [], "column_indexes": []}
    table = pa.table({"x": [1, 2]}).replace_schema_metadata(
        {"pandas": json.dumps(notes)}
    )
    pq.write_table(table, path)
    with pytest.raises(InputError, match=r"noted\.parquet cannot be read as \.parquet"):
        tables.read(path)


def test_of_several_delimiters_that_fit_the_one_with_the_most_cells_is_used(tmp_path):
    path = tmp_path / "bars.csv"
    path.write_text("a;b|c|d\nx;y|1|2\n")
    assert tables.read(path).delimiter == "|"
    path.write_text("a,b;c;d\nx,y;1;2\n")  # a comma is usual in a .csv
    assert tables.read(path).delimiter == ","


def test_a_delimiter_that_is_given_or_named_by_excel_is_used(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a:b,c\n1:2,3\n")
    assert tables.read(path, ":").frame.columns.tolist() == ["a", "b,c"]
    path.write_text("sep=;\na;b,c\n1;2,5\n")
    assert tables.read(path).frame.columns.tolist() == ["a", "b,c"]


def test_a_long_line_and_a_long_cell_are_no_trouble(tmp_path):
    path = tmp_path / "t.csv"
    names = [f"column_{i}" for i in range(20_000)]
    path.write_text(",".join(names) + "\n" + ",".join("1" * len(names)) + "\n")
    assert tables.read(path).frame.columns.tolist() == names
    path.write_text("a,b\n" + "x" * 200_000 + ",2\n")
    assert tables.read(path).frame["b"].tolist() == ["2"]


def test_text_of_windows_is_read_and_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe;preis\n1;5 €\n".encode("cp1252"))
    file = tables.read(path)
    assert file.frame.to_dict("list") == {"größe": ["1"], "preis": ["5 €"]}
    assert file.facts == [
        "encoding Windows-1252, since line 1 is not UTF-8",
        "delimiter ';'",
    ]


def test_numbers_are_written_with_the_decimal_mark_of_the_table(tmp_path):
    path = tmp_path / "t.csv"
    frame = pd.DataFrame({"a": ["1,5"], "mean": [2.5]})
    tables.write(frame, path, Spelling(";", ","))
    assert path.read_text() == "a;mean\n1,5;2,5\n"
    tables.write(frame, tmp_path / "t.tsv", Spelling(";", ","))
    assert (tmp_path / "t.tsv").read_text() == "a\tmean\n1,5\t2,5\n"


PARQUET = pa.table(
    {
        "day": pa.array([date(2020, 1, 1), None]),
        "clock": pa.array([time(1, 2, 3), None]),
        "exact": pa.array([Decimal("1.50"), None]),
        "whole": pa.array([1, None], pa.int32()),
        "large": pa.array([2**64 - 1, None], pa.uint64()),
        "truth": pa.array([True, None]),
        "code": pa.array(["a", None]).dictionary_encode(),
        "zone": pa.array([0, None], pa.timestamp("ns", "Europe/Berlin")),
        "span": pa.array([5, None], pa.duration("s")),
        "bytes": pa.array([b"x", None]),
        "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32())),
        "list": pa.array([[1], None]),
    }
)


def test_parquet_is_written_again_with_its_types(tmp_path):
    path, again = tmp_path / "t.parquet", tmp_path / "again.parquet"
    pq.write_table(PARQUET, path)
    tables.write(tables.read(path).frame, again)
    written, expected = pq.read_table(again), pq.read_table(path)
    assert written.schema.types == expected.schema.types
    assert written.to_pydict() == expected.to_pydict()


def test_iso_dates_become_times_and_other_text_stays(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "day,time,not,never\n"
        "2020-01-01,2020-01-01T10:00:00,2020-x,0000-00-00\n"
        ",,a,2020-01-01\n"
    )
    table = interpret(tables.read(path).frame).frame
    assert table["day"].iloc[0] == pd.Timestamp("2020-01-01")
    assert table["time"].iloc[0] == pd.Timestamp("2020-01-01 10:00")
    assert table["day"].isna().tolist() == [False, True]
    assert table["not"].tolist() == ["2020-x", "a"]
    assert table["never"].tolist() == ["0000-00-00", "2020-01-01"]


@pytest.mark.parametrize(
    "name, content, sentence",
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "must hold at least one row"),
        ("t.csv", b"a,b\n1,2,3\n1,2,3,4\n", "cannot be read as .csv"),
        pytest.param(
            *("t.csv", b"a,k,y\n1,2,3,\n4,5,6,\n", "cannot be read as .csv"),
            marks=pytest.mark.skipif(
                int(pd.__version__.split(".")[0]) < 3,
                reason="older versions of pandas leave out an empty last column",
            ),
        ),
        ("t.csv", b"a,b,a\n1,2,3\n", "column names must be unique, got 'a' twice"),
        ("t.csv", b"\xff\xfe\x00\x01", "cannot be read as .csv"),
        ("t.csv", b"\xff\xfea\0,\0b\0", "it is UTF-16 text; save it as UTF-8"),
        ("t.csv", b"a,b\n1,\0\n", "line 2 has a NUL byte"),
        ("t.csv", b"a,b\n1,\x81\n", "line 2 is not UTF-8 text"),
        ("t.csv", b"PAR1 and more", "it is a Parquet file"),
        ("t.csv", b"PK\x03\x04 and more", "it is an Excel or zip file"),
        ("t.csv", PACKED, "it is compressed by gzip; name it with .gz"),
        ("t.csv", b"a" * 131_073 + b",b\n1,2\n", "a cell of more than 131,072"),
        ("t.csv", b'a,"b\n1,2\n', "cannot be read as .csv"),
        ("t.csv.gz", b"not packed", "not compressed by gzip; name it without .gz"),
        ("t.csv.gz", CUT_SHORT, "its gzip data is damaged"),
        ("t.csv.gz", CORRUPT, "its gzip data is damaged"),
        ("t.parquet", b"PAR1 no", "cannot be read as .parquet"),
        ("t.parquet", b"a,b\n1,2\n", "cannot be read as .parquet"),
        ("t.xlsx", b"", r"must be named .csv, .tsv or .parquet"),
        ("t", b"", r"must be named .csv, .tsv or .parquet"),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(name, content, sentence, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence) as refusal:
        tables.read(path)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_and_a_missing_folder_are_reported(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="must be a file, got a folder"):
        tables.read(tmp_path / "folder.csv")
    with pytest.raises(ValueError, match="there is no file"):
        tables.read(tmp_path / "t.csv")
    with pytest.raises(ValueError, match="cannot be written"):
        tables.write(FRAME, tmp_path / "no" / "t.csv")


def test_rows_that_are_shorter_than_the_header_are_reported(tmp_path):
    path = tmp_path / "short.csv"
    path.write_text('a,b,y\n"1\n",2,3\n4,"5\n"\n\n  \n6,7,\n')
    file = tables.read(path)
    assert file.frame.to_numpy().tolist() == [
        ["1\n", "2", "3"],
        ["4", "5\n", ""],
        ["6", "7", ""],
    ]
    cut = "a row that has fewer than the header (line 4, 2 of 3 cells)"
    assert file.facts == [f"empty cells for {cut}"]
    path.write_text("sep=,\na,b,y\n1,2,3\n4,5\n6\n")
    [fact] = tables.read(path).facts
    assert "2 rows that have fewer than the header (the first in line 4, 2 of" in fact
    path.write_text("a,b,y\n1,2,\n4,5,\n")
    assert not tables.read(path).facts


def test_a_row_that_is_longer_than_the_header_is_named(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("a,b,y\n1,2,3\n4,5,6,7\n")
    with pytest.raises(InputError, match="line 3 has 4 cells, but the header has 3"):
        tables.read(path)
