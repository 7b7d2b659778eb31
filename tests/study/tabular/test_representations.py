"""Whose body a network has."""

import pytest

from histreg.study.catalogue import experiment
from histreg.study.methods import L2, HLGauss
from histreg.study.tabular.representations import (
    COLUMNS,
    column_of,
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
