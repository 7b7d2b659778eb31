"""Comparisons against enumeration by hand and against SciPy."""

import math
from itertools import product

import pytest
from scipy import stats

from histreg.study.analysis.comparisons import LEVEL, Comparison

EXAMPLES = [
    (-1.0, -2.0, -0.5, -3.0, -0.1),
    (1.0, -2.0, 0.5, 3.0, -0.1),
    (0.0, -2.0, 0.0, 1.0),
    (-1.0, -1.0, 1.0, 1.0),  # ties, and a mean of zero
    (0.3,),
    (-0.3,),
]


def share(differences, *, lower):
    """Return the share of all sign patterns with so low, or high, a sum."""
    sums = [
        math.fsum(sign * each for sign, each in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    seen = math.fsum(differences)
    return sum(s <= seen if lower else s >= seen for s in sums) / len(sums)


@pytest.mark.parametrize("differences", EXAMPLES)
def test_p_is_the_share_of_sign_patterns(differences):
    found = Comparison(differences)
    assert found.p_lower == pytest.approx(share(differences, lower=True))
    assert found.p_higher == pytest.approx(share(differences, lower=False))


def test_five_seeds_that_agree_are_one_of_32_and_below_the_level():
    found = Comparison(EXAMPLES[0])
    assert (found.p_lower, found.p_higher) == (1 / 32, 1.0)
    assert found.p_lower <= LEVEL < Comparison(EXAMPLES[0][:4]).p_lower


def test_differences_are_paired_by_seed_and_others_left_out():
    found = Comparison.of({3: 1.0, 1: 5.0, 9: 2.0}, {1: 1.0, 3: 2.0, 4: 7.0})
    assert found.differences == (4.0, -1.0)
    assert found.n == 2
    assert found.mean == 1.5


def test_the_interval_is_students():
    differences = EXAMPLES[1]
    expected = stats.ttest_1samp(differences, 0.0).confidence_interval(0.9)
    assert Comparison(differences).interval(0.9) == pytest.approx(tuple(expected))


def test_without_common_seeds_nothing_is_told():
    found = Comparison.of({1: 1.0}, {2: 1.0})
    assert found.n == 0
    assert math.isnan(found.mean)
    assert all(math.isnan(end) for end in found.interval())
    assert (found.p_lower, found.p_higher) == (1.0, 1.0)


def test_one_seed_has_no_interval():
    assert all(math.isnan(end) for end in Comparison((1.0,)).interval())


def test_equal_conditions_are_not_different():
    found = Comparison((0.0,) * 5)
    assert (found.p_lower, found.p_higher) == (1.0, 1.0)
    assert found.interval() == (0.0, 0.0)


def test_more_seeds_than_can_be_enumerated_are_sampled_the_same_each_time():
    differences = tuple(math.sin(i) - 0.3 for i in range(30))
    found = Comparison(differences)
    # Under chance signs the sum is nearly normal; 100,000 draws tell it to 2 percent.
    z = math.fsum(differences) / math.hypot(*differences)
    assert found.p_lower == pytest.approx(stats.norm.cdf(z), rel=0.1)
    assert found.p_lower == Comparison(differences).p_lower


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_decides_nothing(wrong):
    found = Comparison((wrong, -1.0, -1.0, -1.0, -1.0))
    assert (found.p_lower, found.p_higher) == (1.0, 1.0)
