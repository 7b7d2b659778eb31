import errno
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
import torch

from histreg.executors import InProcess, Processes
from histreg.study.engine import runner
from histreg.study.engine import store as store_module
from histreg.study.engine.runner import plan
from histreg.study.engine.store import DamageWarning, State, Store
from histreg.study.methods import L2, MDN, HLGauss, LinearRegression
from histreg.study.tabular.runs import TabularRun
from tests.study.damage import (
    CHECKPOINT_DAMAGES,
    MISFITS,
    RECORD_DAMAGES,
    damage_checkpoint,
    damage_record,
)
from tests.study.gated import GatedRun, wait_until

SMALL = TabularRun("diabetes", HLGauss(), 1, 3, (4, 4))
STUDY = [
    replace(SMALL, method=method, seed=seed)
    for method in (HLGauss(), L2(), MDN(2))
    for seed in (1, 2)
]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def gated(tmp_path, *names, **options):
    return [GatedRun(str(tmp_path), name, **options) for name in names]


def test_a_study_is_computed_once(store):
    summary = runner.run(STUDY, store, InProcess())
    assert (summary.finished, summary.already) == (6, 0)
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*.json")}
    summary = runner.run(STUDY, store, InProcess())
    assert (summary.finished, summary.already) == (0, 6)
    after = {path: path.stat().st_mtime_ns for path in store.root.rglob("*.json")}
    assert after == before


def test_only_what_is_missing_is_computed(store):
    runner.run(STUDY[:2], store, InProcess())
    summary = runner.run(STUDY, store, InProcess())
    assert (summary.finished, summary.already) == (4, 2)


def test_what_was_collected_is_not_computed_again(store, tmp_path):
    runner.run(STUDY, store, InProcess())
    store.collect("small", STUDY, into=tmp_path)
    assert runner.run(STUDY, Store(tmp_path), InProcess()).already == 6


def test_the_number_of_processes_changes_no_number(store, tmp_path):
    runner.run(STUDY, store, InProcess())
    several = Store(tmp_path / "several")
    with Processes(2) as pool:
        runner.run(STUDY, several, pool)
    for run in STUDY:
        # The same stacks, one thread each: equal to the last bit.
        assert several.find(run).outcome == store.find(run).outcome


def test_a_record_says_where_it_came_from(store):
    runner.run(STUDY[:1], store, InProcess())
    record = store.find(STUDY[0])
    assert record.elapsed_s > 0
    assert record.environment["stack_size"] == 1
    assert "resumed_after_epoch" not in record.environment
    assert {"torch", "histreg", "commit", "python"} <= set(record.environment)


def test_a_record_names_the_company_that_it_was_computed_in(store):
    runner.run(STUDY, store, InProcess())
    for run in STUDY:
        stack = store.find(run).environment["stack"]
        same_seed = {other.key for other in STUDY if other.seed == run.seed}
        assert set(stack) == same_seed and len(stack) == 3


def test_stacks_share_a_seed_and_are_of_about_equal_size(store):
    many = [
        replace(SMALL, method=HLGauss(1.0 + i), seed=seed)
        for i in range(13)
        for seed in (1, 2)
    ]
    stacks = plan([*many, TabularRun.of("diabetes", LinearRegression(), 1)], store)
    assert sorted(len(stack) for stack in stacks) == [1, 6, 6, 7, 7]
    for stack in stacks:
        assert len({run.stack_key for run in stack}) == 1


def test_the_longest_stack_comes_first(store):
    long = replace(SMALL, epochs=1000)
    assert plan([SMALL, long], store)[0] == (long,)


