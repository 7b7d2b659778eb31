"""Findings against hand-computed and scipy's numbers; evidence of made-up records."""

import math

import numpy as np
import pytest
from scipy import stats

from histreg.study.catalogue import VALUE_GAMES, VALUE_HL
from histreg.study.claims import Evidence, Finding, Verdict, verdict_of
from histreg.study.claims.evidence import (
    ENOUGH,
    in_range,
    lower,
    measured,
    not_higher,
    not_lower,
    not_run,
    on,
    within,
)
from histreg.study.methods import L2, MDN, HLGauss, L2Noise, LinearRegression
from tests.study.made_up import (
    DIRECT,
    forecast_records,
    label_bias_record,
    tabular_records,
    value_records,
)

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN
CHANGED = {"subtracts_last": True}


def by_seed(*values):
    return dict(enumerate(values, start=1))


ONES = by_seed(1.0, 1.0, 1.0, 1.0, 1.0)


def plus(*differences):
    return by_seed(*(1.0 + each for each in differences))


# Differences whose mean and half interval are known: the half is t times the error.
HALF = stats.t.ppf(0.975, 4) / math.sqrt(5)  # of differences with a deviation of 1


def spread(mean, half):
    """Return differences from one with this mean and half interval."""
    shape = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / np.sqrt(2.5)  # deviation 1
    return plus(*(mean + half / HALF * shape))


def test_with_fewer_than_five_seeds_nothing_can_be_decided():
    assert ENOUGH == 5
    four = by_seed(0.1, 0.1, 0.1, 0.1)
    for decide in (
        lower,
        lambda *args: not_lower(*args, 0.1),
        lambda *args: not_higher(*args, 0.1),
        lambda *args: within(*args, 0.1),
    ):
        assert decide("x", four, ONES) == Finding(
            "x", NOT_RUN, "4 of 5 seeds have a finite number"
        )
        assert decide("x", {}, ONES) == Finding("x", NOT_RUN, "")
    assert in_range("x", four, low=0.0) == Finding(
        "x", NOT_RUN, "4 of 5 seeds have a finite number"
    )


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ((-0.1, -0.2, -0.3, -0.1, -0.01), CONFIRMED),
        ((0.1, 0.2, 0.3, 0.1, 0.01), REFUTED),
        ((-9.0, -9.0, -9.0, -9.0, 0.01), UNDECIDED),  # 2 of 32 are as low
        ((0.0, 0.0, 0.0, 0.0, 0.0), UNDECIDED),
    ],
)
def test_lower_asks_all_five_seeds(differences, expected):
    assert lower("x", plus(*differences), ONES).verdict is expected


def test_the_numbers_are_told():
    found = lower("x", plus(-0.1, -0.2, -0.3, -0.4, -0.5), ONES)
    low, high = stats.t.interval(0.95, 4, -0.3, math.sqrt(0.025 / 5))
    assert found.numbers == (
        f"0.7 against 1, difference -0.3 [{low:+.3g}, {high:+.3g}], p 0.031"
    )


@pytest.mark.parametrize(
    ("mean", "half", "expected"),
    [
        (0.0, 0.09, CONFIRMED),
        (0.0, 0.11, UNDECIDED),
        (5.0, 0.5, CONFIRMED),  # higher is not lower
        (-0.05, 0.04, CONFIRMED),  # lower, but by less than the margin
        (-0.11, 0.05, REFUTED),  # lower in all, by more in the mean
        (-0.08, 0.05, UNDECIDED),  # lower in all, by less in the mean
        (-0.11, 0.5, UNDECIDED),  # by more in the mean, but not in all
    ],
)
def test_not_lower_has_a_margin(mean, half, expected):
    assert not_lower("x", spread(mean, half), ONES, 0.1).verdict is expected
    # The other way up it is not higher.
    assert not_higher("x", spread(-mean, half), ONES, 0.1).verdict is expected


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(
    ("mean", "half", "expected"),
    [
        (0.0, 0.09, CONFIRMED),
        (0.05, 0.049, CONFIRMED),
        (0.05, 0.051, UNDECIDED),
        (0.15, 0.051, UNDECIDED),
        (0.15, 0.049, REFUTED),
    ],
)
def test_within_asks_the_whole_interval(sign, mean, half, expected):
    assert within("x", spread(sign * mean, half), ONES, 0.1).verdict is expected


@pytest.mark.parametrize("decide", [not_lower, within])
def test_a_margin_is_a_share_of_the_second(decide):
    ten_times = {seed: 10.0 for seed in ONES}
    nine_times = {seed: 9.05 for seed in ONES}
    assert decide("x", nine_times, ten_times, 0.1).verdict is CONFIRMED
    assert decide("x", nine_times, ten_times, 0.09).verdict is REFUTED


