"""The command line: parses, calls, prints."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from histreg import theory
from histreg._checks import check_choice, check_count, check_fraction
from histreg._names import LOSSES, MODEL_JSON, SPACINGS, TAILS
from histreg.cli import tables
from histreg.cli.cells import DECIMALS, Spelling
from histreg.cli.errors import needing, refusing
from histreg.cli.interpretation import Interpretation, interpret
from histreg.cli.outputs import Overwrite, check_output, check_output_folder
from histreg.cli.study import app as study_app
from histreg.errors import InputError
from histreg.tabular.columns import TEMPORAL, described_kinds, kinds_of, named_kinds
from histreg.tabular.evaluation import (
    CensoredScores,
    Parts,
    Scores,
    censored_scores_of,
    check_orderable,
    parts_of,
    scores_of,
    scores_of_point,
    shown_number,
)
from histreg.tabular.regressor import HistogramRegressor
from histreg.tabular.training import Epoch

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(study_app, name="study")
NAMES_OF_SCORES = ("MAE", "median", "RMSE", "CRPS", "90 % covers", "width")
ABOUT_CRPS = (
    "CRPS: the error of the whole distribution, in the same units; of a number "
    "without a distribution it would be the MAE. Median: its MAE, less than that "
    "of the mean where targets are skewed."
)
ABOUT_CENSORED = (
    "Concordance: how often two rows are predicted in their order, 0.5 by chance. "
    "CRPS: the error of the whole distribution, censored rows allowed for."
)
MOST_SAID = 5  # columns of which the same is said
FEWEST_BINS = 13  # of which twelve are the padding
LARGEST_SEED = 2**32 - 1  # of NumPy's generators
MOST_NAMES = 10  # of columns, in a message
FEWEST_TO_CALIBRATE = 9  # rows; fewer cannot promise 90 %, see tabular/conformal.py

TableFile = Annotated[
    Path, typer.Argument(help="A .csv, .tsv (also .gz) or .parquet file.")
]
ModelFolder = Annotated[Path, typer.Argument(help="A folder that `fit` wrote.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What stands between the cells of a text file, such as ';' or tab; "
        "detected if not given."
    ),
]
DecimalMark = Annotated[
    str | None,
    typer.Option(
        help="Decimal mark of a text file, '.' or ','; detected if not given."
    ),
]
DayFirst = Annotated[
    bool | None,
    typer.Option(
        "--day-first/--month-first",
        help="What 05/06/2020 means, where no other date of the table tells.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def _print_version(is_asked_for: bool) -> None:
    if is_asked_for:
        print(f"histreg {version('histreg')}")
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Regression by histograms: predict a number and know how sure you are."""


