"""The split of a table into rows for training, calibration and test."""

import numpy as np
import pytest

from histreg.tabular.splits import parts_of


def test_parts_are_disjoint_and_complete():
    parts = parts_of(101, test=0.2, calibration=0.1, order=None, seed=0)
    each = (parts.learn, parts.calibrate, parts.test)
    assert [len(part) for part in each] == [71, 10, 20]
    assert sorted(np.concatenate(each)) == list(range(101))
    again = parts_of(101, test=0.2, calibration=0.1, order=None, seed=0)
    assert np.array_equal(parts.test, again.test)


def test_in_an_order_the_last_rows_are_the_test():
    order = np.arange(10)[::-1]
    parts = parts_of(10, test=0.3, calibration=0.2, order=order, seed=0)
    assert parts.test.tolist() == [2, 1, 0] and parts.calibrate.tolist() == [4, 3]


@pytest.mark.parametrize("test, calibration", [(0.6, 0.5), (1.0, 0.0), (-0.1, 0.1)])
def test_fractions_that_leave_nothing_are_refused(test, calibration):
    with pytest.raises(ValueError, match="add up to less than 1"):
        parts_of(10, test=test, calibration=calibration, order=None, seed=0)
