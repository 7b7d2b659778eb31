"""The commands of the study: parses, calls, prints."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from histreg._checks import check_choice, check_count
from histreg._files import whole
from histreg.cli.errors import INTERRUPTED, leave, needing, refusing
from histreg.cli.outputs import Overwrite, check_output, check_output_folder
from histreg.errors import InputError
from histreg.study.catalogue import EXPERIMENTS, experiment, selected
from histreg.study.datasets import GAMES, SERIES, TABLES, TableSource, source
from histreg.study.engine import runner
from histreg.study.engine.executors import pool_of
from histreg.study.engine.runs import Record, Run
from histreg.study.engine.store import State, Store
from histreg.study.shapes.predictors import PREDICTORS

if TYPE_CHECKING:  # it is loaded by the commands that print
    from histreg.report.printed import PrintedTable

app = typer.Typer(
    help="Run the paper's experiments, and see our numbers beside the paper's.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Names = Annotated[list[str], typer.Argument(help="Experiments; see `list`.")]
Name = Annotated[str, typer.Argument(help="An experiment; see `list`.")]
StoreFolder = Annotated[
    Path,
    typer.Option(
        "--store",
        help="Folder of the records.",
        envvar="HISTREG_STUDY",
        show_envvar=True,
    ),
]
STOPPED = "stopped; the same command goes on from here"
DEFAULT_STORE = Path("histreg-study")
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Folder of the data sets; else HISTREG_DATA, or a download."
    ),
]
Datasets = Annotated[
    str | None, typer.Option("--datasets", help="Only these, by commas.")
]
Methods = Annotated[
    str | None, typer.Option("--methods", help="Only these, by commas.")
]
Models = Annotated[
    str | None, typer.Option("--models", help="Only these forecasters, by commas.")
]
Seeds = Annotated[
    str | None, typer.Option("--seeds", help="Only these, by commas or as 1-5.")
]
Epochs = Annotated[
    int | None, typer.Option("--epochs", help="Instead of the paper's number.")
]
Format = Annotated[str, typer.Option("--format", help="text, markdown or latex.")]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="File to write; standard output if not given."),
]
Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import", help="A module of yours that adds methods, data sets, experiments."
    ),
]


@app.command("list")
@refusing
def list_(data_dir: DataDir = None, modules: Imports = None) -> None:
    """Show the experiments and the data sets."""
    _import(modules)
    console = Console()
    shown = Table("name", "question", "paper", "runs", title="Experiments")
    for each in EXPERIMENTS.values():
        shown.add_row(each.name, each.question, each.place, str(len(each.runs)))
    console.print(shown)
    shown = Table("name", "title", "rows", "features", "here", title="Data sets")
    every: list[TableSource] = [*TABLES.values(), *SERIES.values()]
    for data in every:
        here = data.is_embedded or data.find(data_dir) is not None
        shown.add_row(
            data.name,
            data.title,
            f"{data.n_rows:,}",
            str(data.n_features),
            "yes" if here else "no",
        )
    console.print(shown)
    for data in every:
        console.print(f"[bold]{data.name}[/bold]: {escape(data.quirks)}", style="dim")
    _print_games(console, data_dir)


def _print_games(console: Console, data_dir: Path | None) -> None:
    """Show the games in a paragraph: there are too many for a row each."""
    by_place: dict[str, list[str]] = {"here": [], "not here": []}
    for name, game in GAMES.items():
        place = "not here" if game.find(data_dir) is None else "here"
        by_place[place].append(name)
    told = [
        f"{len(names)} of {len(GAMES)} {place} ({', '.join(names)})"
        for place, names in by_place.items()
        if names
    ]
    quirks = next(iter(GAMES.values())).quirks
    console.print(
        f"[bold]Games of Atari[/bold]: {'; '.join(told)}. {escape(quirks)}", style="dim"
    )


@app.command(
    epilog="Example: histreg study run overall projected --datasets pole,bike --jobs 2"
)
@refusing
def run(
    names: Names,
    datasets: Datasets = None,
    methods: Methods = None,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes; one a core if not given.")
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(help="processes, in-process, dask, or dask://host:port."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be run, and how long.")
    ] = False,
    store: StoreFolder = DEFAULT_STORE,
    data_dir: DataDir = None,
    modules: Imports = None,
) -> None:
    """Compute what is missing of experiments; stop and start it as you like."""
    _import(modules)
    records = Store(store)
    runs = _runs(names, datasets, methods, models, seeds, epochs)
    n_jobs = (os.cpu_count() or 1) if jobs is None else jobs
    check_count("--jobs", n_jobs, at_least=1)
    if data_dir is not None and not data_dir.is_dir():
        raise InputError(f"--data-dir must be a folder, got {data_dir}")
    stacks = runner.plan(runs, records)
    console = Console()
    n_missing = sum(map(len, stacks))
    n_stopped = sum(records.epoch(run) > 0 for stack in stacks for run in stack)
    told = f"{_counted(len(runs), 'run')}, {len(runs) - n_missing} done already"
    told += f", {n_stopped} go on from checkpoints" if n_stopped else ""
    console.print(told)
    if dry_run:
        _print_plan(console, stacks, records.records(runs), n_jobs)
        _print_absent(console, stacks, data_dir)
        return
    if not stacks:
        return
    folder = None if data_dir is None else str(data_dir)
    try:
        with (
            _stopped_by_sigterm(),
            pool_of(executor, n_jobs) as pool,
            _display(console) as show,
        ):
            summary = runner.run(
                runs,
                records,
                pool,
                data_dir=folder,
                modules=modules or (),
                on_change=show,
            )
    except KeyboardInterrupt:  # pressed again while the first is being answered
        leave(STOPPED, INTERRUPTED)
    summed = [f"{_counted(summary.finished, 'run')} finished"]
    if summary.failed:
        summed.append(f"{summary.failed} failed")
    if summary.elsewhere:
        summed.append(f"{summary.elsewhere} left to another process")
    console.print(", ".join(summed))
    if summary.failed:
        _print_reasons(console, [records.state(run) for run in runs])
    if summary.stopped:
        leave(STOPPED, INTERRUPTED)
    if summary.failed:
        raise typer.Exit(1)


@app.command(epilog="Example: histreg study status overall --datasets pole")
@refusing
def status(
    names: Annotated[list[str] | None, typer.Argument(help="All if none.")] = None,
    datasets: Datasets = None,
    methods: Methods = None,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Show what is done, running, missing and failed, and why."""
    _import(modules)
    records = Store(store)
    shown = Table("experiment", "data", "done", "running", "missing", "failed")
    every: list[State] = []
    refused: list[ValueError] = []
    for name in names or EXPERIMENTS:
        try:
            runs = _runs([name], datasets, methods, models, seeds, epochs)
        except ValueError as error:
            if names:
                raise
            refused.append(error)  # what it does not have, others may
            continue
        for folder in dict.fromkeys(run.folder[0] for run in runs):
            states = [records.state(run) for run in runs if run.folder[0] == folder]
            count = Counter(state.name for state in states)
            diverged = count["diverged"]
            done = str(count["done"] + diverged)
            done += f" ({diverged} diverged)" if diverged else ""
            running = [state for state in states if state.name == "running"]
            shares = sorted({state.detail for state in running if state.detail})
            at = f" ({', '.join(shares)})" if shares else ""
            shown.add_row(
                name,
                folder,
                done,
                f"{len(running)}{at}",
                str(count["missing"]),
                str(count["failed"]),
            )
            every += states
    if not every and refused:
        raise refused[0]
    console = Console()
    console.print(shown)
    n_stopped = sum(state.name == "missing" and bool(state.detail) for state in every)
    if n_stopped:
        console.print(f"{n_stopped} of the missing were stopped, and go on from there")
    _print_reasons(console, every)


