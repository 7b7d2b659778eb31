"""Fitting: the steps of ``histreg fit``, from the table to the printed scores."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape

from histreg._names import ON_NUMBERS
from histreg.cli import tables
from histreg.cli.baselines import linear_baseline
from histreg.cli.columns import (
    check_columns,
    check_finite,
    flags_in,
    has_target,
    numbers_in,
    order_by,
    split_target,
    weights_in,
)
from histreg.cli.fit import FitOptions
from histreg.cli.progress import epoch_progress
from histreg.cli.reading import ReadTable, read_to_fit
from histreg.cli.scores import AnyScores, print_scores, scores_to_notes
from histreg.errors import InputError
from histreg.tabular.regressor import HistogramRegressor
from histreg.tabular.scores import (
    Scores,
    censored_scores_of,
    check_orderable,
    scores_of,
    scores_of_point,
)
from histreg.tabular.splits import Parts, parts_of

MIN_CALIBRATION_ROWS = 9  # fewer cannot promise 90 %, see tabular/conformal.py


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The rows of a table whose target is known.

    Parameters
    ----------
    table : ReadTable
        All rows, and all columns but the dropped ones.
    X : DataFrame of n rows
        The features.
    y : ndarray of shape (n,)
    weights : ndarray of shape (n,), optional
    is_censored : ndarray of shape (n,), bool, optional
        Where y is only a lower bound.
    order : ndarray of shape (n,), optional
        Row numbers in the order of time.
    upper : ndarray of shape (n,), optional
        Upper bounds; y are lower bounds then, and both are NaN where there is none.
    """

    table: ReadTable
    X: pd.DataFrame
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    is_censored: NDArray[np.bool_] | None
    order: NDArray[np.int64] | None
    upper: NDArray[np.float64] | None = None

    @property
    def all_known(self) -> bool:
        """Whether no target is censored."""
        return self.is_censored is None and self.upper is None


def read(options: FitOptions) -> TrainingTable:
    """Read the table and check its columns."""
    special = options.special_columns
    table = read_to_fit(
        options.table,
        options.spelling,
        drop=[name for name in options.dropped if name not in special],
        labels=options.labels,
        target=options.target,
    )
    frame, y = split_target(table.frame, options.target, options.upper)
    check_columns(frame, special)
    if options.calibrate_by is not None:
        check_columns(frame, [options.calibrate_by])
    weight, censored, time = options.weight, options.censored, options.time
    data = TrainingTable(
        table,
        frame.drop(columns=special),
        y,
        weights=None if weight is None else weights_in(frame, weight),
        is_censored=None if censored is None else flags_in(frame, censored),
        order=None if time is None else order_by(frame, time),
        upper=None if options.upper is None else numbers_in(frame, options.upper),
    )
    if not options.quiet:
        table.print_notes()
    if data.X.shape[1] == 0:
        raise InputError(
            f"{options.table} must have a feature column beside the target "
            f"{options.target!r}"
        )
    check_finite(table.frame[data.X.columns])
    return data


def split(data: TrainingTable, options: FitOptions) -> Parts:
    """Split the rows into those to train on, to calibrate on and to test on."""
    parts = parts_of(
        len(data.X),
        test=options.holdout,
        # Uncensored rows alone would calibrate on small targets alone.
        calibration=options.calibration if data.all_known else 0,
        order=data.order,
        seed=options.seed,
    )
    if data.is_censored is not None and len(parts.test):
        check_orderable(data.y[parts.test], data.is_censored[parts.test])
    if data.weights is not None and not data.weights[parts.learn].any():
        raise InputError(
            f"column {options.weight!r} must have a positive weight in at least one "
            f"training row, got 0 in all {len(parts.learn)}"
        )
    return parts


def fit(data: TrainingTable, parts: Parts, options: FitOptions) -> HistogramRegressor:
    """Return the fitted model, calibrated if there are enough rows for it."""
    loss = options.loss
    model = _train(f"Fitting ({loss})", loss, data, data.is_censored, parts, options)
    if len(parts.calibrate) >= MIN_CALIBRATION_ROWS and loss not in ON_NUMBERS:
        rows = parts.calibrate
        groups = options.calibrate_by
        model.calibrate(data.X.iloc[rows], data.y[rows], groups=groups)
    return model


