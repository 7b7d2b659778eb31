"""The command ``histreg study figure``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from histreg._files import atomic_write
from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import Overwrite
from histreg.cli.study.options import (
    DEFAULT_STORE,
    Datasets,
    Epochs,
    Frames,
    Imports,
    Methods,
    Models,
    Name,
    Rate,
    Seeds,
    StoreFolder,
)
from histreg.cli.study.output import check_output_file
from histreg.cli.study.quantities import counted
from histreg.cli.study.user_modules import import_user_modules
from histreg.errors import InputError

EXAMPLE = "Example: histreg study figure sines --out sines.png"


@exit_on_user_error
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
    rate: Rate = None,
    frames: Frames = None,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Draw the figure of an experiment."""
    if out.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"--out must be named .png, .svg or .pdf, got {out}")
    with requires_extra("study"):
        from rich.console import Console
        from rich.markup import escape

        from histreg.cli.study.selection import Selection
        from histreg.report.experiment_figures import figure_of
        from histreg.study.engine.store import Store

    import_user_modules(modules)
    check_output_file(out, store, modules, overwrite=overwrite)
    selection = Selection(datasets, methods, models, seeds, epochs, rate, frames)
    runs = selection.runs([name])
    records = Store(store).records(runs)
    n_missing = len(runs) - len(records)
    if n_missing:
        count = counted(n_missing, "run")
        print(f"histreg: {count} of {name} without a record yet", file=sys.stderr)
    drawn = figure_of(name, records)
    with atomic_write(out) as partial:
        drawn.savefig(partial, dpi=150)
    Console().print(f"Figure in {escape(str(out))}")
