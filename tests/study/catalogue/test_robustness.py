"""Corrupted targets, sensitivity to inputs, and learning rates."""

from collections import Counter

from histreg.study.catalogue import experiment
from histreg.study.catalogue.robustness import RATES
from histreg.study.methods import L1, L2, MDN, HLGauss, HLOneBin
from tests.study.catalogue.reading import methods_of

LOSSES = {L2(), L1(), HLOneBin(), HLGauss()}


def test_up_to_half_of_the_targets_are_corrupted():
    runs = experiment("corruption").runs
    shares = Counter(run.corrupted for run in runs)
    assert set(shares) == {0.0, 0.1, 0.2, 0.3, 0.4, 0.5}
    assert set(shares.values()) == {4 * 4 * 5}  # losses, data sets, seeds
    assert methods_of("corruption") == methods_of("sensitivity") == LOSSES


def test_sensitivity_is_probed_in_every_run():
    assert {run.probes for run in experiment("sensitivity").runs} == {("sensitivity",)}


def test_every_rate_is_run_on_validation_and_on_test_rows():
    runs = experiment("rates").runs
    places = Counter((run.learning_rate, run.part) for run in runs)
    assert set(places) == {(r, part) for r in RATES for part in ("validation", "test")}
    assert set(places.values()) == {5 * 4 * 5}  # methods, data sets, seeds
    assert methods_of("rates") == {L2(), L1(), MDN(2), MDN(4), HLGauss()}
