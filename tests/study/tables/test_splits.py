"""Splits: parts of rows that do not meet."""

import numpy as np
import pytest

from histreg.study.tables.splits import FOLDS, LAST, N_PARTS, parts_of, split_of


def test_every_row_is_in_one_part():
    parts = parts_of(103)
    assert sorted(np.concatenate(parts)) == list(range(103))
    assert {len(part) for part in parts} == {20, 21}
    assert [*FOLDS, LAST] == list(range(N_PARTS))


@pytest.mark.parametrize("fold", FOLDS)
def test_a_development_fold_sees_no_row_of_the_last_part(fold):
    learnt, tested = split_of(103, fold)
    last = set(parts_of(103)[LAST])
    assert not last & {*learnt, *tested}
    assert not {*learnt} & {*tested}
    assert last | {*learnt, *tested} == set(range(103))


def test_the_last_fold_learns_from_all_development_rows():
    learnt, tested = split_of(103, LAST)
    assert not {*learnt} & {*tested}
    assert {*learnt, *tested} == set(range(103))
    np.testing.assert_array_equal(tested, parts_of(103)[LAST])


def test_development_folds_test_on_each_development_row_once():
    tested = np.concatenate([split_of(103, fold)[1] for fold in FOLDS])
    assert sorted(tested) == sorted(split_of(103, LAST)[0])


def test_the_shuffle_is_the_same_for_all():
    np.testing.assert_array_equal(split_of(50, 2)[0], split_of(50, 2)[0])
    assert (np.concatenate(parts_of(50)) != np.arange(50)).any()
