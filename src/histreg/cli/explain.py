"""The command ``histreg explain``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histreg._checks import check_choice, check_count
from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.json_output import print_json
from histreg.cli.options import (
    FORMATS,
    DayFirst,
    DecimalMark,
    Delimiter,
    ModelPath,
    OutputFormat,
    Overwrite,
    Quiet,
    TablePath,
    parse_numbers,
    split_names,
)
from histreg.cli.outputs import check_output, files_of_model
from histreg.cli.spelling import Spelling
from histreg.cli.table_formats import check_table_input
from histreg.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from histreg.tabular import Dependence, Importance, RowExplanation

EXAMPLE = (
    "Examples: histreg explain model/ test.csv | "
    "histreg explain model/ test.csv --column size --above 100 --plot size.png | "
    "histreg explain model/ test.csv --row 17"
)
PLOTS = (".png", ".svg", ".pdf")


@exit_on_user_error
def explain(
    model: ModelPath,
    table: TablePath,
    row: Annotated[
        int | None,
        typer.Option(
            help="Explain the prediction for this row, from 1, by Shapley values."
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            "-c",
            help="Show how predictions depend on this column; repeatable.",
        ),
    ] = None,
    above: Annotated[
        str | None,
        typer.Option(help="Explain P(y > t) for these t too, comma-separated."),
    ] = None,
    quantiles: Annotated[
        str | None,
        typer.Option(help="Explain quantiles at these levels too, comma-separated."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="Treat columns as one: NAME=COLUMN,COLUMN,...; repeatable."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", help="Column of true values; by default the model's."
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option(help="How often each column is shuffled.")
    ] = 5,
    max_rows: Annotated[
        int, typer.Option(help="Use at most this many rows, chosen at random.")
    ] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    plot: Annotated[
        Path | None,
        typer.Option(help="Write a figure to this file: .png, .svg or .pdf."),
    ] = None,
    output_format: OutputFormat = "text",
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    day_first: DayFirst = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Show which columns matter, how, and what led to the prediction for a row.

    Use rows that the model was not trained on. Without --row and --column, each column
    is shuffled to see what the model loses without it.
    """
    check_table_input(table)
    check_choice("--format", output_format, FORMATS)
    if row is not None and column:
        raise InputError("--row and --column cannot be combined; run explain for each")
    if row is not None:
        check_count("--row", row, at_least=1)
    check_count("--repeats", repeats, at_least=1)
    check_count("--max-rows", max_rows, at_least=2)
    check_count("--seed", seed, at_least=0)
    thresholds = parse_numbers("--above", above)
    levels = parse_numbers("--quantiles", quantiles)
    if not all(0 <= level <= 1 for level in levels):
        raise InputError(f"--quantiles must be levels from 0 to 1, got {quantiles}")
    groups = _parsed_groups(group)
    if plot is not None:
        if plot.suffix.lower() not in PLOTS:
            raise InputError(f"--plot must be named {', '.join(PLOTS)}, got {plot}")
        reads = [table, *files_of_model(model)]
        check_output("--plot", plot, overwrite=overwrite, reads=reads)
    spelling = Spelling.from_options(delimiter, decimal, day_first)

    with requires_extra("cli"):
        from histreg.cli.columns import split_target
        from histreg.cli.reading import read_for_model, target_name
        from histreg.tabular import (
            HistogramRegressor,
            column_importance,
            explain_rows,
            partial_dependence,
        )

    regressor = HistogramRegressor.load(model)
    name = target or target_name(regressor)
    if name in list(getattr(regressor, "feature_names_in_", [])):
        raise InputError(f"--target must not be a feature of the model, got {name!r}")
    is_known = not regressor.notes_.get("censored") and (
        target is not None or _has_column(table, name, spelling)
    )
    read = read_for_model(regressor, table, spelling, name if is_known else None)
    if not quiet:
        read.print_notes()
    asked: dict[str, Any] = {"above": thresholds}
    if row is not None:
        X = read.frame.drop(columns=name, errors="ignore")
        if row > len(X):
            raise InputError(
                f"--row must be a row of {table}, from 1 to {len(X):,}, got {row}"
            )
        (one,) = explain_rows(
            regressor,
            X.iloc[row - 1 : row],
            X,
            **asked,
            quantiles=levels,
            groups=groups,
            random_state=seed,
        )
        _show_row(one, row, name, output_format)
        figure = _drawn([(one, what) for what in one.names], plot)
    elif column:
        X = read.frame.drop(columns=name, errors="ignore")
        by_column = [
            partial_dependence(
                regressor,
                X,
                one,
                **asked,
                of=("mean", "spread"),
                quantiles=levels or (0.1, 0.9),
                max_rows=min(max_rows, 500),
                random_state=seed,
            )
            for one in split_names(column)
        ]
        _show_dependence(by_column, name, output_format)
        figure = _drawn(
            [
                (one, what)
                for one in by_column
                for what in (None, *(n for n in one.averages if n.startswith("P(")))
            ],
            plot,
        )
    else:
        X, y = split_target(read.frame, name) if is_known else (read.frame, None)
        importance = column_importance(
            regressor,
            X,
            y,
            **asked,
            quantiles=levels,
            groups=groups,
            n_repeats=repeats,
            max_rows=max_rows,
            random_state=seed,
        )
        _show_importance(importance, name, output_format)
        figure = _drawn([(importance, what) for what in importance.names], plot)
    if figure is not None and plot is not None:
        from histreg._files import atomic_write

        with atomic_write(plot) as partial:
            figure.savefig(partial, format=plot.suffix[1:].lower(), dpi=150)
        if not quiet:
            typer.echo(f"Figure in {plot}", err=True)


