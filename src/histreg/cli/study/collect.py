"""The command ``histreg study collect``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.outputs import check_output_folder
from histreg.cli.study.options import (
    DEFAULT_STORE,
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
from histreg.cli.study.user_modules import import_user_modules

EXAMPLE = "Example: histreg study collect overall projected --store results"


@exit_on_user_error
def collect(
    names: Names,
    datasets: Datasets = None,
    methods: Methods = None,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    rate: Rate = None,
    frames: Frames = None,
    store: StoreFolder = DEFAULT_STORE,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder to write to; the store by default."),
    ] = None,
    modules: Imports = None,
) -> None:
    """Write the records of each experiment into one file, NAME.jsonl.

    A folder of such files is a store too: tables and figures can be made from
    it, and its records are not computed again.
    """
    if out is not None:
        check_output_folder("--out", out)
    with requires_extra("study"):
        from rich.console import Console
        from rich.markup import escape

        from histreg.cli.study.selection import Selection
        from histreg.study.engine.store import Store

    import_user_modules(modules)
    records = Store(store)
    selection = Selection(datasets, methods, models, seeds, epochs, rate, frames)
    by_name = {name: selection.runs([name]) for name in names}
    for name, runs in by_name.items():
        path, n = records.collect(name, runs, into=out)
        Console().print(f"{n} of {len(runs)} records in {escape(str(path))}")