@app.command(
    epilog="Example: histreg fit houses.csv --target price --drop id --out model/"
)
@refusing
def fit(
    table: TableFile,
    target: Annotated[str, typer.Option("--target", "-t", help="Column to predict.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the model.")],
    drop: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out, by commas.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of numbers that are labels, such as a zip code, by commas."
        ),
    ] = None,
    y_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--range",
            metavar="LOW HIGH",
            help="Where the bins are laid, if the range of the target is known.",
        ),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of row weights.")] = None,
    censored: Annotated[
        str | None,
        typer.Option(
            help="Column of 0 and 1, or true and false: where the target is only known "
            "to be greater than it says. It is not learnt from."
        ),
    ] = None,
    holdout: Annotated[
        float, typer.Option(help="Fraction of rows kept for the test; may be 0.")
    ] = 0.2,
    calibration: Annotated[
        float,
        typer.Option(
            help="Fraction of rows that the intervals are calibrated on; none with "
            "--censored."
        ),
    ] = 0.1,
    time: Annotated[
        str | None,
        typer.Option(
            help="Column to order rows by: the last are kept for the test. It is not "
            "learnt from. Rows are held out at random otherwise."
        ),
    ] = None,
    estimators: Annotated[int, typer.Option(help="Networks in the ensemble.")] = 1,
    bins: Annotated[int, typer.Option(help="Number of bins.")] = 100,
    spacing: Annotated[
        str, typer.Option(help=f"How bins lie: one of {', '.join(SPACINGS)}.")
    ] = "auto",
    tails: Annotated[
        str, typer.Option(help=f"What lies beyond them: one of {', '.join(TAILS)}.")
    ] = "clip",
    epochs: Annotated[int, typer.Option(help="Epochs at most.")] = 200,
    loss: Annotated[str, typer.Option(help=f"One of {', '.join(LOSSES)}.")] = (
        "histogram"
    ),
    seed: Annotated[int, typer.Option(help="Of the split and of the training.")] = 0,
    save_holdout: Annotated[
        Path | None,
        typer.Option(help="File for the held-out rows, to report on later."),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(help="Fit linear regression and the same network with l2 too."),
    ] = True,
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    day_first: DayFirst = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Learn to predict a column of a table, and show how well it is predicted."""
    check_output_folder(
        "--out",
        out,
        overwrite=overwrite,
        content="a model",
        is_there=lambda folder: (folder / MODEL_JSON).exists(),
    )
    if save_holdout is not None:
        tables.check_writable(save_holdout)
        check_output("--save-holdout", save_holdout, overwrite=overwrite, reads=[table])
        if save_holdout.resolve() in (out.resolve(), *out.resolve().parents):
            raise InputError(
                f"--save-holdout must be another path than --out, got {save_holdout}"
            )
    check_choice("--spacing", spacing, SPACINGS)
    check_choice("--tails", tails, TAILS)
    check_choice("--loss", loss, LOSSES)
    check_count("--epochs", epochs, at_least=1)
    check_count("--estimators", estimators, at_least=1)
    check_count("--bins", bins, at_least=FEWEST_BINS)
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"--seed must lie from 0 to {LARGEST_SEED}, got --seed={seed}")
    if y_range is not None and not -math.inf < y_range[0] < y_range[1] < math.inf:
        raise InputError(
            "--range must have LOW below HIGH, both finite, "
            f"got --range {y_range[0]:g} {y_range[1]:g}"
        )
    if target in _listed(drop):
        raise InputError(f"--drop must not name the target, got {target!r}")
    labels = _listed(label)
    file, given = _read_file(table, delimiter, decimal, day_first)
    as_written = file.frame
    _check_columns(as_written, [*_listed(drop), *labels, target])
    left_out = [name for name in (weight, censored, time) if name]
    # What is dropped may be of any type.
    dropped = [name for name in _listed(drop) if name not in left_out]
    read = _interpreted(table, as_written.drop(columns=dropped), labels, given)
    everything = read.frame
    frame, y = _with_target(everything, target)
    _check_columns(frame, left_out)
    weights = None if weight is None else _weights(frame, weight)
    flags = None if censored is None else _flags(frame, censored)
    order = None if time is None else _order(frame, time)
    X = frame.drop(columns=left_out)
    if not quiet:
        _tell_of_cells(table, file, read)
    if X.shape[1] == 0:
        raise InputError(f"{table} must have a column to learn from beside {target!r}")
    _check_finite(everything[X.columns])
    parts = parts_of(
        len(X),
        test=holdout,
        # Rows that are known alone would tell of small targets alone.
        calibration=calibration if flags is None else 0,
        order=order,
        seed=seed,
    )
    if flags is not None and len(parts.test):
        check_orderable(y[parts.test], flags[parts.test])
    if weights is not None and not weights[parts.learn].any():
        raise InputError(
            f"column {weight!r} must have a weight above 0 in a row to learn from, got "
            f"0 in all {len(parts.learn)}"
        )

    def fitted(
        name: str, loss: str, flags: np.ndarray | None = flags
    ) -> HistogramRegressor:
        with _progress(name, quiet=quiet) as show:
            model = HistogramRegressor(
                loss=loss,
                n_bins=bins,
                bins=spacing,
                tails=tails,
                y_range=y_range,
                n_estimators=estimators,
                max_iter=epochs,
                random_state=seed,
                callback=show,
            )
            model.fit(
                X.iloc[parts.learn],
                y[parts.learn],
                None if weights is None else weights[parts.learn],
                None if flags is None else flags[parts.learn],
            )
        model.callback = None
        return model

    model = fitted(f"Fitting ({loss})", loss)
    predicts_distribution = loss not in ("l2", "l1")
    if len(parts.calibrate) >= FEWEST_TO_CALIBRATE and predicts_distribution:
        model.calibrate(X.iloc[parts.calibrate], y[parts.calibrate])
    rows: dict[str, Scores | CensoredScores] = {}
    if len(parts.test) and flags is not None:
        test = (X.iloc[parts.test], y[parts.test], flags[parts.test])
        rows[loss] = censored_scores_of(model, *test)
        if compare:
            untold = fitted("Fitting, bounds taken for targets", loss, None)
            rows["the same, bounds taken for targets"] = censored_scores_of(
                untold, *test
            )
    elif len(parts.test):
        if predicts_distribution:
            rows[loss] = scores_of(model, X.iloc[parts.test], y[parts.test])
        else:
            rows[loss] = _scores_of_point(model, X, y, parts)
        if compare:
            if loss != "l2":
                l2 = fitted("Fitting l2, to compare", "l2")
                rows["the same network, l2"] = _scores_of_point(l2, X, y, parts)
            linear = _linear(X.iloc[parts.learn])
            linear.fit(X.iloc[parts.learn], y[parts.learn])
            rows["linear regression"] = _scores_of_point(linear, X, y, parts)
    model.notes_ = {
        "target": target,
        "censored": censored,
        "source": table.name,
        "spelling": asdict(read.spelling),
        "n_rows": len(X),
        "n_learnt": len(parts.learn),
        "n_calibrated": len(parts.calibrate),
        "n_tested": len(parts.test),
        "y_percentiles": np.percentile(y[parts.learn], range(101)).tolist(),
        "scores": {name: _finite(asdict(scores)) for name, scores in rows.items()},
    }
    model.save(out)
    if save_holdout is not None:
        known = as_written[everything[target].notna()]
        tables.write(known.iloc[parts.test], save_holdout, read.spelling)
    if not quiet:
        if len(y) < len(everything):
            Console(stderr=True).print(
                f"{len(everything) - len(y):,} of {len(everything):,} rows have no "
                f"{escape(target)} and were left out"
            )
        if rows:
            _print_scores(rows, len(parts.test), target)
        Console().print(f"Model in [bold]{escape(str(out))}[/bold]", highlight=False)


@app.command(
    epilog="Example: histreg predict model/ new.csv --interval 0.9 "
    "--quantiles 0.1,0.5,0.9 --above 100 --out predictions.csv"
)
@refusing
def predict(
    model: ModelFolder,
    table: TableFile,
    interval: Annotated[
        float | None, typer.Option(help="Add an interval of this coverage.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="Of the interval: central or shortest.")
    ] = "central",
    quantiles: Annotated[
        str | None, typer.Option(help="Add quantiles at these levels, by commas.")
    ] = None,
    above: Annotated[
        str | None,
        typer.Option(help="Add P(y > this), for one number or several by commas."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="File to write; standard output if not given."
        ),
    ] = None,
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    day_first: DayFirst = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Predict for every row of a table; its columns and their order are kept."""
    if out is not None:
        tables.check_writable(out)
        reads = [table, *_files_of(model)]
        check_output("--out", out, overwrite=overwrite, reads=reads)
    elif sys.stdout is None:
        raise InputError("standard output is closed; --out names a file instead")
    levels = _numbers_in("--quantiles", quantiles)
    if not all(0 <= level <= 1 for level in levels):
        raise InputError(f"--quantiles must be levels from 0 to 1, got {quantiles}")
    thresholds = _numbers_in("--above", above)
    if interval is not None:
        check_fraction("--interval", interval)
    regressor = HistogramRegressor.load(model)
    file, given = _read_file(table, delimiter, decimal, day_first)
    frame = file.frame
    read = _read_for(regressor, frame, table, given)
    X = read.frame
    if not quiet:
        _tell_of_cells(table, file, read)
    name = _target_of(regressor)
    found = {f"{name}_mean": regressor.predict(X)}
    if interval is not None:
        percent = _shown_exactly(float(100 * Decimal(repr(interval))))
        lower, upper = regressor.predict_interval(X, interval, method)
        found |= {f"{name}_lower_{percent}": lower, f"{name}_upper_{percent}": upper}
    if levels:
        columns = regressor.predict_quantiles(X, levels).T
        found |= {
            f"{name}_q{_shown_exactly(level)}": column
            for level, column in zip(levels, columns, strict=True)
        }
    for threshold in thresholds:
        above_name = f"{name}_above_{_shown_exactly(threshold)}"
        found[above_name] = regressor.predict_proba_above(X, threshold)
    taken = [column for column in found if column in frame.columns]
    if taken:
        raise InputError(f"{table} must not have a column {taken[0]!r} already")
    result = pd.concat([frame, pd.DataFrame(found, index=frame.index)], axis=1)
    if out is None:
        result.to_csv(sys.stdout, index=False, **tables.text_options(read.spelling))
        return
    tables.write(result, out, read.spelling)
    if not quiet:
        Console().print(f"{len(result):,} rows in [bold]{escape(str(out))}[/bold]")


