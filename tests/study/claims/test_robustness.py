"""K29 and K30 on made-up records."""

import pytest

from histreg.study.claims import Verdict
from histreg.study.methods import L1, L2, HLGauss, HLOneBin
from tests.study.claims.made_up import scattered, scene, verdict

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN

HALF, PROBED = {"corrupted": 0.5}, {"probes": ("sensitivity",)}
# HL-OneBin is the worst before and, with l2, after: what counts is the rise.
CORRUPTION = {
    "l2": (L2(), {}, 3.0),
    "l2_half": (L2(), HALF, 9.0),
    "l1": (L1(), {}, 2.0),
    "l1_half": (L1(), HALF, 3.0),
    "one_bin": (HLOneBin(), {}, 6.0),
    "one_bin_half": (HLOneBin(), HALF, 9.0),
    "gauss": (HLGauss(), {}, 1.0),
    "gauss_half": (HLGauss(), HALF, 4.0),
}
SENSITIVITY = {
    "l2": (L2(), PROBED, {"test_MAE": 2.0, "test_sensitivity": 9.0}),
    "l1": (L1(), PROBED, {"test_MAE": 2.0, "test_sensitivity": 8.0}),
    "one_bin": (HLOneBin(), PROBED, {"test_MAE": 3.0, "test_sensitivity": 5.0}),
    "gauss": (HLGauss(), PROBED, {"test_MAE": 1.0, "test_sensitivity": 6.0}),
}


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, CONFIRMED),
        ({"l1_half": 5.5}, REFUTED),  # 3.5, where the histogram losses have 3
        ({"one_bin_half": 6.5}, REFUTED),  # below l1's 1
        ({"gauss_half": 1.5}, REFUTED),
        ({"gauss_half": 8.0}, REFUTED),  # 7, where l2 has 6
        ({"one_bin_half": 13.0}, REFUTED),
        ({"gauss_half": scattered(7.0)}, UNDECIDED),
        ({"l2_half": None}, NOT_RUN),
        ({"l2": None}, NOT_RUN),
    ],
)
def test_k29_compares_rises(levels, expected):
    assert verdict("K29", scene(CORRUPTION, **levels)) is expected


def test_k29_is_about_a_half():
    fewer = {
        name: (method, {"corrupted": 0.4} if changes else {}, level)
        for name, (method, changes, level) in CORRUPTION.items()
    }
    assert verdict("K29", scene(fewer)) is NOT_RUN


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, CONFIRMED),
        ({"one_bin": {"test_MAE": 9.0, "test_sensitivity": 5.0}}, CONFIRMED),
        ({"one_bin": {"test_sensitivity": 8.5}}, REFUTED),
        ({"gauss": {"test_MAE": 1.0, "test_sensitivity": 8.5}}, REFUTED),
        ({"gauss": {"test_MAE": 2.2, "test_sensitivity": 6.0}}, REFUTED),
        ({"l1": {"test_MAE": 0.5, "test_sensitivity": 8.0}}, REFUTED),
        ({"l2": {"test_MAE": 0.5, "test_sensitivity": 9.0}}, REFUTED),
        ({"gauss": {"test_sensitivity": scattered(8.0)}}, UNDECIDED),
        ({"l1": None}, NOT_RUN),
    ],
)
def test_k30_is_about_slopes_and_errors(levels, expected):
    assert verdict("K30", scene(SENSITIVITY, **levels)) is expected
