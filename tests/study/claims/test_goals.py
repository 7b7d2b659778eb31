"""The goals: met, missed, or not judged, by numbers made by hand."""

import pytest

from histreg.study.analysis.peer_scores import PeerScores
from histreg.study.claims.findings import Verdict
from histreg.study.claims.goals import goals_of
from histreg.study.datasets import FRAMES
from histreg.study.tables.peers import OURS, PEERS
from tests.study.made_up import table_records


def records_of(method, crps=1.0, tables=FRAMES, **others):
    return [
        record
        for table in tables
        for record in table_records(table, method, [crps], **others)
    ]


def goals(*records):
    scores = PeerScores.of([record for some in records for record in some])
    return {goal.part: goal for goal in goals_of(scores)}


def named(found, start):
    (goal,) = (goal for part, goal in found.items() if part.startswith(start))
    return goal


def test_without_peers_only_our_own_numbers_are_judged():
    found = goals(records_of(OURS, fit_seconds=3.0))
    judged = {part for part, goal in found.items() if goal.verdict != Verdict.NOT_RUN}
    assert judged == {
        "90 % intervals hold 0.86 to 0.94 on every table of 1,000 rows and more",
        "fit in at most 10 s on every table below 1,000 rows",
    }


@pytest.mark.parametrize(
    ("crps", "verdict"), [(0.91, Verdict.CONFIRMED), (0.93, Verdict.REFUTED)]
)
def test_a_mean_ratio_is_judged_if_all_tables_have_it(crps, verdict):
    found = goals(records_of(OURS, crps), records_of("CatBoost", 1.0))
    goal = named(found, "CRPS at most 0.92 of CatBoost's")
    assert goal.verdict == verdict and f"{crps:.3f}" in goal.numbers
    few = goals(records_of(OURS, crps), records_of("CatBoost", tables=["wage", "slid"]))
    goal = named(few, "CRPS at most 0.92 of CatBoost's")
    assert goal.verdict == Verdict.NOT_RUN
    assert f"so far {crps:.3f}" in goal.numbers and "2 of 30 tables" in goal.numbers


@pytest.mark.parametrize(
    ("held", "verdict"),
    [(0.87, Verdict.REFUTED), (0.9, Verdict.CONFIRMED), (0.93, Verdict.REFUTED)],
)
def test_calibrated_intervals_are_judged_in_the_mean_over_tables(held, verdict):
    calibrated = {"test_calibrated_coverage_0.9": held}
    goal = named(goals(records_of(OURS, **calibrated)), "calibrated 90 % intervals")
    assert goal.verdict == verdict and f"{held:.3f}" in goal.numbers
    few = goals(records_of(OURS, tables=["wage"], **calibrated))
    assert named(few, "calibrated 90 % intervals").verdict == Verdict.NOT_RUN


def test_errors_of_the_mean_are_no_higher_than_those_of_three():
    found = goals(records_of(OURS, 1.0), records_of("TabM", 1.0), records_of("RealMLP"))
    assert named(found, "MAE no higher than TabM's").verdict == Verdict.CONFIRMED
    assert named(found, "RMSE no higher than RealMLP's").verdict == Verdict.CONFIRMED
    assert named(found, "RMSE no higher than CatBoost's").verdict == Verdict.NOT_RUN


def test_the_best_of_all_needs_all_peers():
    peers = [name for name in PEERS if name not in (OURS, "constant")]
    rest = [table for table in FRAMES if table != "wage"]
    all_peers = [record for name in peers for record in records_of(name, 1.0)]
    ours = [*records_of(OURS, 0.9, rest), *table_records("wage", OURS, [1.04])]
    found = goals(ours, all_peers)
    best = named(found, "lowest CRPS of all")
    assert best.verdict == Verdict.CONFIRMED and best.numbers == "29 of 30 tables"
    behind = named(found, "CRPS nowhere more than 3%")
    assert behind.verdict == Verdict.REFUTED and "wage +4.0%" in behind.numbers
    found = goals(ours, records_of("CatBoost", 1.0))
    best = named(found, "lowest CRPS of all")
    assert best.verdict == Verdict.NOT_RUN
    assert "so far 29 of 30" in best.numbers and "TabM" in best.numbers


def test_a_goal_for_every_table_is_missed_with_the_first_that_misses_it():
    few = ["wage", "yacht"]
    found = goals(
        records_of(OURS, 1.04, few, fit_seconds=3.0, **{"test coverage 0.9": 0.99}),
        records_of("RealMLP", 1.0, few, fit_seconds=5.0),
    )
    for start, number in (
        ("CRPS nowhere more than 3%", "+4.0% (RealMLP); not all tables have"),
        ("90 % intervals", "wage 0.990; 1 of 19 tables were run"),
        ("fit at most 0.5 times RealMLP's", "0.600; 2 of 30 tables were run"),
    ):
        goal = named(found, start)
        assert goal.verdict == Verdict.REFUTED and number in goal.numbers
    assert named(found, "CRPS at most 0.92 of RealMLP's").verdict == Verdict.NOT_RUN


def test_coverage_is_judged_on_tables_of_a_thousand_rows_and_more():
    rest = [table for table in FRAMES if table not in ("wage", "yacht")]
    small = table_records("yacht", OURS, [1.0], **{"test coverage 0.9": 0.5})
    large = table_records("wage", OURS, [1.0], **{"test coverage 0.9": 0.95})
    found = goals(
        records_of(OURS, tables=rest), small, table_records("wage", OURS, [1])
    )
    assert named(found, "90 % intervals").verdict == Verdict.CONFIRMED
    found = goals(records_of(OURS, tables=rest), small, large)
    goal = named(found, "90 % intervals")
    assert goal.verdict == Verdict.REFUTED and "wage 0.950" in goal.numbers


def test_times_are_the_median_over_catboost_and_the_largest_over_realmlp():
    found = goals(
        records_of(OURS, fit_seconds=4.0),
        records_of("CatBoost", fit_seconds=1.0),
        records_of(
            "RealMLP", tables=[t for t in FRAMES if t != "gas"], fit_seconds=9.0
        ),
        table_records("gas", "RealMLP", [1.0], fit_seconds=5.0),
    )
    catboost = named(found, "fit at most 5 times CatBoost's")
    assert catboost.verdict == Verdict.CONFIRMED and "4.000" in catboost.numbers
    realmlp = named(found, "fit at most 0.5 times RealMLP's")
    assert realmlp.verdict == Verdict.REFUTED and "gas, 0.800" in realmlp.numbers
    slow = goals(records_of(OURS, fit_seconds=11.0))
    assert named(slow, "fit in at most 10 s").verdict == Verdict.REFUTED
