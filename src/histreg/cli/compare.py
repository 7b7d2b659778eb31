"""The command ``histreg compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from histreg._checks import check_choice, check_count
from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import (
    FORMATS,
    DayFirst,
    DecimalMark,
    Delimiter,
    Groups,
    OutputFormat,
    Quiet,
    TablePath,
    split_names,
)
from histreg.cli.spelling import Spelling
from histreg.cli.table_formats import check_table_input
from histreg.errors import InputError

if TYPE_CHECKING:
    from histreg.tabular.comparison import Leaderboard

EXAMPLE = (
    "Example: histreg compare houses.csv --target price --folds 3 "
    "--models histreg,boosting,RandomForestRegressor"
)
DEFAULT_MODELS = "histreg,constant,linear,boosting,l2"
SHORT_NAMES = {"linear": "linear regression", "l2": "networks with l2"}


@exit_on_user_error
def compare(
    table: TablePath,
    target: Annotated[str, typer.Option("--target", "-t", help="Column to predict.")],
    models: Annotated[
        str,
        typer.Option(
            help="Models, comma-separated: those of the default, regressors of "
            "scikit-learn by name, or imports such as lightgbm.LGBMRegressor. The "
            "verdict is on the first one."
        ),
    ] = DEFAULT_MODELS,
    drop: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out, comma-separated.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Numeric columns to treat as labels, comma-separated."),
    ] = None,
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    groups: Groups = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="Column to order rows by, so that each fold is tested on later rows "
            "than it was trained on; not used as a feature."
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Use only this many rows, drawn at random, to save time."),
    ] = None,
    estimators: Annotated[
        int, typer.Option(help="Number of networks in an ensemble.")
    ] = 5,
    epochs: Annotated[int, typer.Option(help="Maximum number of epochs.")] = 200,
    seed: Annotated[int, typer.Option(help="Random seed of folds and models.")] = 0,
    output_format: OutputFormat = "text",
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    day_first: DayFirst = None,
    quiet: Quiet = False,
) -> None:
    """Compare models on a table by cross-validation, and say which is better."""
    check_choice("--format", output_format, FORMATS)
    check_count("--folds", folds, at_least=2)
    check_count("--estimators", estimators, at_least=1)
    check_count("--epochs", epochs, at_least=1)
    if rows is not None:
        check_count("--rows", rows, at_least=folds + 1)
    if groups is not None and time is not None:
        raise InputError(
            f"--time and --groups cannot be combined, got --time {time} and --groups "
            f"{groups}"
        )
    names = [SHORT_NAMES.get(name, name) for name in split_names([models])]
    check_table_input(table)
    spelling = Spelling.from_options(delimiter, decimal, day_first)
    with requires_extra("cli"):
        import numpy as np

        from histreg.cli.columns import check_columns, groups_in, order_by, split_target
        from histreg.cli.json_output import print_json
        from histreg.cli.leaderboard import leaderboard_as_json, print_leaderboard
        from histreg.cli.progress import step_progress
        from histreg.cli.reading import read_to_fit
        from histreg.tabular.baselines import L2, baseline
        from histreg.tabular.comparison import HISTREG
        from histreg.tabular.comparison import compare as compare_models
        from histreg.tabular.regressor import HistogramRegressor

    read = read_to_fit(
        table,
        spelling,
        drop=split_names(drop),
        labels=split_names(label),
        target=target,
    )
    X, y = split_target(read.frame, target)
    special = [name for name in (groups, time) if name]
    check_columns(X, special)
    if not quiet:
        read.print_notes()
    chosen = np.random.default_rng(seed).permutation(len(y))[:rows]
    chosen.sort()
    X, y = X.iloc[chosen], y[chosen]
    order = None if time is None else np.argsort(order_by(X, time))
    group_numbers = None if groups is None else groups_in(X, groups)
    X = X.drop(columns=special)
    options: dict[str, Any] = {
        "n_estimators": estimators,
        "max_iter": epochs,
        "random_state": seed,
    }
    made = {
        name: HistogramRegressor(**options)
        if name == HISTREG
        else HistogramRegressor(loss="l2", **options)
        if name == L2
        else baseline(name, X, random_state=seed)
        for name in names
    }
    with step_progress(len(made) * folds, quiet=quiet) as show:
        board: Leaderboard = compare_models(
            X,
            y,
            made,
            folds=folds,
            groups=group_numbers,
            order=order,
            random_state=seed,
            on_fit=lambda name, fold: show(f"{name}, fold {fold} of {folds}"),
        )
    if output_format == "json":
        print_json({"target": target, **leaderboard_as_json(board)})
    else:
        print_leaderboard(board, target)
