"""Descriptions of forecast runs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from histreg.study.catalogue import EXPERIMENTS
from histreg.study.methods import L2
from histreg.study.series.runs import READING, ForecastRun, reading_of
from tests.study.descriptions import run_of as described
from tests.study.series.examples import HL, run_of


def test_json_brings_a_run_back_with_its_key():
    changed = run_of(HL, "LSTM", subtracts_last=True)
    for run in (run_of(L2()), changed, run_of(HL, **READING)):
        back = described(json.loads(json.dumps(run.to_json())))
        assert back == run and back.key == run.key


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"architecture": "CNN"}, "architecture must be one of 'Linear'"),
        (
            {"head": "two"},
            "head must be one of 'direct', 'per-step', 'shared', 'dense'",
        ),
        ({"first_weights": "jax"}, "first_weights must be one of 'pytorch', 'keras'"),
        ({"validation": "MAE"}, "validation must be one of 'loss', 'MSE'"),
    ],
)
def test_runs_that_make_no_sense_are_refused(changes, problem):
    with pytest.raises(ValueError, match=problem):
        run_of(L2(), **changes)


def test_a_run_of_before_there_were_readings_keeps_its_key():
    path = Path(__file__).parents[3] / "results" / "study" / "forecasts-direct.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    known = {run.key for run in EXPERIMENTS["forecasts-direct"].runs}
    assert len(records) == 74
    assert {each["key"] for each in records} <= known
    runs = [each for each in records if each["run"]["kind"] == "forecast"]
    for each in runs:
        assert described(each["run"]).key == each["key"]


def test_the_label_tells_what_differs_from_the_reading_of_the_paper():
    usual = ForecastRun("ETTh1", "GRU", L2(), 3, **reading_of("GRU"))
    assert (usual.label, usual.changes) == ("ETTh1, GRU, l2, seed 3", [])
    changed = replace(usual, subtracts_last=True, epochs=2, learning_rate=3e-4)
    assert changed.changes == [
        *("last value subtracted", "epochs 2", "learning rate 0.0003")
    ]
    assert changed.label == f"{usual.label}, {', '.join(changed.changes)}"


def test_other_readings_are_told_by_what_they_have_instead():
    assert ForecastRun("ETTh1", "GRU", L2(), 3).changes == [
        *("direct head", "PyTorch weights", "stopped by loss")
    ]
    usual = ForecastRun("ETTh1", "GRU", L2(), 3, **reading_of("GRU"))
    assert replace(usual, head="dense").changes == ["dense head"]


@pytest.mark.parametrize(
    ("changes", "is_of_paper"),
    [
        ({}, True),
        (READING, True),
        ({"head": "dense"}, True),
        ({"subtracts_last": True}, False),
        ({**READING, "epochs": 2}, False),
    ],
)
def test_every_reading_is_of_the_paper_and_no_other_protocol_is(changes, is_of_paper):
    run = ForecastRun("ETTh1", "GRU", L2(), 3, **changes)
    assert run.is_of_paper is is_of_paper
