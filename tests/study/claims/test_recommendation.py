"""K41 on made-up records."""

import pytest

from histreg.study.claims import Verdict
from histreg.study.methods import L2, HLGauss
from tests.study.claims.made_up import found, scattered, scene, verdict

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN

# 100 bins, a sigma of two bins, a padding of three sigmas.
RULE_OF_THUMB = {
    "l2": (L2(), {}, 2.0),
    "tables": (HLGauss(), {}, 1.0),
    "recommended": (HLGauss(2.0, 100, 6.0), {}, 1.0),
}


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, CONFIRMED),
        ({"recommended": 0.5}, CONFIRMED),
        ({"recommended": 1.03}, CONFIRMED),  # by less than the margin
        ({"recommended": 1.2}, REFUTED),
        ({"l2": 0.9}, REFUTED),
        ({"recommended": {"test_MAE": 1.0, "test_RMSE": 9.0}}, CONFIRMED),
        ({"recommended": scattered(1.0)}, UNDECIDED),
        ({"l2": scattered(1.0)}, UNDECIDED),
        ({"recommended": None}, NOT_RUN),
        ({"l2": None}, NOT_RUN),
        ({"tables": None}, NOT_RUN),
    ],
)
def test_k41_compares_the_rule_of_thumb_with_the_tables_and_l2(levels, expected):
    assert verdict("K41", scene(RULE_OF_THUMB, **levels)) is expected


def test_k41_is_not_about_a_sigma_of_two_bins_with_the_padding_of_the_tables():
    other = {**RULE_OF_THUMB, "recommended": (HLGauss(2.0), {}, 1.0)}
    assert verdict("K41", scene(other)) is NOT_RUN


def test_k41_has_two_parts_on_each_data_set():
    parts = found("K41", scene(RULE_OF_THUMB), "pole", "bike")
    assert sorted(each.on[0] for each in parts.values()) == [
        *("bike", "bike"),
        *("pole", "pole"),
    ]
