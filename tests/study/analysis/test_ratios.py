"""Ratios of errors: the paper's 55 by the numbers that are known of them, and laws."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from histreg.study.analysis.comparisons import Comparison
from histreg.study.analysis.paper import published_log_ratios
from histreg.study.analysis.ratios import (
    distance_from_all,
    geometric_interval,
    geometric_mean,
    log_ratio,
    log_ratios_of,
    median_ratio,
    slope_through_origin,
    value_pairs,
)
from histreg.study.catalogue import VALUE_HL
from histreg.study.methods import L1, L2, HLGauss
from tests.study.made_up import tabular_records, value_records

PAPER = Comparison(tuple(published_log_ratios().values()))


def drawn(n, seed=0, mean=-0.2):
    return Comparison(tuple(np.random.default_rng(seed).normal(mean, 0.5, n).tolist()))


# Printed by the authors' notebook, with as many digits: the test of Figure 11 for MAE.
@pytest.mark.parametrize(
    ("found", "printed", "digits"),
    [
        (PAPER.mean, -0.39372, 5),
        (PAPER.estimate.se, 0.07695, 5),
        (PAPER.t, -5.116, 3),
        (PAPER.interval[0], -0.5480, 4),
        (PAPER.interval[1], -0.2394, 4),
        (PAPER.p_t("less"), 2.12e-6, 8),
    ],
    ids=["mean", "error", "t", "from", "to", "p"],
)
def test_the_papers_ratios_have_the_test_that_its_notebook_prints(
    found, printed, digits
):
    assert round(found, digits) == printed


# Not in the paper: computed from the same 55 numbers elsewhere, by the specification.
def test_the_papers_ratios_have_the_other_statistics_that_are_known_of_them():
    assert (PAPER.n, PAPER.n_lower) == (55, 52)
    assert geometric_mean(PAPER) == pytest.approx(0.675, abs=5e-4)
    assert geometric_interval(PAPER) == pytest.approx((0.578, 0.787), abs=5e-4)
    assert median_ratio(PAPER) == pytest.approx(0.827, abs=5e-4)
    assert PAPER.p_t("two-sided") == pytest.approx(4.24e-6, rel=1e-3)
    assert PAPER.p_wilcoxon == pytest.approx(6.6e-10, rel=0.01)
    assert PAPER.p_sign("two-sided") == pytest.approx(1.5e-12, rel=0.04)


def test_the_sides_are_exchanged_with_the_losses():
    found = drawn(9)
    turned = Comparison(tuple(-each for each in found.differences))
    assert geometric_mean(turned) == pytest.approx(1 / geometric_mean(found))
    assert median_ratio(turned) == pytest.approx(1 / median_ratio(found))


def test_equal_losses_have_a_ratio_of_one():
    found = Comparison((0.0, 0.0, 0.0))
    assert geometric_mean(found) == median_ratio(found) == 1.0
    assert geometric_interval(found) == (1.0, 1.0)


def test_without_games_there_is_no_median():
    assert math.isnan(median_ratio(Comparison(())))


def test_the_mean_of_some_games_is_as_far_off_as_by_drawing_them():
    every = drawn(8)
    # All 28 ways to draw two: the deviation of their means, by hand.
    pairs = [Comparison(pair) for pair in combinations(every.differences, 2)]
    far = [distance_from_all(each, every) for each in pairs]
    assert np.mean(far) == pytest.approx(0.0, abs=1e-12)
    assert np.std(far) == pytest.approx(1.0)
    assert math.isnan(distance_from_all(every, every))


def test_a_ratio_is_the_mean_over_common_seeds_of_logs():
    hl, l2 = {1: 1.0, 2: 8.0, 3: 5.0}, {1: 2.0, 2: 1.0, 4: 5.0}
    assert log_ratio(hl, l2) == pytest.approx((math.log(0.5) + math.log(8)) / 2)
    assert math.isnan(log_ratio({1: 1.0}, {2: 1.0}))


def test_more_seeds_leave_the_expected_ratio_as_it_is():
    # Errors whose logs are normal with mean 0: the log of their mean is not.
    draw = np.random.default_rng(0)
    found = {}
    for n in (1, 4):
        a, b = np.exp(draw.normal(0, 1, (2, 20_000, n)))
        found[n] = np.mean(
            [
                log_ratio(dict(enumerate(x)), dict(enumerate(y)))
                for x, y in zip(a, b, strict=True)
            ]
        )
    # Standard errors of 0.01 and 0.005: five of them are missed once in a million.
    assert abs(found[1]) < 0.05 and abs(found[4]) < 0.025


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan])
def test_errors_that_have_no_log_are_refused(wrong):
    with pytest.raises(ValueError, match="errors must be positive to have a ratio"):
        log_ratio({1: wrong}, {1: 1.0})
    with pytest.raises(ValueError, match="errors must be positive to have a ratio"):
        log_ratio({1: 1.0}, {1: wrong})


def test_the_slope_is_that_of_least_squares_without_a_constant():
    draw = np.random.default_rng(0)
    x = draw.uniform(0.1, 1.0, 12)
    y = 0.8 * x + draw.normal(0, 0.05, 12)
    found = slope_through_origin(x.tolist(), y.tolist())
    (reference,), (left,), *_ = np.linalg.lstsq(x[:, None], y)
    assert found.mean == pytest.approx(reference)
    assert found.se == pytest.approx(math.sqrt(left / 11 / np.sum(x**2)))
    assert found.half_interval == pytest.approx(stats.t.ppf(0.975, 11) * found.se)


def test_the_slope_of_one_game_is_its_ratio_without_an_interval():
    found = slope_through_origin([2.0], [1.0])
    assert found.mean == 0.5
    assert math.isnan(found.se) and math.isnan(found.half_interval)


def test_both_losses_of_a_game_make_a_pair():
    records = [
        *value_records("Pong", L2(), [0.2, 0.4, 0.9]),
        *value_records("Pong", VALUE_HL, [0.1, 0.1]),
        *value_records("Alien", VALUE_HL, [0.3, 0.3], test_rmse=[0.6, 0.2]),
        *value_records("Alien", L2(), [0.3, 0.3], test_rmse=[0.3, 0.4]),
    ]
    pong, alien = value_pairs(records)
    assert (pong.game, alien.game) == ("Pong", "Alien")
    assert pong.errors("test MAE") == {1: (0.2, 0.1), 2: (0.4, 0.1)}
    assert pong.mean_errors("test MAE") == pytest.approx((0.3, 0.1))
    assert pong.log_ratio("test MAE") == pytest.approx(-math.log(8) / 2)
    assert alien.log_ratio("test RMSE") == pytest.approx(0.0, abs=1e-12)
    found = log_ratios_of([pong, alien], "test MAE")
    assert found.differences == pytest.approx((-math.log(8) / 2, 0.0))


def test_only_what_is_alike_but_for_the_loss_is_paired():
    hl = value_records("Pong", VALUE_HL, [0.1])
    for other in (
        [],
        value_records("Alien", L2(), [0.2]),
        value_records("Pong", L1(), [0.2]),
        value_records("Pong", L2(), [0.2], target="textbook"),
        value_records("Pong", L2(), [0.2], epochs=2),
        value_records("Pong", L2(), [0.2], diverged=[1]),
        value_records("Pong", L2(), [0.1, 0.2], diverged=[1]),
        tabular_records("pole", HLGauss(), [1.0]),
    ):
        assert value_pairs([*hl, *other]) == []
    changed = value_records("Pong", L2(), [0.2], target="textbook")
    changed += value_records("Pong", VALUE_HL, [0.2], target="textbook")
    (pair,) = value_pairs([*hl, *changed])
    assert pair.label == "Pong, textbook target"


def test_losses_that_saw_different_files_are_not_compared():
    def of_file(records, *files):
        return [
            replace(each, outcome=replace(each.outcome, data_sha256=file))
            for each, file in zip(records, files, strict=True)
        ]

    l2, hl = (
        value_records("Pong", L2(), [0.2] * 2),
        value_records("Pong", VALUE_HL, [0.1] * 2),
    )
    (pair,) = value_pairs([*of_file(l2, "long", "short"), *of_file(hl, "long", "long")])
    assert pair.errors("test MAE") == {1: (0.2, 0.1)}
    assert pair.log_ratio("test MAE") == pytest.approx(math.log(0.5))
    assert value_pairs([*of_file(l2, "s", "s"), *of_file(hl, "l", "l")]) == []
