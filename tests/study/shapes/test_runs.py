"""Shape runs: which rows are tested on, and what a record has."""

import numpy as np
import pytest

from histreg.study.catalogue import EXPERIMENTS, HEAVY, LIGHT
from histreg.study.datasets import TABLES, table
from histreg.study.shapes import runs as shapes
from histreg.study.shapes.predictors import PREDICTORS, Prediction
from histreg.study.shapes.runs import ShapeRun, rows_of
from tests.study.made_up import Alone


def test_each_seed_tests_on_rows_that_no_other_tests_on_and_none_learns_from():
    n = 100
    parts = [rows_of(n, seed) for seed in range(shapes.N_PARTS)]
    tested = np.concatenate([part for _, part in parts])
    assert sorted(tested) == list(range(n))
    for learnt, part in parts:
        assert sorted(np.concatenate([learnt, part])) == list(range(n))


def test_all_predictors_of_a_seed_have_the_same_rows_in_the_same_order():
    first, second = rows_of(50, 2), rows_of(50, 2)
    np.testing.assert_array_equal(first[0], second[0])
    assert (rows_of(50, 1)[0][:5] != first[0][:5]).any()


def test_a_description_gives_the_run_again():
    run = ShapeRun("pareto", "auto bins", 1)
    assert ShapeRun.from_json(run.to_json()) == run
    assert run.folder == ("pareto", "auto bins")
    assert run.moved_to("bike") == ShapeRun("bike", "auto bins", 1)


def test_larger_tables_are_expected_to_take_longer():
    names = ("diabetes", "friedman", "california")  # of 8 to 10 columns
    expected = [ShapeRun(name, "CatBoost", 0).expected_s for name in names]
    assert expected == sorted(expected)


def test_a_record_scores_the_rows_that_were_not_learnt_from(monkeypatch):
    seen = {}

    def fit(X, y, seed):
        seen["learnt"], seen["seed"] = (X, y), seed

        def predict(X_test):
            seen["tested"] = X_test
            return Prediction(np.full(len(X_test), y.mean()))

        return predict

    monkeypatch.setitem(PREDICTORS, "auto bins", fit)
    workplace = Alone()
    (outcome,) = ShapeRun.compute([ShapeRun("diabetes", "auto bins", 1)], workplace)
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


def test_the_experiment_has_every_predictor_on_every_table_that_can_take_it():
    runs = EXPERIMENTS["shapes"].runs
    assert {run.dataset for run in runs} == {*HEAVY, *LIGHT} <= {*TABLES}
    by_table = {
        name: {run.method for run in runs if run.dataset == name}
        for name in (*HEAVY, *LIGHT)
    }
    for name, methods in by_table.items():
        missing = {*PREDICTORS} - methods
        if TABLES[name].is_embedded:
            is_positive = table(name).load().y.min() > 0
            assert missing == (set() if is_positive else {"log bins"})
