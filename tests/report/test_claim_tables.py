"""The scoreboard of claims, on findings by hand."""

import pytest

from histreg.report.claim_tables import HOW_COUNTED, findings_of, scoreboards
from histreg.study.claims import (
    HOW_DECIDED,
    OF_PARTS,
    Claim,
    Evidence,
    Finding,
    Origin,
    Scope,
)

NOTHING = Evidence([])


SETS = ("pole", "bike", "ct")


def claim(name, *verdicts, origin=Origin.PAPER):
    names = SETS[: len(verdicts)] or SETS[:1]
    findings = [
        Finding(
            f"part {i}", verdict, "" if verdict == NOT_RUN else f"number {i}", (on,)
        )
        for i, (verdict, on) in enumerate(zip(verdicts, SETS, strict=False))
    ]
    scope = Scope("data set", "data sets", names)
    return Claim(
        name, f"{name} holds.", "by hand", (), lambda _: findings, scope, origin
    )


CONFIRMED, REFUTED, UNDECIDED, NOT_RUN = OF_PARTS
KINDS = [
    ((CONFIRMED, CONFIRMED), "confirmed", "pole, bike (2 of 2 data sets)", "2 0 0 0"),
    ((CONFIRMED, NOT_RUN), "holds so far", "pole (1 of 2 data sets)", "1 0 0 1"),
    (
        (CONFIRMED, REFUTED, UNDECIDED),
        "refuted",
        "pole, bike, ct (3 of 3 data sets)",
        "1 1 1 0",
    ),
    ((NOT_RUN, REFUTED), "fails so far", "bike (1 of 2 data sets)", "0 1 0 1"),
    (
        (CONFIRMED, UNDECIDED, NOT_RUN),
        "not significant",
        "pole, bike (2 of 3 data sets)",
        "1 0 1 1",
    ),
    ((NOT_RUN, NOT_RUN), "not run", "none of 2 data sets", "0 0 0 2"),
    ((), "not run", "not on pole", "0 0 0 0"),
]


@pytest.mark.parametrize(("verdicts", "expected", "on", "counts"), KINDS)
def test_a_claim_has_a_line_with_its_verdict(verdicts, expected, on, counts):
    (table,) = scoreboards([claim("K1", *verdicts)], NOTHING)
    (row,) = table.rows
    assert row == ("K1", expected, on, "K1 holds.", *counts.split())


def test_verdicts_are_counted_below():
    (table,) = scoreboards([claim("K1", *verdicts) for verdicts, *_ in KINDS], NOTHING)
    assert table.notes[0] == (
        "7 claims of the paper: 1 confirmed, 1 holds so far, 1 refuted, 1 fails so "
        "far, 1 not significant, 2 not run."
    )


def test_claims_of_ours_are_counted_apart():
    claims = [
        claim("K1", CONFIRMED),
        claim("K1b", REFUTED, origin=Origin.OURS),
        claim("K2", REFUTED),
        claim("K3", CONFIRMED, origin=Origin.REWORDED),
    ]
    of_paper, others = scoreboards(claims, NOTHING)
    assert [row[0] for row in of_paper.rows] == ["K1", "K2"]
    assert [row[0] for row in others.rows] == ["K1b (ours)", "K3 (reworded)"]
    assert of_paper.notes[0] == "2 claims of the paper: 1 confirmed, 1 refuted."
    assert others.notes == [
        "2 claims that are ours or reworded: 1 confirmed, 1 refuted."
    ]
    assert len(scoreboards(claims[1:2], NOTHING)) == 1


def test_the_rules_that_decide_are_told():
    (table,) = scoreboards([claim("K1", CONFIRMED)], NOTHING)
    assert HOW_DECIDED in table.notes and HOW_COUNTED in table.notes


def test_details_have_numbers_the_rule_and_what_was_not_run():
    table = findings_of(claim("K1", CONFIRMED, NOT_RUN), NOTHING)
    assert table.title == ("K1, holds so far. On: pole (1 of 2 data sets). K1 holds.")
    assert list(table.rows) == [
        ("part 0", "confirmed", "number 0"),
    ]
    assert table.notes == ["Rule: by hand", "Not run: Bike Sharing (1 part)."]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"epochs": 2}, "networks trained for 2 epochs"),
        ({"datasets": ("pole", "bike")}, "Pole, Bike Sharing"),
        (
            {"datasets": ("diabetes",), "epochs": 2},
            "Diabetes and networks trained for 2 epochs",
        ),
    ],
)
def test_evidence_that_is_not_the_papers_is_told(options, expected):
    evidence = Evidence([], **options)
    told = f"Judged by {expected} instead of the paper's."
    for origin in Origin:
        (table,) = scoreboards([claim("K1", origin=origin)], evidence)
        assert table.notes[-1] == told
    assert findings_of(claim("K1"), evidence).notes[-1] == told
    (table,) = scoreboards([claim("K1")], NOTHING)
    assert told not in table.notes
