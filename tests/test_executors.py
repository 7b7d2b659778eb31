import logging
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from histreg import executors
from histreg.executors import (
    DaskCluster,
    InProcess,
    Processes,
    WorkerLostError,
    is_stopping,
    pool_of,
)
from histreg.study.engine import runner
from histreg.study.engine.store import State, Store
from histreg.study.methods import L2, HLGauss
from histreg.study.tabular.runs import TabularRun
from tests.study.gated import PATIENCE_S, GatedRun, gated_study, wait_until


def double(x):
    return 2 * x


def fail():
    raise ValueError("no")


def vanish():
    os._exit(9)


@pytest.fixture(autouse=True)
def _ctrl_c_interrupts():
    # A job in the background ignores it, and tests started by one with it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def processes():
    with Processes(1) as pool:
        yield pool


def test_killing_the_workers_spares_other_children():
    with Processes(1) as pool:
        lost = pool.submit(time.sleep, PATIENCE_S)
        other = multiprocessing.get_context("spawn").Process(target=double, args=(1,))
        other.start()
        wait_until(lost.running)
        pool.kill()
        with pytest.raises(WorkerLostError):
            lost.result(PATIENCE_S)
    other.join(PATIENCE_S)
    assert other.exitcode == 0


@pytest.fixture(params=["in-process", "processes"])
def pool(request):
    if request.param == "in-process":
        return InProcess()
    return request.getfixturevalue("processes")


def test_a_pool_gives_results_and_errors(pool):
    assert pool.submit(double, 21).result(timeout=60) == 42
    with pytest.raises(ValueError, match="no"):
        pool.submit(fail).result(timeout=60)


def test_a_pool_outlives_its_workers(processes):
    with pytest.raises(WorkerLostError):
        processes.submit(vanish).result(timeout=60)
    assert processes.submit(double, 21).result(timeout=60) == 42


