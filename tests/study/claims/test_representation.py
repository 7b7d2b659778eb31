"""K19 to K24 on made-up records."""

import pytest

from histreg.study.claims import Verdict
from histreg.study.methods import (
    L2,
    HLGauss,
    L1SoftmaxMean,
    L2Moments,
    L2MultiTask,
    L2SoftmaxMean,
)
from tests.study.claims.made_up import found, scattered, scene, verdict

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN

FROZEN = {"has_frozen_body": True}
BODIES = {
    "l2": (L2(), {}, 2.0),
    "l2_fixed": (L2(), {"donor": HLGauss(), **FROZEN}, 4.0),
    "l2_initialized": (L2(), {"donor": HLGauss()}, 2.0),
    "l2_random": (L2(), FROZEN, 9.0),
    "hl": (HLGauss(), {}, 1.0),
    "hl_fixed": (HLGauss(), {"donor": L2(), **FROZEN}, 1.5),
    "hl_initialized": (HLGauss(), {"donor": L2()}, 1.0),
    "hl_random": (HLGauss(), FROZEN, 5.0),
    "l2_softmax_random": (L2SoftmaxMean(), FROZEN, 6.0),
    "l1_softmax_random": (L1SoftmaxMean(), FROZEN, 6.0),
}
AUXILIARY = (
    {"l2": (L2(), {}, 2.0), "hl": (HLGauss(), {}, 1.0)}
    | {
        f"weight_{weight:g}": (L2MultiTask(weight), {}, 2.0)
        for weight in (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
    }
    | {f"moments_{n}": (L2Moments(n), {}, 1.9) for n in (2, 3, 4, 6, 8)}
)


@pytest.mark.parametrize(
    ("claim", "levels", "expected"),
    [
        ("K19", {}, CONFIRMED),
        ("K19", {"l2_fixed": 1.8}, REFUTED),
        ("K19", {"l2_fixed": scattered(2.0)}, UNDECIDED),
        ("K19", {"l2_fixed": None}, NOT_RUN),
        ("K20", {}, CONFIRMED),
        ("K20", {"l2_initialized": 3.0}, CONFIRMED),  # it may hurt
        ("K20", {"l2_initialized": 1.94}, CONFIRMED),  # or help a little
        ("K20", {"l2_initialized": 1.8}, REFUTED),
        ("K20", {"l2_initialized": scattered(2.0)}, UNDECIDED),
        ("K20", {"l2_initialized": None}, NOT_RUN),
        ("K21", {}, CONFIRMED),
        ("K21", {"hl_random": 10.0}, REFUTED),
        ("K21", {"hl_random": scattered(9.0)}, UNDECIDED),
        ("K21", {"l2_random": None}, NOT_RUN),
        ("K21", {"l2_softmax_random": 1.0}, CONFIRMED),
        ("K21b", {}, CONFIRMED),
        ("K21b", {"l2_softmax_random": 4.0}, REFUTED),
        ("K21b", {"l1_softmax_random": 4.0}, REFUTED),
        ("K21b", {"l1_softmax_random": scattered(5.0)}, UNDECIDED),
        ("K21b", {"l1_softmax_random": None}, NOT_RUN),
        ("K22", {}, CONFIRMED),
        ("K22", {"hl": 2.2}, REFUTED),
        ("K22", {"hl_fixed": 4.4}, REFUTED),
        ("K22", {"hl_fixed": 3.0}, CONFIRMED),  # above l2's own, but not l2's fixed
        ("K22", {"hl_initialized": 2.2}, REFUTED),
        ("K22", {"hl_random": 10.0}, REFUTED),
        ("K22", {"hl_random": scattered(9.0)}, UNDECIDED),
        ("K22", {"hl_initialized": None}, NOT_RUN),
    ],
)
def test_bodies(claim, levels, expected):
    assert verdict(claim, scene(BODIES, **levels)) is expected


@pytest.mark.parametrize(
    ("claim", "levels", "expected"),
    [
        ("K23", {}, CONFIRMED),
        ("K23", {"weight_0": 0.9}, REFUTED),
        ("K23", {"weight_100": 0.9}, REFUTED),
        ("K23", {"weight_0.1": 1.8}, REFUTED),  # it helps
        ("K23", {"weight_0.01": 1.8}, REFUTED),
        ("K23", {"l2": 9.0}, CONFIRMED),  # it is weight 0 that they are compared with
        ("K23", {"weight_0.1": 1.99}, CONFIRMED),  # by less than the margin
        ("K23", {"weight_10": 9.0}, CONFIRMED),
        ("K23", {"weight_10": scattered(2.0)}, UNDECIDED),
        ("K23", {"weight_1": None}, NOT_RUN),
        ("K24", {}, CONFIRMED),
        ("K24", {"l2": 0.9}, REFUTED),
        ("K24", {"moments_8": 0.9}, REFUTED),
        ("K24", {"moments_4": 2.2}, CONFIRMED),  # of which CT alone is said
        ("K24", {"moments_6": scattered(1.0)}, UNDECIDED),
        ("K24", {"moments_6": None}, NOT_RUN),
    ],
)
def test_auxiliary_tasks(claim, levels, expected):
    assert verdict(claim, scene(AUXILIARY, **levels)) is expected


@pytest.mark.parametrize(
    ("four", "expected"),
    [
        (1.9, CONFIRMED),
        (2.2, REFUTED),
        (scattered(2.0), UNDECIDED),
        (None, NOT_RUN),
    ],
)
def test_k24_says_that_four_moments_help_on_ct(four, expected):
    told = found("K24", scene(AUXILIARY, "ct", moments_4=four), "ct")
    part = "CT Position: l2 of 4 moments below l2 of 1 moment"
    assert told[part].verdict is expected
