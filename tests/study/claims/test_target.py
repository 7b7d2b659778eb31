"""K13 to K18 on made-up records."""

import pytest

from histreg.study.claims import Verdict
from histreg.study.methods import HLGauss, HLOneBin, HLProjected, HLUniform
from tests.study.claims.made_up import found, scattered, scene, verdict
from tests.study.made_up import label_bias_record

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
UNDECIDED, NOT_RUN = Verdict.NOT_SIGNIFICANT, Verdict.NOT_RUN

UNIFORM = {"e0": (HLOneBin(), {}, 1.0)} | {
    f"e{i}": (HLUniform(epsilon), {}, 1.0 + i / 100)
    for i, epsilon in enumerate((1e-5, 1e-4, 1e-3, 1e-2, 1e-1), start=1)
}
PROJECTED = {
    "one_bin": (HLOneBin(), {}, 3.0),
    "projected": (HLProjected(), {}, 2.0),
    "gauss": (HLGauss(), {}, 1.0),
}
# Padding and sigma stay in units of the target: a tenth and a hundredth of k.
BINS = {
    f"gauss_{k}": (
        HLGauss(sigma_in_bins=k / 100, n_bins=k, padding_in_bins=k / 10),
        {},
        2.0 if k == 10 else 1.0,
    )
    for k in (10, 50, 100, 200, 400)
} | {
    f"one_bin_{k}": (HLOneBin(n_bins=k, padding_in_bins=k / 10), {}, level)
    for k, level in ((10, 5.0), (100, 2.0), (400, 3.0))
}
SIGMAS = {
    f"s{power}": (HLGauss(2.0**power), {}, 2.0 if abs(power) == 4 else 1.0)
    for power in (-4, -1, 0, 1, 2, 4)
}


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, CONFIRMED),
        ({"e1": 0.95}, REFUTED),  # a step down, from epsilon 0
        ({"e4": 2.0, "e5": 1.9}, REFUTED),  # a step down, though far above the first
        ({"e1": 0.99, "e2": 0.99}, CONFIRMED),  # by less than the margin
        ({"e5": scattered(1.0)}, UNDECIDED),
        ({"e3": None}, NOT_RUN),
    ],
)
def test_k13_goes_by_steps(levels, expected):
    assert verdict("K13", scene(UNIFORM, **levels)) is expected


SIGMAS_MEASURED = [0.0, 0.1, 1.0, 2.0, 16.0]


@pytest.mark.parametrize(
    ("biases", "small", "large"),
    [
        ([9.0, 5.0, 1e-3, 1.0, 7.0], CONFIRMED, CONFIRMED),
        ([9.0, 5.0, 0.06, 1.0, 7.0], REFUTED, CONFIRMED),
        ([9.0, 7.0, 0.06, 1.0, 5.0], CONFIRMED, REFUTED),
        # As on Pole, whose labels lie on borders: sigma 0 is another method.
        ([9.0, 0.0, 0.0, 1.0, 7.0], REFUTED, CONFIRMED),
        # The least must be between the ends.
        ([1e-9, 5.0, 4.0, 4.0, 7.0], REFUTED, REFUTED),
        ([9.0, 1e-3, 4.0, 4.0, 7.0], REFUTED, REFUTED),
    ],
)
def test_k14_compares_the_ends_with_the_least_between(biases, small, large):
    told = found("K14", [label_bias_record("pole", SIGMAS_MEASURED, biases)])
    assert told["Pole: high for small sigma"].verdict is small
    assert told["Pole: high for large sigma"].verdict is large


def test_k14_tells_the_numbers():
    record = label_bias_record("pole", SIGMAS_MEASURED, [9.0, 5.0, 1e-3, 1.0, 7.0])
    told = found("K14", [record])["Pole: high for small sigma"]
    assert told.numbers == "5 at 0.1 bins, 0.001 at 1"


