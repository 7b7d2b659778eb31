import math

import pytest

from histreg.study.methods import L2Moments, L2MultiTask

SMALL = {"n_bins": 20, "padding_in_bins": 2.0}


def test_weights_are_trained_as_one_and_numbers_of_moments_apart():
    assert L2MultiTask(0.1).group == L2MultiTask(1.0).group
    assert L2MultiTask(0.1).group != L2MultiTask(0.1, **SMALL).group
    assert L2Moments(2).group != L2Moments(3).group


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: L2MultiTask(-1.0), "weight must be finite and non-negative"),
        (lambda: L2MultiTask(math.inf), "weight must be finite and non-negative"),
        (lambda: L2Moments(0), "n_moments must be a whole number of at least 1"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(make, problem):
    with pytest.raises(ValueError, match=problem):
        make()
