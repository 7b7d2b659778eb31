"""Conditions and comparisons of many, on made-up records."""

from dataclasses import replace

import pytest

from histreg.study.claims import Evidence, Verdict
from histreg.study.claims.conditions import (
    HL_GAUSS,
    HL_ONE_BIN,
    L1_LOSS,
    L2_LOSS,
    Condition,
    all_of,
    in_reading,
    lower_each,
    lower_on_some,
    not_higher_each,
    not_lower_each,
    on_tables,
    within_each,
)
from histreg.study.methods import L1, L2, MDN, HLGauss, HLOneBin
from tests.study.claims.made_up import validation_records
from tests.study.made_up import tabular_records

RECORDS = [
    *tabular_records("pole", L2(), [1.0] * 5, test_RMSE=[4.0] * 5),
    *tabular_records("bike", L2(), [30.0] * 5),
    *tabular_records("pole", L1(), [2.0] * 5),
    *tabular_records("pole", HLOneBin(), [3.0] * 5),
    *tabular_records("pole", L2(), [7.0] * 4, changes={"corrupted": 0.5}),
    *tabular_records("pole", MDN(2), [5.0] * 5),
    *validation_records("pole", MDN(2), [5.0] * 5),
]
EVIDENCE = Evidence(RECORDS, ("pole", "bike"))


def values(condition, name="pole"):
    return set(condition.by_seed(EVIDENCE, name).values())


@pytest.mark.parametrize(
    ("condition", "label", "expected"),
    [
        (L2_LOSS, "l2", {1.0}),
        (L1_LOSS, "l1", {2.0}),
        (HL_ONE_BIN, "HL-OneBin", {3.0}),
        (HL_GAUSS, "HL-Gauss", set()),
        (Condition.of(L2(), "test RMSE"), "l2", {4.0}),
        (Condition.of(L2(), corrupted=0.5, label="half"), "half", {7.0}),
        (Condition.chosen(MDN), "MDN", {5.0}),
        (L2_LOSS.times(1.5), "1.5 x l2", {1.5}),
        (
            Condition.summary(
                L2(), lambda record: 10 * record.outcome.metrics["test MAE"], "tenfold"
            ),
            "l2",
            {10.0},
        ),
    ],
)
def test_a_condition_has_a_label_and_values(condition, label, expected):
    assert condition.label == label
    assert values(condition) == expected


def test_a_difference_is_of_the_seeds_that_both_have():
    rise = Condition.of(L2(), corrupted=0.5).minus(L2_LOSS, "rise")
    assert rise.by_seed(EVIDENCE, "pole") == {1: 6.0, 2: 6.0, 3: 6.0, 4: 6.0}
    assert (rise.label, rise.metric) == ("l2", "rise")


def told(find, evidence=EVIDENCE):
    return [(each.part, each.verdict, *each.on) for each in find(evidence)]


def test_all_pairs_are_compared_on_all_data_sets():
    assert told(lower_each([(L2_LOSS, L1_LOSS), (HL_ONE_BIN, L1_LOSS)])) == [
        ("Pole: l2 below l1", Verdict.CONFIRMED, "pole"),
        ("Pole: HL-OneBin below l1", Verdict.REFUTED, "pole"),
        ("Bike Sharing: l2 below l1", Verdict.NOT_RUN, "bike"),
        ("Bike Sharing: HL-OneBin below l1", Verdict.NOT_RUN, "bike"),
    ]


def test_pairs_may_be_given_by_a_generator():
    pairs = (pair for pair in [(L2_LOSS, L1_LOSS)])
    assert len(lower_each(pairs)(EVIDENCE)) == 2


def test_only_the_data_sets_asked_for_are_looked_at():
    find = lower_each([(L2_LOSS, L1_LOSS)], where=on_tables("ct", "pole"))
    assert told(find) == [("Pole: l2 below l1", Verdict.CONFIRMED, "pole")]
    assert find(Evidence(RECORDS, ("bike",))) == []


@pytest.mark.parametrize(
    ("builder", "a", "b", "margin", "said", "verdict"),
    [
        (not_lower_each, L2_LOSS, L1_LOSS, 0.6, "not more than 60% below", "confirmed"),
        (not_lower_each, L2_LOSS, L1_LOSS, 0.4, "not more than 40% below", "refuted"),
        (
            not_higher_each,
            L1_LOSS,
            L2_LOSS,
            1.1,
            "not more than 110% above",
            "confirmed",
        ),
        (not_higher_each, L1_LOSS, L2_LOSS, 0.9, "not more than 90% above", "refuted"),
        (within_each, L2_LOSS, L1_LOSS, 0.6, "within 60% of", "confirmed"),
        (within_each, L2_LOSS, L1_LOSS, 0.4, "within 40% of", "refuted"),
    ],
)
def test_a_margin_is_part_of_what_is_said(builder, a, b, margin, said, verdict):
    (found,) = builder([(a, b)], margin, where=on_tables("pole"))(EVIDENCE)
    assert found.part == f"Pole: {a.label} {said} {b.label}"
    assert found.verdict == verdict


def test_metrics_but_the_main_one_are_named():
    a, b = Condition.of(L1(), "test RMSE"), Condition.of(L2(), "test RMSE")
    (found,) = lower_each([(a, b)], where=on_tables("pole"))(EVIDENCE)
    assert found.part == "Pole: l1 below l2 (test RMSE)"
    assert found.verdict is Verdict.CONFIRMED  # by RMSE, 2 against 4


def test_findings_of_several_are_put_together_in_order():
    first, second = lower_each([(L2_LOSS, L1_LOSS)]), lower_each([(L1_LOSS, L2_LOSS)])
    assert all_of(first, second)(EVIDENCE) == first(EVIDENCE) + second(EVIDENCE)


def test_seeds_that_are_missing_leave_it_open():
    few = Condition.of(HLGauss())
    (found,) = lower_each([(few, L2_LOSS)], where=on_tables("pole"))(EVIDENCE)
    assert found.verdict is Verdict.NOT_RUN


def test_the_first_may_be_below_the_second_on_some_data_set_alone():
    first, second = lower_on_some([(L2_LOSS, L1_LOSS), (HL_ONE_BIN, L1_LOSS)])(EVIDENCE)
    assert first.part == "l2 below l1 on some data set"
    assert (first.verdict, second.verdict) == (Verdict.CONFIRMED, Verdict.REFUTED)
    assert first.on == ("pole", "bike")


def test_findings_of_a_reading_name_it():
    find = lower_each([(L2_LOSS, L1_LOSS)], where=on_tables("pole"))
    (usual,), (other,) = find(EVIDENCE), in_reading("read otherwise", find)(EVIDENCE)
    assert other == replace(
        usual, part="Pole: l2 below l1, read otherwise", reading="read otherwise"
    )
