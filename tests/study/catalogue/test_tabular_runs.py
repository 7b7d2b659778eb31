"""Runs on tables by the common protocol."""

import pytest

from histreg.study.catalogue import experiment, selected
from histreg.study.methods import HLGauss
from histreg.study.tabular.runs import TabularRun


@pytest.mark.parametrize("name", ["ct", "song", "bike", "pole"])
def test_networks_have_the_protocol_of_their_data_set(name):
    (run,) = selected(
        experiment("overall").runs, datasets=[name], methods=["HL-Gauss"], seeds=[3]
    )
    assert run == TabularRun.of(name, HLGauss(), 3)