@app.command(epilog="Example: histreg inspect model/")
@refusing
def inspect(model: ModelFolder) -> None:
    """Show what a model is, its bins, and what the theory says of them."""
    regressor = HistogramRegressor.load(model)
    notes = regressor.notes_
    fitted = regressor.model_
    n_parameters = sum(p.numel() for p in fitted.network.parameters())
    facts = {
        "target": _target_of(regressor),
        "learnt from": f"{notes.get('source', 'a table')}, "
        f"{notes.get('n_learnt', '?')} rows",
        "columns": described_kinds(fitted.kinds),
        "network": f"{fitted.network.n_models} x "
        f"{regressor.hidden_layer_sizes}, {n_parameters:,} weights",
        "loss": regressor.loss,
        "epochs": str(regressor.n_iter_),
        "bins": str(regressor.bins_)
        + (f", grown {regressor.n_growths_} times" if regressor.n_growths_ else ""),
        "clipped": f"{regressor.n_clipped_:,} of {regressor.n_seen_:,} targets",
        "smoothing": f"{regressor.sigma_in_bins:g} bins in training, "
        f"{regressor.final_sigma_in_bins} in the end",
        "calibrated": "no"
        if fitted.calibration is None
        else f"on {len(fitted.calibration.y)} rows",
    }
    shown = Table(title=escape(str(model)), show_header=False)
    for name, fact in facts.items():
        shown.add_row(name, escape(fact))
    console = Console()
    console.print(shown)
    rows = _scores_in(notes)
    if rows:
        _print_scores(rows, notes["n_tested"], facts["target"])
    names = list(getattr(regressor, "feature_names_in_", []))
    kinds = named_kinds(fitted.kinds)
    for sort in ("number", "time", "duration", "label") if names else ():
        of_sort = [name for name, its in zip(names, kinds, strict=True) if its == sort]
        if of_sort:
            line = f"Columns of {sort}s: {', '.join(of_sort)}"
            console.print(escape(line), style="dim", highlight=False)
    for bins in fitted.bins:
        y = _percentiles_in(notes) or bins.centers
        told = theory.explain(bins, None, y, sigma_in_bins=regressor.sigma_in_bins)
        console.print(escape(str(told)), highlight=False, soft_wrap=True)


