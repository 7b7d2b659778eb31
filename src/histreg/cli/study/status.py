"""The command ``histreg study status``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histreg._checks import check_choice
from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import FORMATS, OutputFormat
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
    output_format: OutputFormat = "text",
) -> None:
    """Show which runs are done, running, missing or failed, and why."""
    check_choice("--format", output_format, FORMATS)
    with requires_extra("study"):
        from rich.console import Console
        from rich.table import Table

        from histreg.cli.json_output import print_json
        from histreg.cli.study.selection import Selection
        from histreg.study.catalogue import EXPERIMENTS
        from histreg.study.engine.store import Store

    import_user_modules(modules)
    records = Store(store)
    selection = Selection(datasets, methods, models, seeds, epochs, rate, frames)
    counted_states: list[tuple[str, str, list[State]]] = []
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
            counted_states.append((name, folder, states))
    all_states = [state for _, _, states in counted_states for state in states]
    if not all_states and errors:
        raise errors[0]
    if output_format == "json":
        rows = [
            {"experiment": name, "data": folder, **_counts(states)}
            for name, folder, states in counted_states
        ]
        print_json({"experiments": rows, "failures": failures_as_json(all_states)})
        return
    table = Table("experiment", "data", "done", "running", "missing", "failed")
    for name, folder, states in counted_states:
        table.add_row(name, folder, *_cells(states))
    console = Console()
    console.print(table)
    n_stopped = _counts(all_states)["stopped"]
    if n_stopped:
        console.print(f"{n_stopped} of the missing were stopped, and can be resumed")
    print_failures(console, all_states)


def print_failures(console: Console, states: Iterable[State]) -> None:
    """Print why runs failed, each reason once."""
    from rich.markup import escape

    for reason, n in _reasons(states).items():
        console.print(escape(f"{n} failed: {reason}"), highlight=False)


def failures_as_json(states: Iterable[State]) -> list[dict[str, Any]]:
    """Return why runs failed as JSON values, each reason once."""
    return [{"reason": reason, "n_runs": n} for reason, n in _reasons(states).items()]


def _reasons(states: Iterable[State]) -> Counter[str]:
    return Counter(state.detail for state in states if state.name == "failed")


def _counts(states: Sequence[State]) -> dict[str, int]:
    """Return how many runs are in each state.

    Diverged runs are done, and stopped ones are missing: they are counted in both.
    """
    count = Counter(state.name for state in states)
    is_stopped = [state.name == "missing" and bool(state.detail) for state in states]
    return {
        "done": count["done"] + count["diverged"],
        "diverged": count["diverged"],
        "running": count["running"],
        "missing": count["missing"],
        "stopped": sum(is_stopped),
        "failed": count["failed"],
    }


def _cells(states: Sequence[State]) -> tuple[str, str, str, str]:
    """Return how many runs are done, running, missing and failed."""
    count = _counts(states)
    done = str(count["done"])
    done += f" ({count['diverged']} diverged)" if count["diverged"] else ""
    shares = {state.detail for state in states if state.name == "running"}
    running = str(count["running"])
    running += f" ({', '.join(sorted(shares - {''}))})" if shares - {""} else ""
    return done, running, str(count["missing"]), str(count["failed"])
