"""Made tables: what is said of their targets is true of them."""

import numpy as np
import pytest

from histreg.study.datasets import table
from histreg.study.datasets.made import MADE, features


@pytest.mark.parametrize("data", MADE, ids=lambda data: data.name)
def test_they_need_no_file_and_are_always_the_same(data):
    assert data.is_embedded
    first, second = data.load(), data.parse(b"")
    assert first.X.shape == (data.n_rows, data.n_features)
    assert first.sha256 == second.sha256


def test_the_function_explains_what_it_is_to_explain():
    X, f, _ = features(0)
    assert f.mean() == pytest.approx(0, abs=1e-12)
    assert f.std() == pytest.approx(1, abs=1e-12)
    # Not of the last three features: a correlation of 10,000 rows has sd 0.01.
    assert np.abs(np.corrcoef(X[:, 5:].T, f)[-1, :-1]).max() < 0.04


def test_the_logarithms_of_the_lognormal_have_the_noise_that_is_told():
    _, f, _ = features(0)
    noise = np.log(table("lognormal").load().y) - 1.5 * f
    # The sd of 10,000 normal draws has a standard error of 0.5 / sqrt(20,000).
    assert noise.std() == pytest.approx(0.5, abs=4 * 0.5 / 20_000**0.5)


def test_the_pareto_has_the_tail_that_is_told():
    _, f, _ = features(1)
    scaled = table("pareto").load().y / np.exp(f / 2)
    assert scaled.min() >= 1
    # By greatest likelihood: the shape is 1 / mean(log), of standard error 2.5 / 100.
    assert 1 / np.log(scaled).mean() == pytest.approx(2.5, abs=4 * 0.025)


def test_half_of_the_zeros_are_zero():
    y = table("zeros").load().y
    assert y.min() == 0
    assert (y == 0).mean() == pytest.approx(0.5, abs=0.02)  # 4 standard errors


def test_one_in_twenty_lies_in_the_far_mode_and_nothing_between():
    y = table("far-mode").load().y
    assert (y > 900).mean() == pytest.approx(0.05, abs=0.009)  # 4 standard errors
    assert not ((y > 10) & (y < 900)).any()
