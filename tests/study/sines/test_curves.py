"""Choices among learning rates, of records made by hand."""

import math

import pytest

from histreg.study.analysis.estimates import Estimate
from histreg.study.methods import L2
from histreg.study.sines.curves import best_rates
from tests.study.made_up import sine_record, tabular_records


def test_the_rate_of_lowest_mean_area_over_seeds_is_kept():
    records = [
        sine_record(
            rate=1e-4, seed=0, area=0.1
        ),  # the best of all, but not in the mean
        sine_record(rate=1e-4, seed=1, area=0.9),
        sine_record(rate=1e-3, seed=0, area=0.3),
        sine_record(rate=1e-3, seed=1, area=0.5),
    ]
    (best,) = best_rates(records)
    assert best.learning_rate == 1e-3
    assert best.area == Estimate.of([0.3, 0.5])


def test_it_is_the_area_that_decides_and_not_the_last_error():
    records = [
        sine_record(rate=1e-4, area=0.2, curve=[0.5, 0.4]),
        sine_record(rate=1e-3, area=0.3, curve=[0.5, 0.0]),
    ]
    (best,) = best_rates(records)
    assert best.learning_rate == 1e-4
    assert best.final.mean == 0.4


def test_the_curve_is_the_mean_over_seeds():
    records = [
        sine_record(seed=0, curve=[1.0, 0.5, 0.25]),
        sine_record(seed=1, curve=[3.0, 1.5, 0.75]),
    ]
    (best,) = best_rates(records)
    assert best.iterations == [0, 5, 10]
    assert best.curve == [2.0, 1.0, 0.5]
    assert best.final == Estimate.of([0.25, 0.75])


def test_losses_targets_and_supports_are_told_apart():
    records = [
        sine_record("l2", 10.0, 0.0),
        sine_record("l2", 20.0, 0.0),
        sine_record("l2", 10.0, 1.0),
        sine_record("HL-Gauss", 10.0, 0.0),
        sine_record("HL-Gauss", 10.0, 0.0, far=True),
    ]
    found = [
        (each.method, each.alpha, each.beta, each.value_range, each.has_bins)
        for each in best_rates(records)
    ]
    assert found == [
        ("l2", 10.0, 0.0, (0.0, 1.0), False),
        ("l2", 20.0, 0.0, (0.0, 1.0), False),
        ("l2", 10.0, 1.0, (0.0, 1.0), False),
        ("HL-Gauss", 10.0, 0.0, (-1.5, 1.5), True),
        ("HL-Gauss", 10.0, 0.0, (-1.5, 11.5), True),
    ]


def test_a_rate_at_which_a_seed_diverged_is_not_kept():
    records = [
        sine_record(rate=1e-1, seed=0, area=0.001),
        sine_record(rate=1e-1, seed=1, area=None),
        sine_record(rate=1e-3, seed=0, area=0.5),
        sine_record(rate=1e-3, seed=1, area=0.5),
    ]
    (best,) = best_rates(records)
    assert best.learning_rate == 1e-3


def test_a_rate_without_all_its_seeds_is_not_kept():
    records = [
        sine_record(rate=1e-1, seed=0, area=0.001),
        sine_record(rate=1e-3, seed=0, area=0.5),
        sine_record(rate=1e-3, seed=1, area=0.5),
    ]
    (best,) = best_rates(records)
    assert best.learning_rate == 1e-3


def test_if_all_rates_diverged_nothing_is_told_of_the_setting():
    records = [
        sine_record("l2", rate=1e-1, area=None),
        sine_record("l2", rate=1e-2, area=None),
        sine_record("HL-Gauss", rate=1e-2, area=0.5),
    ]
    assert [each.method for each in best_rates(records)] == ["HL-Gauss"]


def test_the_error_of_one_seed_is_not_known():
    (best,) = best_rates([sine_record(area=0.25)])
    assert best.area.mean == pytest.approx(0.25)
    assert math.isnan(best.area.se)


def test_records_of_other_kinds_are_passed_over():
    assert best_rates(tabular_records("pole", L2(), [1.0])) == []
