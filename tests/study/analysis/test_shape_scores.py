"""Shape scores and promises, of records made by hand."""

import math

import pytest

from histreg.study.catalogue import HEAVY, LIGHT
from histreg.study.shapes.predictors import OTHERS
from histreg.study.shapes.scores import (
    AUTO,
    AUTO_OF_4,
    COMPARED,
    CRPS,
    UNIFORM,
    ShapeScores,
    promises_of,
)
from tests.study.made_up import shape_records


def of(*records):
    return ShapeScores.of([each for some in records for each in some])


def test_a_ratio_is_the_geometric_mean_over_the_seeds_that_both_have():
    scores = of(
        shape_records("pareto", UNIFORM, [1.0, 2.0]),
        shape_records("pareto", AUTO, [4.0, 2.0, 100.0]),
    )
    assert scores.ratio("pareto", AUTO, CRPS) == pytest.approx(2.0)  # of 4 and 1
    assert scores.ratio("pareto", UNIFORM, CRPS, AUTO) == pytest.approx(0.5)
    assert math.isnan(scores.ratio("pareto", "CatBoost", CRPS))
    assert math.isnan(scores.ratio("bike", AUTO, CRPS))


def test_a_mean_over_tables_is_geometric_and_needs_them_all():
    scores = of(
        shape_records("pareto", UNIFORM, [1.0]),
        shape_records("pareto", AUTO, [4.0]),
        shape_records("bike", UNIFORM, [4.0]),
        shape_records("bike", AUTO, [4.0]),
    )
    assert scores.mean_ratio(["pareto", "bike"], AUTO, CRPS) == pytest.approx(2.0)
    assert math.isnan(scores.mean_ratio(["pareto", "pole"], AUTO, CRPS))


def test_heavy_tails_come_first_and_predictors_in_the_order_they_are_known():
    scores = of(
        shape_records("diabetes", "NGBoost", [1.0]),
        shape_records("bike", AUTO, [1.0]),
        shape_records("pareto", UNIFORM, [1.0]),
    )
    assert scores.tables == ["pareto", "bike", "diabetes"]
    assert scores.predictors == [UNIFORM, AUTO, "NGBoost"]
    assert [each.label for each in scores.of_table("bike")] == [AUTO]


def test_nobody_is_best_before_all_have_all_seeds():
    some = of(
        shape_records("bike", "CatBoost", [1.0, 5.0, 1.0]),
        shape_records("bike", "NGBoost", [3.0, 3.0]),
    )
    assert some.best("bike", ["CatBoost", "NGBoost"]) is None
    whole = of(
        shape_records("bike", "CatBoost", [1.0, 5.0, 1.0]),
        shape_records("bike", "NGBoost", [3.0, 3.0, 3.0]),
    )
    assert whole.best("bike", ["CatBoost", "NGBoost"]) == "CatBoost"


def suite(ours=lambda name: 0.9, others=lambda name: 1.0, of_4=lambda name: 0.5):
    """Return all that promises look at; uniform bins have a CRPS of 1 everywhere."""
    return of(
        *(
            shape_records(name, method, [crps(name)] * 3)
            for name in (*HEAVY, *LIGHT)
            for method, crps in (
                (UNIFORM, lambda name: 1.0),
                (AUTO, ours),
                (AUTO_OF_4, of_4),
                *((each, others) for each in OTHERS),
            )
        )
    )


def verdicts(scores):
    return [each.is_kept for each in promises_of(scores)]


def test_all_promises_are_kept_where_ours_is_a_tenth_lower_everywhere():
    assert verdicts(suite()) == [True] * 10
    assert promises_of(suite())[7].told == "+11.1%"  # 1 / 0.9
    assert promises_of(suite())[9].told == "+100.0%"  # 1 / 0.5


def test_light_tails_may_cost_two_percent_and_no_more():
    a_bit = suite(lambda name: 1.019 if name == "pole" else 0.9)
    assert verdicts(a_bit)[:3] == [True] * 3
    more = suite(lambda name: 1.021 if name == "pole" else 0.9)
    assert verdicts(more)[:6] == [False] * 3 + [True] * 3
    assert "missed on pole +2.1%" in promises_of(more)[0].told


def test_heavy_tails_must_gain_everywhere():
    level = suite(lambda name: 1.0 if name == "bike" else 0.9)
    assert verdicts(level)[:6] == [True] * 3 + [False] * 3


def test_others_may_be_ahead_on_two_tables():
    two, three = HEAVY[:2], HEAVY[:3]
    behind = suite(others=lambda name: 0.8 if name in two else 1.2)
    assert verdicts(behind)[6]
    assert promises_of(behind)[6].told == "behind on lognormal -11.1%, pareto -11.1%"
    assert not verdicts(suite(others=lambda name: 0.8 if name in three else 1.2))[6]


def test_five_percent_are_asked_for_in_the_mean():
    assert not verdicts(suite(others=lambda name: 0.94))[7]
    assert verdicts(suite(others=lambda name: 0.95))[7]


def test_one_network_and_four_are_judged_apart():
    found = verdicts(suite(lambda name: 1.01, of_4=lambda name: 0.9))
    assert found[6:] == [False, False, True, True]


def test_others_are_compared_by_what_all_are_scored_by():
    alike = {"test_CRPS_by_quantiles": 0.5}
    scores = of(
        *(
            shape_records(name, each, [1.0] * 3, **(alike if each in OTHERS else {}))
            for name in (*HEAVY, *LIGHT)
            for each in (UNIFORM, AUTO, AUTO_OF_4, *OTHERS)
        )
    )
    assert promises_of(scores)[7].told == "-50.0%"


def test_nothing_is_decided_before_all_is_run():
    scores = suite()
    part = ShapeScores([each for each in scores.settings if each.run.dataset != "pole"])
    found = promises_of(part)
    assert [each.is_kept for each in found] == [*[None] * 3, *[True] * 3, *[None] * 4]
    assert found[0].told == "1 of 5 tables are not finished"
    assert found[6].told == "1 of 12 tables are not finished"


def test_nothing_is_decided_by_the_first_seeds():
    scores = of(
        *(
            shape_records(name, each, [1.0, 1.0])
            for name in (*HEAVY, *LIGHT)
            for each in (UNIFORM, AUTO, AUTO_OF_4, *OTHERS)
        )
    )
    assert verdicts(scores) == [None] * 10


def test_each_promise_names_the_metric_it_is_about():
    texts = [each.text for each in promises_of(suite())]
    assert [text.split(" at most")[0] for text in texts[:3]] == [*COMPARED]
    assert [text.split(" lower")[0] for text in texts[3:6]] == [*COMPARED]
