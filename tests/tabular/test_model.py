"""Model: chunks of rows, kinds of columns."""

import warnings
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

from histreg import HistogramRegressor
from histreg.errors import InputError
from histreg.tabular import model as model_module
from histreg.tabular import model_files
from tests.tabular.passes import rows_seen


@pytest.mark.parametrize(
    ("chunk", "sizes"),
    [
        (1, [64, 64, 64, 32]),  # at least 64 rows, the last filled up to 32
        (100, [96, 96, 32]),  # a multiple of 32
        (1000, [224]),
    ],
)
def test_predictions_do_not_depend_on_the_chunks(chunk, sizes, monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = HistogramRegressor((8,), max_iter=3, random_state=0).fit(X, X[:, 0])
    expected = [model.predict(row).item() for row in X[:, None]]
    monkeypatch.setattr(model_module, "CHUNK", chunk)
    with rows_seen() as seen:
        found = model.predict(X)
    assert seen == sizes
    # Products of other shapes round differently, in float32.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        model.predict_quantiles(X, 0.5),
        [model.predict_quantiles(row, 0.5).item() for row in X[:, None]],
        rtol=1e-5,
        atol=1e-5,
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
