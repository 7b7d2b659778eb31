"""The training process and annealing."""

from dataclasses import replace

import pytest

from histreg.study.catalogue import (
    experiment,
    selected,
)
from histreg.study.tabular.runs import TabularRun


@pytest.mark.parametrize("name", ["ct", "song-7000", "pole"])
def test_training_without_dropout_is_so_on_every_data_set(name):
    found = selected(experiment("training").runs, datasets=[name])
    assert len(found) == 15
    assert {run.dataset for run in found} == {name}
    assert {run.dropout for run in found} == {0.0}
    assert {run.probes for run in found} == {("gradients",)}
    # Where the protocol has none anyhow, nothing is different but what is measured.
    usual = {TabularRun.of(name, run.method, run.seed) for run in found}
    is_usual = {replace(run, probes=()) for run in found} == usual
    assert is_usual == (name == "pole")


def test_the_other_training_process_differs_in_the_first_weights_alone():
    usual, other = (
        experiment(name).runs for name in ("training", "training-head-start")
    )
    assert {run.has_authors_head for run in other} == {True}
    assert tuple(replace(run, has_authors_head=False) for run in other) == usual
