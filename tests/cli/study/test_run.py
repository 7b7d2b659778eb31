"""The command that computes: plans, failures, and being stopped."""

import json
import os
import signal

import pytest
import torch

from histreg.study.engine.runs import Outcome, Record
from histreg.study.engine.store import State, Store
from histreg.study.methods import L2, HLProjected
from histreg.study.tabular.runs import TabularRun
from tests.cli.study.running import assert_refused, study
from tests.study.gated import GatedRun, gated_study, wait_until
from tests.study.made_up import record_of


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "bound", "--jobs", "0"], "--jobs must be a whole number"),
        (["run", "bound", "--jobs", "-1"], "--jobs must be a whole number"),
        (["run", "bound", "--executor", "cloud"], "--executor must be processes,"),
        (["run", "bound", "--executor", "dask://"], "dask or dask://host:port, got "),
        (["run", "bound", "--executor", "dask://host"], "dask or dask://host:port, "),
        (["run", "targets", "--data-dir", "no"], "--data-dir must be a folder, got no"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence, place):
    assert_refused(place, arguments, sentence)


def test_a_dry_run_computes_nothing_and_says_how_long(place):
    printed = study("run", "overall", "--datasets", "pole", "--dry-run", "--jobs", "2")
    assert "120 runs to compute, about" in printed
    assert "min with 2 processes" in printed
    assert "not here, to be downloaded if possible: pole" in printed
    assert list(place.iterdir()) == []


def test_a_dry_run_goes_by_stored_times(place):
    command = ["run", "overall", "--datasets", "ct", "--methods", "l2", "--dry-run"]
    rough = TabularRun.of("ct", L2(), 1).expected_s
    assert f"{rough / 60:.1f}" in study(*command)
    # Two seeds of another experiment's method took three times as long.
    store = Store(place / "histreg-study")
    for seed in (1, 2):
        run = TabularRun.of("ct", HLProjected(), seed)
        store.save(Record(run, Outcome(), {}, 3 * run.expected_s, ""))
    printed = study(*command)
    assert f"{3 * rough / 60:.1f}" in printed
    assert "estimated from the existing records" in printed


def test_a_dry_run_of_forecasts_says_how_long_and_which_series_is_not_here(place):
    command = ["run", "forecasts", "--datasets", "ETTh1", "--dry-run", "--jobs", "2"]
    printed = study(*command)
    # Four models, two losses, five seeds; and what learns nothing.
    assert "41 runs to compute, about" in printed
    assert "h with 2 processes" in printed
    assert "not here, to be downloaded if possible: ETTh1" in printed
    # One epoch of ten, one seed of five.
    few = study(*command, "--epochs", "1", "--seeds", "1")
    assert "9 runs to compute, about" in few and "min with 2 processes" in few
    assert list(place.iterdir()) == []


def test_a_dry_run_of_values_says_how_long_and_which_games_are_not_here(place):
    printed = study("run", "values", "--dry-run", "--jobs", "2")
    # 14 games, two losses, two seeds; five and a half minutes each.
    assert "56 runs to compute, about 2.5 h with 2 processes" in printed
    assert "not here, to be downloaded if possible: AirRaid, Asteroids" in printed
    few = study("run", "values", "--datasets", "Pong", "--dry-run", "--jobs", "1")
    assert "4 runs to compute, about 22 min with 1 process," in few
    assert list(place.iterdir()) == []


def test_a_dry_run_is_one_json_document(place):
    command = ["run", "overall", "--datasets", "pole", "--methods", "l2", "--dry-run"]
    plan = json.loads(study(*command, "--jobs", "2", "--format", "json"))
    assert (plan["n_runs"], plan["n_done"], plan["n_resumable"]) == (5, 0, 0)
    assert sum(stack["n_runs"] for stack in plan["stacks"]) == 5
    total = sum(stack["expected_s"] for stack in plan["stacks"])
    assert plan["expected_s"] == pytest.approx(total / 2)
    assert plan["absent_data_sets"] == ["pole"]
    assert list(place.iterdir()) == []


def test_what_was_computed_is_one_json_document():
    command = ["run", "bound", "--executor", "in-process", "--format", "json"]
    first, second = json.loads(study(*command)), json.loads(study(*command))
    counts = ("n_runs", "n_done", "n_finished", "n_failed", "n_elsewhere")
    assert [first[name] for name in counts] == [1, 0, 1, 0, 0]
    assert [second[name] for name in counts] == [1, 1, 0, 0, 0]
    assert not first["is_stopped"] and first["failures"] == []


def test_runs_that_fail_are_counted_in_json_with_their_reason():
    command = ["run", "targets", "--datasets", "song-7000", "--executor", "in-process"]
    shown = json.loads(study(*command, "--format", "json", code=1))
    assert shown["n_failed"] == 1
    (failure,) = shown["failures"]
    assert failure["n_runs"] == 1 and "YearPredictionMSD" in failure["reason"]


def test_experiments_without_data_run():
    study("run", "bound", "--executor", "in-process")
    assert "0.2032" in study("table", "bound")


def test_runs_that_fail_are_shown_with_their_reason():
    printed = study(
        *("run", "targets", "--datasets", "song-7000", "--executor", "in-process"),
        code=1,
    )
    assert "1 failed: " in printed
    printed = study("status", "targets", "--datasets", "song-7000")
    assert "1 failed: " in printed
    assert "YearPredictionMSD" in printed


def ctrl_c(group: int) -> None:
    os.killpg(group, signal.SIGINT)  # as a terminal does


def sigterm(group: int) -> None:
    os.killpg(group, signal.SIGTERM)  # as a batch scheduler does


def sigterm_twice(group: int) -> None:
    os.kill(group, signal.SIGTERM)  # as timeout does
    os.killpg(group, signal.SIGTERM)


@pytest.mark.parametrize(
    ("executor", "send"),
    [
        ("processes", ctrl_c),
        pytest.param("processes", sigterm, marks=pytest.mark.slow),
        ("processes", sigterm_twice),
        ("in-process", ctrl_c),
        pytest.param("in-process", sigterm_twice, marks=pytest.mark.slow),
        pytest.param("dask", ctrl_c, marks=pytest.mark.slow),
        pytest.param("dask", sigterm, marks=pytest.mark.slow),
    ],
)
def test_a_study_that_is_stopped_goes_on_from_its_checkpoints(place, executor, send):
    """With a module of one's own, which is imported by the workers too."""
    first, second = (GatedRun(str(place), name) for name in "ab")
    store = Store(place / "histreg-study")
    options = ("--jobs", "2", "--executor", executor)
    first.open()
    with gated_study(place, "ab", *options) as process:
        wait_until(lambda: store.has(first) and second.workers())
        send(process.pid)
        printed, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.count("\n")) == (130, 1), errors
    assert "1 run finished" in printed
    assert "stopped; run the same command again to resume" in errors
    assert store.state(second) == State("missing", "stopped after epoch 1")
    assert not any(is_alive(worker) for worker in second.workers())


def test_a_study_that_was_stopped_goes_on_by_the_same_command(place):
    first, second = (GatedRun(str(place), name) for name in "ab")
    store = Store(place / "histreg-study")
    store.save(record_of(first))
    store.checkpoint(second).save({"weights": torch.zeros(1)}, {"epoch": 1})
    second.open()
    with gated_study(place, "ab", "--executor", "in-process") as process:
        printed, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "2 runs, 1 done already, 1 resume from checkpoints" in printed
    assert store.has(second)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
