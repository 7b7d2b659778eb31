"""The command ``histreg study table``."""

from __future__ import annotations

from typing import Annotated

import typer

from histreg._checks import check_choice
from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import Overwrite
from histreg.cli.study.options import (
    DEFAULT_STORE,
    Datasets,
    Epochs,
    Format,
    Frames,
    Imports,
    Methods,
    Models,
    Name,
    OutFile,
    Rate,
    Seeds,
    StoreFolder,
    split_option,
)
from histreg.cli.study.output import check_output_file, print_tables
from histreg.cli.study.user_modules import import_user_modules
from histreg.errors import InputError
from histreg.report.printed_table import FORMATS

EXAMPLE = "Example: histreg study table overall --datasets pole"


@exit_on_user_error
def table(
    name: Name,
    datasets: Datasets = None,
    methods: Methods = None,
    models: Models = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    rate: Rate = None,
    frames: Frames = None,
    form: Format = "text",
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated: train MAE, train RMSE, test MAE, test RMSE."
        ),
    ] = None,
    paired: Annotated[
        bool,
        typer.Option(
            "--paired", help="Show differences paired by seed, with exact tests."
        ),
    ] = False,
    out: OutFile = None,
    overwrite: Overwrite = False,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Print the tables of an experiment, with the paper's numbers beside ours."""
    check_choice("--format", form, FORMATS)
    with requires_extra("study"):
        from histreg.cli.study.selection import Selection
        from histreg.report.experiment_tables import MAIN_METRICS, tables_of
        from histreg.report.paired_tables import check_paired
        from histreg.study.analysis.statistics import METRICS
        from histreg.study.engine.store import Store

    import_user_modules(modules)
    if out is not None:
        check_output_file(out, store, modules, overwrite=overwrite)
    usual = MAIN_METRICS if form == "text" else METRICS
    asked = split_option(metrics)
    chosen = tuple(asked) or (MAIN_METRICS[:1] if paired else usual)
    for metric in chosen:
        check_choice("--metrics", metric, METRICS)
    selection = Selection(datasets, methods, models, seeds, epochs, rate, frames)
    runs = selection.runs([name])
    if paired:
        check_paired(name, asked)
    records = Store(store).records(runs)
    if not records:
        raise InputError(
            f"the table {name} must have records, got none yet in {store}; "
            f"run `histreg study run {name}` first, or choose another --store"
        )
    print_tables(
        tables_of(name, records, chosen, runs=runs, is_paired=paired), form, out
    )
