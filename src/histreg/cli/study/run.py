"""The command ``histreg study run``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histreg._checks import check_choice
from histreg.cli.errors import (
    INTERRUPTED,
    exit_on_user_error,
    exit_with,
    requires_extra,
)
from histreg.cli.options import FORMATS, OutputFormat
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
from histreg.cli.study.status import failures_as_json, print_failures
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
    output_format: OutputFormat = "text",
) -> None:
    """Compute the missing runs of experiments; it can be stopped and resumed."""
    check_choice("--format", output_format, FORMATS)
    n_jobs = number_of_jobs(jobs)
    check_data_dir(data_dir)
    with requires_extra("study"):
        from rich.console import Console

        from histreg.cli.json_output import print_json
        from histreg.cli.study.selection import Selection
        from histreg.study.engine import runner
        from histreg.study.engine.store import Store

    import_user_modules(modules)
    records = Store(store)
    runs = Selection(datasets, methods, models, seeds, epochs, rate, frames).runs(names)
    stacks = runner.plan(runs, records)
    is_json = output_format == "json"
    console = Console(stderr=is_json)  # for what is not part of the document
    n_done = len(runs) - sum(map(len, stacks))
    n_stopped = sum(records.epoch(run) > 0 for stack in stacks for run in stack)
    document = {"n_runs": len(runs), "n_done": n_done, "n_resumable": n_stopped}
    if not is_json:
        line = f"{counted(len(runs), 'run')}, {n_done} done already"
        line += f", {n_stopped} resume from checkpoints" if n_stopped else ""
        console.print(line)
    if dry_run:
        times = stored_times(records, runs)
        absent = _absent_data(stacks, data_dir)
        if is_json:
            print_json({**document, **_plan_as_json(stacks, times, n_jobs, absent)})
            return
        _print_plan(console, stacks, times, n_jobs)
        if absent:
            shown = ", ".join(absent)
            console.print(f"not here, to be downloaded if possible: {shown}")
        return
    if not stacks and not is_json:
        return
    summary = (
        compute(
            runs,
            records,
            console,
            n_jobs=n_jobs,
            if_stopped=STOPPED,
            executor=executor,
            data_dir=data_dir,
            modules=modules,
        )
        if stacks
        else runner.Summary()
    )
    states = [records.state(run) for run in runs] if summary.failed else []
    if is_json:
        failures = failures_as_json(states)
        print_json({**document, **_summary_as_json(summary), "failures": failures})
    else:
        _print_summary(console, summary)
        print_failures(console, states)
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


def _plan_as_json(
    stacks: list[Stack], times: Times, n_jobs: int, absent: list[str]
) -> dict[str, Any]:
    """Return the stacks of a dry run, and how long they take, as JSON values."""
    from histreg.study.engine import runner

    return {
        "stacks": [
            {
                "stack": runner.stack_label(stack),
                "n_runs": len(stack),
                "expected_s": times.of_stack(stack),
            }
            for stack in stacks
        ],
        "n_jobs": n_jobs,
        "expected_s": times.of_stacks(stacks) / n_jobs,
        "absent_data_sets": absent,
    }


def _absent_data(stacks: list[Stack], data_dir: Path | None) -> list[str]:
    """Return which data sets of a dry run are not on this machine."""
    from histreg.study.datasets import source

    names = {str(run.facet("dataset") or "") for stack in stacks for run in stack}
    sources = [source(name) for name in sorted(names - {""})]
    return [
        data.name
        for data in sources
        if not data.is_embedded and data.find(data_dir) is None
    ]


def _summary_as_json(summary: Summary) -> dict[str, Any]:
    return {
        "n_finished": summary.finished,
        "n_failed": summary.failed,
        "n_elsewhere": summary.elsewhere,
        "is_stopped": summary.stopped,
    }


def _print_summary(console: Console, summary: Summary) -> None:
    parts = [f"{counted(summary.finished, 'run')} finished"]
    if summary.failed:
        parts.append(f"{summary.failed} failed")
    if summary.elsewhere:
        parts.append(f"{summary.elsewhere} left to another process")
    console.print(", ".join(parts))