@app.command(epilog="Example: histreg study collect overall projected --store results")
@refusing
def collect(
    names: Names,
    datasets: Datasets = None,
    methods: Methods = None,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    store: StoreFolder = DEFAULT_STORE,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder; the store if not given.")
    ] = None,
    modules: Imports = None,
) -> None:
    """Write the records of each experiment into one file, NAME.jsonl.

    A folder of such files is a store too: tables and figures can be made from
    it, and what is in it is not computed again.
    """
    _import(modules)
    records = Store(store)
    if out is not None:
        check_output_folder("--out", out)
    each = {n: _runs([n], datasets, methods, models, seeds, epochs) for n in names}
    for name, runs in each.items():
        path, n = records.collect(name, runs, into=out)
        Console().print(f"{n} of {len(runs)} records in {escape(str(path))}")


@app.command(epilog="Example: histreg study table overall --datasets pole")
@refusing
def table(
    name: Name,
    datasets: Datasets = None,
    methods: Methods = None,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    form: Format = "text",
    metrics: Annotated[
        str | None,
        typer.Option(help="By commas: train MAE, train RMSE, test MAE, test RMSE."),
    ] = None,
    paired: Annotated[
        bool,
        typer.Option(
            "--paired", help="Differences paired by seed, with exact tests, instead."
        ),
    ] = False,
    out: OutFile = None,
    overwrite: Overwrite = False,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Print the tables of an experiment, the paper's numbers beside ours."""
    from histreg.report.paired_tables import check_paired
    from histreg.report.printed import FORMATS
    from histreg.report.study_tables import MAIN_METRICS, tables_of
    from histreg.study.analysis.statistics import METRICS

    _import(modules)
    if out is not None:
        _check_out(out, store, modules, overwrite=overwrite)
    check_choice("--format", form, FORMATS)
    usual = MAIN_METRICS if form == "text" else METRICS
    chosen = tuple(_listed(metrics)) or (MAIN_METRICS[:1] if paired else usual)
    for metric in chosen:
        check_choice("--metrics", metric, METRICS)
    runs = _runs([name], datasets, methods, models, seeds, epochs)
    if paired:
        check_paired(name, _listed(metrics))
    records = Store(store).records(runs)
    if not records:
        raise InputError(
            f"the table {name} must have records, got none yet in {store}; "
            f"`histreg study run {name}` computes them, --store names another folder"
        )
    tables = tables_of(name, records, chosen, runs=runs, is_paired=paired)
    _print(tables, form, out)


@app.command(epilog="Example: histreg study claims K5 K21 --store results/study")
@refusing
def claims(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Claims, such as K5, with their numbers; all if none."),
    ] = None,
    datasets: Datasets = None,
    epochs: Epochs = None,
    details: Annotated[
        bool, typer.Option("--details", help="Also the numbers that decided each.")
    ] = False,
    form: Format = "text",
    out: OutFile = None,
    overwrite: Overwrite = False,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Judge the paper's claims by the records.

    Each is confirmed, refuted, not significant or not run, by a rule that is
    told with its numbers. The paper's data sets and numbers of epochs count;
    others are judged if they are asked for, and then alone.
    """
    from histreg.report.printed import FORMATS
    from histreg.report.study_claims import findings_of, scoreboard
    from histreg.study.catalogue import DATA
    from histreg.study.claims import CLAIMS, Evidence

    _import(modules)
    if out is not None:
        _check_out(out, store, modules, overwrite=overwrite)
    check_choice("--format", form, FORMATS)
    for name in names or []:
        check_choice("claim", name, CLAIMS)
    for name in _listed(datasets, "--datasets"):
        check_choice("--datasets", name, {**TABLES, **SERIES, **GAMES})
    judged = [CLAIMS[name] for name in names or CLAIMS]
    wanted = dict.fromkeys(name for claim in judged for name in claim.experiments)
    runs: dict[Run, None] = {}
    for name in wanted:
        runs |= dict.fromkeys(
            selected(experiment(name).runs, datasets=_listed(datasets), epochs=epochs)
        )
    evidence = Evidence(
        Store(store).records(list(runs)),
        datasets=tuple(dict.fromkeys(_listed(datasets))) or DATA,
        epochs=epochs,
    )
    tables = [] if names else [scoreboard(judged, evidence)]
    if names or details:
        tables += [findings_of(claim, evidence) for claim in judged]
    _print(tables, form, out)


@app.command(epilog="Example: histreg study figure sines --out sines.png")
@refusing
def figure(
    name: Name,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A .png, .svg or .pdf file.")
    ],
    overwrite: Overwrite = False,
    datasets: Datasets = None,
    methods: Methods = None,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Draw the figure of an experiment."""
    with needing("study"):
        from histreg.report.study_figures import figure_of

    _import(modules)
    if out.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"--out must be named .png, .svg or .pdf, got {out}")
    _check_out(out, store, modules, overwrite=overwrite)
    runs = _runs([name], datasets, methods, models, seeds, epochs)
    records = Store(store).records(runs)
    _tell_missing(len(runs) - len(records), name)
    drawn = figure_of(name, records)
    with whole(out) as partial:
        drawn.savefig(partial, dpi=150)
    Console().print(f"Figure in {escape(str(out))}")


