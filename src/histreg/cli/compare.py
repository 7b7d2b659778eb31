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
    Drop,
    Epochs,
    Estimators,
    Groups,
    KeepTime,
    Label,
    OutputFormat,
    Quiet,
    RollingTime,
    TablePath,
    Target,
    check_networks,
    check_seed,
    check_time_or_groups,
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
    target: Target,
    models: Annotated[
        str,
        typer.Option(
            help="Models, comma-separated: those of the default, regressors of "
            "scikit-learn by name, or imports such as lightgbm.LGBMRegressor. The "
            "verdict is on the first one."
        ),
    ] = DEFAULT_MODELS,
    drop: Drop = None,
    label: Label = None,
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    groups: Groups = None,
    time: RollingTime = None,
    keep_time: KeepTime = False,
    rows: Annotated[
        int | None,
        typer.Option(help="Use only this many rows, drawn at random, to save time."),
    ] = None,
    estimators: Estimators = 5,
    epochs: Epochs = 200,
    seed: Annotated[int, typer.Option(help="Random seed of folds and models.")] = 0,
    output_format: OutputFormat = "text",
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    day_first: DayFirst = None,
    quiet: Quiet = False,
) -> None:
    """Compare models on a table by cross-validation, and say which is better."""
    check_choice("--format", output_format, FORMATS)
    check_networks(folds, estimators, epochs)
    check_seed(seed)
    if rows is not None:
        check_count("--rows", rows, at_least=folds + 1)
    check_time_or_groups(time, groups, keep_time=keep_time)
    names = [SHORT_NAMES.get(name, name) for name in split_names([models])]
    if not names:
        raise InputError(f"--models must name at least one model, got {models!r}")
    check_table_input(table)
    spelling = Spelling.from_options(delimiter, decimal, day_first)
    with requires_extra("cli"):
        import numpy as np

        from histreg.cli.json_output import print_json
        from histreg.cli.leaderboard import leaderboard_as_json, print_leaderboard
        from histreg.cli.progress import step_progress
        from histreg.cli.reading import read_known_rows
        from histreg.tabular.baselines import L2, baseline
        from histreg.tabular.comparison import HISTREG
        from histreg.tabular.comparison import compare as compare_models
        from histreg.tabular.regressor import HistogramRegressor

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
    chosen = np.random.default_rng(seed).permutation(len(known.y))[:rows]
    known = known.at(np.sort(chosen))
    X = known.features
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
            known.y,
            made,
            folds=folds,
            groups=known.groups,
            order=known.order,
            random_state=seed,
            on_fit=lambda name, fold: show(f"{name}, fold {fold} of {folds}"),
        )
    if output_format == "json":
        print_json({"target": target, **leaderboard_as_json(board)})
    else:
        print_leaderboard(board, target)