def test_an_error_is_written_down_and_does_not_stop_the_others(
    store, monkeypatch, tmp_path
):
    monkeypatch.delenv("HISTREG_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    broken = replace(SMALL, dataset="song-7000")  # not here
    summary = runner.run([broken, SMALL], store, InProcess(), data_dir=None)
    assert (summary.finished, summary.failed) == (1, 1)
    assert store.state(broken).name == "failed"
    assert "YearPredictionMSD" in store.state(broken).detail


def test_a_run_that_failed_is_tried_again_the_next_time(store, tmp_path):
    (run,) = gated(tmp_path, "a")
    store.fail(run, ValueError("bad luck"))
    run.open()
    assert runner.run([run], store, InProcess()).finished == 1
    assert store.state(run) == State("done")


def test_a_full_disk_ends_the_study_in_one_sentence(store, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store_module.Path, "write_text", full)
    with pytest.raises(OSError, match="the disk of the store is full"):
        runner.run([SMALL], store, InProcess())


def test_a_worker_that_dies_costs_no_other_run(store, tmp_path):
    (deadly,) = gated(tmp_path, "deadly", kills=True)
    with Processes(2) as pool:
        summary = runner.run([deadly, *STUDY], store, pool)
    assert summary.finished == len(STUDY)
    assert summary.failed == 1
    assert "died" in store.state(deadly).detail
    assert len(deadly.workers()) == runner.LOSSES_ALLOWED + 1


def test_two_processes_on_one_store_share_the_work(store, tmp_path):
    runs = gated(tmp_path, "a", "b", "c")
    with store.claim(runs[:1]):  # another process is at it
        for run in runs:
            run.open()
        summary = runner.run(runs, store, InProcess())
        assert (summary.finished, summary.elsewhere) == (2, 1)
    assert runner.run(runs, store, InProcess()).finished == 1
    assert all(len(run.workers()) == 1 for run in runs)


def test_two_runners_at_once_compute_every_run_once(store, tmp_path):
    runs = gated(tmp_path, *"abcdef")
    for run in runs:
        run.open()
    summaries = []

    def one():
        summaries.append(runner.run(runs, Store(store.root), pool))

    with Processes(2) as pool:
        threads = [threading.Thread(target=one) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(summary.finished for summary in summaries) == 6
    assert all(len(run.workers()) == 1 for run in runs)
    assert all(store.state(run).name == "done" for run in runs)


def test_what_another_process_gave_up_is_computed_after_all(store, tmp_path):
    first, second = gated(tmp_path, "a", "b")
    claim = store.claim([first])
    claim.__enter__()

    def give_up(_):
        if second.workers():
            claim.__exit__(None, None, None)

    for run in (first, second):
        run.open()
    with Processes(1) as pool:
        summary = runner.run([first, second], store, pool, on_change=give_up)
    assert (summary.finished, summary.elsewhere) == (2, 0)


COMMAND = """
import signal
import sys
from histreg.study.engine import runner
from histreg.study.engine import store as store_module
from histreg.executors import Processes
from histreg.study.engine.store import Store
from tests.study.gated import GatedRun

if __name__ == "__main__":
    # A shell's background job ignores Ctrl-C, and this may be the child of one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    place, root, *names = sys.argv[1:]
    runs = [GatedRun(place, name) for name in names]
    with Processes(2) as pool:
        print(runner.run(runs, Store(root), pool))
"""


@pytest.fixture
def study(store, tmp_path):
    """Start a study of gated runs in a process of its own."""
    script = tmp_path / "study.py"
    script.write_text(COMMAND)
    started = []

    def start(*names):
        process = subprocess.Popen(
            [sys.executable, script, str(tmp_path), str(store.root), *names],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_kill_9_loses_only_what_was_at_work(store, tmp_path, study):
    done, at_work = gated(tmp_path, "done", "at-work")
    done.open()
    process = study("done", "at-work")
    wait_until(lambda: store.state(done).name == "done" and at_work.workers())
    process.send_signal(signal.SIGKILL)
    process.wait()
    (worker,) = at_work.workers()
    wait_until(lambda: not is_alive(worker))  # no orphan goes on
    assert store.state(done) == State("done")
    assert store.state(at_work) == State("missing")
    before = done.workers()
    at_work.open()
    assert runner.run([done, at_work], store, InProcess()).finished == 1
    assert done.workers() == before


def test_ctrl_c_ends_soon_and_keeps_what_was_finished(store, tmp_path, study):
    done, at_work = gated(tmp_path, "done", "at-work")
    done.open()
    process = study("done", "at-work")
    wait_until(lambda: store.state(done).name == "done" and at_work.workers())
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=60)
    assert "stopped=True" in printed, errors
    assert store.state(done) == State("done")
    assert store.state(at_work) == State("missing", "stopped after epoch 1")


def stop_in_epoch(number, monkeypatch):
    """Let workers hear, when they report this epoch of three, that they are to stop."""
    reported = [0]
    report = runner._StackContext.report

    def listen(self, share):
        reported.append(round(3 * share))
        report(self, share)

    monkeypatch.setattr(runner._StackContext, "report", listen)
    monkeypatch.setattr(runner, "is_stopping", lambda: reported[-1] >= number)


def test_a_training_that_is_stopped_goes_on_from_its_checkpoint(store, monkeypatch):
    stack = STUDY[:1] + STUDY[2:3]  # two methods of seed 1
    whole = Store(store.root.with_name("whole"))
    runner.run(stack, whole, InProcess())
    monkeypatch.setattr(runner, "CHECKPOINT_EVERY_S", 0.0)
    stop_in_epoch(2, monkeypatch)
    assert runner.run(stack, store, InProcess()).stopped
    assert [store.checkpoint(run).epoch for run in stack] == [2, 2]
    monkeypatch.undo()
    spent = {run: store.checkpoint(run) for run in stack}
    for checkpoint in spent.values():
        checkpoint.load()
    # First one of them, then the other: each goes on by itself.
    for run in stack:
        assert runner.run([run], store, InProcess()).finished == 1
        found, expected = store.find(run).outcome.metrics, whole.find(run).outcome
        assert found == pytest.approx(dict(expected.metrics), rel=1e-4)
        assert store.find(run).elapsed_s > spent[run].spent_before_s
        where = store.find(run).environment
        assert (where["stack"], where["resumed_after_epoch"]) == ([run.key], 2)
    assert not list((store.root / "checkpoints").iterdir())
    assert not list((store.root / "progress").iterdir())


def test_a_stop_between_a_checkpoint_and_a_report_waits_for_the_next(
    store, monkeypatch
):
    answers = iter([False, False])  # at the start, and when epoch 1 could be saved
    monkeypatch.setattr(runner, "is_stopping", lambda: next(answers, True))
    assert runner.run([SMALL], store, InProcess()).stopped
    assert store.checkpoint(SMALL).epoch == 2


def stopped_study(store, monkeypatch, stack):
    """Train the runs of a stack for two of three epochs."""
    with monkeypatch.context() as stopping:
        stopping.setattr(runner, "CHECKPOINT_EVERY_S", 0.0)
        stop_in_epoch(2, stopping)
        assert runner.run(stack, store, InProcess()).stopped


@pytest.mark.parametrize("name", [*CHECKPOINT_DAMAGES, *MISFITS])
def test_a_training_with_a_damaged_checkpoint_begins_anew(store, monkeypatch, name):
    stack = STUDY[:1] + STUDY[2:3]  # two methods of seed 1
    expected = Store(store.root.with_name("whole"))
    runner.run(stack, expected, InProcess())
    stopped_study(store, monkeypatch, stack)
    path = damage_checkpoint(store, stack[0], name)
    with pytest.warns(DamageWarning) as told:
        summary = runner.run(stack, store, InProcess())
    assert [str(path) in str(each.message) for each in told] == [True]
    assert (summary.finished, summary.failed) == (2, 0)
    assert path.with_name(f"{path.name}.damaged").exists()
    for run in stack:
        found, metrics = store.find(run).outcome.metrics, expected.find(run).outcome
        assert found == pytest.approx(dict(metrics.metrics), rel=1e-4)
    # The other one went on: the time that it took before counts.
    assert [path.name for path in (store.root / "checkpoints").iterdir()] == [
        f"{stack[0].key}.safetensors.damaged"
    ]


@pytest.mark.parametrize("part", ["metrics", "curves", "diverged_at"])
def test_a_checkpoint_with_a_damaged_fit_begins_anew(store, monkeypatch, part):
    (run,) = STUDY[:1]
    stopped_study(store, monkeypatch, [run])
    tensors, notes = store.checkpoint(run).load()
    notes["fit"][part] = "what?"
    store.checkpoint(run).save(tensors, notes)
    with pytest.warns(DamageWarning, match="does not fit its run"):
        assert runner.run([run], store, InProcess()).finished == 1


@pytest.mark.parametrize("name", RECORD_DAMAGES)
def test_a_run_with_a_damaged_record_is_computed_again(store, tmp_path, name):
    run, other = gated(tmp_path, "a", "b")
    for each in (run, other):
        each.open()
    assert runner.run([run, other], store, InProcess()).finished == 2
    path = damage_record(store, run, name)
    with pytest.warns(DamageWarning, match="is damaged"):
        summary = runner.run([run, other], Store(store.root), InProcess())
    assert (summary.finished, summary.already) == (1, 1)
    assert path.with_name(f"{path.name}.damaged").exists()
    assert runner.run([run, other], Store(store.root), InProcess()).already == 2


def test_runs_that_were_stopped_come_first_and_with_their_like(store):
    for run in STUDY[:1] + STUDY[4:5]:
        store.checkpoint(run).save({"weights": torch.zeros(1)}, {"epoch": 2})
    first, *rest = plan(STUDY, store)
    assert set(first) == {STUDY[0], STUDY[4]}
    assert set().union(*rest) == {STUDY[1], STUDY[2], STUDY[3], STUDY[5]}


def test_workers_that_write_elsewhere_are_told(store, tmp_path):
    class Elsewhere(InProcess):
        def submit(self, task, _, *args):
            return super().submit(task, str(tmp_path / "other"), *args)

    with pytest.raises(ValueError, match="workers must write to the same store"):
        runner.run([SMALL], store, Elsewhere())


def test_a_store_is_meant_the_same_from_every_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store("store")
    monkeypatch.chdir("/")
    assert store.root == tmp_path / "store"


def test_the_situation_tells_what_runs_and_how_far_it_is(store, tmp_path):
    first, second = gated(tmp_path, "a", "b")
    told = []

    def look(now):
        told.append(now)
        if any(label == "a" and share == 0.5 for label, _, share in now.running):
            first.open()
            second.open()

    with Processes(1) as pool:
        runner.run([first, second], store, pool, on_change=look)
    assert told[-1].n_finished == 2
    assert told[-1].done_s == told[-1].total_s == 2.0
    assert told[-1].running == ()
    assert any(0 < now.done_s < 2 for now in told)


def test_records_are_json_that_other_tools_can_read(store):
    runner.run(STUDY[:1], store, InProcess())
    (path,) = (store.root / "records").rglob("*.json")
    assert json.loads(path.read_text())["metrics"]["test MAE"] > 0
