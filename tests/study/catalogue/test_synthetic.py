"""The sines of the catalogue against the paper."""

import pytest

from histreg.study.catalogue import experiment
from histreg.study.catalogue.synthetic import FREQUENCIES, OFFSETS, sine_runs
from histreg.study.methods import (
    L2,
    HLGauss,
)


def test_the_sines_are_300_runs_of_which_25_are_in_both_parts():
    near = sine_runs(FREQUENCIES, (-1.5, 1.5))
    far = sine_runs(OFFSETS, (-1.5, 11.5))
    assert len(near) == len(far) == 150
    common = set(near) & set(far)
    assert len(common) == 25
    assert {(run.method, run.alpha, run.beta) for run in common} == {(L2(), 10.0, 0.0)}
    assert set(experiment("sines").runs) == set(near) | set(far)
    assert len(experiment("sines").runs) == 275


def test_the_sines_have_the_targets_rates_seeds_and_bins_of_the_paper():
    runs = experiment("sines").runs
    targets = {(1, 0), (10, 0), (20, 0), (10, 1), (10, 10)}
    assert {(run.alpha, run.beta) for run in runs} == targets
    assert {run.learning_rate for run in runs} == {1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
    assert {run.seed for run in runs} == {0, 1, 2, 3, 4}
    assert {run.iterations for run in runs} == {1001}
    widths = set()
    for run in runs:
        if isinstance(run.method, HLGauss):
            bins = run.method.bins(*run.value_range)
            assert (bins.low, bins.high) == pytest.approx(run.value_range)
            assert bins.n_bins == 100 and run.method.sigma_in_bins == 2
            widths.add(round(bins.width, 10))
    assert widths == {0.03, 0.13}


def test_the_reduced_sines_are_the_frequencies_in_a_small_network():
    runs = experiment("sines-reduced").runs
    assert {(run.alpha, run.beta) for run in runs} == set(FREQUENCIES)
    assert {run.hidden for run in runs} == {(128, 128)}
    # Three frequencies, two losses, two rates, two seeds.
    assert len(runs) == 24
