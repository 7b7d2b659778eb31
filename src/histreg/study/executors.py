"""Executors: where stacks are computed, behind the seam of ``concurrent.futures``.

A `Pool` is an executor that outlives its workers: one that dies takes its task with it,
which is told as `WorkerLostError`, and the next task finds a whole pool.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Self

from histreg._checks import check_count
from histreg.errors import InputError

DASK_PATIENCE = "10s"  # for a scheduler to answer

_stop: Any = None  # of this worker process: an event that all of its pool share


class WorkerLostError(Exception):
    """The process that computed a stack is gone."""


def is_stopping() -> bool:
    """Return whether this worker was asked to stop."""
    return _stop is not None and _stop.is_set()


class Pool(ABC):
    """Workers that compute stacks."""

    n_workers: int

    @abstractmethod
    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """Return the future of a task; `WorkerLostError` if its worker dies."""

    @abstractmethod
    def stop(self) -> None:
        """Ask the tasks at work to end soon, and drop the others."""

    @abstractmethod
    def kill(self) -> None:
        """End the tasks at work at once."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class InProcess(Pool):
    """No workers: a task is done when it is submitted. The same code, to debug."""

    n_workers = 1

    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """Do the task."""
        future: Future[Any] = Future()
        try:
            future.set_result(task(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def stop(self) -> None:
        """Do nothing: no task is at work outside of `submit`."""

    def kill(self) -> None:
        """Do nothing, for the same reason."""

    def close(self) -> None:
        """Do nothing: there is no worker."""


class Processes(Pool):
    """Worker processes of this machine, of one thread each.

    Parameters
    ----------
    n_workers : int
        One a core is best: two threads on one network lose, and collapse when anything
        else runs.
    """

    def __init__(self, n_workers: int) -> None:
        check_count("jobs", n_workers, at_least=1)
        self.n_workers = n_workers
        # Not forked: a fork inherits locks of torch's threads.
        self._context = multiprocessing.get_context("spawn")
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
        """Hand a task to a worker; a broken pool is replaced first."""
        with _deaf():
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
        # Not by a shutdown, after which nobody waits for workers that are starting.
        for task in self._tasks:
            task.cancel()

    def kill(self) -> None:
        """Kill the workers; their claims are given up by that."""
        for process in multiprocessing.active_children():
            process.kill()

    def close(self) -> None:
        """Wait for the workers to end."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class DaskCluster(Pool):
    """Workers of a Dask scheduler.

    The store and the data sets must be on a file system that they share; neither goes
    through the scheduler. A task whose worker dies is given to another by Dask itself.

    Parameters
    ----------
    address : str, optional
        Such as ``tcp://host:8786``; without it a cluster is started on this machine.
    n_workers : int
        Of the cluster that is started.
    """

    def __init__(self, address: str | None = None, *, n_workers: int = 2) -> None:
        try:
            from distributed import Client, KilledWorker, LocalCluster
        except ModuleNotFoundError as error:
            raise InputError(
                f"a Dask executor needs {error.name}: pip install 'histreg[dask]'"
            ) from error
        self._lost: type[BaseException] = KilledWorker
        self._cluster = None
        if address is None:
            check_count("jobs", n_workers, at_least=1)
            self._cluster = LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=None
            )
            address = self._cluster.scheduler_address
        try:
            self._client = Client(address, timeout=DASK_PATIENCE, set_as_default=False)
        except OSError as error:
            raise InputError(
                f"--executor must name a Dask scheduler, found none at {address}"
            ) from error
        self._executor = self._client.get_executor(pure=False)

    @property
    def n_workers(self) -> int:  # type: ignore[override]
        """As many as there are now; more may come."""
        return max(1, sum(self._client.nthreads().values()))

    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """Hand a task to the scheduler."""
        return _translated(self._executor.submit(task, *args), self._lost)

    def stop(self) -> None:
        """Drop what has not begun; what has, goes on and is kept by its worker."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def kill(self) -> None:
        """Do nothing: what has begun is the scheduler's."""

    def close(self) -> None:
        """Leave the scheduler, or end the cluster that was started."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def pool_of(executor: str | None, jobs: int) -> Pool:
    """Return the pool of a command line.

    Parameters
    ----------
    executor : {None, "processes", "in-process", "dask", "dask://host:port"}
    jobs : int
        How many workers to start.
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
    """Return a future that tells the loss of a worker in our own words."""
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
def _deaf() -> Iterator[None]:
    """Ignore Ctrl-C for a moment: processes that are started inherit it.

    Only a main thread may; elsewhere a worker is deaf once it has begun.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _become_worker(event: Any, parent: int) -> None:
    """Prepare a worker: Ctrl-C is its parent's business, and it does not outlive it."""
    global _stop
    _stop = event
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)  # nobody is left to tell; claims are given up by this

    threading.Thread(target=watch, daemon=True).start()
