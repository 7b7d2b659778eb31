"""Estimates of times: by hand, and for every stored stack from the other records."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from histreg.study.engine.runs import Outcome, Record
from histreg.study.engine.times import Times
from histreg.study.methods import L1, L2, HLGauss
from histreg.study.series.runs import ForecastRun
from histreg.study.tabular.runs import TabularRun
from tests.study.descriptions import run_of

KEPT = Path(__file__).parents[3] / "results" / "study"
POLE = TabularRun.of("pole", L2(), 1)


def record(run, ratio, stack_size=1, diverged_at=None):
    """Return a record of a run that took so many times what it is expected to."""
    outcome = Outcome(diverged_at=diverged_at)
    where = {"stack_size": stack_size}
    return Record(run, outcome, where, ratio * run.expected_s, "")


def ratio(times, *stack):
    return times.of_stack(stack) / sum(run.expected_s for run in stack)


def test_without_records_the_rough_estimate_is_left_as_it_is():
    times = Times([])
    assert times.n_records == 0
    assert times.of_stack([POLE, POLE]) == 2 * POLE.expected_s
    assert times.of_stacks([[POLE], [POLE]]) == 2 * POLE.expected_s


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (POLE, 2.0),  # the median of three
        (replace(POLE, method=L1()), 9.0),  # its own
        # As of all on Pole by the same procedure: the median of 1, 2, 5 and 9.
        (replace(POLE, method=HLGauss()), 3.5),
        # Another network has no record: all networks, 1, 2, 4, 5, 9.
        (replace(POLE, hidden=(7,)), 4.0),
        (TabularRun.of("ct", L2(), 1), 4.0),
        # The same network on another table: song-7000 stands for Song Year.
        (TabularRun.of("song", L2(), 1), 4.0),
        # Of another kind.
        (ForecastRun("ETTh1", "Linear", L2(), 1), 1.0),
    ],
    ids=lambda part: getattr(part, "label", None),
)
def test_the_nearest_records_decide(run, expected):
    times = Times(
        [
            *(record(replace(POLE, seed=i), i) for i in (1, 2, 5)),
            record(replace(POLE, method=L1()), 9.0),
            record(TabularRun.of("song-7000", L2(), 1), 4.0),
        ]
    )
    assert times.n_records == 5
    assert ratio(times, run) == pytest.approx(expected)


def test_the_size_of_the_stack_decides_among_records_of_one_kind():
    times = Times([record(POLE, 6.0), record(replace(POLE, seed=2), 1.0, 2)])
    assert ratio(times, POLE) == pytest.approx(6)
    assert ratio(times, POLE, POLE) == pytest.approx(1)
    assert ratio(times, POLE, POLE, POLE) == pytest.approx(3.5)


def test_runs_that_ended_early_or_took_no_time_do_not_count():
    short = replace(POLE, epochs=1)
    assert short.expected_s < 1
    records = [record(POLE, 5.0, diverged_at=3), record(POLE, 0.0), record(short, 5.0)]
    assert Times(records).n_records == 0


def stored_stacks():
    """Return the records that are kept, grouped as they were computed."""
    stacks = defaultdict(dict)
    for path in sorted(KEPT.glob("*.jsonl")):
        if path.stem in ("tables", "tables-last"):
            continue  # each method once on each table: no record is near another
        for line in path.read_text().splitlines():
            kept = json.loads(line)
            run = run_of(kept["run"])
            place = (repr(run.stack_key), kept["finished"])
            stacks[place][run.key] = Record.from_json(kept, run)
    return [list(stack.values()) for stack in stacks.values()]


N_FOLDS = 10


def test_most_stored_stacks_took_what_other_records_say_within_a_factor_of_two():
    stacks = [s for s in stored_stacks() if sum(r.elapsed_s for r in s) >= 1]
    ratios = defaultdict(list)
    for fold in range(N_FOLDS):
        times = Times(
            stored
            for i, stack in enumerate(stacks)
            for stored in stack
            if i % N_FOLDS != fold
        )
        for stack in stacks[fold::N_FOLDS]:
            took_s = sum(stored.elapsed_s for stored in stack)
            expected_s = times.of_stack([stored.run for stored in stack])
            ratios[stack[0].run.facet("dataset")].append(took_s / expected_s)
    every = [ratio for of in ratios.values() for ratio in of]
    assert len(every) > 1300
    # Measured: 95 %, and 98 % on CT Position, also with one stack left out at a time.
    # One ratio for all records of an experiment has 90 %. With constants from times on
    # an idle machine it was 74 %, and 2 % on CT, which took three times as long.
    assert share_within(2, every) > 0.9
    assert share_within(2, ratios["ct"]) > 0.95


def share_within(factor, ratios):
    return sum(1 / factor <= ratio <= factor for ratio in ratios) / len(ratios)
