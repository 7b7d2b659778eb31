"""Executors: where tasks are computed, with the interface of ``concurrent.futures``.

A `Pool` is an executor that survives the loss of workers: the task of a worker that
dies fails with `WorkerLostError`, and the pool is repaired for the next task.

Ctrl-C and SIGTERM are handled by the process that owns the pool, although shells and
batch schedulers send them to its workers too. It asks the workers to stop, and they do
so at the next point from which they can continue (`is_stopping`).
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import signal
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from types import FrameType
from typing import Any, ClassVar, Protocol, Self

from histreg._checks import check_count
from histreg.errors import InputError

DASK_PATIENCE = "10s"  # for a scheduler to answer
DASK_LOGS = ("distributed.client", "tornado.application", "asyncio")
ASK_EVERY_S = 0.5  # a scheduler, whether to stop
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class WorkerLostError(Exception):
    """The process that computed a task is gone."""


class PoolLostError(InputError):
    """All workers are lost for good."""


class _Event(Protocol):
    def is_set(self) -> bool: ...


class _Task(threading.local):
    """The event by which a pool asks its tasks to stop."""

    stop: _Event | None = None


_task = _Task()


def is_stopping() -> bool:
    """Return whether the task of this thread was asked to stop."""
    return _task.stop is not None and _task.stop.is_set()


class Pool(ABC):
    """Workers that compute tasks."""

    n_workers: int

    @abstractmethod
    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """Return the future of a task; `WorkerLostError` if its worker dies."""

    def check(self) -> None:  # noqa: B027
        """Raise `PoolLostError` if submitted tasks will never finish."""

    @abstractmethod
    def stop(self) -> None:
        """Ask the running tasks to end soon, and drop the others."""

    @abstractmethod
    def kill(self) -> None:
        """End the running tasks at once."""

    @abstractmethod
    def close(self) -> None:
        """Release the workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class InProcess(Pool):
    """No workers: a task runs when it is submitted. The same code, for debugging.

    Ctrl-C, and SIGTERM if handled alike, ask the current and later tasks to stop.
    A second Ctrl-C ends the task at once.
    """

    n_workers = 1

    def __init__(self) -> None:
        self._event = threading.Event()

    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """Run the task."""
        future: Future[Any] = Future()
        try:
            with _asked_by_signals(self._event):
                future.set_result(task(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def stop(self) -> None:
        """Let later tasks end as soon as they start; none is running now."""
        self._event.set()

    def kill(self) -> None:
        """Do nothing: no task runs outside of `submit`."""

    def close(self) -> None:
        """Do nothing: there is no worker."""


class _Worker(SpawnProcess):
    """A worker process. It ignores SIGTERM, so it has to be killed."""

    def terminate(self) -> None:
        self.kill()


class _WorkerContext(SpawnContext):
    """Processes are spawned, not forked: a fork inherits locks of torch's threads."""

    Process: ClassVar[type[SpawnProcess]] = _Worker


class Processes(Pool):
    """Worker processes on this machine, with one thread each.

    Parameters
    ----------
    n_workers : int
        One per core is best: two threads on one network are slower, and very slow when
        anything else runs.
    """

    def __init__(self, n_workers: int) -> None:
        check_count("jobs", n_workers, at_least=1)
        self.n_workers = n_workers
        self._context = _WorkerContext()
        self._event = self._context.Event()
        self._executor = self._start()
        self._tasks: list[Future[Any]] = []

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.n_workers,
            mp_context=self._context,
            initializer=_become_worker,
            initargs=(self._event, os.getpid()),
        )

    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """Submit a task to a worker; a broken pool is replaced first."""
        with _held_back():
            try:
                inner = self._executor.submit(task, *args)
            except BrokenProcessPool:
                self._executor.shutdown(wait=False)
                self._executor = self._start()
                inner = self._executor.submit(task, *args)
        self._tasks = [task for task in self._tasks if not task.done()] + [inner]
        return _translated(inner, BrokenProcessPool)

    def stop(self) -> None:
        """Set the event that workers look at after each epoch."""
        self._event.set()
        # Not by a shutdown, which does not wait for workers that are starting.
        for task in self._tasks:
            task.cancel()

    def kill(self) -> None:
        """Kill the workers, which releases their claims."""
        for process in multiprocessing.active_children():
            if isinstance(process, _Worker):  # other children are the caller's
                process.kill()

    def close(self) -> None:
        """Wait for the workers to end."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class DaskCluster(Pool):
    """Workers of a Dask scheduler.

    The files that tasks read and write must be on a file system that the workers share;
    none goes through the scheduler. A task whose worker dies is given to another by
    Dask itself. Tasks poll the scheduler to see whether to stop.

    Parameters
    ----------
    address : str, optional
        Such as ``tcp://host:8786``; by default a cluster is started on this machine.
    n_workers : int
        Number of workers of the cluster, if one is started.
    """

    def __init__(self, address: str | None = None, *, n_workers: int = 2) -> None:
        try:
            from distributed import Client, Event, KilledWorker, LocalCluster
        except ModuleNotFoundError as error:
            raise InputError(
                f"a Dask executor needs {error.name}: pip install 'histreg[dask]'"
            ) from error
        self._lost: type[BaseException] = KilledWorker
        # The loss of a scheduler is reported only by `PoolLostError`.
        self._logs = {name: logging.getLogger(name).level for name in DASK_LOGS}
        for name in DASK_LOGS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._cluster = None
        if address is None:
            check_count("jobs", n_workers, at_least=1)
            with _held_back():
                self._cluster = LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",  # the default port may be taken
                    silence_logs=logging.ERROR,  # no warnings of slow workers
                )
            address = self._cluster.scheduler_address
        try:
            self._client = Client(address, timeout=DASK_PATIENCE, set_as_default=False)
        except OSError as error:
            self._release()
            raise InputError(
                f"--executor must name a Dask scheduler, found none at {address}"
            ) from error
        self._address = address
        self._connection = self._client.scheduler_comm
        self._executor = self._client.get_executor(pure=False)
        self._event = Event(f"histreg-stop-{uuid.uuid4()}", client=self._client)

    @property
    def n_workers(self) -> int:  # type: ignore[override]
        """The present number of workers; more may join."""
        return max(1, self._n_threads())

    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """Hand a task to the scheduler."""
        with self._connected():
            inner = self._executor.submit(_stoppable, self._event.name, task, *args)
        return _translated(inner, self._lost)

    def stop(self) -> None:
        """Set the event that tasks poll; tasks that wait for a worker are dropped.

        Tasks queued behind another one on a worker start, and stop at once.
        """
        with self._connected():
            self._event.set()
        if not self._n_threads():
            self.kill()

    def kill(self) -> None:
        """Drop all tasks; running ones end as after `stop`."""
        if self._client.scheduler_comm is self._connection:
            self._executor.shutdown(wait=False)

    def close(self) -> None:
        """Leave the scheduler, or end the cluster that was started."""
        self._client.close()
        self._release()

    def _release(self) -> None:
        """Restore the levels of logs, and end the cluster that was started."""
        for name, level in self._logs.items():
            logging.getLogger(name).setLevel(level)
        if self._cluster is not None:
            self._cluster.close()

    def _n_threads(self) -> int:
        with self._connected():
            return sum(self._client.nthreads().values())

    def check(self) -> None:
        """Raise `PoolLostError` if the connection was lost.

        This holds even after reconnecting: Dask forgets the tasks of a disconnected
        client, and some of their futures never complete.
        """
        with self._connected():
            pass

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Report a lost scheduler in one sentence."""
        try:
            if self._client.scheduler_comm is not self._connection:
                raise ConnectionError(f"the client is {self._client.status}")
            yield
        except OSError as error:
            raise PoolLostError(
                f"the Dask scheduler at {self._address} no longer answers; "
                "what was finished is kept: run the same command again once one "
                "is running"
            ) from error


class _SchedulerEvent:
    """The event of a Dask pool within a worker, which polls the scheduler."""

    def __init__(self, name: str) -> None:
        from distributed import Event

        self._event = Event(name)
        self._asked, self._is_set = -ASK_EVERY_S, False

    def is_set(self) -> bool:
        """Return whether the pool is to stop, or its scheduler is gone."""
        now = time.monotonic()
        if not self._is_set and now - self._asked >= ASK_EVERY_S:
            self._asked = now
            try:
                self._is_set = bool(self._event.is_set())
            except Exception:  # any error that Dask raises without its scheduler
                self._is_set = True
        return self._is_set


def _stoppable(event: str, task: Callable[..., Any], *args: Any) -> Any:
    """Run a task on a Dask worker."""
    _task.stop = _SchedulerEvent(event)
    try:
        return task(*args)
    finally:
        _task.stop = None


def pool_of(executor: str | None, jobs: int) -> Pool:
    """Return the pool that the command line asks for.

    Parameters
    ----------
    executor : {None, "processes", "in-process", "dask", "dask://host:port"}
    jobs : int
        Number of workers to start.
    """
    if executor in (None, "processes"):
        return Processes(jobs)
    if executor == "in-process":
        return InProcess()
    if executor == "dask":
        return DaskCluster(n_workers=jobs)
    if executor is not None and re.fullmatch(r"dask://\S+:\d{1,5}", executor):
        return DaskCluster("tcp://" + executor.removeprefix("dask://"))
    raise InputError(
        "--executor must be processes, in-process, dask or dask://host:port, got "
        f"{executor}"
    )


def _translated(inner: Future[Any], lost: type[BaseException]) -> Future[Any]:
    """Return a future that reports the loss of a worker as `WorkerLostError`."""
    outer: Future[Any] = Future()
    outer.set_running_or_notify_cancel()

    def settle(done: Future[Any]) -> None:
        if done.cancelled():
            outer.set_exception(WorkerLostError("the task was cancelled"))
            return
        error = done.exception()
        if error is None:
            outer.set_result(done.result())
        elif isinstance(error, lost):
            outer.set_exception(
                WorkerLostError("the process that computed it died, time and again")
            )
        else:
            outer.set_exception(error)

    inner.add_done_callback(settle)
    return outer


@contextmanager
def _asked_by_signals(event: threading.Event) -> Iterator[None]:
    """Let signals that would interrupt this thread's task set its event instead.

    A second Ctrl-C has its usual effect. A second SIGTERM does not:
    batch schedulers, and ``timeout``, send it more than once.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in SIGNALS if is_main}

    def ask(number: int, frame: FrameType | None) -> None:
        interrupt = before[signal.Signals(number)]
        if number == signal.SIGINT and event.is_set() and callable(interrupt):
            interrupt(number, frame)
        event.set()

    # Signals that are ignored, or end the process, keep their effect.
    taken = {number: handler for number, handler in before.items() if callable(handler)}
    _task.stop = event
    try:
        for number in taken:
            signal.signal(number, ask)
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
        _task.stop = None


@contextmanager
def _held_back() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM while processes are started.

    Processes inherit the blocked signals, so they are protected from the start. In this
    process another thread may still get the signal; only the main thread can change its
    handler.
    """
    # Otherwise it would start within the block, and unblock the signals.
    resource_tracker.ensure_running()
    came: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in SIGNALS}
        for number in before:
            signal.signal(number, lambda number, _: came.append(number))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number, handler in before.items():
            signal.signal(number, handler)
        for signum in dict.fromkeys(came):
            signal.raise_signal(signum)


def _become_worker(event: Any, parent: int) -> None:
    """Prepare a worker: ignore signals, and exit when the parent process is gone."""
    _task.stop = event
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)  # the parent is gone; exiting releases the claims

    threading.Thread(target=watch, daemon=True).start()