@app.command(
    epilog="Example: histreg report model/ data.csv --target price --out report.html"
)
@refusing
def report(
    model: ModelFolder,
    table: TableFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="Column of the truth; that of the model."),
    ] = None,
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    day_first: DayFirst = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write one page with pictures of how a model does on a table.

    Use rows that it has not learnt from.
    """
    with needing("cli"):
        from histreg.report.model_page import Evidence, write_page

    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out must be named .html, got {out}")
    reads = [table, *_files_of(model)]
    check_output("--out", out, overwrite=overwrite, reads=reads)
    regressor = HistogramRegressor.load(model)
    if target in list(getattr(regressor, "feature_names_in_", [])):
        raise InputError(
            "--target must not be a column that the model predicts from, got "
            f"{target!r}"
        )
    if regressor.notes_.get("censored"):
        raise InputError(
            "report shows errors of targets that are known, and those of this model "
            f"may be censored, by column {regressor.notes_['censored']!r}; "
            "`histreg inspect` shows its scores"
        )
    name = target or _target_of(regressor)
    file, given = _read_file(table, delimiter, decimal, day_first)
    _check_columns(file.frame, [name])
    read = _read_for(regressor, file.frame, table, given, target=name)
    if not quiet:
        _tell_of_cells(table, file, read)
    X, y = _with_target(read.frame, name)
    write_page(Evidence.of(regressor, X, y, target=name, source=table.name), out)
    if not quiet:
        Console().print(f"Page in [bold]{escape(str(out))}[/bold]")


def run() -> None:
    """Run the command of this process's arguments."""
    app()


