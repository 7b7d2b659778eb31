"""Simple models that a fitted one is compared with."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from histreg.errors import InputError
from histreg.tabular.baselines import TableEncoder, baseline
from histreg.tabular.columns import CALENDAR

N = 80


def frame():
    return pd.DataFrame(
        {
            "day": pd.date_range("2024-01-01", periods=N, freq="11h"),
            "x": np.where(np.arange(N) % 9 == 0, np.nan, np.arange(N)),
            "kind": np.where(np.arange(N) % 2, "a", "b"),
            "id": [f"row {i // 2}" for i in range(N)],
        }
    )


def test_a_table_is_encoded_as_the_regressor_reads_it():
    encoder = TableEncoder().fit(frame())
    encoded = encoder.transform(frame())
    assert encoded.shape == (N, len(CALENDAR) + 1 + 2)
    assert encoded["label 0"].dtype == "category"
    assert encoded[f"number {len(CALENDAR)}"].isna().sum() == 9
    new = frame().assign(kind="new", id="row 3")
    assert (encoder.transform(new)["label 0"] == 0).all()


@pytest.mark.parametrize(
    "name", ["linear regression", "Ridge", "DecisionTreeRegressor"]
)
def test_models_on_numbers_take_gaps_labels_and_times(name):
    y = np.arange(N) % 2 * 10.0
    model = baseline(name, frame()).fit(frame(), y)
    assert np.abs(model.predict(frame()) - y).mean() < 3


def test_linear_regression_is_that_of_scikit_learn_on_numbers():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.normal(5, 3, size=(N, 3))), rng.normal(size=N)
    found = baseline("linear regression", X).fit(X, y).predict(X)
    np.testing.assert_allclose(found, LinearRegression().fit(X, y).predict(X))


def test_boosting_takes_labels_as_categories():
    X = frame()[["kind", "x"]]
    y = np.where(X["kind"] == "a", 10.0, 0.0)
    for name in ("boosting", "HistGradientBoostingRegressor"):
        model = baseline(name, X, random_state=3).fit(X, y)
        boosting = model[-1]
        assert isinstance(boosting, HistGradientBoostingRegressor)
        assert boosting.random_state == 3
        assert boosting.is_categorical_.tolist() == [False, True]


def test_a_label_with_more_levels_than_boosting_takes_is_a_number():
    X = pd.DataFrame({"id": [f"row {i // 2}" for i in range(600)]})
    model = baseline("boosting", X).fit(X, np.arange(600.0))
    assert model[-1].is_categorical_ is None


def test_without_columns_that_vary_the_mean_is_predicted():
    X = pd.DataFrame({"x": [np.nan] * N})
    for name in ("constant", "linear regression", "boosting"):
        predicted = baseline(name, X).fit(X, np.arange(N)).predict(X)
        np.testing.assert_allclose(predicted, (N - 1) / 2)


def test_models_are_imported_by_name_or_refused():
    imported = baseline("sklearn.linear_model.Ridge", frame())
    assert type(imported[-1]).__name__ == "Ridge"
    for name, sentence in {
        "Nope": "a model must be one of",
        "sklearn.svm.SVC": "a model must be one of",
        "no_such_module.Nope": "model 'no_such_module.Nope' cannot be imported",
        "sklearn.multioutput.MultiOutputRegressor": "needs arguments",
    }.items():
        with pytest.raises(InputError, match=sentence):
            baseline(name, frame())