def _parsed_groups(given: list[str] | None) -> dict[str, list[str]]:
    groups = {}
    for text in given or []:
        name, _, members = text.partition("=")
        groups[name] = split_names([members])
        if not name or not groups[name]:
            raise InputError(f"--group must be NAME=COLUMN,COLUMN,..., got {text!r}")
    return groups


def _has_column(path: Path, name: str, spelling: Spelling) -> bool:
    from histreg.cli import tables

    return name in tables.read(path, spelling.delimiter).frame.columns


def _show_importance(importance: Importance, target: str, output_format: str) -> None:
    rows = importance.rows()
    if output_format == "json":
        facts = {"n_rows": importance.n_rows, "crps": importance.crps}
        print_json(facts | {"columns": rows})
        return
    cells = {name: _spelled([row[name] for row in rows]) for name in importance.names}
    if importance.crps is not None:
        errors = _spelled([row["CRPS error"] for row in rows])
        pairs = zip(cells["CRPS"], errors, strict=True)
        cells["CRPS"] = [f"{value} ± {error}" for value, error in pairs]
    title = f"What changes when a column is shuffled ({importance.n_rows:,} rows)"
    _print_table(title, [row["column"] for row in rows], cells)
    if importance.crps is not None:
        _print(
            "CRPS: how much it increases, ± a standard error; without shuffling, it is "
            f"{_spelled([importance.crps])[0]}, in units of {target}."
        )
    numbers = "Numbers" if importance.crps is None else "Other numbers"
    _print(
        f"{numbers}: how much predictions change, on average; the spread is the "
        "predicted standard deviation. Columns with the same information share their "
        "importance; --group shuffles them together."
    )


def _show_dependence(
    by_column: list[Dependence], target: str, output_format: str
) -> None:
    if output_format == "json":
        print_json(
            {
                one.column: {"n_rows": one.n_rows, "values": one.rows()}
                for one in by_column
            }
        )
        return
    for one in by_column:
        cells = {name: _spelled(list(all_)) for name, all_ in one.averages.items()}
        title = f"{target} by {one.column}: averages over {one.n_rows:,} rows"
        _print_table(title, one.texts, cells)


def _show_row(one: RowExplanation, row: int, target: str, output_format: str) -> None:
    rows = one.rows()
    if output_format == "json":
        facts = {"row": row, "base": one.base, "predicted": one.predicted}
        print_json(facts | {"columns": rows})
        return
    cells = {}
    for name in one.names:
        first, *parts, last = _spelled(
            [one.base[name], *(row[name] for row in rows), one.predicted[name]]
        )
        signed = [part if part.startswith("-") else f"+{part}" for part in parts]
        cells[name] = [first, *signed, last]
    parts = [f"{part['column']} = {part['value']}" for part in rows]
    title = f"Row {row}: from the average of {one.n_background} rows to its {target}"
    _print_table(title, ["average", *parts, f"row {row}"], cells)
    if any(errors.any() for errors in one.errors.values()):
        _print(
            "The parts add up to the prediction. Each is estimated from random orders "
            "of the columns; --format json shows the standard errors."
        )


def _print_table(title: str, names: list[str], cells: dict[str, list[str]]) -> None:
    """Print columns of numbers, fewer of them if the terminal is narrow."""
    from rich.console import Console

    from histreg.cli.terminal import print_table

    rows = list(zip(names, zip(*cells.values(), strict=True), strict=True))
    headers = list(cells)
    print_table(title, headers, rows, headers[:0:-1], Console())


def _spelled(numbers: list[float]) -> list[str]:
    """Return numbers of a column of a table with the same decimals, four digits."""
    largest = max(map(abs, numbers))
    if not 1e-4 < largest < 1e9:
        return [f"{number:.3g}" for number in numbers]
    decimals = max(0, 3 - math.floor(math.log10(largest)))
    return [f"{number:,.{decimals}f}" for number in numbers]


def _drawn(plots: list[tuple[Any, str | None]], path: Path | None) -> Figure | None:
    """Return a figure with a panel per plot, if a file for it is given."""
    if path is None:
        return None
    from matplotlib.figure import Figure

    n_rows = [len(getattr(data, "columns", ())) for data, _ in plots]
    height = max(3.2, 1.2 + 0.28 * min(20, max(n_rows)))
    across = min(2, len(plots))
    down = -(-len(plots) // across)
    figure = Figure(figsize=(5.6 * across, height * down), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for ax, (data, what) in zip(axes, plots, strict=False):
        data.plot(ax, of=what)
    for ax in axes[len(plots) :]:
        ax.remove()
    return figure


def _print(sentence: str) -> None:
    from rich.console import Console

    Console().print(sentence, style="dim", highlight=False, markup=False)
