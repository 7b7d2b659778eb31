"""Dependence: against scikit-learn's, for every kind of column."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.inspection import partial_dependence as by_scikit_learn

from histreg import HistogramRegressor, InputError
from histreg.tabular import partial_dependence
from tests.tabular.examples import TINY, data, frame


@pytest.fixture(scope="module")
def fitted():
    X, y = frame(120)
    X["day"] = pd.date_range("2020-01-01", periods=len(X))
    return HistogramRegressor(**TINY).fit(X, y), X, y


def test_the_average_of_the_mean_is_scikit_learns():
    X, y = data(80)
    model = HistogramRegressor(**TINY).fit(X, y)
    ours = partial_dependence(model, X, "x1", n_values=6)
    theirs = by_scikit_learn(
        model, X, [1], custom_values={1: ours.grid}, kind="average"
    )
    np.testing.assert_allclose(ours.averages["mean"], theirs["average"][0], rtol=1e-12)


def test_a_value_is_set_in_all_rows(fitted):
    model, X, _ = fitted
    found = partial_dependence(model, X, "kind", above=4.0, quantiles=[0.9, 0.1])
    assert found.grid.tolist() == ["plain", "fancy", "rare"]  # by frequency
    assert list(found.averages) == ["mean", "q0.1", "q0.9", "P(y > 4)"]
    for i, label in enumerate(found.grid):
        changed = X.assign(kind=label)
        assert found.averages["mean"][i] == pytest.approx(model.predict(changed).mean())
        quantiles = model.predict_quantiles(changed, 0.9)
        assert found.averages["q0.9"][i] == pytest.approx(quantiles.mean())
        above = model.predict_proba_above(changed, 4.0)
        assert found.averages["P(y > 4)"][i] == pytest.approx(above.mean())


def test_times_and_missing_labels_have_values_too(fitted):
    model, X, _ = fitted
    days = partial_dependence(model, X, "day", n_values=3)
    assert days.texts == ["2020-01-01", "2020-02-29", "2020-04-29"]
    at = model.predict(X.assign(day=pd.Timestamp("2020-02-29")))
    assert days.averages["mean"][1] == pytest.approx(at.mean())
    text = partial_dependence(model, X, "text", of=("mean", "spread"))
    assert None in text.grid and "missing" in text.texts
    assert [row["value"] for row in text.rows()] == text.texts


def test_a_grid_has_observed_values_from_the_least_to_the_greatest(fitted):
    model, X, _ = fitted
    grid = partial_dependence(model, X, "b", n_values=7).grid
    assert len(grid) == 7 and set(grid) <= set(X.b)
    rows = partial_dependence(model, X, "b", n_values=7).rows()
    assert [row["value"] for row in rows] == grid.tolist()  # numbers, not text
    assert grid[0] == X.b.min() and grid[-1] == X.b.max()


@pytest.mark.parametrize("column", ["a", "kind", "day"])
def test_plots_show_the_averages(fitted, column):
    model, X, _ = fitted
    found = partial_dependence(model, X, column, n_values=4, above=4.0)
    ax = found.plot(Figure().add_subplot())
    assert np.array_equal(ax.lines[0].get_ydata(), found.averages["mean"])
    assert ax.get_xlabel() == column
    ax = found.plot(Figure().add_subplot(), of="P(y > 4)")
    assert np.array_equal(ax.lines[0].get_ydata(), found.averages["P(y > 4)"])


def test_bad_input_is_refused(fitted):
    model, X, _ = fitted
    with pytest.raises(InputError, match="column must name a column of the model"):
        partial_dependence(model, X, "nope")
    with pytest.raises(InputError, match="n_values must be a whole number"):
        partial_dependence(model, X, "a", n_values=1)
    empty = X.assign(b=np.nan)
    with pytest.raises(InputError, match="'b' must have a value in some row"):
        partial_dependence(model, empty, "b")
