"""The entries are whole, and their numbers those of the specification."""

import re
import tomllib
from importlib.resources import files

import pytest

from histreg.report.site.inconsistencies import MEASURED, inconsistencies
from histreg.study.catalogue import EXPERIMENTS, RECOMMENDED
from histreg.study.catalogue.optimisation import TRAINED
from histreg.study.claims import Evidence
from histreg.study.measurements import Measurement
from histreg.study.methods import (
    L2,
    HLGauss,
    HLOneBin,
    L2SoftmaxPerBin,
    LinearRegression,
)
from tests.study.made_up import record_of, tabular_records

TEXT = files("histreg.report.site").joinpath("inconsistencies.toml").read_text()
RECORDS = [
    *tabular_records("bike", LinearRegression(), [1.0], train_MAE=[105.91]),
    *tabular_records(
        *("ct", LinearRegression(), [1.0]),
        **{"train_MAE": [6.25], "train_RMSE": [8.0], "test_RMSE": [9.0]},
    ),
    *tabular_records(
        *("ct-385", LinearRegression(), [1.0]),
        **{"train_MAE": [6.125], "train_RMSE": [7.0], "test_RMSE": [7.0]},
    ),
    record_of(
        Measurement("bias"),
        curves={"padding_in_sigmas": [2.5, 3.0], "truncation bias": [0.5, 0.25]},
    ),
    record_of(
        Measurement("bias-by-text"),
        curves={
            "padding_in_sigmas": [3.0, 3.5],
            "truncation bias": [0.125, 0.0],
            "sigma_in_bins": [0.7, 0.9],
            "discretisation bias": [0.5, 3e-3],
            "discretisation bias of range": [0.5, 3e-5],
        },
    ),
    *tabular_records("pole", L2SoftmaxPerBin(), [11.0, 12.0]),
    *tabular_records("bike", L2SoftmaxPerBin(), [700.0]),
    *tabular_records("pole", HLOneBin(), [1.25]),
    *tabular_records("pole", HLOneBin(shift_in_bins=0.5), [0.75]),
    *tabular_records("bike", L2(), [29.0]),
    *tabular_records("bike", L2(), [30.5], changes={"has_authors_head": True}),
    *tabular_records("pole", HLGauss(), [2.0, 2.0]),
    *tabular_records("pole", RECOMMENDED, [2.02, 2.06]),
    *tabular_records("bike", HLGauss(), [25.0, 26.0]),
    *tabular_records("bike", RECOMMENDED, [25.0, 26.0]),
    *(
        record
        for method, random, level in (
            (L2(), False, 4.0),
            (L2(), True, 6.0),
            (HLGauss(), False, 5.0),
            (HLGauss(), True, 7.0),
        )
        for record in tabular_records(
            "pole",
            method,
            [1.0],
            changes={**TRAINED, "has_authors_head": random},
            curves={"epoch": [1.0, 2.0], "train MAE": [level + 1, level - 1]},
        )
    ),
]


@pytest.fixture(scope="module")
def found():
    return {each.name: each for each in inconsistencies(Evidence(RECORDS))}


def test_all_36_are_there_and_say_everything(found):
    assert list(found) == [f"I{i}" for i in range(1, 37)]
    for each in found.values():
        for text in (each.about, each.paper, each.here, each.difference):
            assert text and text == text.strip()
        assert set(each.experiments) <= EXPERIMENTS.keys()


def test_exactly_those_with_a_text_are_measured():
    entries = tomllib.loads(TEXT)
    assert {name for name, e in entries.items() if "measured" in e} == MEASURED.keys()


# Numbers of the specification, computed apart from this code, and of records above.
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("I2", ["-8.9"]),
        ("I3", ["11.5", "700", "0.95", "27.8"]),
        ("I4", ["0.3125", "0.3000", "0.2500", "0.309"]),
        # On Pole 1 and 3 % of 2.0 more, a mean of 2 % and half an interval of 12.706 %
        # (Student's of two); on Bike Sharing none.
        ("I5", ["8.5e-10", "9.1e-03", "+2.0", "-10.7", "+14.7", "+0.0"]),
        ("I7", ["1.25"]),
        ("I8", ["2.5e-01", "1.2e-01", "3.0e-03", "3.0e-05"]),
        ("I9", ["1.04e-06"]),
        ("I11", ["9.1e-03", "2.7e-04", "1.2e-08"]),
        ("I12", ["0.499"]),
        ("I14", ["2,042"]),  # (2 x 2011 / 89) ** 2
        ("I20", ["55", "2.1e-06", "4.2e-06"]),
        ("I21", ["0.675"]),
        # sqrt(0.8 x 8 ** 2 + 0.2 x 9 ** 2), and of the paper's 8.209 and 8.341.
        (
            "I25",
            [
                *("105.9", "106.0", "6.250", "6.125", "6.073"),
                *("8.210", "7.000", "8.236"),
            ],
        ),
        ("I29", ["1.25", "0.75"]),
        ("I31", ["29.00", "30.50", "31.03", "4.0", "6.0", "5.0", "7.0"]),
        ("I34", ["5.917", "5.906"]),
    ],
)
def test_measured_numbers(found, name, numbers):
    for number in numbers:
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", found[name].measured)


def test_no_entry_says_that_something_was_not_run():
    # Whether it was is a matter of records, which the texts do not know.
    assert "not run" not in TEXT


def test_what_was_not_run_is_left_out():
    without = {each.name: each for each in inconsistencies(Evidence([]))}
    for name in ("I3", "I5", "I8", "I25", "I29", "I31", "I36"):
        assert without[name].measured == ""
    assert without["I9"].measured
