"""The command that shows how far a study is."""

import json

import pytest

from histreg.study.catalogue import EXPERIMENTS
from histreg.study.engine.store import Store
from tests.cli.study.running import assert_refused, study
from tests.study.made_up import record_of


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["status", "bound", "--store", "file"], "the store must be a folder, got"),
        (["status", "bound", "--format", "csv"], "--format must be one of 'text', 'j"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence, place):
    assert_refused(place, arguments, sentence)


def test_the_status_of_everything_leaves_out_what_lacks_a_method():
    printed = study("status", "--methods", "HL-Projected")
    assert "projected" in printed and "sines" not in printed
    assert "must be one of" in study("status", "--methods", "magic", code=2)


def test_the_status_of_everything_on_one_series():
    printed = study("status", "--datasets", "ETTh1")
    assert "ETTh1" in printed and "theorems" in printed
    assert "forecasts-of-change" in printed and "overall" not in printed


def test_the_status_of_everything_on_one_data_set():
    printed = study("status", "--datasets", "pole")
    assert "pole" in printed
    assert "theorems" in printed


def test_the_status_as_json_counts_the_runs_of_each_data_set(place):
    runs = [run for run in EXPERIMENTS["overall"].runs if run.folder[0] == "pole"]
    store = Store(place / "histreg-study")
    store.save(record_of(runs[0]))
    store.fail(runs[1], MemoryError("no room"))
    command = ("status", "overall", "--datasets", "pole", "--format", "json")
    shown = json.loads(study(*command))
    (row,) = shown["experiments"]
    assert (row["experiment"], row["data"]) == ("overall", "pole")
    states = ("done", "diverged", "running", "missing", "stopped", "failed")
    assert [row[state] for state in states] == [1, 0, 0, len(runs) - 2, 0, 1]
    assert [failure["n_runs"] for failure in shown["failures"]] == [1]
    assert "no room" in shown["failures"][0]["reason"]
