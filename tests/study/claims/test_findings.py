"""Findings: what decides a part of a claim, by numbers made by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from histreg.study.claims import (
    Finding,
    Verdict,
)
from histreg.study.claims.findings import (
    ENOUGH,
    in_range,
    lower,
    measured,
    not_higher,
    not_lower,
    not_run,
    on_dataset,
    on_some,
    within,
)

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN


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
    ("mean", "half", "expected"),
    [
        (-0.3, 0.29, CONFIRMED),
        (-0.3, 0.31, UNDECIDED),
        (0.3, 0.29, REFUTED),
        (0.3, 0.31, UNDECIDED),
        (0.0, 0.0, UNDECIDED),
    ],
)
def test_lower_asks_the_whole_interval(mean, half, expected):
    assert lower("x", spread(mean, half), ONES).verdict is expected


def test_an_interval_that_crosses_zero_decides_nothing_though_all_seeds_agree():
    differences = (-0.01, -0.01, -0.01, -0.01, -0.5)
    low, high = stats.t.interval(0.95, 4, *mean_se(differences))
    assert low < 0 < high
    assert lower("x", plus(*differences), ONES).verdict is UNDECIDED
    assert lower("x", ONES, plus(*differences)).verdict is UNDECIDED


def mean_se(values):
    return np.mean(values), stats.sem(values)


def test_the_numbers_and_what_was_claimed_of_them_are_told():
    found = lower("x", plus(-0.1, -0.2, -0.3, -0.4, -0.5), ONES)
    low, high = stats.t.interval(0.95, 4, -0.3, math.sqrt(0.025 / 5))
    assert found.numbers == (
        f"0.7 against 1, difference -0.3 [{low:.3g}, {high:.3g}], claimed below 0"
    )
    for decide, words in (
        (not_lower, "claimed above -0.1"),
        (not_higher, "claimed below 0.1"),
        (within, "claimed from -0.1 to 0.1"),
    ):
        assert decide("x", ONES, ONES, 0.1).numbers.endswith(words)


@pytest.mark.parametrize(
    ("mean", "half", "expected"),
    [
        (0.0, 0.09, CONFIRMED),
        (0.0, 0.11, UNDECIDED),
        (5.0, 0.5, CONFIRMED),  # higher is not lower
        (-0.05, 0.04, CONFIRMED),  # lower, but by less than the margin
        (-0.16, 0.05, REFUTED),  # lower by more, with all of the interval
        (-0.11, 0.05, UNDECIDED),  # lower by more in the mean
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
    assert in_range("x", values, high=0.8).numbers == "1 [0.9, 1.1], claimed below 0.8"


def test_what_has_no_chance_in_it_holds_or_not():
    assert measured("x", holds=True, numbers="1") == Finding("x", CONFIRMED, "1")
    assert measured("x", holds=False, numbers="1") == Finding("x", REFUTED, "1")


def test_what_cannot_be_told_says_why():
    assert not_run("x", "because") == Finding("x", NOT_RUN, "because")
    assert not_run("x") == Finding("x", NOT_RUN, "")


def test_a_finding_on_a_data_set_begins_with_its_title():
    assert on_dataset("ct", not_run("x")) == Finding(
        "CT Position: x", NOT_RUN, "", ("ct",)
    )


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((CONFIRMED, REFUTED), CONFIRMED),
        ((CONFIRMED, NOT_RUN), CONFIRMED),
        ((UNDECIDED, REFUTED), UNDECIDED),
        ((REFUTED, REFUTED), REFUTED),
        ((REFUTED, NOT_RUN), REFUTED),
        ((NOT_RUN, NOT_RUN), NOT_RUN),
    ],
)
def test_for_some_data_set_one_is_enough(verdicts, expected):
    findings = [
        Finding("a below b", verdict, "" if verdict is NOT_RUN else "1", (name,))
        for verdict, name in zip(verdicts, ("pole", "bike"), strict=True)
    ]
    found = on_some("x", findings)
    assert found.verdict is expected
    assert found.on == ("pole", "bike")
    assert ("Pole" in found.numbers) == (verdicts[0] is not NOT_RUN)
    assert ("Bike" in found.numbers) == (verdicts[1] is not NOT_RUN)