def _listed(given: list[str] | None) -> list[str]:
    """Return names given several times or by commas."""
    return [name for part in given or [] for name in part.split(",") if name]


def _numbers_in(option: str, given: str | None) -> list[float]:
    """Return the numbers of an option, given by commas, each once."""
    if given is None:
        return []
    try:
        numbers = [float(part) + 0.0 for part in given.split(",")]  # no -0.0
    except ValueError:
        raise InputError(
            f"{option} must be numbers by commas, got {given or 'nothing'}"
        ) from None
    if any(map(math.isnan, numbers)):
        raise InputError(f"{option} must be numbers by commas, got {given}")
    twice = [number for number in numbers if numbers.count(number) > 1]
    if twice:
        raise InputError(
            f"{option} must have each number once, got {_shown_exactly(twice[0])} twice"
        )
    return numbers


def _shown_exactly(number: float) -> str:
    """Return a number as text that reads as the same number, as short as may be."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number).removesuffix(".0")


def _check_columns(frame: pd.DataFrame, names: list[str]) -> None:
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"the table must have the column{'s' * (len(missing) > 1)} "
            f"{_some(missing)}, got {_likely_names(missing, list(frame.columns))}"
        )


def _some(names: list[str]) -> str:
    """Return names for a message, and how many more there are."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + more


def _likely_names(missing: list[str], columns: list[str]) -> str:
    """Return the columns of a table, or if there are many those that may be meant."""
    if len(columns) <= MOST_NAMES:
        return ", ".join(columns)
    by_lower = {name.lower(): name for name in columns}
    near = [
        by_lower[match]
        for name in missing[:MOST_NAMES]
        for match in difflib.get_close_matches(name.lower(), by_lower, n=3)
    ]
    likely = list(dict.fromkeys(near))[:MOST_NAMES]
    told = f"{len(columns):,} columns"
    if likely:
        return f"{told}, of which these are spelt most alike: {', '.join(likely)}"
    return f"{told}, such as {', '.join(columns[:3])}"


def _numbers(frame: pd.DataFrame, name: str) -> np.ndarray:
    kind = kinds_of(frame[[name]])[0]
    if kind in TEMPORAL:
        found = "dates" if kind == "time" else "durations"
        raise InputError(f"column {name!r} must hold numbers, got {found}")
    values = pd.to_numeric(frame[name], errors="coerce")
    wrong = frame[name][values.isna() & frame[name].notna()]
    if len(wrong):
        raise InputError(
            f"column {name!r} must hold numbers, got {wrong.iloc[0]!r} in row "
            f"{wrong.index[0] + 1}"
        )
    _check_finite(pd.DataFrame({name: values}))
    return values.to_numpy(dtype=np.float64)


def _check_finite(frame: pd.DataFrame) -> None:
    """Raise for an infinite number, with its row in the table."""
    numbers = frame.select_dtypes("float")
    infinite = np.argwhere(np.isinf(numbers.to_numpy()))
    if len(infinite):
        row, place = infinite[0]
        raise InputError(
            f"column {numbers.columns[place]!r} must hold finite numbers, got "
            f"{numbers.iat[row, place]} in row {row + 1}"
        )


