"""Descriptions of value runs."""

import json

import pytest

from histreg.study.atari.runs import ValueRun
from histreg.study.engine.runner import plan
from histreg.study.engine.store import Store
from histreg.study.methods import L1, L2
from tests.study.atari.examples import HL, N_BYTES, run_of
from tests.study.descriptions import run_of as described

pytestmark = pytest.mark.usefixtures("toy")


def test_the_number_of_frames_is_part_of_the_key():
    keys = {run_of(L2(), n_frames=n).key for n in (N_BYTES, 250_000, 10_000_000)}
    assert len(keys) == 3


def test_runs_of_one_game_come_in_a_row(tmp_path):
    runs = [
        ValueRun(name, method, seed)
        for seed in (1, 2)
        for method in (L2(), HL)
        for name in ("Pong", "Alien", "Qbert")
    ]
    games = [stack[0].dataset for stack in plan(runs, Store(tmp_path / "store"))]
    assert games == ["Alien"] * 4 + ["Pong"] * 4 + ["Qbert"] * 4


def test_json_brings_a_run_back_with_its_key():
    for run in (run_of(L2()), run_of(L1()), run_of(HL, target="textbook")):
        back = described(json.loads(json.dumps(run.to_json())))
        assert back == run and back.key == run.key


def test_labels_tell_what_differs():
    assert ValueRun("Pong", L2(), 3).label == "Pong, l2, seed 3"
    run = ValueRun("Pong", HL, 3, target="textbook", learning_rate=1e-3)
    assert run.label == "Pong, HL-Gauss, seed 3, textbook target, learning rate 0.001"
    assert run.changes == ["textbook target", "learning rate 0.001"]
    longer = ValueRun("Pong", L2(), 3, n_frames=10_000_000)
    assert longer.changes == ["frames 10,000,000"]
    assert ValueRun("Pong", L2(), 3).changes == []


@pytest.mark.parametrize(
    ("changes", "is_of_paper"),
    [
        ({}, True),  # the authors' code
        ({"target": "textbook", "learning_rate": 1e-3}, True),  # the text
        ({"target": "textbook"}, False),  # half of each
        ({"learning_rate": 1e-3}, False),
        ({"n_frames": 10_000_000, "epochs": 3}, True),
        ({"n_frames": 5_000}, False),
        ({"epochs": 4}, False),
        ({"batch_size": 64}, False),
    ],
)
def test_the_papers_numbers_are_of_its_text_or_of_its_code(changes, is_of_paper):
    assert ValueRun("Pong", L2(), 1, **changes).is_of_paper == is_of_paper


def test_a_run_moves_to_another_game():
    assert ValueRun("Pong", L2(), 1).moved_to("Qbert").dataset == "Qbert"
    with pytest.raises(ValueError, match="game must be one of"):
        ValueRun("Pong", L2(), 1).moved_to("ct")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"n_frames": 0}, "n_frames must be a whole number of at least 1"),
        ({"target": "td"}, "target must be one of 'arrival', 'textbook'"),
        ({"learning_rate": 0.0}, "learning_rate must be finite and positive"),
    ],
)
def test_runs_that_make_no_sense_are_refused(changes, problem):
    with pytest.raises(ValueError, match=problem):
        run_of(L2(), **changes)
