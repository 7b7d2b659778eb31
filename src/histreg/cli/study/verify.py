"""The command ``histreg study verify``."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from histreg._checks import check_count
from histreg.cli.errors import (
    INTERRUPTED,
    exit_on_user_error,
    exit_with,
    requires_extra,
)
from histreg.cli.study.options import (
    DEFAULT_STORE,
    DataDir,
    Datasets,
    Epochs,
    Imports,
    Methods,
    Models,
    Seeds,
    StoreFolder,
)
from histreg.cli.study.quantities import counted, duration
from histreg.cli.study.status import print_failures
from histreg.cli.study.stopping import stopped_by_sigterm
from histreg.cli.study.user_modules import import_user_modules
from histreg.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from histreg.study.engine.verification import Verification

EXAMPLE = "Example: histreg study verify overall --datasets pole --sample 3"


@exit_on_user_error
def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments; all by default."),
    ] = None,
    sample: Annotated[
        int, typer.Option(help="How many stored records to compute again.")
    ] = 5,
    sample_seed: Annotated[
        int, typer.Option(help="Seed of the choice of records.")
    ] = 0,
    datasets: Datasets = None,
    methods: Methods = None,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    jobs: Annotated[
        int | None, typer.Option(help="Number of processes; by default one per core.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show which records, and how long.")
    ] = False,
    store: StoreFolder = DEFAULT_STORE,
    data_dir: DataDir = None,
    modules: Imports = None,
) -> None:
    """Compute some stored records again, and compare them to the bit.

    Each record is computed in the stack that it was computed in, as far as it
    says so. The command ends with exit code 1 if a number differs, and shows
    which versions differ. The store is only read.
    """
    n_jobs = (os.cpu_count() or 1) if jobs is None else jobs
    check_count("--jobs", n_jobs, at_least=1)
    check_count("--sample", sample, at_least=1)
    if data_dir is not None and not data_dir.is_dir():
        raise InputError(f"--data-dir must be a folder, got {data_dir}")
    with requires_extra("study"):
        from rich.console import Console

        from histreg.cli.study.progress import study_progress
        from histreg.cli.study.selection import Selection
        from histreg.study.catalogue import EXPERIMENTS
        from histreg.study.engine import runner
        from histreg.study.engine.executors import pool_of
        from histreg.study.engine.store import Store
        from histreg.study.engine.verification import Verification, stacks_of

    import_user_modules(modules)
    known = {
        run.key: run for experiment in EXPERIMENTS.values() for run in experiment.runs
    }
    selection = Selection(datasets, methods, models, seeds, epochs)
    if names or selection != Selection():
        wanted = selection.runs(names or [*EXPERIMENTS])
        known |= {run.key: run for run in wanted}  # of other epochs, say
    else:
        wanted = tuple(known.values())
    records = Store(store).records(wanted)
    if not records:
        raise InputError(
            f"{store} must have records to verify, got none of the selected runs; "
            "--store names another folder"
        )
    chosen = random.Random(sample_seed).sample(records, min(sample, len(records)))
    stacks = stacks_of(chosen, known)
    runs = [run for stack in stacks for run in stack]
    console = Console()
    expected_s = runner.measured_pace(records) * sum(map(runner.expected_s, stacks))
    console.print(
        f"{counted(len(chosen), 'record')} of {len(records):,}, with their stacks "
        f"{counted(len(runs), 'run')}, about {duration(expected_s / n_jobs)}"
    )
    if dry_run:
        for record in chosen:
            console.print(f"  {record.run.label}", highlight=False, markup=False)
        return
    with tempfile.TemporaryDirectory(prefix="histreg-verify-") as folder:
        again = Store(Path(folder))
        try:
            with (
                stopped_by_sigterm(),
                pool_of(None, n_jobs) as pool,
                study_progress(console) as show,
            ):
                summary = runner.run(
                    runs,
                    again,
                    pool,
                    data_dir=None if data_dir is None else str(data_dir),
                    modules=modules or (),
                    on_change=show,
                    stacks=stacks,
                )
        except KeyboardInterrupt:
            exit_with("stopped, nothing was compared", INTERRUPTED)
        if summary.stopped:
            exit_with("stopped, nothing was compared", INTERRUPTED)
        if summary.failed:
            print_failures(console, [again.state(run) for run in runs])
        computed = {record.run.key: record for record in again.records(runs)}
    pairs = [
        Verification(record, computed[record.run.key])
        for record in chosen
        if record.run.key in computed
    ]
    _print_comparison(console, pairs)
    if summary.failed or not all(pair.is_equal for pair in pairs):
        raise typer.Exit(1)


def _print_comparison(console: Console, pairs: list[Verification]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("run", "computed again", "versions that differ")
    for pair in pairs:
        versions = ", ".join(
            f"{name} {then} -> {now}" for name, (then, now) in pair.versions.items()
        )
        table.add_row(
            escape(pair.record.run.label), _result(pair), escape(versions) or "none"
        )
    console.print(table)
    n_equal = sum(pair.is_equal for pair in pairs)
    console.print(f"{n_equal} of {counted(len(pairs), 'record')} equal to the bit")


def _result(pair: Verification) -> str:
    if pair.is_equal:
        return "equal to the bit"
    if not pair.differences:
        return "metrics equal, curves differ"
    name, difference = max(pair.differences.items(), key=lambda item: abs(item[1]))
    return f"{name} differs by {100 * difference:+.2g} %"
