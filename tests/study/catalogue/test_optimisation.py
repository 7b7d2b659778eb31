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
