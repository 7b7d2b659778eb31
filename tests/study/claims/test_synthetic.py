"""K1 to K4 on made-up sines."""

from dataclasses import replace

import pytest

from histreg.study.claims import Verdict
from tests.study.claims.made_up import found, scattered, sine_scene, verdict
from tests.study.made_up import record_of

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN


def l2(alpha, beta=0.0):
    return ("l2", alpha, beta, 1.0)


def near(alpha):
    return ("HL-Gauss", alpha, 0.0, 1.5)


def far(beta):
    return ("HL-Gauss", 10.0, beta, 11.5)


AREAS = {
    l2(1.0): 0.1,
    l2(10.0): 0.4,
    l2(20.0): 0.5,
    l2(10.0, 1.0): 0.6,
    l2(10.0, 10.0): 0.9,
    near(1.0): 0.01,
    near(10.0): 0.1,
    near(20.0): 0.2,
    far(0.0): 0.1,
    far(1.0): 0.09,
    far(10.0): 0.11,
}
FINALS = {near(10.0): 0.005, l2(10.0): 0.1}


@pytest.mark.parametrize(
    ("claim", "areas", "expected"),
    [
        ("K1", {}, CONFIRMED),
        ("K1", {near(20.0): 0.05}, REFUTED),
        ("K1", {l2(1.0): 0.45}, REFUTED),
        ("K1", {l2(20.0): scattered(0.4)}, UNDECIDED),
        ("K1", {l2(20.0): None}, NOT_RUN),
        ("K2", {}, CONFIRMED),
        ("K2", {near(10.0): 0.45}, REFUTED),
        ("K2", {near(20.0): scattered(0.5)}, UNDECIDED),
        ("K2", {near(20.0): None}, NOT_RUN),
        ("K2", {near(1.0): 9.0}, CONFIRMED),  # of which nothing is said
        ("K3", {}, CONFIRMED),
        ("K3", {l2(10.0, 1.0): 0.3}, REFUTED),
        ("K3", {far(10.0): 0.13}, REFUTED),
        ("K3", {far(1.0): 0.07}, CONFIRMED),  # faster is not slower
        ("K3", {far(10.0): scattered(0.1)}, UNDECIDED),
        ("K3", {l2(10.0, 10.0): scattered(0.6)}, UNDECIDED),
        ("K3", {far(0.0): None}, NOT_RUN),
        ("K3", {near(10.0): 9.0}, CONFIRMED),  # other bins
    ],
)
def test_areas_decide(claim, areas, expected):
    changed = {k: v for k, v in (AREAS | areas).items() if v is not None}
    assert verdict(claim, sine_scene(changed)) is expected


@pytest.mark.parametrize(
    ("finals", "expected"),
    [
        ({}, CONFIRMED),
        ({near(10.0): 0.02}, REFUTED),
        ({l2(10.0): 0.04}, REFUTED),
        ({near(10.0): scattered(0.0099)}, UNDECIDED),
        ({l2(10.0): scattered(0.05)}, UNDECIDED),
    ],
)
def test_k4_is_about_the_last_error(finals, expected):
    assert verdict("K4", sine_scene(AREAS, FINALS | finals)) is expected


def test_k4_needs_both_losses():
    one = {key: area for key, area in AREAS.items() if key != l2(10.0)}
    assert verdict("K4", sine_scene(one, FINALS)) is NOT_RUN


@pytest.mark.parametrize("claim", ["K1", "K2", "K3", "K4"])
def test_nothing_is_decided_while_a_run_could_be_the_best(claim):
    records = sine_scene(AREAS, FINALS)
    assert verdict(claim, records) is CONFIRMED
    # One seed, of a rate that is not the best, on the target that all claims need.
    short = [
        each
        for each in records
        if not (
            each.run.alpha == 10.0
            and each.run.beta == 0.0
            and each.run.learning_rate == 1e-5
            and each.run.seed == 3
        )
    ]
    assert len(short) == len(records) - 3  # l2, and HL-Gauss on both supports
    assert verdict(claim, short) is NOT_RUN


@pytest.mark.parametrize("claim", ["K1", "K2", "K3", "K4"])
@pytest.mark.parametrize("smaller", [{"hidden": (128, 128)}, {"iterations": 301}])
def test_smaller_sines_are_no_evidence(claim, smaller):
    reduced = [
        record_of(
            replace(each.run, **smaller), each.outcome.metrics, each.outcome.curves
        )
        for each in sine_scene(AREAS, FINALS)
    ]
    assert verdict(claim, reduced) is NOT_RUN
    assert not any(each.numbers for each in found(claim, reduced).values())


def test_a_rate_at_which_a_seed_diverged_is_not_the_best():
    records = [
        record_of(each.run, {}, {"MSE": [1.0]}, diverged_at=3)
        if each.run.learning_rate == 1e-1
        else each
        for each in sine_scene(AREAS)
    ]
    assert verdict("K1", records) is CONFIRMED
