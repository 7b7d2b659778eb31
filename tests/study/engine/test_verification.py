"""Records that are computed again: what counts as equal, and in which stack."""

from dataclasses import replace

from histreg.study.engine.runs import Outcome, Record
from histreg.study.engine.verification import Verification, stacks_of
from histreg.study.methods import L1, L2, HLGauss
from histreg.study.tabular.runs import TabularRun

A, B, C = (TabularRun("pole", method, 1, 2, (4,)) for method in (L1(), L2(), HLGauss()))
OUTCOME = Outcome({"test MAE": 0.5, "train MAE": 0.25}, {"epoch": [1.0]})


def record_of(run, **environment) -> Record:
    return Record(run, OUTCOME, environment, 1.0, "2026-01-01T00:00:00+00:00")


def test_a_record_equals_itself_whatever_its_time_and_versions():
    record = record_of(A, torch="2.13.0", commit="abc", stack=[A.key])
    again = replace(record_of(A, torch="2.14.0", commit="abc"), elapsed_s=9.0)
    pair = Verification(record, again)
    assert pair.is_equal and pair.differences == {}
    assert pair.versions == {"torch": ("2.13.0", "2.14.0")}


def test_the_last_bit_of_a_metric_makes_a_difference():
    metrics = {**OUTCOME.metrics, "test MAE": 0.5 + 2**-53}
    again = replace(record_of(A), outcome=replace(OUTCOME, metrics=metrics))
    pair = Verification(record_of(A), again)
    assert not pair.is_equal
    assert pair.differences == {"test MAE": 2**-52}


def test_curves_and_divergence_count_too():
    for change in ({"curves": {"epoch": [2.0]}}, {"diverged_at": 3}):
        again = replace(record_of(A), outcome=replace(OUTCOME, **change))
        assert not Verification(record_of(A), again).is_equal


def test_a_metric_that_one_of_them_lacks_differs_infinitely():
    again = replace(record_of(A), outcome=replace(OUTCOME, metrics={"test MAE": 0.5}))
    assert Verification(record_of(A), again).differences == {"train MAE": float("inf")}


def test_records_are_computed_in_the_stacks_that_they_name():
    known = {run.key: run for run in (A, B, C)}
    together = [A.key, B.key]
    first, second = (record_of(run, stack=together) for run in (A, B))
    assert stacks_of([first, second], known) == [(A, B)]
    assert stacks_of([record_of(A)], known) == [(A,)]  # older ones name none
    assert stacks_of([record_of(A, stack=["gone", A.key])], known) == [(A,)]
    third = record_of(C, stack=[B.key, C.key])  # B cannot be in two
    assert stacks_of([first, third], known) == [(A, B), (C,)]
