"""Model: merged rows, chunks, state."""

import numpy as np
import pytest
import torch

from histreg import Bins, HistogramRegressor
from histreg import model as model_module
from histreg.columns import Table
from histreg.model import merged, n_outside


def table_of(numbers, labels=None):
    numbers = np.asarray(numbers, dtype=float)
    if labels is None:
        labels = np.empty((len(numbers), 0), dtype=object)
    return Table(numbers, np.asarray(labels, dtype=object))


def test_equal_rows_are_merged_and_their_weights_added():
    numbers = [[1.0, np.nan], [2.0, 3.0], [1.0, np.nan], [-0.0, 1.0], [0.0, 1.0]]
    y = np.array([[5.0], [6.0], [5.0], [7.0], [7.0]])
    table, y_merged, weight = merged(
        table_of(numbers), y, np.array([1.0, 2.0, 4.0, 0.5, 0.25])
    )
    found = {
        (repr(row.tolist()), target[0]): total
        for row, target, total in zip(table.numbers, y_merged, weight, strict=True)
    }
    assert sorted(found.values()) == [0.75, 2.0, 5.0]


def test_rows_that_differ_in_anything_stay_apart():
    labels = [["a"], ["b"], [None], ["a"]]
    table, _, weight = merged(
        table_of([[1.0]] * 4, labels),
        np.array([[1.0], [1.0], [1.0], [2.0]]),
        np.ones(4),
    )
    assert len(weight) == 4 and set(table.labels[:, 0]) == {"a", "b", None}


def test_the_order_of_rows_does_not_matter(generator):
    numbers = torch.randn(50, 3, generator=generator).numpy().astype(float)
    y = numbers[:, :1] ** 2
    order = np.random.default_rng(0).permutation(50)
    one = merged(table_of(numbers), y, np.ones(50))
    other = merged(table_of(numbers[order]), y[order], np.ones(50))
    np.testing.assert_array_equal(one[0].numbers, other[0].numbers)
    np.testing.assert_array_equal(one[1], other[1])


def test_rows_of_no_weight_are_gone():
    table, _, weight = merged(
        table_of([[1.0], [2.0]]), np.array([[1.0], [2.0]]), np.array([0.0, 3.0])
    )
    assert table.numbers.tolist() == [[2.0]] and weight.tolist() == [3.0]


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
