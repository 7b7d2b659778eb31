"""The paper's numbers, as they are printed in it."""

import csv
from importlib.resources import files

import pytest

from histreg.study.catalogue import DATA
from histreg.study.datasets import DATASETS, dataset
from histreg.study.paper import TABLES, published, published_data
from histreg.study.statistics import METRICS, Estimate

# Of the paper's Tables 1, 7, 8 and 9 (main.tex of arXiv 2402.13425).
PRINTED = [
    ("ct", "Linear Regression", "train MAE", 6.073, 0.007),
    ("ct", "l2", "test MAE", 0.176, 0.034),
    ("ct", "l2+Softmax", "test MAE", 0.105, 0.006),
    ("ct", "HL-OneBin", "train MAE", 0.309, 0.000),
    ("ct", "HL-Projected", "test RMSE", 0.462, 0.065),
    ("ct", "HL-Gauss", "test RMSE", 0.274, 0.090),
    ("song", "HL-OneBin", "test MAE", 5.906, 0.020),
    ("pole", "HL-Gauss", "train RMSE", 1.299, 0.049),
    ("pole", "l2 [Fixed]", "test MAE", 4.396, 0.329),
    ("ct", "HL-Gauss [Random]", "train RMSE", 5.756, 0.232),
]


@pytest.mark.parametrize(
    ("name", "method", "metric", "mean", "error"),
    PRINTED,
    ids=[f"{name}, {method}, {metric}" for name, method, metric, *_ in PRINTED],
)
def test_a_number_is_the_printed_one(name, method, metric, mean, error):
    assert published(name, method, metric) == Estimate(mean, error, 5)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("metric", METRICS)
def test_every_method_of_the_tables_has_every_metric(name, metric):
    methods = {row["method"] for row in rows() if row["table"] in TABLES}
    # Ten of Tables 1 and 7, HL-Projected, and both losses by the columns of Table 9.
    assert len(methods) == 10 + 1 + 2 * 4
    assert all(published(name, method, metric) for method in methods)


def rows():
    text = files("histreg.study").joinpath("paper_results.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def test_what_two_tables_have_is_the_same_in_both():
    by_table = {table: {} for table in TABLES}
    for row in rows():
        if row["table"] in TABLES:
            place = tuple(row[k] for k in ("dataset", "method", "split", "metric"))
            by_table[row["table"]][place] = (row["mean"], row["error"])
    overall, appendix, _ = by_table.values()
    common = overall.keys() & appendix.keys()
    assert len(common) == 32  # HL-OneBin and HL-Gauss, four data sets, four metrics
    assert all(overall[place] == appendix[place] for place in common)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", ["l2", "HL-Gauss"])
def test_the_default_of_table_9_is_what_table_7_has(name, metric, method):
    default = published(name, f"{method} [Default]", metric)
    assert default == published(name, method, metric)


def test_errors_of_these_tables_are_standard_errors():
    kinds = {row["error_kind"] for row in rows() if row["table"] in TABLES}
    assert kinds == {"stderr"}


@pytest.mark.parametrize(
    ("name", "method", "metric"),
    [
        ("diabetes", "HL-Gauss", "test MAE"),
        ("song-7000", "HL-Gauss", "test MAE"),
        ("pole", "Brier", "test MAE"),
        ("pole", "HL-Gauss", "validation MAE"),
        ("Pole", "HL-Gauss", "test MAE"),
    ],
)
def test_what_the_paper_does_not_have_is_not_found(name, method, metric):
    assert published(name, method, metric) is None


def test_titles_are_those_of_the_data_sets():
    titles = {row["dataset"] for row in published_data().values()}
    assert {dataset(name).title for name in DATA} == titles


def test_the_paper_has_four_of_our_data_sets():
    assert published_data().keys() == set(DATA) < DATASETS.keys()


# Table 5; all but the counts of Bike, which are UCI's page, are those of the files.
@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_features"),
    [
        ("song", 412_276, 103_069, 90),
        ("ct", 42_800, 10_700, 385),
        ("bike", 13_911, 3_478, 16),
        ("pole", 12_000, 3_000, 49),
    ],
)
def test_a_data_set_has_the_counts_of_table_5(name, n_train, n_test, n_features):
    told = published_data()[name]
    counts = [told[f"n_{what}_paper"] for what in ("train", "test", "features")]
    assert list(map(int, counts)) == [n_train, n_test, n_features]


@pytest.mark.parametrize("name", DATA)
def test_our_data_sets_have_the_usable_rows_features_and_range_of_table_5(name):
    told, data = published_data()[name], dataset(name)
    assert int(told["n_rows_official"]) == data.n_rows
    assert int(told["n_features_usable"]) == data.n_features
    assert (float(told["y_low"]), float(told["y_high"])) == data.y_range
