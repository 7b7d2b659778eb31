"""Computing: runs in worker processes, with progress, until done or stopped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from histreg._checks import check_count
from histreg.cli.errors import INTERRUPTED, exit_with
from histreg.cli.study.stopping import stopped_by_sigterm
from histreg.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from histreg.study.engine.runner import Stack, Summary
    from histreg.study.engine.runs import Run
    from histreg.study.engine.store import Store
    from histreg.study.engine.times import Times

Jobs = Annotated[
    int | None, typer.Option(help="Number of processes; by default one per core.")
]


def number_of_jobs(jobs: int | None) -> int:
    """Return the number of processes to use."""
    n_jobs = (os.cpu_count() or 1) if jobs is None else jobs
    check_count("--jobs", n_jobs, at_least=1)
    return n_jobs


def check_data_dir(data_dir: Path | None) -> None:
    """Raise if the folder of data sets is given and does not exist."""
    if data_dir is not None and not data_dir.is_dir():
        raise InputError(f"--data-dir must be a folder, got {data_dir}")


def stored_times(store: Store, runs: Iterable[Run]) -> Times:
    """Return estimates of times from the records of all experiments in a store.

    Parameters
    ----------
    store : Store
    runs : iterable of Run
        Further runs whose records may be in the store, such as those with another
        number of epochs than the experiment's.
    """
    from histreg.study.catalogue import EXPERIMENTS
    from histreg.study.engine.times import Times

    known = [run for experiment in EXPERIMENTS.values() for run in experiment.runs]
    return Times(store.records(dict.fromkeys([*known, *runs])))


def compute(
    runs: Sequence[Run],
    store: Store,
    console: Console,
    *,
    n_jobs: int,
    if_stopped: str,
    executor: str | None = None,
    data_dir: Path | None = None,
    modules: Sequence[str] | None = None,
    stacks: Sequence[Stack] | None = None,
) -> Summary:
    """Compute the runs that have no record in a store, and show the progress.

    Parameters
    ----------
    runs, store, data_dir, modules, stacks
        See `histreg.study.engine.runner.run`.
    console : Console
    n_jobs : int
    if_stopped : str
        Printed if a second Ctrl-C ends the command while the first is being handled.
    executor : str, optional
        See `histreg.executors.pool_of`.
    """
    from histreg.cli.study.progress import study_progress
    from histreg.executors import pool_of
    from histreg.study.engine import runner
    from histreg.study.engine.instructions import workers_without_avx512

    try:
        with (
            stopped_by_sigterm(),
            workers_without_avx512(),
            pool_of(executor, n_jobs) as pool,
            study_progress(console) as show,
        ):
            return runner.run(
                runs,
                store,
                pool,
                data_dir=None if data_dir is None else str(data_dir),
                modules=modules or (),
                on_change=show,
                stacks=stacks,
            )
    except KeyboardInterrupt:
        exit_with(if_stopped, INTERRUPTED)
