"""The command ``histreg fit``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from histreg._checks import check_choice, check_count
from histreg._names import LOSSES, MODEL_JSON, SPACINGS, TAILS
from histreg.cli.errors import exit_on_user_error, requires_extra
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
    Strict,
    TablesPath,
    Target,
    check_seed,
    check_time_or_groups,
    split_names,
    takes_options,
)
from histreg.cli.outputs import check_output, check_output_folder
from histreg.cli.spelling import Spelling
from histreg.cli.table_formats import (
    check_table_input,
    check_table_output,
    is_partitioned,
)
from histreg.errors import InputError

EXAMPLE = "Example: histreg fit houses.csv --target price --drop id --out model/"
MIN_BINS = 13  # twelve of them are padding


@dataclass(frozen=True)
class FitOptions:
    """The options of ``histreg fit``.

    Raises
    ------
    InputError
        If a value is invalid for any table.
    """

    table: TablesPath
    target: Target
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the model.")]
    drop: Drop = None
    label: Label = None
    y_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--range",
            metavar="LOW HIGH",
            help="Range of the target for the bins to cover, if it is known.",
        ),
    ] = None
    weight: Annotated[str | None, typer.Option(help="Column of row weights.")] = None
    censored: Annotated[
        str | None,
        typer.Option(
            help="Column of 0 and 1, or true and false: 1 or true where the target is "
            "only a lower bound. Not used as a feature."
        ),
    ] = None
    upper: Annotated[
        str | None,
        typer.Option(
            help="Column of upper bounds, for targets that are only known to lie in an "
            "interval: the target column has the lower bounds. Empty cells are no "
            "bound; where both are equal, the target is known."
        ),
    ] = None
    holdout: Annotated[
        float, typer.Option(help="Fraction of rows held out for testing; may be 0.")
    ] = 0.2
    calibration: Annotated[
        float,
        typer.Option(
            help="Fraction of rows used to calibrate the intervals; ignored with "
            "--censored and --upper."
        ),
    ] = 0.1
    calibrate_by: Annotated[
        str | None,
        typer.Option(
            help="Column of groups: calibrate the intervals of each by itself, so that "
            "their coverage holds in every group."
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            help="Column to order rows by, so that the last ones are held out; not "
            "used as a feature. By default, rows are held out at random."
        ),
    ] = None
    keep_time: KeepTime = False
    groups: Groups = None
    evaluate: Annotated[
        Path | None,
        typer.Option(
            "--eval",
            help="Another table to test on, instead of held-out rows of this one.",
        ),
    ] = None
    settings: Annotated[
        Path | None,
        typer.Option(help="JSON file with settings of the networks, from `tune`."),
    ] = None
    estimators: Estimators = 5
    bins: Annotated[int, typer.Option(help="Number of bins.")] = 100
    spacing: Annotated[
        str, typer.Option(help=f"Spacing of the bins: one of {', '.join(SPACINGS)}.")
    ] = "auto"
    tails: Annotated[
        str,
        typer.Option(help=f"Distribution beyond the bins: one of {', '.join(TAILS)}."),
    ] = "clip"
    epochs: Epochs = 200
    loss: Annotated[
        str, typer.Option(help=f"Training loss: one of {', '.join(LOSSES)}.")
    ] = "histogram"
    seed: Annotated[
        int, typer.Option(help="Random seed of the split and of the training.")
    ] = 0
    save_holdout: Annotated[
        Path | None,
        typer.Option(help="File to write the held-out rows to, for `report`."),
    ] = None
    compare: Annotated[
        bool,
        typer.Option(
            help="Also fit linear regression, boosting and the same networks with the "
            "l2 loss."
        ),
    ] = True
    sample_rows: Annotated[
        int | None,
        typer.Option(
            help="For a folder or pattern: number of rows to keep in memory, for "
            "validation and the simple models; 100,000 by default."
        ),
    ] = None
    epoch_rows: Annotated[
        int | None,
        typer.Option(
            help="For a folder or pattern: most rows in an epoch; 1,000,000 by default."
        ),
    ] = None
    strict: Strict = False
    delimiter: Delimiter = None
    decimal: DecimalMark = None
    day_first: DayFirst = None
    output_format: OutputFormat = "text"
    overwrite: Overwrite = False
    quiet: Quiet = False

    def __post_init__(self) -> None:
        check_choice("--format", self.output_format, FORMATS)
        check_choice("--spacing", self.spacing, SPACINGS)
        check_choice("--tails", self.tails, TAILS)
        check_choice("--loss", self.loss, LOSSES)
        check_count("--epochs", self.epochs, at_least=1)
        check_count("--estimators", self.estimators, at_least=1)
        check_count("--bins", self.bins, at_least=MIN_BINS)
        for option, count in self._of_streams.items():
            if count is not None:
                check_count(option, count, at_least=1)
        check_seed(self.seed)
        calibration = 0 if self.censored or self.upper else self.calibration
        if self.censored and self.upper:
            raise InputError("--censored and --upper cannot be combined; use --upper")
        if not (
            0 <= self.holdout < 1
            and 0 <= calibration < 1
            and self.holdout + calibration < 1
        ):
            raise InputError(
                "--holdout and --calibration must lie in [0, 1) and add up to less "
                f"than 1, got {self.holdout} and {calibration}"
            )
        if self.y_range is not None:
            low, high = self.y_range
            if not -math.inf < low < high < math.inf:
                raise InputError(
                    "--range must have LOW below HIGH, both finite, "
                    f"got --range {low:g} {high:g}"
                )
        if self.evaluate is not None and self.save_holdout is not None:
            raise InputError(
                "--save-holdout cannot be combined with --eval, which holds out no "
                f"rows, got {self.save_holdout}"
            )
        check_time_or_groups(self.time, self.groups, keep_time=self.keep_time)
        if self.calibrate_by in (self.target, *self.dropped, *self.special_columns):
            raise InputError(
                "--calibrate-by must name a column that is used as a feature, got "
                f"{self.calibrate_by!r}"
            )
        if self.target in self.dropped:
            raise InputError(f"--drop must not name the target, got {self.target!r}")
        if self.calibrate_by is not None and not calibration:
            raise InputError("--calibrate-by needs rows to calibrate on, got none")
        Spelling.from_options(self.delimiter, self.decimal, self.day_first)

    @property
    def dropped(self) -> list[str]:
        """Columns to leave out."""
        return split_names(self.drop)

    @property
    def labels(self) -> list[str]:
        """Columns to read as labels."""
        return split_names(self.label)

    @property
    def special_columns(self) -> list[str]:
        """Columns that are used, but not as features."""
        time = None if self.keep_time else self.time
        given = (self.weight, self.censored, self.upper, time, self.groups)
        return [name for name in given if name]

    @property
    def spelling(self) -> Spelling:
        """The given spelling of numbers and dates."""
        return Spelling.from_options(self.delimiter, self.decimal, self.day_first)

    def check_paths(self) -> None:
        """Raise unless the table exists, and all output can be written."""
        if is_partitioned(self.table):
            self._check_streamable()
        else:
            self._check_in_memory()
            check_table_input(self.table)
        if self.evaluate is not None:
            check_table_input(self.evaluate)
        check_output_folder(
            "--out",
            self.out,
            overwrite=self.overwrite,
            content="a model",
            is_there=lambda folder: (folder / MODEL_JSON).exists(),
        )
        path = self.save_holdout
        if path is None:
            return
        check_table_output(path)
        check_output(
            "--save-holdout", path, overwrite=self.overwrite, reads=[self.table]
        )
        if path.resolve() in (self.out.resolve(), *self.out.resolve().parents):
            raise InputError(f"--save-holdout must differ from --out, got {path}")

    @property
    def _of_streams(self) -> dict[str, int | None]:
        return {"--sample-rows": self.sample_rows, "--epoch-rows": self.epoch_rows}

    def _check_in_memory(self) -> None:
        """Raise if an option is given that has an effect on many files only."""
        for option, count in self._of_streams.items():
            if count is not None:
                raise InputError(
                    f"{option} needs a folder or a pattern of Parquet files, got "
                    f"{self.table}"
                )

    def _check_streamable(self) -> None:
        """Raise if an option needs all rows in memory."""
        needing = {
            "--censored": self.censored,
            "--upper": self.upper,
            "--time": self.time,
            "--groups": self.groups,
            "--eval": self.evaluate,
        }
        for option, value in needing.items():
            if value is not None:
                raise InputError(
                    f"{option} needs a table that fits into memory, in one file, got "
                    f"{self.table}"
                )


@exit_on_user_error
@takes_options(FitOptions)
def fit(options: FitOptions) -> None:
    """Fit a model that predicts a column of a table, and show its test scores."""
    options.check_paths()
    if is_partitioned(options.table):
        with requires_extra("stream"):
            from histreg.cli import streamed_fitting

        streamed_fitting.run(options)
        return
    with requires_extra("cli"):
        from histreg.cli import fitting

    settings = fitting.read_settings(options)
    data = fitting.read(options)
    parts = fitting.split(data, options)
    training_table = data
    if options.evaluate is not None:
        data, parts = fitting.with_other_rows(data, parts, options)
    fitting.check(training_table, options)
    model = fitting.fit(data, parts, options, settings)
    tested = fitting.score(model, data, parts, options, settings)
    fitting.save(model, tested, data, parts, options)
    if options.output_format == "json" or not options.quiet:
        fitting.print_result(tested, data, parts, options)
