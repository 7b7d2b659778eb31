"""Descriptions of runs on sines."""

import json
from dataclasses import replace

import pytest

from histreg.study.methods import L2, HLGauss
from histreg.study.sines.runs import SineRun
from tests.study.descriptions import run_of
from tests.study.sines.examples import RUNS


def test_json_brings_a_run_back(run):
    text = json.dumps(run.to_json())
    assert run_of(json.loads(text)) == run


def test_runs_that_differ_in_the_seed_alone_share_a_stack(run):
    assert replace(run, seed=3).stack_key == run.stack_key
    changes = [
        {"alpha": 1.0},
        {"beta": 1.0},
        {"value_range": (-2.0, 3.0)},
        {"learning_rate": 1e-4},
        {"iterations": 3},
        {"hidden": (4, 4)},
        {"method": HLGauss(sigma_in_bins=3.0)},
    ]
    stacks = {replace(run, **change).stack_key for change in changes}
    assert len(stacks) == len(changes)
    assert run.stack_key not in stacks


def test_the_protocol_has_1001_iterations_and_two_layers_of_1024():
    run = SineRun(L2(), 1.0, 0.0, (0.0, 1.0), 1e-3, 0)
    assert (run.iterations, run.hidden) == (1001, (1024, 1024))


def test_no_iterations_are_refused():
    with pytest.raises(ValueError, match="iterations must be a whole number of at"):
        replace(RUNS["l2"], iterations=0)


def test_the_label_names_what_differs_from_the_protocol():
    expected = "sines, l2 on [0, 1], alpha 3, beta 0.5, rate 0.01, seed 0"
    assert RUNS["l2"].label == f"{expected}, layers of 8 and 8, 12 iterations"
    usual = replace(RUNS["l2"], hidden=(1024, 1024), iterations=1001)
    assert usual.label == expected
