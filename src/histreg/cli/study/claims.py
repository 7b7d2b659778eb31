"""The command ``histreg study claims``."""

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
    Imports,
    OutFile,
    StoreFolder,
    split_option,
)
from histreg.cli.study.output import check_output_file, print_tables
from histreg.cli.study.user_modules import import_user_modules
from histreg.report.printed_table import FORMATS

EXAMPLE = "Example: histreg study claims K5 K21 --store results/study"


@exit_on_user_error
def claims(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Claims to show with their numbers, such as K5; all by default."
        ),
    ] = None,
    datasets: Datasets = None,
    epochs: Epochs = None,
    details: Annotated[
        bool, typer.Option("--details", help="Also show the numbers behind each claim.")
    ] = False,
    form: Format = "text",
    out: OutFile = None,
    overwrite: Overwrite = False,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Judge the paper's claims by the records.

    Each claim is confirmed, refuted, not significant or not run, by a rule that
    is shown with its numbers; it holds or fails so far if something that the
    paper judges it on was not run. Only the paper's data sets and numbers of
    epochs count; others are judged only if selected by options. Claims of ours
    are counted apart.
    """
    check_choice("--format", form, FORMATS)
    with requires_extra("study"):
        from histreg.report.claim_tables import findings_of, scoreboards
        from histreg.study.catalogue import DATA, experiment, selected
        from histreg.study.claims import CLAIMS, Evidence
        from histreg.study.datasets import FRAMES, GAMES, SERIES, TABLES
        from histreg.study.engine.runs import Run
        from histreg.study.engine.store import Store

    import_user_modules(modules)
    if out is not None:
        check_output_file(out, store, modules, overwrite=overwrite)
    for name in names or []:
        check_choice("claim", name, CLAIMS)
    chosen = split_option(datasets, "--datasets")
    for name in chosen:
        check_choice("--datasets", name, {**TABLES, **FRAMES, **SERIES, **GAMES})
    judged = [CLAIMS[name] for name in names or CLAIMS]
    experiments = dict.fromkeys(name for claim in judged for name in claim.experiments)
    runs: dict[Run, None] = {}
    for name in experiments:
        runs |= dict.fromkeys(
            selected(experiment(name).runs, datasets=chosen, epochs=epochs)
        )
    evidence = Evidence(
        Store(store).records(list(runs)),
        datasets=tuple(dict.fromkeys(chosen)) or DATA,
        epochs=epochs,
    )
    tables = [] if names else scoreboards(judged, evidence)
    if names or details:
        tables += [findings_of(claim, evidence) for claim in judged]
    print_tables(tables, form, out)
