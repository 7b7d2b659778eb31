"""How shape runs are computed."""

import numpy as np
import pytest

from histreg.study.datasets import table
from histreg.study.shapes.execution import N_PARTS, rows_of
from histreg.study.shapes.predictions import Prediction
from histreg.study.shapes.predictors import PREDICTORS
from histreg.study.shapes.runs import ShapeRun
from tests.study.made_up import Alone


def test_each_seed_tests_on_rows_that_no_other_tests_on_and_none_learns_from():
    n = 100
    parts = [rows_of(n, seed) for seed in range(N_PARTS)]
    tested = np.concatenate([part for _, part in parts])
    assert sorted(tested) == list(range(n))
    for learnt, part in parts:
        assert sorted(np.concatenate([learnt, part])) == list(range(n))


def test_all_predictors_of_a_seed_have_the_same_rows_in_the_same_order():
    first, second = rows_of(50, 2), rows_of(50, 2)
    np.testing.assert_array_equal(first[0], second[0])
    assert (rows_of(50, 1)[0][:5] != first[0][:5]).any()


def test_a_record_scores_the_rows_that_were_not_learnt_from(monkeypatch):
    seen = {}

    def fit(X, y, seed):
        seen["learnt"], seen["seed"] = (X, y), seed

        def predict(X_test):
            seen["tested"] = X_test
            return Prediction(np.full(len(X_test), y.mean()))

        return predict

    monkeypatch.setitem(PREDICTORS, "auto bins", fit)
    context = Alone()
    (outcome,) = ShapeRun.compute([ShapeRun("diabetes", "auto bins", 1)], context)
    data = table("diabetes").load()
    learnt, tested = rows_of(442, 1)
    np.testing.assert_array_equal(seen["learnt"][0], data.X[learnt])
    np.testing.assert_array_equal(seen["tested"], data.X[tested])
    assert seen["seed"] == 1
    error = np.abs(data.y[tested] - data.y[learnt].mean()).mean()
    assert outcome.metrics["test MAE"] == pytest.approx(error)
    assert outcome.metrics["test rows"] == len(tested)
    assert outcome.metrics["fit seconds"] >= 0
    assert outcome.data_sha256 == data.sha256