def _read_file(
    path: Path, delimiter: str | None, decimal: str | None, day_first: bool | None
) -> tuple[tables.TableFile, Spelling]:
    """Return a table as it is written, and what is known of how."""
    if decimal is not None:
        check_choice("--decimal", decimal, DECIMALS)
    file = tables.read_file(path, tables.checked_delimiter(delimiter))
    return file, Spelling(file.delimiter, decimal, day_first)


def _interpreted(
    path: Path,
    frame: pd.DataFrame,
    labels: list[str],
    given: Spelling,
    fitted: Spelling | None = None,
) -> Interpretation:
    try:
        return interpret(frame, labels, given, fitted)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _tell_of_cells(path: Path, file: tables.TableFile, read: Interpretation) -> None:
    """Tell how a table was understood, what was assumed, and what is doubtful."""
    doubts = [
        f"column {name!r} is taken as labels: {reason}"
        for name, reason in read.doubts.items()
    ]
    facts = [*file.facts, *read.facts]
    lines = [f"{path} is read with {'; '.join(facts)}"] if facts else []
    for said in (read.assumptions, doubts):
        lines += said[:MOST_SAID]
        if len(said) > MOST_SAID:
            lines.append(f"and so it is with {len(said) - MOST_SAID:,} more columns")
    for line in lines:
        Console(stderr=True).print(escape(line), highlight=False, soft_wrap=True)


