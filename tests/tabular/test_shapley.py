"""Shapley values: against their definition over all orders of the columns."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure

from histreg import HistogramRegressor, InputError
from histreg.tabular import explain_rows
from tests.tabular.examples import TINY, data, frame


@pytest.fixture(scope="module")
def fitted():
    X, y = data(100)
    return HistogramRegressor(**TINY).fit(X, y), X


def by_definition(predict, row, background):
    """Average what a column adds over all orders, one prediction at a time."""
    d = len(row)
    parts = np.zeros(d)
    orders = list(itertools.permutations(range(d)))
    for order in orders:
        rows = background.copy()
        before = predict(rows).mean()
        for i in order:
            rows[:, i] = row[i]
            after = predict(rows).mean()
            parts[i] += (after - before) / len(orders)
            before = after
    return parts


def test_parts_are_the_average_over_all_orders(fitted):
    model, X = fitted
    (one,) = explain_rows(model, X[:1], X[10:30], above=3.0)
    expected = by_definition(model.predict, X[0], X[10:30])
    np.testing.assert_allclose(one.parts["mean"], expected, rtol=0, atol=1e-9)

    def above(rows):
        return model.predict_proba_above(rows, 3.0)

    expected = by_definition(above, X[0], X[10:30])
    np.testing.assert_allclose(one.parts["P(y > 3)"], expected, rtol=0, atol=1e-9)
    assert not one.errors["mean"].any()  # all sets were evaluated


@pytest.mark.parametrize("d", [3, 12])
def test_parts_add_up_to_the_prediction(d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, d))
    model = HistogramRegressor(**TINY).fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    for i, one in enumerate(explain_rows(model, X[:3], X, n_orders=4, random_state=0)):
        assert one.base["mean"] == pytest.approx(model.predict(X).mean())
        assert one.predicted["mean"] == pytest.approx(model.predict(X)[i])
        for name in one.names:
            total = one.base[name] + one.parts[name].sum()
            assert total == pytest.approx(one.predicted[name], abs=1e-9)
        assert (one.errors["mean"] > 0).any() == (d == 12)


def test_drawn_orders_estimate_the_exact_parts():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 8))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    model = HistogramRegressor(**TINY).fit(X, y)
    few = X[:5]
    (exact,) = explain_rows(model, X[5:6], few, n_orders=64)
    (drawn,) = explain_rows(model, X[5:6], few, n_orders=16, random_state=0)
    assert not exact.errors["mean"].any() and drawn.errors["mean"].any()
    # Eight parts, each an average over 8 pairs of orders: beyond 8 standard errors of
    # a t distribution with 7 degrees of freedom with a probability below 1e-3.
    bound = 8 * drawn.errors["mean"] + 1e-9
    assert (abs(drawn.parts["mean"] - exact.parts["mean"]) <= bound).all()


def test_every_kind_of_column_and_groups_are_explained():
    X, y = frame(80)
    model = HistogramRegressor(**TINY).fit(X, y)
    (one,) = explain_rows(model, X.iloc[[7]], X, groups={"labels": ["kind", "text"]})
    assert one.columns == ("labels", "a", "b", "c")
    assert one.values[0].startswith("kind ") and one.values[2] == "missing"
    assert next(row["column"] for row in one.rows()) in one.columns
    total = one.base["spread"] + one.parts["spread"].sum()
    assert total == pytest.approx(one.predicted["spread"])


def test_a_plot_leads_from_the_base_to_the_prediction(fitted):
    model, X = fitted
    (one,) = explain_rows(model, X[:1], X[:20])
    ax = one.plot(Figure().add_subplot())
    bars = ax.patches
    assert bars[0].get_x() == pytest.approx(one.base["mean"])
    end = bars[-1].get_x() + bars[-1].get_width()
    assert end == pytest.approx(one.predicted["mean"])
    ax = one.plot(Figure().add_subplot(), of="spread", max_columns=1)
    assert ax.get_yticklabels()[1].get_text() == "2 other columns"
    assert len(ax.patches) == 2


def test_bad_input_is_refused(fitted):
    model, X = fitted
    for given, sentence in [
        ({"n_orders": 5}, "n_orders must be even"),
        ({"max_background": 0}, "max_background must be a whole number"),
        ({"of": ()}, "must name something to explain"),
    ]:
        with pytest.raises(InputError, match=sentence):
            explain_rows(model, X[:1], X, **given)
