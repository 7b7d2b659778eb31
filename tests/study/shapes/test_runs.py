"""Shape runs: which rows are tested on, and what a record has."""

from histreg.study.catalogue import EXPERIMENTS, HEAVY, LIGHT
from histreg.study.datasets import TABLES, table
from histreg.study.shapes.predictors import PREDICTORS
from histreg.study.shapes.runs import ShapeRun
from tests.study.descriptions import run_of


def test_a_description_gives_the_run_again():
    run = ShapeRun("pareto", "auto bins", 1)
    assert run_of(run.to_json()) == run
    assert run.folder == ("pareto", "auto bins")
    assert run.moved_to("bike") == ShapeRun("bike", "auto bins", 1)


def test_larger_tables_are_expected_to_take_longer():
    names = ("diabetes", "friedman", "california")  # of 8 to 10 columns
    expected = [ShapeRun(name, "CatBoost", 0).expected_s for name in names]
    assert expected == sorted(expected)


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
