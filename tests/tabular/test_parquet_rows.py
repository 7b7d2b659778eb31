"""Parquet files: every row once, in order or shuffled, with the types of the files."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from histreg.errors import InputError
from histreg.tabular.columns import kinds_of
from histreg.tabular.parquet_rows import ParquetFiles, ParquetRows, part_rows


@pytest.fixture
def folder(tmp_path):
    """Return a folder of 3 files, 10 row groups of 100 rows; y numbers the rows."""
    for i, n in enumerate((300, 500, 200)):
        start = (0, 300, 800)[i]
        number = np.arange(start, start + n, dtype=float)
        frame = pd.DataFrame({"x": -number, "w": number % 3, "y": number})
        frame.to_parquet(tmp_path / f"{i}.parquet", row_group_size=100)
    return tmp_path


def test_rows_come_once_in_the_order_of_the_files(folder):
    rows = ParquetRows(folder, target="y", drop=["w"])
    parts = list(rows.parts())
    assert rows.n_rows == 1000 and rows.features == ["x"]
    for part in parts:
        assert np.array_equal(part.numbers, part.y)
        assert np.array_equal(part.X["x"], -part.y)
        assert (part.weight == 1).all()
    assert np.array_equal(np.concatenate([p.y for p in parts]), np.arange(1000))


def test_shuffled_rows_come_once_and_by_the_seed(folder):
    rows = ParquetRows(folder, target="y")

    def order(seed):
        return np.concatenate(
            [part.numbers for part in rows.parts(np.random.default_rng(seed))]
        )

    assert np.array_equal(np.sort(order(1)), np.arange(1000))
    assert np.array_equal(order(1), order(1))
    assert not np.array_equal(order(1), order(2))


def test_shuffled_parts_are_mixed_of_several_row_groups(folder, monkeypatch):
    monkeypatch.setattr("histreg.tabular.parquet_rows.PART_ROWS", 80)
    monkeypatch.setattr("histreg.tabular.parquet_rows.LEAST_PART_ROWS", 1)
    parts = list(ParquetRows(folder, target="y").parts(np.random.default_rng(0)))
    groups = [{number // 100 for number in part.numbers} for part in parts[:5]]
    assert all(len(of_part) == 8 for of_part in groups)
    for part in parts:
        assert np.array_equal(part.numbers, part.y)


def test_a_row_group_is_read_a_batch_at_a_time(folder):
    files = ParquetFiles(folder)
    batches = list(files.batches(files.row_groups[0], ["y"], 30))
    assert [batch.num_rows for batch in batches] == [30, 30, 30, 10]


def test_fewer_rows_of_wide_tables_are_read_at_once():
    assert part_rows(10) == 2**16
    assert part_rows(32) * 32 == 2**20
    assert part_rows(10**6) == 2**12


def test_rows_can_be_taken_and_left_out(folder):
    rows = ParquetRows(folder, target="y")
    taken = rows.take(np.array([999, 5, 301]))
    assert taken.y.tolist() == [5, 301, 999]
    left = rows.without_rows(np.array([5, 301])).without_rows(np.array([7]))
    numbers = np.concatenate([part.numbers for part in left.parts()])
    assert np.array_equal(numbers, np.setdiff1d(np.arange(1000), [5, 7, 301]))
    assert left.n_rows == 1000


def test_rows_without_weight_or_target_are_left_out(tmp_path):
    frame = pd.DataFrame(
        {"x": range(5), "w": [1.0, 0.0, 2.0, 1.0, 3.0], "y": [1, 2, None, np.nan, 5.0]}
    )
    frame.to_parquet(tmp_path / "a.parquet")
    [part] = ParquetRows(tmp_path, target="y", weight="w").parts()
    assert part.numbers.tolist() == [0, 4]
    assert part.weight.tolist() == [1, 3]
    assert list(part.X) == ["x"]


COLUMNS = {
    "double": ([1.5, None], pa.float64(), "number"),
    "int": ([1, None], pa.int32(), "number"),
    "bool": ([True, None], pa.bool_(), "number"),
    "decimal": ([Decimal("1.5"), None], pa.decimal128(5, 2), "number"),
    "null": ([None, None], pa.null(), "number"),
    "text": (["a", None], pa.string(), "label"),
    "large": (["a", None], pa.large_string(), "label"),
    "category": (["a", None], pa.dictionary(pa.int8(), pa.string()), "label"),
    "date": ([date(2020, 1, 2), None], pa.date32(), "time"),
    "second": ([datetime(2020, 1, 2), None], pa.timestamp("s"), "time"),
    "zoned": ([datetime(2020, 1, 2), None], pa.timestamp("ns", "UTC"), "time"),
    "span": ([timedelta(hours=1), None], pa.duration("ms"), "duration"),
    "clock": ([time(1, 30), None], pa.time32("s"), "duration"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_type_of_a_column_decides_its_kind(tmp_path, name):
    values, kind_on_disk, kind = COLUMNS[name]
    for i, of_file in enumerate((values, [None, None])):
        table = pa.table({"x": pa.array(of_file, kind_on_disk), "y": [1.0, 2.0]})
        pq.write_table(table, tmp_path / f"{i}.parquet")
    parts = list(ParquetRows(tmp_path, target="y").parts())
    assert [kinds_of(part.X) for part in parts] == [(kind,)] * 2
    expected = 0 if name == "null" else 1
    assert parts[0].X["x"].notna().sum() == expected
    [labelled, _] = ParquetRows(tmp_path, target="y", labels=["x"]).parts()
    assert kinds_of(labelled.X) == ("label",)


def test_integers_of_one_file_and_fractions_of_another_are_numbers(tmp_path):
    for i, x in enumerate((1, 2.5)):
        pq.write_table(pa.table({"x": [x], "y": [1]}), tmp_path / f"{i}.parquet")
    parts = ParquetRows(tmp_path, target="y").parts()
    assert [part.X["x"].item() for part in parts] == [1.0, 2.5]


def test_folders_may_be_columns(tmp_path):
    for year, town in ((2020, "Bonn"), (2021, "Ulm")):
        place = tmp_path / f"year={year}" / f"town={town}"
        place.mkdir(parents=True)
        pd.DataFrame({"x": [1.0], "y": [2.0]}).to_parquet(place / "a.parquet")
    for path in (tmp_path, f"{tmp_path}/*/*/*.parquet"):
        parts = list(ParquetRows(path, target="y").parts())
        assert [part.X["year"].item() for part in parts] == [2020, 2021]
        assert [part.X["town"].item() for part in parts] == ["Bonn", "Ulm"]
        assert list(parts[0].X) == ["x", "town", "year"]
        assert kinds_of(parts[0].X) == ("number", "label", "number")


def test_a_folder_may_stand_for_a_missing_value(tmp_path):
    for year in ("2020", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"year={year}").mkdir()
        frame = pd.DataFrame({"x": [1.0], "y": [2.0]})
        frame.to_parquet(tmp_path / f"year={year}" / "a.parquet")
    values = [p.X["year"].item() for p in ParquetRows(tmp_path, target="y").parts()]
    np.testing.assert_array_equal(values, [2020, np.nan])


def test_folders_that_all_files_are_in_are_columns_but_no_features(tmp_path):
    inner = tmp_path / "run=5" / "x=9" / "parts"
    inner.mkdir(parents=True)
    pd.DataFrame({"x": [1.0], "y": [2.0]}).to_parquet(inner / "a.parquet")
    for path in (inner, f"{inner}/*.parquet"):
        rows = ParquetRows(path, target="y")
        assert rows.features == ["x"]
        [part] = rows.parts()
        assert part.X["x"].tolist() == [1.0]
        # A model that was fitted on the folders around finds their columns here.
        assert rows.files.schema.names == ["x", "y", "run"]
        [batch] = rows.files.batches(rows.files.row_groups[0], ["run", "x"], 10)
        assert batch.to_pylist() == [{"run": 5, "x": 1.0}]


def test_whole_numbers_beyond_float64_are_rounded_beside_fractions(tmp_path):
    for i, x in enumerate((2**60 + 1, 2.5)):
        pq.write_table(pa.table({"x": [x], "y": [1]}), tmp_path / f"{i}.parquet")
    parts = ParquetRows(tmp_path, target="y").parts()
    assert [part.X["x"].item() for part in parts] == [2.0**60, 2.5]


def test_rows_without_a_target_cannot_be_taken(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "w": [0, 1], "y": [3.0, None]})
    frame.to_parquet(tmp_path / "a.parquet")
    rows = ParquetRows(tmp_path, target="y", weight="w")
    with pytest.raises(InputError, match=r"with a 'y' and a 'w' above 0, got none"):
        rows.take(np.array([0, 1]))


def test_hidden_files_and_others_are_ignored(folder):
    (folder / "_SUCCESS").touch()
    (folder / ".0.parquet").touch()
    (folder / "_old").mkdir()
    (folder / "_old" / "1.parquet").touch()
    (folder / "read.me").touch()
    assert ParquetFiles(folder).n_rows == 1000


def test_a_pattern_names_some_of_the_files(folder):
    files = ParquetFiles(f"{folder}/[01].parquet")
    assert [path.name for path in files.paths] == ["0.parquet", "1.parquet"]
    assert files.root == folder


WRONG = {
    "no file": ({}, {}, r"there is no \.parquet file in"),
    "no column": ({"y": [1.0]}, {}, "must have a feature column beside the target 'y'"),
    "no target": ({"x": [1.0]}, {}, "must have the column 'y', got x"),
    "text": ({"x": [1.0], "y": ["a"]}, {}, "column 'y' must hold numbers, got string"),
    "list": ({"x": [[1.0]], "y": [1.0]}, {}, "column 'x' holds list<.*leave it out"),
    "infinite": (
        {"x": [1.0, np.inf], "y": [1.0, 2.0]},
        {},
        r"column 'x' must hold finite numbers, got inf in row 2 of .*a\.parquet",
    ),
    "infinite y": (
        {"x": [1.0], "y": [-np.inf]},
        {},
        "column 'y' must hold finite numbers, got -inf in row 1",
    ),
    "weight": (
        {"x": [1.0], "w": [-1.0], "y": [1.0]},
        {"weight": "w"},
        "column 'w' must hold weights that are not negative or missing, got -1 in row",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_used_is_refused(tmp_path, case):
    columns, options, sentence = WRONG[case]
    if columns:
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=sentence):
        list(ParquetRows(tmp_path, target="y", **options).parts())


def test_files_that_do_not_fit_each_other_are_refused(folder):
    pd.DataFrame({"x": [1.0], "y": [1.0]}).to_parquet(folder / "3.parquet")
    with pytest.raises(InputError, match=r"same columns, .*3\.parquet lacks 'w'"):
        ParquetFiles(folder)
    pd.DataFrame({"x": ["a"], "w": [1.0], "y": [1.0]}).to_parquet(folder / "3.parquet")
    with pytest.raises(InputError, match="must have types that can be joined"):
        ParquetFiles(folder)


def test_a_damaged_file_is_named(folder):
    content = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"1\.parquet cannot be read as \.parquet"):
        ParquetFiles(folder)


def test_a_file_of_another_format_is_refused(folder):
    (folder / "a.csv").write_text("x\n1\n")
    with pytest.raises(InputError, match=r"a\.csv must be named \.parquet"):
        ParquetFiles(f"{folder}/*")
