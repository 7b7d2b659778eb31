"""The command ``histreg study status``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.study.options import (
    DEFAULT_STORE,
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
from histreg.cli.study.user_modules import import_user_modules

if TYPE_CHECKING:
    from rich.console import Console

    from histreg.study.engine.store import State

EXAMPLE = "Example: histreg study status overall --datasets pole"


@exit_on_user_error
def status(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments; all by default.")
    ] = None,
    datasets: Datasets = None,
    methods: Methods = None,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    rate: Rate = None,
    frames: Frames = None,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Show which runs are done, running, missing or failed, and why."""
    with requires_extra("study"):
        from rich.console import Console
        from rich.table import Table

        from histreg.cli.study.selection import Selection
        from histreg.study.catalogue import EXPERIMENTS
        from histreg.study.engine.store import Store

    import_user_modules(modules)
    records = Store(store)
    selection = Selection(datasets, methods, models, seeds, epochs, rate, frames)
    table = Table("experiment", "data", "done", "running", "missing", "failed")
    all_states: list[State] = []
    errors: list[ValueError] = []
    for name in names or EXPERIMENTS:
        try:
            runs = selection.runs([name])
        except ValueError as error:
            if names:
                raise
            errors.append(error)  # another experiment may have the selected runs
            continue
        for folder in dict.fromkeys(run.folder[0] for run in runs):
            states = [records.state(run) for run in runs if run.folder[0] == folder]
            table.add_row(name, folder, *_cells(states))
            all_states += states
    if not all_states and errors:
        raise errors[0]
    console = Console()
    console.print(table)
    n_stopped = sum(
        state.name == "missing" and bool(state.detail) for state in all_states
    )
    if n_stopped:
        console.print(f"{n_stopped} of the missing were stopped, and can be resumed")
    print_failures(console, all_states)


def print_failures(console: Console, states: Iterable[State]) -> None:
    """Print why runs failed, each reason once."""
    from rich.markup import escape

    reasons = Counter(state.detail for state in states if state.name == "failed")
    for reason, n in reasons.items():
        console.print(escape(f"{n} failed: {reason}"), highlight=False)


def _cells(states: Sequence[State]) -> tuple[str, str, str, str]:
    """Return how many runs are done, running, missing and failed."""
    count = Counter(state.name for state in states)
    diverged = count["diverged"]
    done = str(count["done"] + diverged)
    done += f" ({diverged} diverged)" if diverged else ""
    shares = {state.detail for state in states if state.name == "running"}
    running = str(count["running"])
    running += f" ({', '.join(sorted(shares - {''}))})" if shares - {""} else ""
    return done, running, str(count["missing"]), str(count["failed"])
