"""The command ``histreg report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import (
    DayFirst,
    DecimalMark,
    Delimiter,
    ModelPath,
    Overwrite,
    Quiet,
    TablePath,
    split_names,
)
from histreg.cli.outputs import check_output, files_of_model
from histreg.cli.spelling import Spelling
from histreg.cli.table_formats import check_table_input
from histreg.errors import InputError

EXAMPLE = "Example: histreg report model/ data.csv --target price --out report.html"


@exit_on_user_error
def report(
    model: ModelPath,
    table: TablePath,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")],
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", help="Column of true values; by default the model's."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns whose groups are compared, comma-separated; by default the "
            "most important ones."
        ),
    ] = None,
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    day_first: DayFirst = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write a page with figures of how well a model predicts a table.

    Use rows that it was not trained on.
    """
    check_table_input(table)
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out must be named .html, got {out}")
    reads = [table, *files_of_model(model)]
    check_output("--out", out, overwrite=overwrite, reads=reads)
    spelling = Spelling.from_options(delimiter, decimal, day_first)

    with requires_extra("cli"):
        from rich.console import Console
        from rich.markup import escape

        from histreg.cli.columns import split_target
        from histreg.cli.reading import read_for_model, target_name
        from histreg.cli.scores import scores_from_notes, verdict_from_notes
        from histreg.report.model_page import ModelPage, write_page
        from histreg.tabular.regressor import HistogramRegressor
        from histreg.tabular.scores import Scores

    regressor = HistogramRegressor.load(model)
    if target in list(getattr(regressor, "feature_names_in_", [])):
        raise InputError(f"--target must not be a feature of the model, got {target!r}")
    if regressor.notes_.get("censored"):
        raise InputError(
            "report needs known targets, but those of this model may be censored, by "
            f"column {regressor.notes_['censored']!r}; use `histreg inspect` to see "
            "its scores"
        )
    name = target or target_name(regressor)
    notes, groups = regressor.notes_, split_names(by)
    if name in groups:
        raise InputError(f"--by must not name the target, got {name!r}")
    times = [notes["time"]] if isinstance(notes.get("time"), str) else []
    read = read_for_model(
        regressor, table, spelling, name, beside=groups, if_there=times
    )
    if not quiet:
        read.print_notes()
    frame, y = split_target(read.frame, name)
    X = frame[list(getattr(regressor, "feature_names_in_", frame.columns))]
    page = ModelPage.of(
        regressor,
        X,
        y,
        target=name,
        source=table.name,
        noted_scores={
            name: row
            for name, row in scores_from_notes(notes).items()
            if isinstance(row, Scores)
        },
        noted_verdict=verdict_from_notes(notes),
        row_numbers=[int(row) + 1 for row in X.index],
        beside=frame.drop(columns=X.columns),
        by=groups,
    )
    write_page(page, out)
    if not quiet:
        Console().print(f"Page in [bold]{escape(str(out))}[/bold]")
