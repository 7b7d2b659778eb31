"""The scoreboard of claims, on findings by hand."""

import pytest

from histreg.report.claim_tables import findings_of, scoreboard
from histreg.study.claims import Claim, Evidence, Finding, Verdict

NOTHING = Evidence([])


SETS = ("pole", "bike", "ct")


def claim(name, *verdicts):
    findings = [
        Finding(f"part {i}", verdict, "" if verdict == NOT_RUN else f"number {i}", on)
        for i, (verdict, on) in enumerate(zip(verdicts, SETS, strict=False))
    ]
    return Claim(name, f"{name} holds", "by hand", (), lambda _: findings)


CONFIRMED, REFUTED, UNDECIDED, NOT_RUN = Verdict
KINDS = [
    ((CONFIRMED, CONFIRMED), "confirmed", "pole, bike (2 of 2)", "2 0 0 0"),
    ((CONFIRMED, NOT_RUN), "confirmed", "pole (1 of 2)", "1 0 0 1"),
    ((CONFIRMED, REFUTED, UNDECIDED), "refuted", "pole, bike, ct (3 of 3)", "1 1 1 0"),
    (
        (CONFIRMED, UNDECIDED, NOT_RUN),
        "not significant",
        "pole, bike (2 of 3)",
        "1 0 1 1",
    ),
    ((NOT_RUN, NOT_RUN), "not run", "", "0 0 0 2"),
    ((), "not run", "", "0 0 0 0"),
]


@pytest.mark.parametrize(("verdicts", "expected", "where", "counts"), KINDS)
def test_a_claim_has_a_line_with_its_verdict(verdicts, expected, where, counts):
    (row,) = scoreboard([claim("K1", *verdicts)], NOTHING).rows
    assert row == ("K1", expected, where, "K1 holds", *counts.split())


def test_verdicts_are_counted_below():
    table = scoreboard([claim("K1", *verdicts) for verdicts, *_ in KINDS], NOTHING)
    assert table.notes[0] == (
        "6 claims: 2 confirmed, 1 refuted, 1 not significant, 2 not run."
    )


def test_details_have_numbers_the_rule_and_what_was_not_run():
    table = findings_of(claim("K1", CONFIRMED, NOT_RUN), NOTHING)
    assert table.title == "K1, confirmed on pole (1 of 2): K1 holds"
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
    assert scoreboard([claim("K1")], evidence).notes[-1] == told
    assert findings_of(claim("K1"), evidence).notes[-1] == told
    assert told not in scoreboard([claim("K1")], NOTHING).notes