@app.command(epilog="Example: histreg study report --out site --store results/study")
@refusing
def report(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="A folder: new, empty, or a report."),
    ],
    overwrite: Overwrite = False,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Make pages of all records: tables, figures, claims, and what was not run.

    They need no server and no network: open index.html.
    """
    with needing("study"):
        from histreg.report.site.writing import is_site, write_site

    _import(modules)
    check_output_folder(
        "--out", out, overwrite=overwrite, content="a report", is_there=is_site
    )
    if out.resolve() in (store.resolve(), *store.resolve().parents):
        raise InputError(
            f"--out must not be a folder that holds the store {store}, got {out}"
        )
    console = Console()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("reading records", total=None)

        def show(page: str, n_done: int, n_pages: int) -> None:
            told = f"page {n_done + 1} of {n_pages}: {escape(page)}"
            progress.update(task, description=told, completed=n_done, total=n_pages)

        n_pages = write_site(Store(store), out, show)
    console.print(f"{n_pages} pages, the first is {escape(str(out / 'index.html'))}")


def _print(tables: Iterable[PrintedTable], form: str, out: Path | None) -> None:
    """Print tables one after another, or write them to a file."""
    text = "\n\n".join(each.shown(form) for each in tables)
    if out is None:
        print(text)
        return
    with whole(out) as partial:
        partial.write_text(text + "\n")


def _check_out(
    out: Path, store: Path, modules: list[str] | None, *, overwrite: bool
) -> None:
    """Raise unless a command of the study may write this file."""
    # A store is all its JSON files; others may lie beside them.
    own = (sys.modules[name].__file__ for name in modules or [])
    reads = chain(store.rglob("*.json*"), (Path(file) for file in own if file))
    check_output("--out", out, overwrite=overwrite, reads=reads)
    if out.suffix == ".jsonl":  # in a store it would be taken for records
        raise InputError(f"--out must not be named .jsonl, as records are, got {out}")


def _runs(
    names: list[str],
    datasets: str | None,
    methods: str | None,
    models: str | None,
    seeds: str | None,
    epochs: int | None,
) -> tuple[Run, ...]:
    """Return the runs that are asked for, each once."""
    found: dict[Run, None] = {}
    asked: dict[str, list[str] | list[int]] = {
        "dataset": _listed(datasets, "--datasets"),
        "method": _methods(methods),
        "architecture": _listed(models, "--models"),
        "seed": _numbers(seeds, names),
    }
    for name in names:
        runs = selected(
            experiment(name).runs,
            datasets=_listed(datasets),
            methods=_methods(methods),
            models=_listed(models),
            seeds=_numbers(seeds, names),
            epochs=epochs,
        )
        found |= dict.fromkeys(runs)
    told = ", ".join(names)
    for facet, wanted in asked.items():
        there = {run.facet(facet) for run in found}
        absent = [str(each) for each in wanted if each not in there]
        # A name that none has would be left out without a word.
        if absent and there != {None}:
            raise InputError(f"no run of {told} has the {facet} {', '.join(absent)}")
    if models is not None and not any(run.facet("architecture") for run in found):
        raise InputError(f"--models must be for forecasts, {told} has none of them")
    if epochs is not None and not any(hasattr(run, "epochs") for run in found):
        raise InputError(
            f"--epochs must be for networks trained in epochs, {told} has none of them"
        )
    return tuple(found)


def _listed(given: str | None, option: str = "") -> list[str]:
    names = [name.strip() for name in (given or "").split(",") if name.strip()]
    if option and given is not None and not names:
        raise InputError(f"{option} must name something, got nothing")
    return names


def _methods(given: str | None) -> list[str]:
    """Return the methods of a list, in which a name may have a comma of its own."""
    names: list[str] = []
    for part in _listed(given, "--methods"):
        joined = ", ".join([*names[-1:], part])
        if joined in PREDICTORS:
            names[-1:] = [joined]
        else:
            names.append(part)
    return names


def _numbers(given: str | None, names: Iterable[str]) -> list[int]:
    """Return the numbers of ``1,2`` or ``1-5``.

    Ranges end at the first number that is beyond all seeds of the experiments, so that
    a large one takes no memory.
    """
    seeds = [run.facet("seed") for name in names for run in experiment(name).runs]
    beyond = 1 + max((seed for seed in seeds if isinstance(seed, int)), default=0)
    numbers: list[int] = []
    for part in _listed(given, "--seeds"):
        first, dash, last = part.partition("-")
        try:
            low, high = int(first), int(last if dash else first)
        except ValueError:
            low, high = 1, 0
        if not first.isdecimal() or high < low:
            raise InputError(f"--seeds must be numbers such as 1,2 or 1-5, got {given}")
        numbers += range(low, min(high, max(low, beyond)) + 1)
    return numbers


def _import(modules: list[str] | None) -> None:
    """Import a person's own modules, also those of the folder she is in."""
    if modules:
        sys.path.insert(0, str(Path.cwd()))
    for name in modules or []:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not f"{name}.".startswith(f"{error.name}."):
                raise _import_failure(name, error) from error
            raise InputError(
                f"--import must name a module, got {name}: {error}"
            ) from error
        except (Exception, SystemExit) as error:
            raise _import_failure(name, error) from error


