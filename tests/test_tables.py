"""Tables on disk: read, written, refused."""

import gzip

import numpy as np
import pandas as pd
import pytest

from histreg import tables

FRAME = pd.DataFrame(
    {"a": [1.5, np.nan, 3.0], "b": ["x", "y", "ö"], "price": [1.0, 2.0, 3.0]}
)


# Without the time of packing: all workers must name their tests alike.
CUT_SHORT = gzip.compress(b"a,b\n" + b"1,2\n" * 999, mtime=0)[:-12]


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.TSV.gz", "t.parquet"]
)
def test_what_is_written_is_read(name, tmp_path):
    path = tmp_path / name
    tables.write(FRAME, path)
    found = tables.typed(tables.read(path))
    pd.testing.assert_frame_equal(found, FRAME, check_dtype=False)
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_text_is_written_again_as_it_was(tmp_path):
    path = tmp_path / "t.csv"
    said = 'id,code,day,gap\n00001,1.10,2020-01-01T00:00,NA\n00002,"a,b",,\n'
    path.write_text(said)
    tables.write(tables.read(path), tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == said


def test_labels_stay_what_the_file_says(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("code,n\n01,1\n02,2\n,3\n")
    free, told = (
        tables.typed(tables.read(path)),
        tables.typed(tables.read(path), ["code"]),
    )
    assert free["code"].tolist()[:2] == [1.0, 2.0]
    assert told["code"].tolist() == ["01", "02", None]
    assert told["n"].tolist() == [1.0, 2.0, 3.0]


def test_semicolons_are_understood(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;2\n")
    assert tables.read(path).to_dict("list") == {"a": ["1"], "b": ["2"]}
    path.write_text("a,b;c\n1,2\n")  # a semicolon in a name
    assert tables.read(path).to_dict("list") == {"a": ["1"], "b;c": ["2"]}


def test_iso_dates_become_times_and_other_text_stays(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "day,time,not,never\n"
        "2020-01-01,2020-01-01T10:00:00,2020-x,0000-00-00\n"
        ",,a,2020-01-01\n"
    )
    table = tables.typed(tables.read(path))
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
        ("t.csv", b"a,k,y\n1,2,3,\n4,5,6,\n", "cannot be read as .csv"),
        ("t.csv", b"a,b,a\n1,2,3\n", "must name each column once, got 'a' twice"),
        ("t.csv", b"\xff\xfe\x00\x01", "cannot be read as .csv"),
        ("t.csv.gz", b"not packed", "cannot be read as .csv"),
        ("t.csv.gz", CUT_SHORT, "cannot be read"),
        ("t.parquet", b"PAR1 no", "cannot be read as .parquet"),
        ("t.xlsx", b"", r"must be named .csv, .tsv or .parquet"),
        ("t", b"", r"must be named .csv, .tsv or .parquet"),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(name, content, sentence, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as refusal:
        tables.read(path)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_and_a_missing_folder_are_told(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        tables.read(tmp_path / "t.csv")
    with pytest.raises(ValueError, match="cannot be written"):
        tables.write(FRAME, tmp_path / "no" / "t.csv")
