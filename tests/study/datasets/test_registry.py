"""Laws over all data sets, and the paper's own facts of them."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import PurePosixPath

import pytest

from histreg.study.datasets import DATASETS, dataset

ALL = pytest.mark.parametrize("data", DATASETS.values(), ids=DATASETS.keys())


def test_the_names_are_those_of_the_command_line():
    assert list(DATASETS) == [
        *("ct", "ct-385", "song", "song-7000", "bike", "pole", "diabetes"),
    ]


def test_a_data_set_is_found_by_its_name():
    assert dataset("pole") is DATASETS["pole"]


def test_an_unknown_name_is_told_the_choices():
    with pytest.raises(ValueError, match=r"'ct', 'ct-385', .* got dataset='cat'"):
        dataset("cat")


@ALL
def test_a_description_survives_json(data):
    facts = json.loads(json.dumps(data.description()))
    assert facts["name"] == data.name
    assert tuple(facts["hidden"]) == data.hidden
    assert "parse" not in facts


@ALL
def test_all_that_a_person_needs_is_told(data):
    assert data.title
    assert data.licence
    assert data.homepage.startswith("https://")
    assert data.quirks.endswith(".")


@ALL
def test_the_training_is_possible(data):
    low, high = data.y_range
    assert low < high
    assert data.hidden and all(width > 0 for width in data.hidden)
    assert 0 <= data.dropout < 1
    assert data.epochs > 0
    assert data.n_rows > data.n_features > 0


@ALL
def test_a_download_is_found_again(data):
    if data.url is not None:
        assert data.url.startswith("https://")
        assert PurePosixPath(data.url).name in data.files


@ALL
def test_each_file_is_found_in_its_own_folder_and_without(data):
    nested = [name for name in data.files if "/" in name]
    assert [name.partition("/")[2] for name in nested] == [
        name for name in data.files if "/" not in name
    ]


@ALL
def test_what_is_not_here_is_not_found(data, tmp_path, monkeypatch):
    module = import_module("histreg.study.datasets.source")
    monkeypatch.setattr(module, "IN_PACKAGE", tmp_path)  # which has one of them
    assert data.find(tmp_path) is None


# Common tabular protocol and Table 5 of the paper; rows are those of the files.
@pytest.mark.parametrize(
    ("name", "title", "y_range", "hidden", "dropout", "epochs", "shape"),
    [
        ("ct", "CT Position", (0, 100), [192] * 4, 0.05, 1000, (53_500, 384)),
        ("song", "Song Year", (1922, 2011), [45] * 4, 0.05, 150, (515_345, 90)),
        ("bike", "Bike Sharing", (0, 1000), [64] * 4, 0.0, 500, (17_379, 12)),
        ("pole", "Pole", (0, 100), [24] * 3, 0.0, 500, (15_000, 48)),
    ],
)
def test_the_protocol_is_the_papers(
    name, title, y_range, hidden, dropout, epochs, shape
):
    data = dataset(name)
    assert data.title == title
    assert data.y_range == y_range
    assert list(data.hidden) == hidden
    assert (data.dropout, data.epochs) == (dropout, epochs)
    assert (data.n_rows, data.n_features) == shape


def test_the_import_brings_no_heavy_libraries():
    heavy = ["sklearn", "pandas", "pooch", "requests"]
    code = (
        "import sys, histreg.study.datasets; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
