"""Experiments that train nothing."""

import pytest

from histreg.study.catalogue import DATA, experiment
from histreg.study.measurements import Measurement


def test_the_targets_of_all_data_sets_are_measured():
    runs = experiment("targets").runs
    assert runs == tuple(Measurement("targets", name) for name in DATA)


def test_the_bias_is_simulated_as_in_the_code_and_as_in_the_text():
    runs = experiment("bias").runs
    assert runs == (Measurement("bias"), Measurement("bias-by-text"))


@pytest.mark.parametrize("name", ["bound", "theorems"])
def test_the_theory_is_one_measurement_on_no_data_set(name):
    assert experiment(name).runs == (Measurement(name),)
    assert experiment(name).pairing is None
