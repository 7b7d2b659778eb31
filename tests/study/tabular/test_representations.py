"""Whose body a network has, and what the paper calls it."""

import pytest

from histreg.study.catalogue import experiment
from histreg.study.methods import L1, L2, MDN, HLGauss, HLOneBin, L2SoftmaxMean
from histreg.study.tabular.representations import (
    COLUMNS,
    column_of,
    published_name,
    with_own_body,
)
from histreg.study.tabular.runs import TabularRun


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Default"),
        ({"donor": HLGauss(), "has_frozen_body": True}, "Fixed"),
        ({"donor": HLGauss()}, "Initialized"),
        ({"has_frozen_body": True}, "Random"),
    ],
)
def test_a_run_has_the_column_of_its_body(changes, expected):
    run = TabularRun.of("pole", L2(), 1, **changes)
    assert column_of(run) == expected
    assert with_own_body(run) == TabularRun.of("pole", L2(), 1)


def test_the_experiment_has_both_losses_in_every_column():
    found = {(run.method, column_of(run)) for run in experiment("representation").runs}
    assert {(m, c) for m in (L2(), HLGauss()) for c in COLUMNS} <= found


@pytest.mark.parametrize(
    ("method", "changes", "expected"),
    [
        (L2(), {}, "l2"),
        (MDN(8), {}, "MDN"),
        (HLGauss(), {"donor": L2()}, "HL-Gauss [Initialized]"),
        (HLGauss(), {"has_frozen_body": True}, "HL-Gauss [Random]"),
        (L2(), {"donor": L1()}, None),
        (L2(), {"donor": L2()}, None),
        (L2SoftmaxMean(), {"donor": HLGauss(), "has_frozen_body": True}, None),
        (L2(), {"donor": HLGauss(), "epochs": 5}, None),
        (L2(), {"corrupted": 0.1}, None),
        (HLOneBin(shift_in_bins=0.5), {}, None),
    ],
)
def test_the_paper_has_a_name_for_what_it_ran(method, changes, expected):
    assert published_name(TabularRun.of("pole", method, 1, **changes)) == expected
