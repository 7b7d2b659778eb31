"""Readings: their names, their values, and what is refused."""

import numpy as np
import pytest

from histreg import HistogramRegressor, InputError
from histreg.tabular.readings import read_all, readings_of
from tests.tabular.examples import TINY, data


def test_readings_are_what_the_regressor_predicts():
    X, y = data(60)
    model = HistogramRegressor(**TINY).fit(X, y)
    readings = readings_of(("mean", "spread"), quantiles=[0.25], above=[3, 4.5])
    read = read_all(model.predict_in_chunks(X), readings)
    assert list(read) == ["mean", "spread", "q0.25", "P(y > 3)", "P(y > 4.5)"]
    assert np.array_equal(read["mean"], model.predict(X))
    assert np.array_equal(read["spread"] ** 2, np.sqrt(model.predict_var(X)) ** 2)
    assert np.array_equal(read["q0.25"], model.predict_quantiles(X, 0.25))
    assert np.array_equal(read["P(y > 4.5)"], model.predict_proba_above(X, 4.5))


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"of": ("median",)}, "of must be one of 'mean', 'spread', got of='median'"),
        ({"of": ()}, "must name something to explain, got nothing"),
        ({"quantiles": 1.5}, "alpha must hold levels in"),
        ({"above": [float("nan")]}, "threshold must not be NaN"),
    ],
)
def test_bad_names_are_refused(given, sentence):
    with pytest.raises(InputError, match=sentence):
        readings_of(**given)
