"""The command ``histreg study run``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from histreg.cli.errors import (
    INTERRUPTED,
    exit_on_user_error,
    exit_with,
    requires_extra,
)
from histreg.cli.study.computing import (
    Jobs,
    check_data_dir,
    compute,
    number_of_jobs,
    stored_times,
)
from histreg.cli.study.options import (
    DEFAULT_STORE,
    DataDir,
    Datasets,
    Epochs,
    Frames,
    Imports,
    Methods,
    Models,
    Names,
    Rate,
    Seeds,
    StoreFolder,
)
from histreg.cli.study.quantities import counted, duration
from histreg.cli.study.status import print_failures
from histreg.cli.study.user_modules import import_user_modules

if TYPE_CHECKING:
    from rich.console import Console

    from histreg.study.engine.runner import Stack, Summary
    from histreg.study.engine.times import Times

EXAMPLE = "Example: histreg study run overall projected --datasets pole,bike --jobs 2"
STOPPED = "stopped; run the same command again to resume"


@exit_on_user_error
def run(
    names: Names,
    datasets: Datasets = None,
    methods: Methods = None,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    rate: Rate = None,
    frames: Frames = None,
    jobs: Jobs = None,
    executor: Annotated[
        str | None,
        typer.Option(help="processes, in-process, dask, or dask://host:port."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show what would be computed, and how long it takes."
        ),
    ] = False,
    store: StoreFolder = DEFAULT_STORE,
    data_dir: DataDir = None,
    modules: Imports = None,
) -> None:
    """Compute the missing runs of experiments; it can be stopped and resumed."""
    n_jobs = number_of_jobs(jobs)
    check_data_dir(data_dir)
    with requires_extra("study"):
        from rich.console import Console

        from histreg.cli.study.selection import Selection
        from histreg.study.engine import runner
        from histreg.study.engine.store import Store

    import_user_modules(modules)
    records = Store(store)
    runs = Selection(datasets, methods, models, seeds, epochs, rate, frames).runs(names)
    stacks = runner.plan(runs, records)
    console = Console()
    n_missing = sum(map(len, stacks))
    n_stopped = sum(records.epoch(run) > 0 for stack in stacks for run in stack)
    line = f"{counted(len(runs), 'run')}, {len(runs) - n_missing} done already"
    line += f", {n_stopped} resume from checkpoints" if n_stopped else ""
    console.print(line)
    if dry_run:
        _print_plan(console, stacks, stored_times(records, runs), n_jobs)
        _print_absent_data(console, stacks, data_dir)
        return
    if not stacks:
        return
    summary = compute(
        runs,
        records,
        console,
        n_jobs=n_jobs,
        if_stopped=STOPPED,
        executor=executor,
        data_dir=data_dir,
        modules=modules,
    )
    _print_summary(console, summary)
    if summary.failed:
        print_failures(console, [records.state(run) for run in runs])
    if summary.stopped:
        exit_with(STOPPED, INTERRUPTED)
    if summary.failed:
        raise typer.Exit(1)


def _print_plan(
    console: Console, stacks: list[Stack], times: Times, n_jobs: int
) -> None:
    """Print the stacks of a dry run, and how long they are expected to take."""
    from rich.markup import escape
    from rich.table import Table

    from histreg.study.engine import runner

    table = Table("runs", "stack", "minutes of a core")
    for stack in stacks:
        minutes = times.of_stack(stack) / 60
        table.add_row(
            str(len(stack)), escape(runner.stack_label(stack)), f"{minutes:.1f}"
        )
    console.print(table)
    total = times.of_stacks(stacks) / n_jobs
    basis = "the existing records" if times.n_records else "times on two cores"
    n_runs = counted(sum(map(len, stacks)), "run")
    workers = counted(n_jobs, "process", "processes")
    console.print(
        f"{n_runs} to compute, about {duration(total)} with {workers}, estimated from "
        f"{basis}"
    )


def _print_absent_data(
    console: Console, stacks: list[Stack], data_dir: Path | None
) -> None:
    """Print which data sets of a dry run are not on this machine."""
    from histreg.study.datasets import source

    names = {str(run.facet("dataset") or "") for stack in stacks for run in stack}
    sources = [source(name) for name in sorted(names - {""})]
    absent = [
        data.name
        for data in sources
        if not data.is_embedded and data.find(data_dir) is None
    ]
    if absent:
        console.print(f"not here, to be downloaded if possible: {', '.join(absent)}")


def _print_summary(console: Console, summary: Summary) -> None:
    parts = [f"{counted(summary.finished, 'run')} finished"]
    if summary.failed:
        parts.append(f"{summary.failed} failed")
    if summary.elsewhere:
        parts.append(f"{summary.elsewhere} left to another process")
    console.print(", ".join(parts))
