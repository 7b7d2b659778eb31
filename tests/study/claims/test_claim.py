"""Claims and their verdicts, by findings made by hand."""

import pytest

from histreg.study.claims import (
    Claim,
    Evidence,
    Finding,
    Judgement,
    Verdict,
    verdict_of,
)

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], NOT_RUN),
        ([NOT_RUN], NOT_RUN),
        ([CONFIRMED, CONFIRMED], CONFIRMED),
        ([CONFIRMED, UNDECIDED], UNDECIDED),
        ([UNDECIDED], UNDECIDED),
        ([CONFIRMED, UNDECIDED, REFUTED], REFUTED),
        ([CONFIRMED, NOT_RUN], NOT_RUN),  # part of it: more may come
        ([REFUTED, NOT_RUN], REFUTED),  # whatever may come
    ],
)
@pytest.mark.parametrize("dataset", ["", "pole"])
def test_all_parts_must_hold(dataset, verdicts, expected):
    assert verdict_of(Finding("x", each, "", dataset) for each in verdicts) is expected


def test_a_data_set_that_was_not_wholly_run_does_not_count():
    findings = [
        Finding("a", CONFIRMED, "", "pole"),
        Finding("b", CONFIRMED, "", "pole"),
        Finding("a", UNDECIDED, "", "bike"),
        Finding("b", NOT_RUN, "", "bike"),
    ]
    assert verdict_of(findings) is CONFIRMED
    assert verdict_of(findings[2:]) is NOT_RUN


def test_a_part_over_several_data_sets_is_not_left_out():
    of_pole, of_both = Finding("a", CONFIRMED, "", "pole"), Finding("b", NOT_RUN)
    assert verdict_of([of_pole, of_both]) is NOT_RUN
    undecided = Finding("c", UNDECIDED, "", "bike")
    assert verdict_of([of_pole, of_both, undecided]) is UNDECIDED


def test_one_data_set_refutes_what_others_confirm():
    findings = [Finding("a", CONFIRMED, "", "pole"), Finding("a", REFUTED, "", "bike")]
    assert verdict_of(findings) is REFUTED


def test_a_judgement_has_the_verdict_and_the_data_sets_that_count():
    findings = [
        Finding("a", CONFIRMED, "", "pole"),
        Finding("a", NOT_RUN, "", "bike"),
        Finding("b", CONFIRMED),
    ]
    claim = Claim("K0", "It is so.", "It is.", ("overall",), lambda _: findings)
    judgement = claim.judge(Evidence([]))
    assert judgement == Judgement(claim, tuple(findings))
    assert judgement.verdict is CONFIRMED
    assert judgement.datasets == ("pole", "bike")
    assert judgement.decided_on == ("pole",)
