"""The command ``histreg predict``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from histreg._checks import check_choice, check_count, check_fraction
from histreg._names import INTERVALS
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
    ModelPath,
    OutputFormat,
    Overwrite,
    Quiet,
    TablesPath,
    parse_numbers,
)
from histreg.cli.outputs import check_output, files_of_model
from histreg.cli.spelling import Spelling
from histreg.cli.table_formats import (
    check_table_input,
    check_table_output,
    is_partitioned,
)
from histreg.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLE = (
    "Example: histreg predict model/ new.csv --interval 0.9 "
    "--quantiles 0.1,0.5,0.9 --above 100 --out predictions.csv"
)


@exit_on_user_error
def predict(
    model: ModelPath,
    table: TablesPath,
    interval: Annotated[
        str | None,
        typer.Option(
            help="Add intervals with these coverages, such as 0.9, comma-separated."
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(help=f"Kind of interval: {' or '.join(INTERVALS)}.")
    ] = "central",
    quantiles: Annotated[
        str | None,
        typer.Option(help="Add quantiles at these levels, comma-separated."),
    ] = None,
    above: Annotated[
        str | None,
        typer.Option(help="Add P(y > t) for these thresholds t, comma-separated."),
    ] = None,
    calibrated: Annotated[
        bool,
        typer.Option(
            "--calibrated",
            help="Take quantiles and probabilities of the calibrated distribution.",
        ),
    ] = False,
    adaptive: Annotated[
        bool,
        typer.Option(
            "--adaptive",
            help="For rows in the order of time with known targets: adapt the interval "
            "of each row to the rows before it.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write, standard output by default; or for a folder or "
            "pattern the folder to write to, where finished files are kept.",
        ),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            help="For a folder or pattern: processes, in-process, dask, or "
            "dask://host:port; in-process by default."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Number of processes of --executor; by default one per core."
        ),
    ] = None,
    output_format: OutputFormat = "text",
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    day_first: DayFirst = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Predict for every row of a table, and add the predictions as columns."""
    check_choice("--format", output_format, FORMATS)
    is_json = output_format == "json"
    if is_json and out is not None:
        raise InputError(
            "--format json prints the predictions, so it cannot be combined with "
            f"--out, got --out {out}"
        )
    is_many = is_partitioned(table)
    if not is_many:
        check_table_input(table)
    if is_many:
        if out is None:
            raise InputError(f"--out must name a folder, since {table} is many files")
        if adaptive:
            raise InputError("--adaptive needs a table in one file, in order of time")
    elif executor is not None or jobs is not None:
        raise InputError(
            f"--executor and --jobs need a folder or a pattern of files, got {table}"
        )
    elif out is not None:
        check_table_output(out)
        reads = [table, *files_of_model(model)]
        check_output("--out", out, overwrite=overwrite, reads=reads)
    elif sys.stdout is None:
        raise InputError("standard output is closed; use --out to write a file")
    levels = parse_numbers("--quantiles", quantiles)
    if not all(0 <= level <= 1 for level in levels):
        raise InputError(f"--quantiles must be levels from 0 to 1, got {quantiles}")
    thresholds = parse_numbers("--above", above)
    coverages = parse_numbers("--interval", interval)
    for coverage in coverages:
        check_fraction("--interval", coverage)
    check_choice("--method", method, INTERVALS)
    if adaptive and (len(coverages) != 1 or method != "central"):
        raise InputError(
            "--adaptive needs one coverage as --interval, and the method central"
        )
    spelling = Spelling.from_options(delimiter, decimal, day_first)
    if is_many:
        assert out is not None
        _predict_files(
            *(model, table, out, executor, jobs),
            *(coverages, method, levels, thresholds),
            calibrated=calibrated,
            overwrite=overwrite,
            quiet=quiet,
        )
        return

    with requires_extra("cli"):
        import numpy as np
        import pandas as pd
        from rich.console import Console
        from rich.markup import escape

        from histreg.cli import tables
        from histreg.cli.columns import numbers_in
        from histreg.cli.json_output import print_json
        from histreg.cli.predicted_columns import (
            Asked,
            columns_of,
            predictions_as_json,
        )
        from histreg.cli.reading import read_for_model, target_name
        from histreg.tabular.adaptive import AdaptiveInterval
        from histreg.tabular.regressor import HistogramRegressor

    regressor = HistogramRegressor.load(model)
    name = target_name(regressor)
    read = read_for_model(regressor, table, spelling, name if adaptive else None)
    X = read.frame
    if not quiet:
        read.print_notes()
    ends: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    if adaptive:
        y = numbers_in(X, name)
        X = X.drop(columns=name)
        ends = AdaptiveInterval(regressor, coverages[0]).run(X, y)

    asked = Asked(coverages, method, levels, thresholds, calibrated)
    parts: list[dict[str, NDArray[np.float64]]] = []
    for part in regressor.predict_in_chunks(X):
        start = sum(len(done[f"{name}_mean"]) for done in parts)
        rows = slice(start, start + len(part.mean))
        own = None if ends is None else (ends[0][rows], ends[1][rows])
        parts.append(columns_of(part, name, asked, own))
    predicted = {
        column: np.concatenate([part[column] for part in parts]) for column in parts[0]
    }
    if is_json:
        print_json(predictions_as_json(predicted, name))
        return
    frame = read.as_written
    taken = [column for column in predicted if column in frame.columns]
    if taken:
        raise InputError(f"{table} must not have a column {taken[0]!r} already")
    result = pd.concat([frame, pd.DataFrame(predicted, index=frame.index)], axis=1)
    if out is None:
        result.to_csv(sys.stdout, index=False, **tables.text_options(read.spelling))
        return
    tables.write(result, out, read.spelling)
    if not quiet:
        Console().print(f"{len(result):,} rows in [bold]{escape(str(out))}[/bold]")


def _predict_files(
    model: Path,
    table: Path,
    out: Path,
    executor: str | None,
    jobs: int | None,
    coverages: list[float],
    method: str,
    levels: list[float],
    thresholds: list[float],
    *,
    calibrated: bool,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Predict for the files of a folder or a pattern, each into a file of its own."""
    with requires_extra("cli"):
        from rich.console import Console

        from histreg.cli import prediction_files
        from histreg.cli.predicted_columns import Asked
        from histreg.cli.progress import step_progress
        from histreg.executors import pool_of
        from histreg.tabular.parquet_rows import ParquetFiles

    in_process = executor in (None, "in-process")
    n_jobs = (os.cpu_count() or 1) if jobs is None else jobs
    check_count("--jobs", n_jobs, at_least=1)
    files = ParquetFiles(table)
    tasks = prediction_files.tasks_for(
        model,
        files,
        out,
        Asked(coverages, method, levels, thresholds, calibrated),
        overwrite=overwrite,
        n_threads=None if in_process else 1,
    )
    n_files = len(files.paths)
    n_before = n_files - len(tasks)
    n_finished, is_stopped = 0, False
    if tasks:
        with (
            pool_of(executor or "in-process", n_jobs) as pool,
            step_progress(len(tasks), quiet=quiet) as show,
        ):
            n_finished, is_stopped = prediction_files.compute(tasks, pool, show)
    if is_stopped:
        exit_with(
            f"stopped; {n_before + n_finished:,} of {n_files:,} files are finished: "
            "run the same command again to resume",
            INTERRUPTED,
        )
    if not quiet:
        before = f", {n_before:,} of which were there already" if n_before else ""
        Console().print(
            f"{files.n_rows:,} rows in {n_files:,} files in {out}{before}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
