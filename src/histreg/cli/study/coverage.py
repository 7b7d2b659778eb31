"""The command ``histreg study coverage``."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from histreg._checks import check_choice
from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import Overwrite
from histreg.cli.study.options import (
    DEFAULT_STORE,
    Format,
    Imports,
    OutFile,
    StoreFolder,
)
from histreg.cli.study.output import check_output_file, print_tables
from histreg.cli.study.user_modules import import_user_modules
from histreg.errors import InputError
from histreg.report.printed_table import FORMATS

EXAMPLE = "Example: histreg study coverage --table 1 --missing --store results/study"


@exit_on_user_error
def coverage(
    table: Annotated[
        int | None,
        typer.Option(
            help="Only this table of the paper: 1 to 4 or 6 to 9; all by default."
        ),
    ] = None,
    missing: Annotated[
        bool,
        typer.Option(
            "--missing", help="Also show the commands that compute what is missing."
        ),
    ] = False,
    beyond: Annotated[
        float | None,
        typer.Option(
            help="Also show the cells that are more joint standard errors than this "
            "from the paper's, with explanations."
        ),
    ] = None,
    form: Format = "text",
    out: OutFile = None,
    overwrite: Overwrite = False,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Count the paper's numbers that the records have, and how near they are.

    Each number in the paper's tables of results counts once for each table. Also
    shown is the time that the missing runs take, estimated from stored times.
    """
    check_choice("--format", form, FORMATS)
    if beyond is not None and not 0 <= beyond < math.inf:
        raise InputError(f"--beyond must be a finite number from 0 on, got {beyond:g}")
    with requires_extra("study"):
        from histreg.report.coverage_tables import (
            cells_beyond,
            coverage_summary,
            missing_cells,
        )
        from histreg.study.catalogue import EXPERIMENTS
        from histreg.study.coverage import EXPERIMENT_OF, Coverage
        from histreg.study.engine.store import Store

    import_user_modules(modules)
    if out is not None:
        check_output_file(out, store, modules, overwrite=overwrite)
    if table is not None:
        check_choice("--table", str(table), [str(number) for number in EXPERIMENT_OF])
    runs = dict.fromkeys(
        run for experiment in EXPERIMENTS.values() for run in experiment.runs
    )
    found = Coverage.of(
        Store(store).records(runs), EXPERIMENT_OF if table is None else [table]
    )
    tables = [coverage_summary(found)]
    tables += [missing_cells(found)] if missing else []
    tables += [] if beyond is None else [cells_beyond(found, beyond)]
    print_tables(tables, form, out)
