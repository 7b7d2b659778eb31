"""Comparisons against enumeration by hand and against SciPy."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from histreg.study.analysis.comparisons import Comparison

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


def one_sided(found):
    return found.p_permutation("less"), found.p_permutation("greater")


@pytest.mark.parametrize("differences", EXAMPLES)
def test_p_is_the_share_of_sign_patterns(differences):
    found = Comparison(differences)
    assert found.p_permutation("less") == pytest.approx(share(differences, lower=True))
    assert found.p_permutation("greater") == pytest.approx(
        share(differences, lower=False)
    )


def test_two_sided_is_twice_the_smaller_side_and_at_most_one():
    assert Comparison(EXAMPLES[0]).p_permutation("two-sided") == 2 / 32
    assert Comparison(EXAMPLES[3]).p_permutation("two-sided") == 1.0


def test_five_seeds_that_agree_are_one_of_32_and_below_the_level():
    found = Comparison(EXAMPLES[0])
    assert one_sided(found) == (1 / 32, 1.0)
    assert one_sided(found)[0] <= 0.05 < one_sided(Comparison(EXAMPLES[0][:4]))[0]


def test_differences_are_paired_by_seed_and_others_left_out():
    found = Comparison.of({3: 1.0, 1: 5.0, 9: 2.0}, {1: 1.0, 3: 2.0, 4: 7.0})
    assert found.differences == (4.0, -1.0)
    assert found.n == 2
    assert found.mean == 1.5


def test_the_interval_is_students():
    differences = EXAMPLES[1]
    expected = stats.ttest_1samp(differences, 0.0).confidence_interval(0.95)
    assert Comparison(differences).interval == pytest.approx(tuple(expected))


def test_without_common_seeds_nothing_is_told():
    found = Comparison.of({1: 1.0}, {2: 1.0})
    assert found.n == 0
    assert math.isnan(found.mean)
    assert all(math.isnan(end) for end in found.interval)
    assert one_sided(found) == (1.0, 1.0)


def test_one_seed_has_no_interval():
    assert all(math.isnan(end) for end in Comparison((1.0,)).interval)


def test_equal_conditions_are_not_different():
    found = Comparison((0.0,) * 5)
    assert one_sided(found) == (1.0, 1.0)
    assert found.interval == (0.0, 0.0)


def test_more_seeds_than_can_be_enumerated_are_sampled_the_same_each_time():
    differences = tuple(math.sin(i) - 0.3 for i in range(30))
    found = Comparison(differences)
    # Under chance signs the sum is nearly normal; 100,000 draws tell it to 2 percent.
    z = math.fsum(differences) / math.hypot(*differences)
    assert found.p_permutation("less") == pytest.approx(stats.norm.cdf(z), rel=0.1)
    assert one_sided(found) == one_sided(Comparison(differences))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_decides_nothing(wrong):
    found = Comparison((wrong, -1.0, -1.0, -1.0, -1.0))
    assert one_sided(found) == (1.0, 1.0)


def drawn(n, seed=0, mean=-0.2):
    return Comparison(tuple(np.random.default_rng(seed).normal(mean, 0.5, n).tolist()))


@pytest.mark.parametrize("n", [2, 5, 14])
@pytest.mark.parametrize("mean", [-0.5, 0.0, 0.5])
@pytest.mark.parametrize("side", ["less", "greater", "two-sided"])
def test_the_t_test_is_scipys(n, mean, side):
    found = drawn(n, mean=mean)
    reference = stats.ttest_1samp(found.differences, 0.0, alternative=side)
    assert found.p_t(side) == pytest.approx(reference.pvalue, rel=1e-9)
    assert found.t == pytest.approx(reference.statistic, rel=1e-9)


def test_the_sign_test_counts_tails_of_coins():
    found = Comparison((-1.0, -0.1, -3.0, -0.2, 0.5))
    # 4 of 5 heads or more: 5 + 1 of 32; 4 or fewer: all but one.
    assert found.p_sign("less") == pytest.approx(6 / 32)
    assert found.p_sign("greater") == pytest.approx(31 / 32)
    assert found.p_sign("two-sided") == pytest.approx(12 / 32)


def test_pairs_without_a_difference_have_no_sign_and_no_rank():
    with_ties = Comparison((-1.0, -0.1, 0.0, -3.0, -0.2, 0.5, 0.0))
    without = Comparison((-1.0, -0.1, -3.0, -0.2, 0.5))
    assert with_ties.n_lower == 4 and with_ties.n == 7
    assert with_ties.p_wilcoxon == without.p_wilcoxon
    for side in ("less", "greater", "two-sided"):
        assert with_ties.p_sign(side) == without.p_sign(side)


def test_signed_ranks_are_exact_of_few_pairs():
    # All of one sign: 2 of the 2^5 ways to give signs are as extreme.
    found = Comparison((-0.1, -0.2, -0.3, -0.4, -0.5))
    assert found.p_wilcoxon == pytest.approx(2 / 32)


def test_the_sides_are_exchanged_with_the_conditions():
    found = drawn(9)
    turned = Comparison(tuple(-each for each in found.differences))
    assert turned.p_t("less") == pytest.approx(found.p_t("greater"))
    assert turned.p_sign("less") == found.p_sign("greater")
    assert turned.p_permutation("less") == found.p_permutation("greater")
    assert turned.n_lower == 9 - found.n_lower


@pytest.mark.parametrize("differences", [(), (-0.5,)], ids=["none", "one"])
def test_fewer_than_two_pairs_have_no_t_test_and_decide_nothing(differences):
    found = Comparison(differences)
    for each in (found.t, found.p_t("two-sided"), found.p_t("less"), *found.interval):
        assert math.isnan(each)
    assert found.p_sign("two-sided") == found.p_wilcoxon == 1.0


def test_without_any_difference_nothing_is_decided():
    found = Comparison((0.0, 0.0, 0.0))
    assert found.p_t("two-sided") == found.p_sign("two-sided") == found.p_wilcoxon == 1
    assert found.p_t("less") == found.p_t("greater") == 0.5


@pytest.mark.parametrize(
    ("n_lower", "n_ties", "n"), [(11, 0, 14), (5, 0, 5), (0, 3, 6), (52, 1, 55)]
)
def test_the_interval_of_a_share_is_clopper_and_pearsons(n_lower, n_ties, n):
    logs = Comparison((-1.0,) * n_lower + (0.0,) * n_ties + (1.0,) * (n - n_lower))
    low, high = logs.lower_share_interval
    # Quantiles of beta distributions, by their definition.
    beta = stats.beta
    expected_low = beta.ppf(0.025, n_lower, n - n_lower + 1) if n_lower else 0.0
    expected_high = beta.ppf(0.975, n_lower + 1, n - n_lower) if n_lower < n else 1.0
    assert (low, high) == pytest.approx((expected_low, expected_high), abs=1e-9)


def test_without_differences_a_share_can_be_any():
    assert Comparison((0.0, 0.0)).lower_share_interval == (0.0, 1.0)
