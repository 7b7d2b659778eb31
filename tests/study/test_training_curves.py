"""How steady and how fast a network learnt, by hand."""

import math

import pytest

from histreg.study.methods import L2
from histreg.study.tabular import TabularRun
from histreg.study.training_curves import early_area, normalised_norms, stability
from tests.study.made_up import record_of


def record(n=3):
    curves = {
        "epoch": [1, 2, 3],
        "train MAE": [9.0, 6.0, 1.5],
        "gradient norm": [2.0, 200.0, 0.2],
        "excess loss": [2.0, 0.2, 0.002],
    }
    curves = {name: values[:n] for name, values in curves.items()}
    return record_of(TabularRun.of("pole", L2(), 1), {}, curves)


def test_the_norm_is_divided_by_the_excess():
    assert normalised_norms(record()) == pytest.approx([1, 1000, 100])


def test_stability_is_the_deviation_of_the_logarithm():
    # 0, 3, 2: squared deviations from 5/3 sum to 14/3, over 2.
    assert stability(record()) == pytest.approx(math.sqrt(7 / 3))


def test_one_epoch_has_no_stability():
    assert math.isnan(stability(record(1)))


@pytest.mark.parametrize(("n", "expected"), [(1, 9.0), (2, 7.5), (10, 5.5)])
def test_the_early_area_is_the_mean_of_the_first_epochs(n, expected):
    assert early_area(record(), n) == pytest.approx(expected)
