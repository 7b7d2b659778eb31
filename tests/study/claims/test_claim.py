"""Claims and their verdicts, by findings made by hand."""

from dataclasses import replace

import pytest

from histreg.study.claims import (
    Claim,
    Evidence,
    Finding,
    Scope,
    Verdict,
    judged_on,
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
    on = (dataset,) if dataset else ()
    assert verdict_of(Finding("x", each, "", on) for each in verdicts) is expected


def test_a_data_set_that_was_not_wholly_run_does_not_count():
    findings = [
        Finding("a", CONFIRMED, "", ("pole",)),
        Finding("b", CONFIRMED, "", ("pole",)),
        Finding("a", UNDECIDED, "", ("bike",)),
        Finding("b", NOT_RUN, "", ("bike",)),
    ]
    assert verdict_of(findings) is CONFIRMED
    assert verdict_of(findings[2:]) is NOT_RUN


def test_a_part_over_several_data_sets_decides_as_others_do():
    both = ("pole", "bike")
    of_pole = Finding("a", CONFIRMED, "", ("pole",))
    for verdict, expected in (
        (CONFIRMED, CONFIRMED),
        (NOT_RUN, CONFIRMED),  # of what was run, all holds
        (UNDECIDED, UNDECIDED),
        (REFUTED, REFUTED),
    ):
        assert verdict_of([of_pole, Finding("b", verdict, "", both)]) is expected


def test_one_data_set_refutes_what_others_confirm():
    findings = [
        Finding("a", CONFIRMED, "", ("pole",)),
        Finding("a", REFUTED, "", ("bike",)),
    ]
    assert verdict_of(findings) is REFUTED


TWO = Scope("data set", "data sets", ("pole", "bike"))


def judgement(*findings, scope=TWO, evidence=None):
    claim = Claim("K0", "It is so.", "It is.", ("overall",), lambda _: findings, scope)
    return claim.judge(evidence or Evidence([]))


def on(*names, verdict=CONFIRMED):
    return [Finding("a", verdict, "", (name,)) for name in names]


@pytest.mark.parametrize(
    ("verdict", "so_far"),
    [
        (CONFIRMED, Verdict.HOLDS_SO_FAR),
        (REFUTED, Verdict.FAILS_SO_FAR),
        (UNDECIDED, UNDECIDED),
        (NOT_RUN, NOT_RUN),
    ],
)
def test_only_all_of_the_scope_decides_for_good(verdict, so_far):
    whole = judgement(*on("pole", "bike", verdict=verdict))
    assert whole.verdict is verdict
    for findings in (
        on("pole", verdict=verdict),
        [*on("pole", verdict=verdict), *on("bike", verdict=NOT_RUN)],
        on("pole", "pole-half", verdict=verdict),  # a part of a data set is not it
        # Both are judged, but not a part over both of them.
        [*on("pole", "bike", verdict=verdict), Finding("b", NOT_RUN, "", TWO.names)],
    ):
        assert judgement(*findings).verdict is so_far


def test_runs_that_are_not_the_papers_decide_nothing_for_good():
    findings = on("pole", "bike")
    departed = judgement(*findings, scope=replace(TWO, departures=("half the rows",)))
    assert departed.verdict is Verdict.HOLDS_SO_FAR
    assert departed.on == "pole, bike (2 of 2 data sets); half the rows"
    short = judgement(*findings, evidence=Evidence([], epochs=3))
    assert short.verdict is Verdict.HOLDS_SO_FAR
    assert short.on == "pole, bike (2 of 2 data sets); 3 epochs"


def test_theory_has_no_epochs():
    scope = Scope("statement", "statements", ("T1",))
    short = judgement(*on("T1"), scope=scope, evidence=Evidence([], epochs=3))
    assert short.verdict is CONFIRMED


def test_what_it_was_judged_on_is_told():
    not_on_bike = on("bike", verdict=NOT_RUN)
    assert judgement(*on("pole"), *not_on_bike).on == "pole (1 of 2 data sets)"
    assert judgement().on == "none of 2 data sets"
    in_part = [*on("bike"), *not_on_bike]
    assert judgement(*in_part).on == "none of 2 data sets in full; 1 of 2 parts"
    assert judgement(*on("pole"), *in_part).on == (
        "pole (1 of 2 data sets); 2 of 3 parts"
    )


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (CONFIRMED, CONFIRMED, CONFIRMED),
        (REFUTED, REFUTED, REFUTED),
        (CONFIRMED, REFUTED, Verdict.DEPENDS),
        (REFUTED, UNDECIDED, Verdict.DEPENDS),
        (REFUTED, NOT_RUN, REFUTED),  # of the readings that were run
        (NOT_RUN, NOT_RUN, NOT_RUN),
    ],
)
def test_readings_must_agree(first, second, expected):
    readings = [
        Finding("a, one", first, "", ("pole",), "one"),
        Finding("a, two", second, "", ("pole",), "two"),
    ]
    assert verdict_of(readings) is expected
    # What does not depend on the reading belongs to both.
    common = Finding("b", REFUTED, "", ("pole",))
    assert verdict_of([*readings, common]) is REFUTED


def test_a_data_set_is_judged_by_the_parts_about_it_alone():
    findings = [
        Finding("a", CONFIRMED, "", ("pole",)),
        Finding("a", NOT_RUN, "", ("bike",)),
        Finding("b", NOT_RUN, "", ("pole", "bike")),
    ]
    assert judged_on(findings) == ("pole",)
    # Of names that have none, by those about several.
    games = Finding("c", CONFIRMED, "", ("Pong", "Qbert"))
    assert judged_on([games]) == ("Pong", "Qbert")
    assert judged_on([games, replace(games, verdict=NOT_RUN)]) == ()