@pytest.mark.parametrize(
    ("mean", "half", "expected"),
    [
        (1.0, 0.19, CONFIRMED),
        (1.0, 0.21, UNDECIDED),
        (1.5, 0.29, REFUTED),
        (0.5, 0.29, REFUTED),
        (0.5, 0.31, UNDECIDED),
    ],
)
def test_in_range_asks_the_whole_interval(mean, half, expected):
    values = spread(mean - 1, half)
    assert in_range("x", values, low=0.8, high=1.2).verdict is expected


def test_a_range_may_be_open():
    values = spread(0.0, 0.1)
    assert in_range("x", values, low=0.8).verdict is CONFIRMED
    assert in_range("x", values, high=0.8).verdict is REFUTED
    assert in_range("x", values, high=0.8).numbers == "1 [0.9, 1.1]"


def test_what_has_no_chance_in_it_holds_or_not():
    assert measured("x", holds=True, numbers="1") == Finding("x", CONFIRMED, "1")
    assert measured("x", holds=False, numbers="1") == Finding("x", REFUTED, "1")


def test_what_cannot_be_told_says_why():
    assert not_run("x", "because") == Finding("x", NOT_RUN, "because")
    assert not_run("x") == Finding("x", NOT_RUN, "")


def test_a_finding_on_a_data_set_begins_with_its_title():
    assert on("ct", not_run("x")) == Finding("CT Position: x", NOT_RUN, "", "ct")


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


def test_parts_of_a_data_set_go_by_the_name_of_the_whole():
    evidence = Evidence([], ("ct", "song", "song-7000", "pole"))
    assert evidence.among("song", "pole") == ("song", "song-7000", "pole")
    assert evidence.among("bike") == ()


def test_values_are_those_of_the_protocol_and_its_changes():
    records = [
        *tabular_records("pole", L2(), [1.0, 2.0], train_MAE=[0.1, 0.2]),
        *tabular_records("pole", L2(), [3.0], changes={"corrupted": 0.5}),
        *tabular_records("pole", HLGauss(), [4.0]),
        *tabular_records("bike", L2(), [5.0]),
        *tabular_records("pole", L2(), [6.0], part="validation"),
    ]
    evidence = Evidence(records)
    assert evidence.values("pole", L2()) == {1: 1.0, 2: 2.0}
    assert evidence.values("pole", L2(), "train MAE") == {1: 0.1, 2: 0.2}
    assert evidence.values("pole", L2(), corrupted=0.5) == {1: 3.0}
    assert evidence.values("pole", L2(), corrupted=0.4) == {}
    assert evidence.values("pole", L2(), corrupted=0.0) == {1: 1.0, 2: 2.0}


def test_records_of_other_epochs_do_not_count():
    usual = tabular_records("pole", L2(), [1.0])
    fewer = tabular_records("pole", L2(), [9.0], changes={"epochs": 3})
    linear = tabular_records("pole", LinearRegression(), [7.0])
    assert Evidence(fewer).values("pole", L2()) == {}
    assert Evidence(usual + fewer).values("pole", L2()) == {1: 1.0}
    reduced = Evidence(usual + fewer + linear, epochs=3)
    assert reduced.values("pole", L2()) == {1: 9.0}
    # What has no epochs has none in a reduced study either.
    assert reduced.values("pole", LinearRegression()) == {1: 7.0}


def test_diverged_seeds_have_no_values():
    records = tabular_records("pole", L2(), [1.0, 2.0, 3.0], diverged=[2])
    assert Evidence(records).values("pole", L2()) == {1: 1.0, 3: 3.0}
    of = {"of": lambda record: record.outcome.metrics["test MAE"] + 1}
    assert Evidence(records).summaries("pole", L2(), **of) == {1: 2.0, 3: 4.0}
    assert Evidence(records).summaries("bike", L2(), **of) == {}


def of_mdn(n_components, level, **options):
    return tabular_records("pole", MDN(n_components), [level] * 5, **options)


GRID_OF_MDN = [
    each
    for n, test, validation in (
        (2, 5.0, 1.0),
        (4, 3.0, 2.0),
        (8, 1.0, 3.0),
        (16, 1.0, 3.0),
        (32, 1.0, 3.0),
    )
    for each in of_mdn(n, test) + of_mdn(n, validation, part="validation")
]


def test_a_tuned_method_is_chosen_on_validation_rows():
    records = GRID_OF_MDN + tabular_records("pole", L2Noise(0.1), [0.1] * 5)
    chosen = dict.fromkeys(range(1, 6), 5.0)
    assert Evidence(records).chosen("pole", "MDN") == chosen
    assert Evidence(records).chosen("bike", "MDN") == {}
    # Better validation rows of a run that is no part of the protocol choose nothing.
    for part in ("test", "validation"):
        records += of_mdn(4, 0.0, part=part, changes={"learning_rate": 0.01})
    assert Evidence(records).chosen("pole", "MDN") == chosen
    assert Evidence(records, epochs=3).chosen("pole", "MDN") == {}