def test_k14_needs_a_measurement_of_the_data_set():
    record = label_bias_record("pole", SIGMAS_MEASURED, [9.0, 5.0, 1e-3, 1.0, 7.0])
    assert verdict("K14", [record], "bike") is NOT_RUN
    assert len(found("K14", [record], "bike", "pole")) == 4


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, CONFIRMED),
        ({"gauss": 2.2}, REFUTED),
        ({"gauss": {"test_MAE": 1.0, "test_RMSE": 2.2}}, REFUTED),
        ({"projected": 3.3}, REFUTED),
        ({"projected": {"test_MAE": 2.0, "test_RMSE": 9.0}}, CONFIRMED),
        ({"gauss": scattered(2.0)}, UNDECIDED),
        ({"projected": None}, NOT_RUN),
    ],
)
def test_k15_is_about_test_mae_and_rmse(levels, expected):
    assert verdict("K15", scene(PROJECTED, **levels)) is expected


@pytest.mark.parametrize("song", ["song", "song-7000"])
def test_k15_leaves_one_bin_on_song_out(song):
    records = scene(PROJECTED, song, one_bin=1.5)
    assert verdict("K15", records, song) is CONFIRMED
    assert verdict("K15", scene(PROJECTED, one_bin=1.5)) is REFUTED


@pytest.mark.parametrize(
    ("dataset", "train_mae", "expected"),
    [
        ("ct", 0.309, CONFIRMED),
        ("ct", 0.27, REFUTED),
        ("ct", 0.36, REFUTED),
        ("ct", scattered(0.3), UNDECIDED),
        ("pole", 0.9, CONFIRMED),
        ("pole", 0.6, REFUTED),
        ("pole", scattered(0.7), UNDECIDED),
        ("pole", None, NOT_RUN),
    ],
)
def test_k16_is_about_train_mae(dataset, train_mae, expected):
    level = None if train_mae is None else {"test_MAE": 99.0, "train_MAE": train_mae}
    records = scene({"one_bin": (HLOneBin(), {}, 1.0)}, dataset, one_bin=level)
    assert verdict("K16", records, dataset) is expected


def test_k16_says_nothing_of_other_data_sets():
    assert found("K16", scene(PROJECTED, "bike"), "bike") == {}


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, CONFIRMED),
        ({"gauss_10": 0.9}, REFUTED),
        ({"gauss_10": {"test_MAE": 2.0, "train_MAE": 0.9}}, REFUTED),
        ({"one_bin_10": 1.9}, REFUTED),
        ({"one_bin_10": {"test_MAE": 5.0, "train_MAE": 1.9}}, REFUTED),
        ({"gauss_400": 1.08}, REFUTED),  # a rise, if within what is flat
        ({"gauss_200": 0.8}, REFUTED),  # no rise, but not flat
        ({"gauss_50": 1.2}, REFUTED),
        ({"gauss_50": 1.08}, CONFIRMED),  # nothing but flat is said of it
        ({"gauss_400": scattered(1.0)}, UNDECIDED),
        ({"one_bin_10": scattered(2.0)}, UNDECIDED),
        ({"one_bin_400": 0.1}, CONFIRMED),  # an exception of CT alone
        ({"gauss_200": None}, NOT_RUN),
    ],
)
def test_k17_over_bins(levels, expected):
    assert verdict("K17", scene(BINS, **levels)) is expected


@pytest.mark.parametrize(
    ("many", "expected"),
    [
        ({"test_MAE": 1.0, "test_RMSE": 3.0}, CONFIRMED),
        ({"test_MAE": 3.0, "test_RMSE": 1.0}, REFUTED),
        (scattered(2.0), UNDECIDED),
        (None, NOT_RUN),
    ],
)
def test_k17_has_an_exception_on_ct(many, expected):
    assert verdict("K17", scene(BINS, "ct", one_bin_400=many), "ct") is expected


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, CONFIRMED),
        ({"s-4": 0.9}, REFUTED),
        ({"s4": {"test_MAE": 2.0, "train_MAE": 0.9}}, REFUTED),
        ({"s-1": 1.2}, REFUTED),
        ({"s2": 0.8}, REFUTED),
        ({"s1": {"test_MAE": 1.0, "train_MAE": 9.0}}, CONFIRMED),  # flat is of test
        ({"s2": scattered(1.0)}, UNDECIDED),
        ({"s4": scattered(1.0)}, UNDECIDED),
        ({"s1": None}, NOT_RUN),
    ],
)
def test_k18_is_a_v_with_a_flat_bottom(levels, expected):
    assert verdict("K18", scene(SIGMAS, **levels)) is expected
