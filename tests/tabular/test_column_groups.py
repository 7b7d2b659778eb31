"""Column groups: their members, and tables with other values in them."""

import numpy as np
import pytest

from histreg import HistogramRegressor, InputError
from histreg.tabular import column_groups as groups
from tests.tabular.examples import TINY, data, frame


@pytest.fixture(scope="module")
def model():
    X, y = frame(80)
    return HistogramRegressor(**TINY).fit(X, y)


def test_every_column_is_in_one_group(model):
    found = groups.column_groups(model, {"both": ["text", "a"]})
    assert found == {"both": [4, 0], "b": [1], "c": [2], "kind": [3]}


def test_columns_without_names_are_numbered():
    X, y = data(40)
    model = HistogramRegressor(**TINY).fit(X, y)
    assert groups.column_names(model) == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"g": ["a", "nope"]}, "groups must name a column of the model, one of a, b"),
        ({"g": ["a", "a"]}, "must name each column once"),
        ({"g": ["a"], "h": ["a", "b"]}, "must name each column once"),
        ({"g": "ab"}, "must map names to lists of columns, got 'ab' for 'g'"),
        ({"c": ["a", "b"]}, "must not have the name of another column, got 'c'"),
    ],
)
def test_wrong_groups_are_refused(model, given, sentence):
    with pytest.raises(InputError, match=sentence):
        groups.column_groups(model, given)


def test_only_the_named_columns_change(model):
    table = model._table(frame(80)[0])
    other = table.at(np.arange(80)[::-1])
    swapped = groups.with_columns_of(table, other, [1, 3])
    assert np.array_equal(swapped.numbers[:, 1], other.numbers[:, 1], equal_nan=True)
    assert (swapped.labels[:, 0] == other.labels[:, 0]).all()
    assert np.array_equal(swapped.numbers[:, [0, 2]], table.numbers[:, [0, 2]])
    assert (swapped.labels[:, 1] == table.labels[:, 1]).all()
    constant = groups.with_value(table, 4, "x")
    assert set(constant.labels[:, 1]) == {"x"}
    assert len(groups.stacked([table, constant]).numbers) == 160


def test_values_are_shown_as_their_kind():
    assert groups.shown_value("number", 1234.5) == "1,234.5"
    assert groups.shown_value("number", float("nan")) == "missing"
    assert groups.shown_value("label", None) == "missing"
    assert groups.shown_value("time", 86400.0) == "1970-01-02"
    assert groups.shown_value("time", 90000.0) == "1970-01-02 01:00:00"
    assert groups.shown_value("duration", 60.0) == "60 s"


def test_few_rows_are_all_used_and_many_are_sampled():
    rng = np.random.default_rng(0)
    assert groups.sampled_rows(5, 10, rng).tolist() == [0, 1, 2, 3, 4]
    some = groups.sampled_rows(100, 10, rng)
    assert len(set(some)) == 10 and (np.diff(some) > 0).all()
