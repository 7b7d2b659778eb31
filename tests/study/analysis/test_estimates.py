"""Statistics over seeds, by hand and against numpy."""

import math

import numpy as np
import pytest

from histreg.study.analysis.estimates import Estimate


@pytest.mark.parametrize("n", [2, 5, 1000])
def test_an_estimate_has_the_mean_and_standard_error_of_numpy(n):
    numbers = np.random.default_rng(n).normal(1e3, 1e-3, n)
    found = Estimate.of(numbers)
    assert found.mean == pytest.approx(numbers.mean(), rel=1e-15)
    # Of numbers 1e6 times their spread, 1e-16 of each is 1e-10 of the spread.
    expected = numbers.std(ddof=1) / math.sqrt(n)
    assert found.se == pytest.approx(expected, rel=1e-9)
    assert found.n == n


def test_the_error_of_one_number_is_not_known():
    found = Estimate.of([4.0])
    assert (found.mean, found.n) == (4.0, 1)
    assert math.isnan(found.se)


def test_no_numbers_have_no_mean():
    found = Estimate.of([])
    assert found.n == 0
    assert math.isnan(found.mean) and math.isnan(found.se)


def test_equal_numbers_have_no_error():
    assert Estimate.of([0.1] * 10) == Estimate(0.1, 0.0, 10)


def test_apart_is_in_units_of_the_joint_error():
    # The joint error of 3 and 4 is 5.
    assert Estimate(20.0, 3.0).apart(Estimate(10.0, 4.0)) == 2.0
    assert Estimate(10.0, 4.0).apart(Estimate(20.0, 3.0)) == -2.0


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [(1.0, 1.0, 0.0), (2.0, 1.0, math.inf), (1.0, 2.0, -math.inf)],
)
def test_exact_numbers_are_equal_or_infinitely_apart(ours, theirs, expected):
    assert Estimate(ours, 0.0).apart(Estimate(theirs, 0.0)) == expected


def test_without_an_error_it_is_not_known_how_far_apart():
    assert math.isnan(Estimate.of([1.0]).apart(Estimate(2.0, 0.1)))