def _weights(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return a column of row weights."""
    weights = _numbers(frame, name)
    wrong = np.flatnonzero(~(weights >= 0))
    if len(wrong):
        raise InputError(
            f"column {name!r} must hold weights that are not negative, got "
            f"{weights[wrong[0]]:g} in row {frame.index[wrong[0]] + 1}"
        )
    return weights


def _flags(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return a column that says true or false, in words or numbers."""
    known = dict.fromkeys(("0", "0.0", "false"), False)
    known |= dict.fromkeys(("1", "1.0", "true"), True)
    flags = frame[name].map(lambda cell: known.get(str(cell).lower()))
    wrong = frame[name][flags.isna()]
    if len(wrong):
        raise InputError(
            f"column {name!r} must hold 0 or 1, or true or false, throughout, got "
            f"{wrong.iloc[0]} in row {wrong.index[0] + 1}"
        )
    return flags.to_numpy(dtype=bool)


def _with_target(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the other columns and the target, without rows where it is missing."""
    _check_columns(frame, [target])
    y = _numbers(frame, target)
    present = ~np.isnan(y)
    if not present.any():
        raise InputError(f"column {target!r} must hold numbers, got none")
    return frame.drop(columns=target)[present], y[present]


def _order(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return the numbers of the rows in the order of a column."""
    if frame[name].isna().any():
        raise InputError(
            f"--time must name a column without gaps, got {frame[name].isna().sum()} "
            f"in {name!r}"
        )
    return frame[name].argsort(kind="stable").to_numpy()


def _read_for(
    model: HistogramRegressor,
    frame: pd.DataFrame,
    path: Path,
    given: Spelling,
    target: str | None = None,
) -> Interpretation:
    """Return the columns that a model was fitted on, in its order, and the target."""
    names = list(getattr(model, "feature_names_in_", frame.columns))
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"{path} must have the columns that the model was fitted on, it lacks "
            f"{_some(missing)}"
        )
    kinds = dict(zip(names, model.model_.kinds, strict=True))
    labels = [name for name, kind in kinds.items() if kind == "label"]
    fitted = Spelling(**model.notes_.get("spelling", {}))
    used = names if target is None else [*names, target]
    read = _interpreted(path, frame[used], labels, given, fitted)
    for name, reason in read.doubts.items():
        if name in kinds:
            raise InputError(
                f"column {name!r} must hold {kinds[name]}s, as it did in fit: {reason}"
            )
    _check_finite(read.frame[names])
    return read


def _files_of(model: Path) -> list[Path]:
    """Return the files that a model is read from, if they are there."""
    return [model / MODEL_JSON, *model.glob("*.safetensors")]


def _target_of(model: HistogramRegressor) -> str:
    return str(model.notes_.get("target", "y"))


def _linear(X: pd.DataFrame) -> Any:
    numbers = make_column_selector(
        dtype_include=["number", "bool"], dtype_exclude="timedelta"
    )
    labels = make_column_selector(dtype_include=["category", "object", "string"])
    if not numbers(X) + labels(X):  # dates alone, say: there is but the intercept
        return DummyRegressor()
    return make_pipeline(
        make_column_transformer(
            (SimpleImputer(strategy="median", keep_empty_features=True), numbers),
            (OneHotEncoder(handle_unknown="ignore", max_categories=100), labels),
        ),
        LinearRegression(),
    )


def _scores_of_point(
    model: Any, X: pd.DataFrame, y: np.ndarray, parts: Parts
) -> Scores:
    """Return the scores of a model that predicts one number, with normal errors."""
    judged = parts.calibrate if len(parts.calibrate) else parts.learn
    return scores_of_point(
        model.predict(X.iloc[parts.test]),
        y[parts.test],
        model.predict(X.iloc[judged]) - y[judged],
    )


@contextmanager
def _progress(name: str, *, quiet: bool) -> Iterator[Callable[[Epoch], None]]:
    """Show a bar of epochs with loss, validation error and time left, to a person."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("epoch {task.completed}/{task.total}"),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        TextColumn("at most"),
        TimeRemainingColumn(),
        console=console,
        disable=quiet or not console.is_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task(name, total=None, state="")

        def show(epoch: Epoch) -> None:
            state = f"loss {epoch.loss:.4g}"
            if epoch.validation_error is not None:
                state += f", validation MAE {epoch.validation_error:.4g}"
            bar.update(task, completed=epoch.number, total=epoch.n_epochs, state=state)

        yield show


def _finite(numbers: dict[str, float]) -> dict[str, float | None]:
    """Return what JSON can say: an infinite width, of too few rows, is None."""
    return {
        name: number if np.isfinite(number) else None
        for name, number in numbers.items()
    }


def _scores_in(notes: dict[str, Any]) -> dict[str, Scores | CensoredScores]:
    """Return the scores that `fit` noted; none where notes are somebody's own."""
    kind = CensoredScores if notes.get("censored") else Scores
    names = {field.name for field in fields(kind)}
    noted = notes.get("scores")
    if not isinstance(noted, dict) or not isinstance(notes.get("n_tested"), int):
        return {}
    found = {}
    for name, scores in noted.items():
        if not isinstance(scores, dict) or set(scores) != names:
            return {}
        if not all(isinstance(each, float | int | None) for each in scores.values()):
            return {}
        found[name] = kind(
            **{k: np.inf if each is None else each for k, each in scores.items()}
        )
    return found


def _percentiles_in(notes: dict[str, Any]) -> list[float] | None:
    """Return the percentiles of y that `fit` noted, if it did."""
    noted = notes.get("y_percentiles")
    if not isinstance(noted, list) or not noted:
        return None
    is_of_fit = all(isinstance(y, float | int) and math.isfinite(y) for y in noted)
    return noted if is_of_fit else None


def _print_scores(
    rows: Mapping[str, Scores | CensoredScores], n: int, target: str
) -> None:
    names, about = [*NAMES_OF_SCORES], ABOUT_CRPS
    horizons = [
        each.horizon for each in rows.values() if isinstance(each, CensoredScores)
    ]
    if horizons:
        names = ["concordance", f"CRPS up to {shown_number(horizons[0])}"]
        about = ABOUT_CENSORED
    shown = Table(title=f"{n:,} held-out rows, in units of {escape(target)}")
    shown.add_column("")
    for name in names:
        shown.add_column(name, justify="right")
    for name, scores in rows.items():
        shown.add_row(escape(name), *_cells(scores))
    Console().print(shown)
    Console().print(about, style="dim")


def _cells(scores: Scores | CensoredScores) -> list[str]:
    if isinstance(scores, CensoredScores):
        return [f"{scores.concordance:.3f}", shown_number(scores.crps)]
    return [
        *map(
            shown_number, (scores.mae, scores.mae_of_median, scores.rmse, scores.crps)
        ),
        f"{100 * scores.coverage:.1f} %",
        shown_number(scores.width),
    ]
