"""The networks beside the paper's."""

from collections import Counter

import pytest

from histreg.study.catalogue import experiment
from histreg.study.catalogue.architectures import depth_of, networks_of, width_of
from histreg.study.methods import L2, HLGauss
from histreg.study.tabular.runs import TabularRun

RUNS = experiment("architectures").runs


def test_the_networks_are_seven_depths_and_seven_widths_around_the_papers():
    assert networks_of("pole") == (
        *((24,) * n for n in range(1, 8)),
        *((width,) * 3 for width in (3, 6, 12, 36, 48, 72)),
    )
    assert networks_of("bike")[7:] == tuple(
        (width,) * 4 for width in (8, 16, 32, 96, 128, 192)
    )


@pytest.mark.parametrize("name", ["pole", "bike"])
def test_both_losses_are_trained_on_each_network_by_the_common_protocol(name):
    runs = [run for run in RUNS if run.dataset == name]
    found = Counter((run.hidden, run.method) for run in runs)
    losses = (L2(), HLGauss())
    assert set(found) == {(hidden, m) for hidden in networks_of(name) for m in losses}
    assert set(found.values()) == {5}
    usual = TabularRun.of(name, L2(), 1)
    for run in runs:
        assert run.changes in ([], [f"hidden {run.hidden}"])
        assert run.epochs == usual.epochs and run.learning_rate == usual.learning_rate


def test_the_papers_network_is_the_run_of_the_overall_results():
    own = {run for run in RUNS if not run.changes}
    assert own <= set(experiment("overall").runs)
    assert len(own) == 2 * 2 * 5


def test_a_network_is_placed_by_its_depth_or_by_its_width():
    def of(*hidden):
        run = TabularRun.of("pole", L2(), 1, hidden=hidden)
        return depth_of(run), width_of(run)

    assert of(24, 24, 24) == (3, 1.0)
    assert of(24) == (1, None)
    assert of(36, 36, 36) == (None, 1.5)
