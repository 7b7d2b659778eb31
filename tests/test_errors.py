"""Errors that a caller can correct are ValueErrors for Python callers."""

import inspect

import numpy as np
import pandas as pd
import pytest

from histreg import HistogramRegressor, errors

CLASSES = [each for _, each in inspect.getmembers(errors, inspect.isclass)]


@pytest.mark.parametrize("kind", CLASSES)
def test_each_is_a_value_error_and_says_what_it_was_told(kind):
    with pytest.raises(ValueError, match="x must be y"):
        raise kind("x must be y")


@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": np.inf}, "infinity"),
        ({"y": np.nan}, "y contains NaN"),
        ({"weight": np.nan}, "sample_weight contains NaN"),
        ({"weight": 0.0}, "at least one non-zero"),
    ],
)
def test_what_scikit_learn_refuses_is_an_input_error(change, sentence, as_frame):
    table = pd.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0), "weight": 1.0})
    table = table.assign(**change)
    X = table[["x"]] if as_frame else table[["x"]].to_numpy()
    with pytest.raises(errors.InputError, match=sentence):
        HistogramRegressor().fit(X, table["y"], table["weight"])
    with pytest.raises(errors.InputError, match="inconsistent numbers of samples"):
        HistogramRegressor().fit(np.zeros((9, 1)), np.zeros(8))