def _import_failure(name: str, error: BaseException) -> InputError:
    """Return what went wrong in a person's own module, and in which line of it."""
    frames = traceback.extract_tb(error.__traceback__)
    others = ("<frozen importlib", importlib.__file__)
    own = [f for f in frames[1:] if not f.filename.startswith(others)]
    where = ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f", line {error.lineno} of {error.filename}"
    elif own:
        where = f", line {own[0].lineno} of {own[0].filename}"
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    said = " ".join(message.split())  # in one line
    reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return InputError(f"--import {name} failed with {reason}{where}")


def _tell_missing(n: int, name: str) -> None:
    if n:
        told = f"{_counted(n, 'run')} of {name} without a record yet"
        print(f"histreg: {told}", file=sys.stderr)


def _print_reasons(console: Console, states: Iterable[State]) -> None:
    reasons = Counter(state.detail for state in states if state.name == "failed")
    for reason, n in reasons.items():
        console.print(escape(f"{n} failed: {reason}"), highlight=False)


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, which clusters and ``kill`` send, do what the first Ctrl-C does.

    Later ones are ignored: batch schedulers, and ``timeout``, send it more than once,
    and the second Ctrl-C would end the workers without their checkpoints.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_plan(
    console: Console,
    stacks: list[runner.Stack],
    known: list[Record],
    n_jobs: int,
) -> None:
    shown = Table("runs", "stack", "minutes of a core")
    pace = runner.measured_pace(known)
    for stack in stacks:
        minutes = pace * runner.expected_s(stack) / 60
        shown.add_row(
            str(len(stack)), escape(runner.stack_label(stack)), f"{minutes:.1f}"
        )
    console.print(shown)
    total = pace * sum(map(runner.expected_s, stacks)) / n_jobs
    basis = "the records that are there" if known else "a machine with two cores"
    n_runs = _counted(sum(map(len, stacks)), "run")
    workers = _counted(n_jobs, "process", "processes")
    console.print(
        f"{n_runs} to compute, about {_duration(total)} with {workers}, by {basis}"
    )


