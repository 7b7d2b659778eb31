"""Model: merged rows, chunks, state."""

import warnings
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from histreg import Bins, HistogramRegressor
from histreg.errors import InputError
from histreg.tabular import model as model_module
from histreg.tabular import model_files
from histreg.tabular.columns import Table
from histreg.tabular.model import n_outside, sample_of


def table_of(numbers, labels=None):
    numbers = np.asarray(numbers, dtype=float)
    if labels is None:
        labels = np.empty((len(numbers), 0), dtype=object)
    return Table(numbers, np.asarray(labels, dtype=object))


def test_whole_weights_are_copies():
    numbers = [[1.0, np.nan], [2.0, 3.0], [-0.0, 1.0]]
    y = np.array([[5.0], [6.0], [7.0]])
    weight = np.array([2.0, 3.0, 1.0])
    weighted = sample_of(table_of(numbers), y, weight)
    copies = np.repeat(np.arange(3), [2, 3, 1])[::-1]
    copied = sample_of(table_of(np.array(numbers)[copies]), y[copies], np.ones(6))
    for one, other in zip(weighted.table, copied.table, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(weighted.y, copied.y)
    assert weighted.weight.tolist() == [1.0] * 6


@pytest.mark.parametrize("weight", [[0.5, 1.5], [1e6, 3e6], [1e308, 1e308]])
def test_other_weights_stay_weights_of_mean_one(weight):
    sample = sample_of(table_of([[1.0], [2.0]]), np.zeros((2, 1)), np.array(weight))
    assert len(sample.y) == 2 and sample.weight.mean() == pytest.approx(1)
    share = dict(zip(sample.table.numbers[:, 0], sample.weight, strict=True))
    assert share[2.0] / share[1.0] == pytest.approx(weight[1] / weight[0])


def test_the_order_of_rows_does_not_matter(generator):
    numbers = torch.randn(50, 3, generator=generator).numpy().astype(float)
    labels = np.where(numbers[:, :1] > 0, "up", None)
    y = numbers[:, :1] ** 2
    order = np.random.default_rng(0).permutation(50)
    one = sample_of(table_of(numbers, labels), y, np.ones(50))
    other = sample_of(table_of(numbers[order], labels[order]), y[order], np.ones(50))
    np.testing.assert_array_equal(one.table.numbers, other.table.numbers)
    np.testing.assert_array_equal(one.table.labels, other.table.labels)
    np.testing.assert_array_equal(one.y, other.y)


def test_flags_of_censored_targets_are_part_of_a_row():
    """Equal rows with different flags keep apart, in any order and as copies."""
    numbers = np.array([[1.0], [1.0], [2.0], [1.0]])
    y = np.array([[5.0], [5.0], [6.0], [5.0]])
    censored = np.array([[True], [False], [True], [False]])
    one = sample_of(table_of(numbers), y, np.ones(4), censored)
    order = np.array([1, 2, 3, 0])
    other = sample_of(table_of(numbers[order]), y[order], np.ones(4), censored[order])
    kept = np.array([0, 1, 2])
    weighted = sample_of(
        table_of(numbers[kept]), y[kept], np.array([1.0, 2.0, 1.0]), censored[kept]
    )
    for sample in (other, weighted):
        np.testing.assert_array_equal(one.table.numbers, sample.table.numbers)
        np.testing.assert_array_equal(one.y, sample.y)
        np.testing.assert_array_equal(one.censored, sample.censored)
    found = zip(one.y[:, 0], one.censored[:, 0], strict=True)
    assert sorted(found) == [(5.0, False), (5.0, False), (5.0, True), (6.0, True)]


def test_without_a_censored_target_there_are_no_flags():
    numbers = np.random.default_rng(0).normal(size=(20, 2))
    y = numbers[:, :1]
    plain = sample_of(table_of(numbers), y, np.ones(20))
    none = sample_of(table_of(numbers), y, np.ones(20), np.zeros((20, 1), dtype=bool))
    assert plain.censored is None and none.censored is None
    np.testing.assert_array_equal(plain.y, none.y)


def test_rows_of_no_weight_are_gone():
    sample = sample_of(
        table_of([[1.0], [2.0]]), np.array([[1.0], [2.0]]), np.array([0.0, 0.3])
    )
    assert sample.table.numbers.tolist() == [[2.0]] and sample.weight.tolist() == [1.0]


def test_targets_outside_their_own_bins_are_counted():
    bins = (Bins.uniform(0, 1, 4), Bins.uniform(10, 20, 4))
    y = torch.tensor([[0.0, 9.0], [1.0, 20.0], [1.1, 15.0]], dtype=torch.float64)
    assert n_outside(y, bins) == 2


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_predictions_do_not_depend_on_the_chunks(chunk, monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = HistogramRegressor((8,), max_iter=3, random_state=0).fit(X, X[:, 0])
    expected = model.predict(X), model.predict_quantiles(X)
    monkeypatch.setattr(model_module, "CHUNK", chunk)
    # Products of other shapes round differently, in float32.
    np.testing.assert_allclose(model.predict(X), expected[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        model.predict_quantiles(X), expected[1], rtol=1e-5, atol=1e-5
    )


def days(n=40, make=pd.DataFrame):
    start = datetime(2020, 1, 1)
    dates = [start + timedelta(days=i) for i in range(n)]
    return make({"x": [float(i % 7) for i in range(n)], "day": dates})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_model_and_its_file_know_which_columns_are_times(make, tmp_path):
    X = days(make=make)
    model = HistogramRegressor(max_iter=3, random_state=0).fit(X, np.arange(40.0))
    model.save(tmp_path / "m")
    for each in (model, HistogramRegressor.load(tmp_path / "m")):
        assert each.model_.kinds == ("number", "time")
        np.testing.assert_array_equal(each.predict(X), model.predict(X))
        with pytest.raises(InputError, match="'x' must hold numbers, as it did in fit"):
            each.predict(make({"x": X["day"], "day": X["day"]}))
        with pytest.raises(InputError, match="'day' must hold times, as it did in fit"):
            each.predict(make({"x": X["x"], "day": X["x"]}))
        with pytest.raises(InputError, match="X must be a data frame, as in fit"):
            each.predict(np.zeros((2, 2)))


def test_a_model_file_of_old_takes_times_as_numbers_still(tmp_path):
    X = days()
    model = HistogramRegressor(max_iter=3, random_state=0).fit(X, np.arange(40.0))
    model.save(tmp_path / "m")
    described, tensors = model_files.load(tmp_path / "m")
    del described["tells_times"]  # as files were before there were times
    model_files.save(tmp_path / "old", {**described, "kinds": ["number"] * 2}, tensors)
    old = HistogramRegressor.load(tmp_path / "old")
    old.save(tmp_path / "again")
    seconds = X.assign(day=X["day"].astype("datetime64[s]").astype("int64"))
    for each in (old, HistogramRegressor.load(tmp_path / "again")):
        for table in (X, seconds, seconds.to_numpy()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # arrays have no names
                predicted = each.predict(table)
            np.testing.assert_array_equal(predicted, model.predict(X))
