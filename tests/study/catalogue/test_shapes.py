"""The experiment on targets of any shape."""

from collections import Counter

from histreg.study.catalogue import HEAVY, LIGHT, experiment
from histreg.study.shapes.predictors import PREDICTORS
from histreg.study.shapes.tables import NOT_POSITIVE


def test_every_predictor_is_run_on_every_table_where_it_can_be():
    runs = experiment("shapes").runs
    places = Counter((run.dataset, run.method) for run in runs)
    expected = {
        (table, predictor) for table in (*HEAVY, *LIGHT) for predictor in PREDICTORS
    } - {(table, "log bins") for table in NOT_POSITIVE}
    assert set(places) == expected
    assert set(places.values()) == {3}


def test_predictors_are_compared_with_uniform_bins():
    shapes = experiment("shapes")
    references = {
        run.method
        for run in shapes.runs
        if shapes.pairing.is_reference(shapes.runs[0], run)
    }
    assert references == {"uniform bins"}
