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


def test_groups_stay_together_and_fractions_hold_roughly():
    groups = np.random.default_rng(0).integers(0, 40, size=1000)
    parts = parts_of(1000, test=0.2, calibration=0.1, order=None, groups=groups, seed=0)
    each = (parts.learn, parts.calibrate, parts.test)
    assert sorted(np.concatenate(each)) == list(range(1000))
    of_part = [set(groups[part]) for part in each]
    assert sum(map(len, of_part)) == len(set(groups))
    for part, share in zip(each, (0.7, 0.1, 0.2), strict=True):
        assert abs(len(part) / 1000 - share) < 0.05  # two groups of a fortieth


@pytest.mark.parametrize("n_groups", [1, 2, 3, 4])
def test_few_groups_give_every_part_one_or_are_refused(n_groups):
    groups = np.arange(60) % n_groups
    options = {"test": 0.2, "calibration": 0.1, "order": None, "seed": 0}
    if n_groups < 3:
        with pytest.raises(ValueError, match="there must be at least 3 groups"):
            parts_of(60, groups=groups, **options)
    else:
        parts = parts_of(60, groups=groups, **options)
        each = (parts.learn, parts.calibrate, parts.test)
        assert all(map(len, each)) and sum(map(len, each)) == 60
