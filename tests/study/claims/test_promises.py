"""Promises about bins that follow the targets, of records made by hand."""

from histreg.study.analysis.shape_scores import ShapeScores
from histreg.study.claims import Verdict
from histreg.study.claims.promises import AUTO, AUTO_OF_4, promises_of
from histreg.study.shapes.predictors import OTHERS
from histreg.study.shapes.tables import COMPARED_METRICS, HEAVY, LIGHT, UNIFORM_BINS
from tests.study.made_up import shape_records

KEPT, MISSED, NOT_RUN = Verdict.CONFIRMED, Verdict.REFUTED, Verdict.NOT_RUN


def of(*records):
    return ShapeScores.of([each for some in records for each in some])


def suite(ours=lambda name: 0.9, others=lambda name: 1.0, of_4=lambda name: 0.5):
    """Return all that promises look at; uniform bins have a CRPS of 1 everywhere."""
    return of(
        *(
            shape_records(name, method, [crps(name)] * 3)
            for name in (*HEAVY, *LIGHT)
            for method, crps in (
                (UNIFORM_BINS, lambda name: 1.0),
                (AUTO, ours),
                (AUTO_OF_4, of_4),
                *((each, others) for each in OTHERS),
            )
        )
    )


def verdicts(scores):
    return [each.verdict for each in promises_of(scores)]


def test_all_promises_are_kept_where_ours_is_a_tenth_lower_everywhere():
    assert verdicts(suite()) == [KEPT] * 10
    assert promises_of(suite())[7].numbers == "+11.1%"  # 1 / 0.9
    assert promises_of(suite())[9].numbers == "+100.0%"  # 1 / 0.5


def test_light_tails_may_cost_two_percent_and_no_more():
    a_bit = suite(lambda name: 1.019 if name == "pole" else 0.9)
    assert verdicts(a_bit)[:3] == [KEPT] * 3
    more = suite(lambda name: 1.021 if name == "pole" else 0.9)
    assert verdicts(more)[:6] == [MISSED] * 3 + [KEPT] * 3
    assert "missed on pole +2.1%" in promises_of(more)[0].numbers


def test_heavy_tails_must_gain_everywhere():
    level = suite(lambda name: 1.0 if name == "bike" else 0.9)
    assert verdicts(level)[:6] == [KEPT] * 3 + [MISSED] * 3


def test_others_may_be_ahead_on_two_tables():
    two, three = HEAVY[:2], HEAVY[:3]
    behind = suite(others=lambda name: 0.8 if name in two else 1.2)
    assert verdicts(behind)[6] == KEPT
    assert promises_of(behind)[6].numbers == "behind on lognormal -11.1%, pareto -11.1%"
    lost = suite(others=lambda name: 0.8 if name in three else 1.2)
    assert verdicts(lost)[6] == MISSED


def test_five_percent_are_asked_for_in_the_mean():
    assert verdicts(suite(others=lambda name: 0.94))[7] == MISSED
    assert verdicts(suite(others=lambda name: 0.95))[7] == KEPT


def test_one_network_and_four_are_judged_apart():
    found = verdicts(suite(lambda name: 1.01, of_4=lambda name: 0.9))
    assert found[6:] == [MISSED, MISSED, KEPT, KEPT]


def test_others_are_compared_by_what_all_are_scored_by():
    alike = {"test_CRPS_by_quantiles": 0.5}
    scores = of(
        *(
            shape_records(name, each, [1.0] * 3, **(alike if each in OTHERS else {}))
            for name in (*HEAVY, *LIGHT)
            for each in (UNIFORM_BINS, AUTO, AUTO_OF_4, *OTHERS)
        )
    )
    assert promises_of(scores)[7].numbers == "-50.0%"


def test_nothing_is_decided_before_all_is_run():
    scores = suite()
    part = ShapeScores([each for each in scores.settings if each.run.dataset != "pole"])
    found = promises_of(part)
    assert [each.verdict for each in found] == [
        *[NOT_RUN] * 3,
        *[KEPT] * 3,
        *[NOT_RUN] * 4,
    ]
    assert found[0].numbers == "1 of 5 tables are not finished"
    assert found[6].numbers == "1 of 12 tables are not finished"


def test_nothing_is_decided_by_the_first_seeds():
    scores = of(
        *(
            shape_records(name, each, [1.0, 1.0])
            for name in (*HEAVY, *LIGHT)
            for each in (UNIFORM_BINS, AUTO, AUTO_OF_4, *OTHERS)
        )
    )
    assert verdicts(scores) == [NOT_RUN] * 10


def test_each_promise_names_the_metric_it_is_about():
    texts = [each.part for each in promises_of(suite())]
    assert [text.split(" at most")[0] for text in texts[:3]] == [*COMPARED_METRICS]
    assert [text.split(" lower")[0] for text in texts[3:6]] == [*COMPARED_METRICS]
