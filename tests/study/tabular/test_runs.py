import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from histreg.study.datasets import dataset
from histreg.study.methods import (
    L2,
    MDN,
    Brier,
    HLGauss,
    L2SoftmaxMean,
    LinearRegression,
)
from histreg.study.tabular.runs import TabularRun
from tests.study.descriptions import run_of

SMALL = TabularRun("diabetes", HLGauss(), 1, 3, (4, 4))


@pytest.fixture(scope="module")
def diabetes():
    return dataset("diabetes").load()


def test_the_protocol_is_that_of_the_data_set_and_the_paper():
    run, data = TabularRun.of("ct", HLGauss(), 1), dataset("ct")
    protocol = (data.epochs, data.hidden, data.dropout)
    assert (run.epochs, run.hidden, run.dropout) == protocol
    assert (run.learning_rate, run.batch_size) == (1e-3, 256)
    # Steps of the specification, part 3.
    steps = {"ct": 168_000, "song": 241_650, "bike": 27_500, "pole": 23_500}
    for name, expected in steps.items():
        data = dataset(name)
        n_train = data.n_rows - data.n_rows // 5
        assert data.epochs * math.ceil(n_train / 256) == expected


def test_a_stack_is_everything_but_the_method():
    assert SMALL.stack_key == replace(SMALL, method=MDN(2)).stack_key
    for change in ({"seed": 2}, {"epochs": 4}, {"part": "validation"}):
        assert SMALL.stack_key != replace(SMALL, **change).stack_key
    assert SMALL.stack_key != TabularRun.of("diabetes", LinearRegression(), 1).stack_key


def test_another_data_set_brings_its_own_protocol_but_keeps_changes():
    run = replace(TabularRun.of("pole", L2(), 1), learning_rate=0.5)
    moved = run.moved_to("bike")
    assert moved == replace(TabularRun.of("bike", L2(), 1), learning_rate=0.5)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"part": "train"}, "part must be one of 'test', 'validation'"),
        ({"corrupted": 1.5}, "corrupted must be from 0 to 1, got 1.5"),
        ({"probes": ("curvature",)}, "probes must be one of 'gradients', "),
    ],
)
def test_nonsense_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(SMALL, **change)


# --- Bodies of donors, in two trainings one after the other

SWAPPED = [
    replace(SMALL, donor=L2(), has_frozen_body=True),
    replace(SMALL, donor=L2()),
    replace(SMALL, method=L2(), donor=HLGauss(), has_frozen_body=True),
    replace(SMALL, method=L2SoftmaxMean(), donor=HLGauss()),
]


def test_runs_with_donors_and_without_are_computed_apart():
    with_donor = {run.stack_key for run in SWAPPED}
    assert len(with_donor) == 1
    assert SMALL.stack_key not in with_donor
    assert replace(SMALL, has_frozen_body=True).stack_key == SMALL.stack_key


def test_corruption_keeps_stacks_apart():
    assert replace(SMALL, corrupted=0.1).stack_key != SMALL.stack_key


# --- Probes

PROBED = replace(SMALL, probes=("gradients", "sensitivity"))


# --- What a run is called

UNUSUAL = [
    *SWAPPED,
    PROBED,
    replace(SMALL, has_frozen_body=True),
    replace(SMALL, corrupted=0.1),
    replace(SMALL, corrupted=0.101),
    replace(SMALL, probes=("gradients",)),
    replace(SMALL, donor=HLGauss(2.0)),
]


def test_unusual_runs_survive_json():
    for run in UNUSUAL:
        back = run_of(json.loads(json.dumps(run.to_json())))
        assert back == run
        assert back.key == run.key


def test_unusual_runs_have_labels_and_keys_of_their_own():
    runs = [SMALL, *UNUSUAL]
    assert len({run.label for run in runs}) == len(runs)
    assert len({run.key for run in runs}) == len(runs)


def test_fields_that_are_new_leave_the_keys_of_records_as_they_are():
    # The first record of results/study/overall.jsonl, which had none of them.
    path = Path(__file__).parents[3] / "results/study/overall.jsonl"
    with path.open() as lines:
        found = json.loads(next(lines))
    assert found["key"] == "a598ffd80b14fefa"
    assert "donor" not in found["run"]
    assert run_of(found["run"]).key == "a598ffd80b14fefa"
    assert TabularRun.of("bike", Brier(), 1).key == "a598ffd80b14fefa"


def test_a_donor_must_be_a_network():
    with pytest.raises(ValueError, match="donor must be a network"):
        TabularRun.of("diabetes", L2(), 1, donor=LinearRegression())
