"""The command ``histreg check``."""

from __future__ import annotations

from typing import Annotated

import typer

from histreg._checks import check_choice
from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import (
    FORMATS,
    DayFirst,
    DecimalMark,
    Delimiter,
    Drop,
    Groups,
    Label,
    OutputFormat,
    Strict,
    TablePath,
    Target,
    split_names,
)
from histreg.cli.spelling import Spelling
from histreg.cli.table_formats import check_table_input

EXAMPLE = "Example: histreg check houses.csv --target price"


@exit_on_user_error
def check(
    table: TablePath,
    target: Target,
    drop: Drop = None,
    label: Label = None,
    groups: Groups = None,
    time: Annotated[
        str | None, typer.Option(help="Column to order rows by for a split.")
    ] = None,
    strict: Strict = False,
    output_format: OutputFormat = "text",
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    day_first: DayFirst = None,
) -> None:
    """Look at a table before fitting: its columns, ids, copies, and leaks of y."""
    check_choice("--format", output_format, FORMATS)
    check_table_input(table)
    spelling = Spelling.from_options(delimiter, decimal, day_first)
    with requires_extra("cli"):
        from rich.console import Console

        from histreg.cli.findings import (
            check_as_json,
            check_without_problems,
            print_columns,
            print_findings,
        )
        from histreg.cli.json_output import print_json
        from histreg.cli.reading import read_known_rows
        from histreg.tabular.table_check import check_table

    known = read_known_rows(
        table,
        spelling,
        target=target,
        drop=split_names(drop),
        labels=split_names(label),
        groups=groups,
        time=time,
    )
    known.table.print_notes()
    X, y = known.X, known.y
    result = check_table(X, y, groups=groups, time=time)
    if output_format == "json":
        n_missing = len(known.table.frame) - len(y)
        print_json({"target": target, "n_missing": n_missing, **check_as_json(result)})
    else:
        console = Console()
        n_rows, n_columns = len(known.table.frame), X.shape[1]
        n_known = "all" if len(y) == n_rows else f"{len(y):,}"
        console.print(
            f"{n_rows:,} row{'s' * (n_rows != 1)}, {n_known} with a known target; "
            f"{n_columns} other column{'s' * (n_columns != 1)}",
            highlight=False,
        )
        print_columns(result)
        console.print()
        print_findings(result.findings, console)
        if not result.problems:
            notes = " Read the notes, though: only you know what a column means."
            console.print(f"No problem was found.{notes if result.findings else ''}")
    if strict:
        check_without_problems(result)
