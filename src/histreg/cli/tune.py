"""The command ``histreg tune``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from histreg._checks import check_choice, check_count
from histreg.cli.errors import (
    INTERRUPTED,
    exit_on_user_error,
    exit_with,
    requires_extra,
)
from histreg.cli.options import (
    FORMATS,
    DayFirst,
    DecimalMark,
    Delimiter,
    Drop,
    Epochs,
    Estimators,
    Groups,
    KeepTime,
    Label,
    OutputFormat,
    Overwrite,
    Quiet,
    RollingTime,
    TablePath,
    Target,
    check_networks,
    check_seed,
    check_time_or_groups,
    split_names,
)
from histreg.cli.outputs import check_output
from histreg.cli.spelling import Spelling
from histreg.cli.table_formats import check_table_input
from histreg.errors import InputError

EXAMPLE = (
    "Example: histreg tune houses.csv --target price --time-budget 10m "
    "--search search.journal --out settings.json"
)
UNITS_IN_S = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


@exit_on_user_error
def tune(
    table: TablePath,
    target: Target,
    time_budget: Annotated[
        str, typer.Option(help="Time for the search, such as 90s, 10m or 2h.")
    ] = "10m",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="JSON file for the best settings, for `fit --settings`."
        ),
    ] = None,
    search: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps finished trials, so that the same command resumes "
            "the search."
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Stop after this many trials in total.")
    ] = None,
    drop: Drop = None,
    label: Label = None,
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 3,
    groups: Groups = None,
    time: RollingTime = None,
    keep_time: KeepTime = False,
    estimators: Estimators = 5,
    epochs: Epochs = 200,
    seed: Annotated[int, typer.Option(help="Random seed of folds and models.")] = 0,
    output_format: OutputFormat = "text",
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    day_first: DayFirst = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Search settings of the networks, and say if they are better than the defaults."""
    check_choice("--format", output_format, FORMATS)
    check_networks(folds, estimators, epochs)
    check_seed(seed)
    if trials is not None:
        check_count("--trials", trials, at_least=1)
    check_time_or_groups(time, groups, keep_time=keep_time)
    budget_s = parse_duration("--time-budget", time_budget)
    check_table_input(table)
    if out is not None:
        check_output("--out", out, overwrite=overwrite, reads=[table])
    spelling = Spelling.from_options(delimiter, decimal, day_first)
    with requires_extra("tune"):
        import json

        import optuna  # noqa: F401
        from rich.console import Console

        from histreg._files import atomic_write
        from histreg.cli.json_output import print_json
        from histreg.cli.progress import search_progress
        from histreg.cli.reading import read_known_rows
        from histreg.tabular.tuning import tune as search_settings

    known = read_known_rows(
        table,
        spelling,
        target=target,
        drop=split_names(drop),
        labels=split_names(label),
        groups=groups,
        time=time,
        keep_time=keep_time,
    )
    if not quiet:
        known.table.print_notes()
    with _resumable(search), search_progress(budget_s, quiet=quiet) as show:
        tuning = search_settings(
            known.features,
            known.y,
            time_budget_s=budget_s,
            storage=search,
            folds=folds,
            groups=known.groups,
            order=known.order,
            n_trials=trials,
            fixed={"n_estimators": estimators, "max_iter": epochs},
            random_state=seed,
            on_trial=show,
        )
    if out is not None:
        with atomic_write(out) as partial:
            partial.write_text(json.dumps(tuning.settings, indent=2) + "\n")
    if output_format == "json":
        print_json({"target": target, "verdict": str(tuning), **asdict(tuning)})
        return
    console = Console()
    console.print(f"[bold]{tuning}[/bold]", highlight=False)
    for name, value in tuning.settings.items():
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        console.print(f"{name}: {shown}", highlight=False, markup=False)
    if out is not None and not quiet:
        is_better = tuning.gain is not None and tuning.gain.low > 0
        how = f"Use them with: histreg fit ... --settings {out}"
        console.print(how if is_better else f"Written to {out}", markup=False)


@contextmanager
def _resumable(search: Path | None) -> Iterator[None]:
    """Say on Ctrl-C how a search goes on, if its trials are kept."""
    try:
        yield
    except KeyboardInterrupt:
        if search is None:
            raise
        exit_with(
            f"stopped; run the same command again to resume from {search}", INTERRUPTED
        )


def parse_duration(option: str, given: str) -> float:
    """Return the seconds of a text such as 90s, 10m or 2h."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", given.strip().lower())
    if match is None or match[2] not in UNITS_IN_S or float(match[1]) == 0:
        raise InputError(f"{option} must be a time such as 90s, 10m or 2h, got {given}")
    return float(match[1]) * UNITS_IN_S[match[2]]