STARTING = """
import os, sys, time
from pathlib import Path
from histreg.executors import Processes

place = Path(sys.argv[1])
if __name__ == "__mp_main__":  # a worker that is starting
    (place / f"starting.{os.getpid()}").touch()
    while not (place / "go").exists():
        time.sleep(0.01)
if __name__ == "__main__":
    with Processes(1) as pool:
        print(pool.submit(abs, -42).result(timeout=60))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_that_is_starting_is_not_ended_by_signals(tmp_path, number):
    script = tmp_path / "starting.py"
    script.write_text(STARTING)
    with subprocess.Popen(
        [sys.executable, script, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        (starting,) = wait_until(lambda: list(tmp_path.glob("starting.[0-9]*")))
        os.kill(int(starting.suffix[1:]), number)
        (tmp_path / "go").touch()
        printed, _ = process.communicate(timeout=60)
    assert printed == "42\n"


def signal_itself(number):
    os.kill(os.getpid(), number)
    return "alive"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_ignores_signals_that_are_for_its_parent(processes, number):
    assert processes.submit(signal_itself, number).result(timeout=60) == "alive"


def test_a_signal_that_is_held_back_comes_afterwards():
    reached = False
    with pytest.raises(KeyboardInterrupt), executors._held_back():
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached


def sleep_for_long(begun):
    whole = Path(begun)
    whole.with_suffix(".partial").write_text(str(os.getpid()))
    whole.with_suffix(".partial").rename(whole)
    time.sleep(600)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_when_a_worker_dies_those_beside_it_are_ended_too(tmp_path):
    """They ignore SIGTERM, by which an executor ends them."""
    begun = tmp_path / "begun"
    with Processes(2) as pool:
        # Both are there: the executor may not see one die that it has just started.
        for ready in [pool.submit(double, 21) for _ in range(2)]:
            ready.result(timeout=60)
        sleeping = pool.submit(sleep_for_long, str(begun))
        wait_until(begun.exists)
        with pytest.raises(WorkerLostError):
            pool.submit(vanish).result(timeout=60)
        with pytest.raises(WorkerLostError):
            sleeping.result(timeout=60)
        wait_until(lambda: not is_alive(int(begun.read_text())))
        assert pool.submit(double, 21).result(timeout=60) == 42


def stopping_after(number):
    signal.raise_signal(number)
    return is_stopping()


def test_a_task_in_this_process_is_asked_to_stop_before_it_is_interrupted():
    pool = InProcess()
    assert pool.submit(stopping_after, signal.SIGINT).result() is True
    assert pool.submit(is_stopping).result() is True  # as are those after it
    with pytest.raises(KeyboardInterrupt):
        pool.submit(stopping_after, signal.SIGINT)
    assert not is_stopping()


def test_outside_of_a_worker_nothing_is_stopping():
    assert not is_stopping()


def test_workers_hear_that_they_are_to_stop():
    with Processes(1) as pool:
        assert pool.submit(is_stopping).result(timeout=60) is False
        pool._event.set()
        assert pool.submit(is_stopping).result(timeout=60) is True


@pytest.mark.parametrize(
    ("given", "kind"),
    [(None, Processes), ("processes", Processes), ("in-process", InProcess)],
)
def test_a_pool_is_named_on_the_command_line(given, kind):
    with pool_of(given, 1) as pool:
        assert isinstance(pool, kind)


@pytest.mark.parametrize("given", ["slurm", "dask:/localhost", ""])
def test_another_name_is_refused(given):
    with pytest.raises(ValueError, match="--executor must be processes, in-process,"):
        pool_of(given, 1)


def test_jobs_are_at_least_one():
    with pytest.raises(ValueError, match="jobs must be a whole number of at least 1"):
        Processes(0)


# Dask, with a real scheduler and real workers on loopback.


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def started(*command: str, **environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + command[0], *command[1:]],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def cluster(tmp_path):
    """Start a scheduler and two workers; give its address, the workers and itself."""
    path = os.pathsep.join([str(tmp_path), *sys.path])
    port = str(free_port())
    address = f"127.0.0.1:{port}"
    here = ("--host", "127.0.0.1")
    running = [started("dask_scheduler", *here, "--port", port, "--no-dashboard")]
    try:
        running += [
            started(
                "dask_worker",
                f"tcp://{address}",
                *here,
                *("--nthreads", "1", "--no-nanny", "--no-dashboard"),
                OMP_NUM_THREADS="1",
                PYTHONPATH=path,
            )
            for _ in range(2)
        ]
        yield address, running[1:], running[0]
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_study_on_dask_survives_the_death_of_a_worker(cluster, tmp_path):
    address, workers, _ = cluster
    store = Store(tmp_path / "store")
    runs = [GatedRun(str(tmp_path), name) for name in "abcdef"]
    numbers = {process.pid for process in workers}
    with pool_of(f"dask://{address}", 2) as pool:
        wait_until(lambda: pool.n_workers == 2)

        def kill_one(_):
            at_work = [run for run in runs if run.workers()]
            if workers[0].poll() is None and len(at_work) >= 2:
                os.kill(workers[0].pid, signal.SIGKILL)
                workers[0].wait()
                for run in runs:
                    run.open()

        summary = runner.run(runs, store, pool, on_change=kill_one)
    assert (summary.finished, summary.failed) == (6, 0)
    records = store.records(runs)
    assert len(records) == 6  # no run is lost
    finished_by = [record.outcome.metrics["process"] for record in records]
    assert workers[0].pid not in finished_by
    assert set(finished_by) <= numbers
    begun = [len(run.workers()) for run in runs]
    assert sorted(begun) == [1, 1, 1, 1, 1, 2]  # none doubled but that which was lost


@pytest.mark.slow
def test_data_sets_do_not_go_through_the_scheduler(cluster, tmp_path):
    address, _, _ = cluster
    store = Store(tmp_path / "store")
    runs = [TabularRun("diabetes", m, 1, 2, (4,)) for m in (L2(), HLGauss())]
    with pool_of(f"dask://{address}", 2) as pool:
        wait_until(lambda: pool.n_workers == 2)
        sent = []
        submit = pool._executor.submit
        pool._executor.submit = lambda task, *args: (
            sent.append(args) or submit(task, *args)
        )
        assert runner.run(runs, store, pool).finished == 2
    stack = tuple(sorted(runs, key=lambda run: run.label))
    assert sent == [(pool._event.name, runner.work, str(store.root), stack, None, ())]


def test_a_cluster_of_this_machine_is_started_and_ended(tmp_path):
    runs = [TabularRun("diabetes", L2(), seed, 2, (4,)) for seed in (1, 2)]
    with pool_of("dask", 1) as pool:
        assert runner.run(runs, Store(tmp_path / "store"), pool).finished == 2


def test_a_scheduler_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr(executors, "DASK_PATIENCE", "500ms")
    import distributed  # noqa: F401  # which sets levels of its own

    logs = [logging.getLogger(name) for name in executors.DASK_LOGS]
    levels = [log.level for log in logs]
    with pytest.raises(
        ValueError, match="--executor must name a Dask scheduler, found"
    ):
        DaskCluster(f"tcp://127.0.0.1:{free_port()}")
    assert [log.level for log in logs] == levels


@pytest.mark.slow
def test_ctrl_c_stops_what_has_begun_on_a_cluster(cluster, tmp_path):
    address, workers, _ = cluster
    runs = [GatedRun(str(tmp_path), name) for name in "abcdef"]
    with gated_study(tmp_path, "abcdef", "--executor", f"dask://{address}") as study:
        wait_until(lambda: sum(bool(run.workers()) for run in runs) == 2)
        study.send_signal(signal.SIGINT)
        _, errors = study.communicate(timeout=PATIENCE_S)
    assert (study.returncode, errors.count("\n")) == (130, 1), errors
    assert "stopped; run the same command again to resume" in errors
    states = [Store(tmp_path / "histreg-study").state(run) for run in runs]
    begun = [state for run, state in zip(runs, states, strict=True) if run.workers()]
    # Those that were given to a worker and had to wait may have begun, and stopped.
    assert begun == [State("missing", "stopped after epoch 1")] * 2
    assert {state.name for state in states} == {"missing"}
    assert all(worker.poll() is None for worker in workers)  # they are not ours


@pytest.mark.slow
def test_a_scheduler_that_dies_ends_the_study_in_one_sentence(cluster, tmp_path):
    address, _, scheduler = cluster
    runs = [GatedRun(str(tmp_path), name) for name in "ab"]
    runs[0].open()
    store = Store(tmp_path / "histreg-study")
    with gated_study(tmp_path, "ab", "--executor", f"dask://{address}") as study:
        wait_until(lambda: store.has(runs[0]) and runs[1].workers())
        scheduler.kill()
        _, errors = study.communicate(timeout=PATIENCE_S)
    assert (study.returncode, errors.count("\n")) == (2, 1), errors
    assert f"the Dask scheduler at tcp://{address} no longer answers" in errors
    assert store.has(runs[0])