@pytest.mark.parametrize("missing", [MDN(2), MDN(32)])
def test_of_an_unfinished_grid_nothing_is_chosen(missing):
    def is_missing(run):
        return (run.method, run.part, run.seed) == (missing, "validation", 5)

    records = [each for each in GRID_OF_MDN if not is_missing(each.run)]
    assert len(records) == len(GRID_OF_MDN) - 1
    assert Evidence(records).chosen("pole", "MDN") == {}


def test_a_measurement_is_found_by_what_and_on_what():
    record = label_bias_record("pole", [1.0], [2.0])
    evidence = Evidence([*tabular_records("pole", L2(), [1.0]), record])
    assert evidence.measurement("label-bias", "pole") is record
    assert evidence.measurement("label-bias", "ct") is None
    assert evidence.measurement("targets", "pole") is None


def test_what_is_significantly_above_is_not_below_however_wide_the_interval():
    above = by_seed(1.01, 1.01, 1.01, 1.01, 4.0)  # the interval reaches below -0.02
    below = by_seed(0.99, 0.99, 0.99, 0.99, -2.0)
    assert not_lower("x", above, ONES, 0.02).verdict is CONFIRMED
    assert not_higher("x", below, ONES, 0.02).verdict is CONFIRMED
    four = by_seed(1.01, 1.01, 1.01, 0.999, 4.0)
    assert not_lower("x", four, ONES, 0.02).verdict is UNDECIDED


def test_a_refutation_tells_the_p_of_the_opposite():
    above = by_seed(2.0, 2.0, 2.0, 2.0, 2.0)
    assert lower("x", above, ONES).numbers.endswith("p of the opposite 0.031")
    assert lower("x", ONES, above).numbers.endswith(", p 0.031")


def test_series_are_looked_at_unless_other_data_sets_are_asked_for():
    everything = Evidence([])
    assert everything.series == ("ETTh1", "ETTh2", "ETTm1", "ETTm2")
    assert everything.tabular == ("ct", "song", "bike", "pole")
    some = Evidence([], ("ETTm1", "pole", "ETTh2"))
    assert some.series == ("ETTm1", "ETTh2")
    assert some.tabular == ("pole",)
    assert Evidence([], ("bike",)).series == ()


def test_games_are_those_of_the_catalogue_unless_data_sets_are_asked_for():
    assert Evidence([]).games == VALUE_GAMES
    some = Evidence([], ("Pong", "pole", "ETTh1", "Alien"))
    assert (some.games, some.series, some.tabular) == (
        ("Pong", "Alien"),
        ("ETTh1",),
        ("pole",),
    )
    assert Evidence([], ("bike",)).games == ()


def test_losses_on_a_game_are_those_of_the_protocol_or_of_the_epochs_asked_for():
    records = [
        *value_records("Pong", L2(), [0.1, 0.2, 0.3], diverged=[2]),
        *value_records("Pong", L2(), [0.4], target="textbook"),
        *value_records("Pong", L2(), [0.5], epochs=3),
        *value_records("Pong", VALUE_HL, [0.6, 0.7, 0.8]),
        *value_records("Pong", VALUE_HL, [0.9], epochs=3),
        *value_records("Alien", L2(), [0.1]),
    ]
    usual, longer = Evidence(records), Evidence(records, epochs=3)
    pair = usual.value_pair("Pong")
    assert pair.errors("test MAE") == {1: (0.1, 0.6), 3: (0.3, 0.8)}
    assert longer.value_pair("Pong").errors("test MAE") == {1: (0.5, 0.9)}
    assert usual.value_pair("Alien") is None is usual.value_pair("Qbert")


def test_a_forecaster_is_found_by_its_own_protocol():
    records = [
        *forecast_records("ETTh1", "GRU", L2(), [1.0, 9.0, 3.0], diverged=[2]),
        *forecast_records("ETTh1", "GRU", L2(), [4.0], changes={"epochs": 2}),
        *forecast_records("ETTh1", "GRU", L2(), [5.0], changes=CHANGED),
        *forecast_records("ETTh1", "GRU", L2(), [5.5], changes=DIRECT),
        *forecast_records("ETTh1", "GRU", L2(), [5.7], changes={"head": "dense"}),
        *forecast_records("ETTh1", "GRU", HLGauss(2.0), [6.0]),
        *forecast_records("ETTh2", "GRU", L2(), [7.0], own={"test MAE": [8.0]}),
    ]
    usual = Evidence(records)
    assert usual.forecasts("ETTh1", "GRU", L2(), "test MSE") == {1: 1.0, 3: 3.0}
    assert usual.forecasts("ETTh1", "LSTM", L2(), "test MSE") == {}
    assert usual.forecasts("ETTh2", "GRU", L2(), "test MAE") == {1: 8.0}
    reduced = Evidence(records, epochs=2)
    assert reduced.forecasts("ETTh1", "GRU", L2(), "test MSE") == {1: 4.0}