def score(
    model: HistogramRegressor, data: TrainingTable, parts: Parts, options: FitOptions
) -> dict[str, AnyScores]:
    """Return the test scores of the model, and of those it is compared with, by name.

    Those it is compared with are fitted here. Without test rows, or with targets that
    are intervals, there are no scores.
    """
    if not len(parts.test) or data.upper is not None:
        return {}
    if data.is_censored is not None:
        return _censored_scores(model, data, data.is_censored, parts, options)
    loss, X, y = options.loss, data.X, data.y
    scores: dict[str, AnyScores] = {}
    if loss in ON_NUMBERS:
        scores[loss] = _point_scores(model, data, parts)
    else:
        scores[loss] = scores_of(model.predict_all(X.iloc[parts.test]), y[parts.test])
    if options.compare and loss != "l2":
        l2 = _train("Fitting l2, to compare", "l2", data, None, parts, options)
        scores["networks with l2"] = _point_scores(l2, data, parts)
    if options.compare:
        linear = linear_baseline(X.iloc[parts.learn])
        linear.fit(X.iloc[parts.learn], y[parts.learn])
        scores["linear regression"] = _point_scores(linear, data, parts)
    return scores


def save(
    model: HistogramRegressor,
    scores: dict[str, AnyScores],
    data: TrainingTable,
    parts: Parts,
    options: FitOptions,
) -> None:
    """Write the model with notes on its origin, and the held-out rows if asked for."""
    table, y = data.table, data.y
    known_y = y[parts.learn]
    if data.upper is not None:
        known_y = np.where(np.isfinite(known_y), known_y, data.upper[parts.learn])
    model.notes_ = {
        "target": options.target,
        "censored": options.censored or options.upper,
        "source": options.table.name,
        "spelling": asdict(table.spelling),
        "n_rows": len(y),
        "n_learnt": len(parts.learn),
        "n_calibrated": len(parts.calibrate),
        "n_tested": len(parts.test),
        "y_percentiles": np.percentile(known_y, range(101)).tolist(),
        "scores": scores_to_notes(scores),
    }
    model.save(options.out)
    if options.save_holdout is not None:
        has_y = has_target(table.frame, options.target, options.upper)
        known = table.as_written[has_y]
        tables.write(known.iloc[parts.test], options.save_holdout, table.spelling)


def print_result(
    scores: dict[str, AnyScores], data: TrainingTable, parts: Parts, options: FitOptions
) -> None:
    """Print the scores, and where the model is."""
    n_rows = len(data.table.frame)
    if len(data.y) < n_rows:
        Console(stderr=True).print(
            f"{n_rows - len(data.y):,} of {n_rows:,} rows have no "
            f"{escape(options.target)} and were left out"
        )
    if scores:
        print_scores(scores, len(parts.test), options.target)
    folder = escape(str(options.out))
    Console().print(f"Model in [bold]{folder}[/bold]", highlight=False)


def _train(
    title: str,
    loss: str,
    data: TrainingTable,
    is_censored: NDArray[np.bool_] | None,
    parts: Parts,
    options: FitOptions,
) -> HistogramRegressor:
    """Return a regressor trained with this loss, and show its progress."""
    rows = parts.learn
    with epoch_progress(title, quiet=options.quiet) as show:
        model = HistogramRegressor(
            loss=loss,
            n_bins=options.bins,
            bins=options.spacing,
            tails=options.tails,
            y_range=options.y_range,
            n_estimators=options.estimators,
            max_iter=options.epochs,
            random_state=options.seed,
            callback=show,
        )
        model.fit(
            data.X.iloc[rows],
            data.y[rows],
            None if data.weights is None else data.weights[rows],
            None if is_censored is None else is_censored[rows],
            None if data.upper is None else data.upper[rows],
        )
    model.callback = None
    return model


def _censored_scores(
    model: HistogramRegressor,
    data: TrainingTable,
    is_censored: NDArray[np.bool_],
    parts: Parts,
    options: FitOptions,
) -> dict[str, AnyScores]:
    X, truth = data.X.iloc[parts.test], (data.y[parts.test], is_censored[parts.test])
    scores: dict[str, AnyScores] = {
        options.loss: censored_scores_of(model.predict_all(X), *truth)
    }
    if options.compare:
        title = "Fitting, bounds taken for targets"
        naive = _train(title, options.loss, data, None, parts, options)
        name = "the same, bounds taken for targets"
        scores[name] = censored_scores_of(naive.predict_all(X), *truth)
    return scores


def _point_scores(model: Any, data: TrainingTable, parts: Parts) -> Scores:
    """Return the scores of a model that predicts one number, with normal errors.

    Their standard deviation is that of the calibration rows, if there are any.
    """
    X, y = data.X, data.y
    rows = parts.calibrate if len(parts.calibrate) else parts.learn
    return scores_of_point(
        model.predict(X.iloc[parts.test]),
        y[parts.test],
        model.predict(X.iloc[rows]) - y[rows],
    )
