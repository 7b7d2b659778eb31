"""Model: chunks of rows, kinds of columns."""

import threading
import warnings
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from histreg import HistogramRegressor
from histreg.errors import InputError
from histreg.tabular import model as model_module
from histreg.tabular import model_files
from tests.tabular.passes import rows_seen


@pytest.fixture(scope="module")
def row_by_row():
    """Return a model, rows, and the mean and median of each row by itself."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = HistogramRegressor((8,), max_iter=3, random_state=0).fit(X, X[:, 0])
    alone = [model.predict_all(row) for row in X[:, None]]
    medians = [one.quantiles(0.5).item() for one in alone]
    return model, X, [one.mean.item() for one in alone], medians


@pytest.mark.parametrize(
    ("read_rows", "at_once", "sizes"),
    [
        (90, 64, [64, 32, 64, 32, 24]),  # the last of a chunk is filled up to 8
        (150, 1000, [152, 56]),
        (1000, 1000, [200]),
    ],
)
def test_predictions_do_not_depend_on_the_chunks(
    read_rows, at_once, sizes, row_by_row, monkeypatch
):
    model, X, means, medians = row_by_row
    monkeypatch.setattr(model_module, "READ_ROWS", read_rows)
    monkeypatch.setattr(model_module, "AT_ONCE", at_once)
    with rows_seen() as seen:
        found = model.predict(X)
    assert seen == sizes
    # Products of other shapes round differently, in float32.
    np.testing.assert_allclose(found, means, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        model.predict_quantiles(X, 0.5), medians, rtol=1e-5, atol=1e-5
    )


def test_predictions_do_not_depend_on_the_number_of_threads(row_by_row, monkeypatch):
    model, X, *_ = row_by_row
    monkeypatch.setattr(model_module, "CHUNK", 32)
    expected, seen, before = model.predict_quantiles(X), set(), torch.get_num_threads()

    def reading(predictions):
        seen.add((threading.get_ident(), torch.get_num_threads()))
        return predictions.quantiles([0.1 * i for i in range(1, 10)])

    torch.set_num_threads(3)
    try:
        np.testing.assert_array_equal(model.predict_quantiles(X), expected)
        found = model.model_.read(model._table(X), reading)
        assert torch.get_num_threads() == 3
        with pytest.raises(ZeroDivisionError):  # also in a thread
            model.model_.read(model._table(X), lambda _: 1 / 0)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-12)
    assert {n_threads for _, n_threads in seen} == {1}
    assert threading.get_ident() not in {thread for thread, _ in seen}


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


def test_model_files_of_older_versions_take_times_as_one_number(tmp_path):
    X = days()
    seconds = X.assign(day=X["day"].astype("datetime64[s]").astype("int64"))
    model = HistogramRegressor(max_iter=3, random_state=0).fit(seconds, np.arange(40.0))
    model.save(tmp_path / "m")
    described, tensors = model_files.load(tmp_path / "m")
    del described["has_calendar"]  # as files were before times had a calendar
    model_files.save(
        tmp_path / "time", {**described, "kinds": ["number", "time"]}, tensors
    )
    del described["tells_times"]  # as files were before there were times
    model_files.save(tmp_path / "old", described, tensors)
    for name, tables in {
        "time": (X,),
        "old": (X, seconds, seconds.to_numpy()),
    }.items():
        old = HistogramRegressor.load(tmp_path / name)
        old.save(tmp_path / "again")
        for each in (old, HistogramRegressor.load(tmp_path / "again")):
            for table in tables:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # arrays: no names
                    predicted = each.predict(table)
                np.testing.assert_array_equal(predicted, model.predict(seconds))
    times = HistogramRegressor.load(tmp_path / "time")
    for table in (seconds, seconds.to_numpy()):
        with pytest.raises(InputError, match=r"must hold times|must be a data frame"):
            times.predict(table)


def test_a_cycle_of_the_week_is_learnt_from_times_alone(tmp_path):
    hours = pd.date_range("2024-01-01", periods=1500, freq="7h")
    weekend = (hours.day_of_week >= 5).astype(float)
    X = pd.DataFrame({"when": hours})
    model = HistogramRegressor(
        hidden_layer_sizes=32,
        n_estimators=1,
        max_iter=15,
        blend_with=(),
        random_state=0,
    ).fit(X, weekend)
    later = pd.DataFrame({"when": hours + pd.Timedelta(days=15 * 7)})
    assert abs(model.predict(later) - weekend).mean() < 0.1  # 0.4 of a constant
    model.save(tmp_path / "m")
    again = HistogramRegressor.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(later), model.predict(later))
