"""Answers: a sentence from the records at the top of every experiment's page."""

import pytest

from histreg.report.site.answers import NO_ANSWER, answer_of, compared
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.methods import L2, HLGauss, HLOneBin
from tests.report.examples import RECORDS
from tests.study.made_up import tabular_records


def test_losses_are_compared_with_everything_else_equal():
    records = [
        *tabular_records("pole", L2(), [1.0, 1.2]),
        *tabular_records("pole", HLGauss(), [0.5, 0.6]),
    ]
    assert compared(records) == "The test MAE of HL-Gauss is 0.50 of that of l2."
    records += [
        *tabular_records("bike", L2(), [30.0, 31.0]),
        *tabular_records("bike", HLGauss(), [32.0, 33.0]),
    ]
    assert " 1 of 2 comparisons " in compared(records)
    records = [
        *tabular_records("pole", L2(), [1.0]),
        *tabular_records("pole", HLGauss(), [2.0]),
        *tabular_records("bike", L2(), [1.0]),
        *tabular_records("bike", HLGauss(), [2.0]),
    ]
    assert " none of 2 comparisons " in compared(records)
    assert compared(tabular_records("ct", HLOneBin(), [1.0])) == ""


def test_without_records_there_is_no_answer():
    assert answer_of(EXPERIMENTS["overall"], [], []) == NO_ANSWER


def test_claims_are_counted(study):
    experiment = EXPERIMENTS["overall"]
    judged = study.decided_by(experiment)
    answer = answer_of(experiment, study.records["overall"], judged)
    assert answer.startswith("The test MAE of HL-Gauss is ")
    assert "claim" in answer


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_answer_is_a_sentence(name, study):
    experiment = EXPERIMENTS[name]
    answer = answer_of(experiment, RECORDS[name], study.decided_by(experiment))
    assert answer != NO_ANSWER
    assert answer[0].isupper() and answer.endswith(".")
    # Of a confirmed claim all parts are.
    assert not (answer.startswith("Confirmed (") and " of " in answer.split(")")[0])
