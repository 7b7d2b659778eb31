"""Measurements as runs."""

import pytest

from histreg.study import measurements
from histreg.study.measurements import MEASUREMENTS, Measurement
from tests.study.descriptions import run_of


@pytest.mark.parametrize("what", MEASUREMENTS)
def test_json_brings_a_measurement_back(what):
    run = Measurement(what, "pole")
    assert run_of(run.to_json()) == run


def test_a_measurement_moves_to_another_data_set_if_it_is_on_one():
    assert Measurement("targets", "pole").moved_to("bike").dataset == "bike"
    assert Measurement("bias").moved_to("bike") == Measurement("bias")


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match="what must be one of 'label-bias'"):
        Measurement("weight")


def test_every_measurement_has_a_function():
    assert tuple(measurements._functions()) == MEASUREMENTS
