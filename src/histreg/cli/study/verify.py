"""The command ``histreg study verify``."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histreg._checks import check_choice, check_count
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
    Rate,
    Seeds,
    StoreFolder,
)
from histreg.cli.study.quantities import counted, duration
from histreg.cli.study.status import failures_as_json, print_failures
from histreg.cli.study.user_modules import import_user_modules
from histreg.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from histreg.cli.study.selection import Selection
    from histreg.study.engine.runner import Stack
    from histreg.study.engine.runs import Record, Run
    from histreg.study.engine.store import State
    from histreg.study.engine.verification import Verification

EXAMPLE = "Example: histreg study verify overall --datasets pole --sample 3"
STOPPED = "stopped, nothing was compared"


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
    rate: Rate = None,
    frames: Frames = None,
    jobs: Jobs = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show which records, and how long.")
    ] = False,
    store: StoreFolder = DEFAULT_STORE,
    data_dir: DataDir = None,
    modules: Imports = None,
    output_format: OutputFormat = "text",
) -> None:
    """Compute some stored records again, and compare them to the bit.

    Each record is computed in the stack that it was computed in, as far as it
    says so. The command ends with exit code 1 if a number differs, and shows
    which versions differ. The store is only read.
    """
    check_choice("--format", output_format, FORMATS)
    n_jobs = number_of_jobs(jobs)
    check_count("--sample", sample, at_least=1)
    check_data_dir(data_dir)
    with requires_extra("study"):
        from rich.console import Console

        from histreg.cli.json_output import print_json
        from histreg.cli.study.selection import Selection
        from histreg.study.engine.store import Store
        from histreg.study.engine.times import Times
        from histreg.study.engine.verification import stacks_of

    import_user_modules(modules)
    selection = Selection(datasets, methods, models, seeds, epochs, rate, frames)
    known = _known_runs(names, selection)
    records = Store(store).records(_selected_runs(names, selection, known))
    if not records:
        raise InputError(
            f"{store} must have records to verify, got none of the selected runs; "
            "--store names another folder"
        )
    chosen = random.Random(sample_seed).sample(records, min(sample, len(records)))
    stacks = stacks_of(chosen, known)
    is_json = output_format == "json"
    console = Console(stderr=is_json)  # for what is not part of the document
    expected_s = Times(records).of_stacks(stacks) / n_jobs
    n_runs = sum(map(len, stacks))
    plan = {"n_records": len(records), "n_runs": n_runs, "expected_s": expected_s}
    if not is_json:
        console.print(
            f"{counted(len(chosen), 'record')} of {len(records):,}, with their stacks "
            f"{counted(n_runs, 'run')}, about {duration(expected_s)}"
        )
    if dry_run:
        labels = [record.run.label for record in chosen]
        if is_json:
            print_json({**plan, "records": [{"run": label} for label in labels]})
            return
        for label in labels:
            console.print(f"  {label}", highlight=False, markup=False)
        return
    pairs, states = _verified(chosen, stacks, console, n_jobs, data_dir, modules)
    if is_json:
        compared = [_as_json(pair) for pair in pairs]
        failures = failures_as_json(states)
        print_json({**plan, "records": compared, "failures": failures})
    else:
        print_failures(console, states)
        _print_comparison(console, pairs)
    if len(pairs) < len(chosen) or not all(pair.is_equal for pair in pairs):
        raise typer.Exit(1)


def _known_runs(names: list[str] | None, selection: Selection) -> dict[str, Run]:
    """Return the runs of all experiments, and those of the selection, by key."""
    from histreg.study.catalogue import EXPERIMENTS

    runs = [run for experiment in EXPERIMENTS.values() for run in experiment.runs]
    if selection.epochs is not None:
        runs += selection.runs(names or [*EXPERIMENTS])
    return {run.key: run for run in runs}


def _selected_runs(
    names: list[str] | None, selection: Selection, known: dict[str, Run]
) -> list[Run]:
    """Return the runs whose records may be chosen."""
    from histreg.cli.study.selection import Selection
    from histreg.study.catalogue import EXPERIMENTS

    if not names and selection == Selection():
        return [*known.values()]
    return [*selection.runs(names or [*EXPERIMENTS])]


def _verified(
    records: list[Record],
    stacks: list[Stack],
    console: Console,
    n_jobs: int,
    data_dir: Path | None,
    modules: list[str] | None,
) -> tuple[list[Verification], list[State]]:
    """Compute stacks in a temporary store.

    Returns
    -------
    verifications : list of Verification
        Records beside the new ones.
    states : list of State
        Of the runs, some of which may have failed.
    """
    from histreg.study.engine.store import Store
    from histreg.study.engine.verification import Verification

    runs = [run for stack in stacks for run in stack]
    with tempfile.TemporaryDirectory(prefix="histreg-verify-") as folder:
        store = Store(Path(folder))
        summary = compute(
            runs,
            store,
            console,
            n_jobs=n_jobs,
            if_stopped=STOPPED,
            data_dir=data_dir,
            modules=modules,
            stacks=stacks,
        )
        if summary.stopped:
            exit_with(STOPPED, INTERRUPTED)
        states = [store.state(run) for run in runs]
        computed = {record.run.key: record for record in store.records(runs)}
    pairs = [
        Verification(record, computed[record.run.key])
        for record in records
        if record.run.key in computed
    ]
    return pairs, states


def _as_json(pair: Verification) -> dict[str, Any]:
    """Return a record that was computed again as JSON values."""
    return {
        "run": pair.record.run.label,
        "is_equal": pair.is_equal,
        "relative_differences": pair.differences,
        "versions": {
            name: {"stored": stored, "again": again}
            for name, (stored, again) in pair.versions.items()
        },
    }


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
