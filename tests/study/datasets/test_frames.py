"""Frame sources: numbers, labels, gaps and times of a CSV file."""

import gzip

import numpy as np
import pandas as pd
import pytest

from histreg.study.datasets import FrameSource
from histreg.study.datasets.source import sha256_of

CONTENT = b"""y,count,label,gap,day
1.5,3,a,0.5,2001-01-22
2.5,4,,,2001-01-23
-1,5,b,1.5,2001-01-24
"""


def source_of(content=CONTENT, **changes):
    facts = {
        "name": "made",
        "title": "Made",
        "homepage": "https://example.org/made",
        "licence": "none",
        "url": None,
        "files": ("tables/made.csv.gz", "made.csv.gz"),
        "member": "made.csv",
        "sha256": sha256_of(content),
        "quirks": "",
        "n_rows": 3,
        "n_features": 4,
        "target": "y",
        "times": ("day",),
    }
    return FrameSource(**facts | changes)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "made.csv.gz").write_bytes(gzip.compress(CONTENT))
    return tmp_path


def test_columns_are_numbers_labels_and_times_with_gaps(folder):
    table = source_of().load(folder)
    np.testing.assert_array_equal(table.y, [1.5, 2.5, -1.0])
    assert list(table.X) == ["count", "label", "gap", "day"]
    assert table.X["count"].dtype == float
    assert table.X["label"].tolist() == ["a", None, "b"]
    assert np.isnan(table.X["gap"][1]) and table.X["gap"][2] == 1.5
    assert table.X["day"][0] == pd.Timestamp("2001-01-22")
    assert table.sha256 == sha256_of(CONTENT)


def test_a_missing_file_is_named_with_its_source_and_place(tmp_path):
    message = r"Made is not here.*example\.org/made.*HISTREG_DATA.*tables/made\.csv\.gz"
    with pytest.raises(ValueError, match=message):
        source_of().load(tmp_path)


def test_a_changed_file_is_refused(folder):
    (folder / "tables" / "made.csv.gz").write_bytes(gzip.compress(CONTENT[:-30]))
    with pytest.raises(ValueError, match="cut short or changed"):
        source_of().load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "z"}, "must have a column 'z'"),
        ({"n_rows": 4}, "must have 4 rows and 4 features, got 3 and 4"),
        ({"n_features": 5}, "must have 3 rows and 5 features, got 3 and 4"),
        ({"target": "gap"}, "must have a finite gap in every row, got 1 without"),
    ],
)
def test_a_file_of_another_shape_is_refused(folder, changes, message):
    with pytest.raises(ValueError, match=message):
        source_of(**changes).load(folder)
