"""What a data set checks beside its source."""

from dataclasses import replace

import numpy as np
import pytest

from histreg.study.datasets import Table, dataset


def table(*y):
    return Table(np.zeros((len(y), 1)), np.array(y, dtype=float), ("a",), "")


@pytest.mark.parametrize(
    ("y", "problem"),
    [
        ((0.0, 100.0), ""),
        ((-1.0, 50.0), "y must lie in [0, 100], got -1 to 50"),
        ((50.0, 101.0), "y must lie in [0, 100], got 50 to 101"),
    ],
)
def test_y_lies_in_the_declared_range(y, problem):
    data = replace(dataset("pole"), y_range=(0.0, 100.0))
    assert data.problem_of(table(*y)) == problem
