"""The experiment on development tables."""

from collections import Counter

from histreg.study.catalogue import experiment
from histreg.study.datasets import FRAMES
from histreg.study.tables.peers import OURS, PEERS


def test_every_method_is_run_on_every_development_fold_of_every_table():
    runs = experiment("tables").runs
    places = Counter((run.dataset, run.method) for run in runs)
    assert set(places) == {(table, name) for table in FRAMES for name in PEERS}
    assert set(places.values()) == {4}
    assert {run.seed for run in runs} == {0, 1, 2, 3}


def test_the_last_fold_has_an_experiment_of_its_own():
    last = experiment("tables-last").runs
    assert {run.seed for run in last} == {4}
    assert len(last) == len(FRAMES) * len(PEERS)
    development = experiment("tables").runs
    assert not {run.key for run in last} & {run.key for run in development}
    assert not {run.folder for run in last} & {run.folder for run in development}


def test_peers_are_compared_with_ours():
    tables = experiment("tables")
    references = {
        run.method
        for run in tables.runs
        if tables.pairing.is_reference(tables.runs[0], run)
    }
    assert references == {OURS}
