"""Streamed fitting: ``histreg fit`` on Parquet files that do not fit into memory.

Rows to test and to calibrate on are drawn from all files and kept in memory, and so is
a sample of the others, which `check` looks at and simple models are compared by.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape

from histreg._names import ON_NUMBERS
from histreg.cli import fitting, tables
from histreg.cli.fit import FitOptions
from histreg.cli.fitting import MIN_CALIBRATION_ROWS, TrainingTable
from histreg.cli.interpretation import Interpretation
from histreg.cli.progress import epoch_progress
from histreg.cli.reading import ReadTable
from histreg.cli.spelling import Spelling
from histreg.errors import InputError
from histreg.tabular.parquet_rows import ParquetRows
from histreg.tabular.regressor import HistogramRegressor
from histreg.tabular.splits import Parts
from histreg.tabular.streaming import is_among

SAMPLE_ROWS, EPOCH_ROWS = 100_000, 1_000_000  # by default
MOST_TEST_ROWS = 20_000
MOST_CALIBRATION_ROWS = 10_000


def run(options: FitOptions) -> None:
    """Fit, test and save a model."""
    settings = fitting.read_settings(options)
    rows = ParquetRows(
        options.table,
        target=options.target,
        weight=options.weight,
        drop=options.dropped,
        labels=options.labels,
    )
    data, parts, held_out = read(rows, options)
    if not options.quiet:
        Console(stderr=True).print(
            f"{rows.n_rows:,} rows in {len(rows.files.paths):,} files; "
            f"{len(parts.test):,} are held out for testing and "
            f"{len(parts.calibrate):,} for calibration",
            highlight=False,
        )
    fitting.check(data, options)
    model = fitting.new_regressor(options.loss, options, settings)
    with epoch_progress(f"Fitting ({options.loss})", quiet=options.quiet) as show:
        model.callback = show
        model.fit_stream(
            rows.without_rows(held_out),
            sample_size=options.sample_rows or SAMPLE_ROWS,
            epoch_size=options.epoch_rows or EPOCH_ROWS,
        )
    model.callback = None
    _calibrate(model, data, parts, options)
    tested = fitting.score(model, data, parts, options, settings, with_l2=False)
    fitting.save(model, tested, data, parts, options, n_learnt=model.n_seen_)
    n_used = model.n_seen_ + len(parts.test) + len(parts.calibrate)
    if n_used < rows.n_rows and not options.quiet:
        Console(stderr=True).print(
            f"{rows.n_rows - n_used:,} of {rows.n_rows:,} rows have no "
            f"{escape(options.target)} or no weight and were left out",
            highlight=False,
        )
    if options.output_format == "json" or not options.quiet:
        fitting.print_result(tested, data, parts, options)


def read(
    rows: ParquetRows, options: FitOptions
) -> tuple[TrainingTable, Parts, NDArray[np.int64]]:
    """Return the rows that are kept in memory, and the numbers of those held out."""
    n = rows.n_rows
    n_test = min(round(options.holdout * n), MOST_TEST_ROWS)
    n_calibrate = min(round(options.calibration * n), MOST_CALIBRATION_ROWS)
    n_learn = min(options.sample_rows or SAMPLE_ROWS, n - n_test - n_calibrate)
    if n_learn < 1:
        raise InputError(f"the split must leave rows for training, got {n} rows")
    drawn = np.random.default_rng(options.seed).choice(
        n, n_test + n_calibrate + n_learn, replace=False
    )
    kept = rows.take(drawn)
    test, calibrate = np.sort(drawn[:n_test]), np.sort(drawn[n_test:][:n_calibrate])
    is_test = is_among(kept.numbers, test)
    is_calibrate = is_among(kept.numbers, calibrate)
    parts = Parts(
        np.flatnonzero(~is_test & ~is_calibrate),
        np.flatnonzero(is_calibrate),
        np.flatnonzero(is_test),
    )
    frame = kept.X.assign(**{options.target: kept.y})
    table = ReadTable(
        options.table,
        tables.TableFile(frame, None, []),
        Interpretation(frame, Spelling(), [], [], {}),
    )
    weights = None if options.weight is None else kept.weight
    data = TrainingTable(table, kept.X, kept.y, weights, None, None)
    return data, parts, np.concatenate([test, calibrate])


def _calibrate(
    model: HistogramRegressor, data: TrainingTable, parts: Parts, options: FitOptions
) -> None:
    """Calibrate a model if there are enough rows for it."""
    rows = parts.calibrate
    if len(rows) >= MIN_CALIBRATION_ROWS and options.loss not in ON_NUMBERS:
        groups = options.calibrate_by
        model.calibrate(data.X.iloc[rows], data.y[rows], groups=groups)
