"""Table formats, by the end of a file's name."""

from pathlib import Path

import pytest

from histreg.cli.table_formats import (
    check_table_input,
    check_table_output,
    table_format,
)
from histreg.errors import InputError


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.csv", ".csv"),
        ("a.b.CSV", ".csv"),
        ("a.tsv.gz", ".tsv"),
        ("a.csv.GZ", ".csv"),
        ("a.parquet", ".parquet"),
    ],
)
def test_the_name_tells_the_format(name, expected):
    assert table_format(Path(name)) == expected


@pytest.mark.parametrize("name", ["a", "a.txt", "a.gz", ".csv"])
def test_other_names_are_refused(name):
    with pytest.raises(InputError, match=r"must be named \.csv, \.tsv or \.parquet"):
        table_format(Path(name))


def test_a_table_is_a_file_that_exists(tmp_path):
    (tmp_path / "t.csv").touch()
    check_table_input(tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"there is no file .*u\.csv"):
        check_table_input(tmp_path / "u.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="must be a file, got a folder"):
        check_table_input(tmp_path / "folder.csv")


def test_a_table_is_written_into_a_folder_that_exists(tmp_path):
    check_table_output(tmp_path / "t.csv")
    with pytest.raises(InputError, match="there is no folder"):
        check_table_output(tmp_path / "no" / "t.csv")