def _print_absent(
    console: Console, stacks: list[runner.Stack], data_dir: Path | None
) -> None:
    needed = {str(run.facet("dataset") or "") for stack in stacks for run in stack}
    data = [source(name) for name in sorted(needed - {""})]
    absent = [
        each.name
        for each in data
        if not each.is_embedded and each.find(data_dir) is None
    ]
    if absent:
        console.print(f"not here, to be downloaded if possible: {', '.join(absent)}")


def _counted(n: int, one: str, many: str = "") -> str:
    """Return a number of things in words."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def _display(
    console: Console,
) -> Iterator[Callable[[runner.Situation], None]]:
    """Show how far a study is; in a file, one line a minute."""
    started = time.monotonic()
    if not console.is_terminal:
        yield _lines(console, started)
        return
    total = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TextColumn("{task.fields[left]}"),
        console=console,
    )
    each = Progress(
        TextColumn("  {task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:3.0f} %"),
        console=console,
    )
    whole_task = total.add_task("starting", total=1.0, left="")
    with Live(Group(total, each), console=console, refresh_per_second=4):

        def show(now: runner.Situation) -> None:
            share = now.done_s / now.total_s if now.total_s else 1.0
            told = f"{now.n_finished} of {_counted(now.n_runs, 'run')}"
            told += f", {now.n_failed} failed" if now.n_failed else ""
            total.update(
                whole_task,
                completed=share,
                description=told,
                left=_left(share, time.monotonic() - started),
            )
            for task in list(each.task_ids):
                each.remove_task(task)
            for label, _, done in now.running:
                each.add_task(escape(label), total=100.0, completed=round(100 * done))

        yield show


def _lines(console: Console, started: float) -> Callable[[runner.Situation], None]:
    last = started

    def show(now: runner.Situation) -> None:
        nonlocal last
        if time.monotonic() - last < 60:
            return
        last = time.monotonic()
        share = now.done_s / now.total_s if now.total_s else 1.0
        console.print(
            f"{now.n_finished} of {_counted(now.n_runs, 'run')}, {share:.0%}"
            f"  {_left(share, last - started)}"
        )

    return show


def _left(share: float, elapsed_s: float) -> str:
    if share < 0.01:
        return ""
    return f"{_duration(elapsed_s * (1 - share) / share)} left"
