"""Fitting: the steps of ``histreg fit``, from the table to the printed scores."""

from __future__ import annotations

import json
import reprlib
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape

from histreg._names import ON_NUMBERS
from histreg._threads import boosting_threads
from histreg.cli import tables
from histreg.cli.columns import (
    check_columns,
    check_finite,
    flags_in,
    groups_in,
    has_target,
    numbers_in,
    order_by,
    split_target,
    weights_in,
)
from histreg.cli.findings import check_without_problems, print_findings
from histreg.cli.fit import FitOptions
from histreg.cli.json_output import print_json
from histreg.cli.progress import epoch_progress
from histreg.cli.reading import ReadTable, read_columns, read_to_fit
from histreg.cli.scores import (
    AnyScores,
    print_scores,
    scores_as_json,
    scores_to_notes,
)
from histreg.cli.table_formats import is_partitioned
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.tabular.baselines import BOOSTING, CONSTANT, L2, LINEAR, baseline
from histreg.tabular.columns import kinds_of
from histreg.tabular.comparison import HISTREG
from histreg.tabular.options import check_options
from histreg.tabular.regressor import HistogramRegressor
from histreg.tabular.scores import (
    RowScores,
    censored_scores_of,
    check_orderable,
    interval_scores_of,
    row_scores_of,
    row_scores_of_calibrated,
    row_scores_of_point,
)
from histreg.tabular.splits import Parts, parts_of
from histreg.tabular.table_check import TableCheck, check_table
from histreg.tabular.verdict import Verdict, verdict_on

TUNED_SETTINGS = {
    *("hidden_layer_sizes", "dropout", "learning_rate_init", "weight_decay"),
    "n_waves",
}
SAME_FOR_ALL = "its average, for all rows"  # of the predicted distributions
MAX_NAMED_GROUPS = 8  # of those with too few calibration rows
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
    groups : ndarray of shape (n,), optional
        Numbers of groups that a split keeps together.
    upper : ndarray of shape (n,), optional
        Upper bounds; y are lower bounds then, and both are NaN where there is none.
    """

    table: ReadTable
    X: pd.DataFrame
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    is_censored: NDArray[np.bool_] | None
    order: NDArray[np.int64] | None
    groups: NDArray[np.int64] | None = None
    upper: NDArray[np.float64] | None = None

    @property
    def all_known(self) -> bool:
        """Whether no target is censored."""
        return self.is_censored is None and self.upper is None

    @property
    def middle(self) -> NDArray[np.float64]:  # (n,)
        """The targets; of an interval its middle, or its only bound."""
        if self.upper is None:
            return self.y
        bounds = np.stack([self.y, self.upper])
        return np.nanmean(np.where(np.isfinite(bounds), bounds, np.nan), axis=0)


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
    others = (options.time, options.calibrate_by)
    check_columns(frame, [*special, *(name for name in others if name is not None)])
    weight, censored, time = options.weight, options.censored, options.time
    data = TrainingTable(
        table,
        frame.drop(columns=special),
        y,
        weights=None if weight is None else weights_in(frame, weight),
        is_censored=None if censored is None else flags_in(frame, censored),
        order=None if time is None else order_by(frame, time),
        groups=None if options.groups is None else groups_in(frame, options.groups),
        upper=None if options.upper is None else numbers_in(frame, options.upper),
    )
    if data.upper is not None:
        reversed_rows = np.flatnonzero(data.y > data.upper)
        if len(reversed_rows):
            row = reversed_rows[0]
            raise InputError(
                f"column {options.upper!r} must not be below {options.target!r}, got "
                f"{data.upper[row]:g} and {data.y[row]:g} in row {frame.index[row] + 1}"
            )
    if not options.quiet:
        table.print_notes()
    if data.X.shape[1] == 0:
        raise InputError(
            f"{options.table} must have a column beside the target "
            f"{options.target!r} to predict it from"
        )
    check_finite(table.frame[data.X.columns])
    return data


def check(data: TrainingTable, options: FitOptions) -> TableCheck:
    """Look for problems of the table; print them, or stop if ``--strict`` is given."""
    y = data.middle
    result = check_table(data.X, y, groups=options.groups, time=options.time)
    if options.strict:
        check_without_problems(result)
    if not options.quiet:
        serious = [f for f in result.findings if f.is_problem or f.kind == "strong"]
        print_findings(serious, Console(stderr=True))
    return result


def split(data: TrainingTable, options: FitOptions) -> Parts:
    """Split the rows into those to train on, to calibrate on and to test on."""
    parts = parts_of(
        len(data.X),
        test=options.holdout if options.evaluate is None else 0,
        # Uncensored rows alone would calibrate on small targets alone.
        calibration=options.calibration if data.all_known else 0,
        order=data.order,
        groups=data.groups,
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


def with_other_rows(
    data: TrainingTable, parts: Parts, options: FitOptions
) -> tuple[TrainingTable, Parts]:
    """Return the table with the rows of ``--eval`` added, which are the test rows."""
    assert options.evaluate is not None
    names = list(data.X.columns)
    others = (options.weight, options.censored, options.upper)
    special = [name for name in others if name]
    wanted = [*names, options.target, *special]
    kinds = dict(zip(names, kinds_of(data.X), strict=True))
    labels = [name for name, kind in kinds.items() if kind == "label"]
    table = read_columns(
        options.evaluate, options.spelling, wanted, labels, data.table.spelling
    )
    frame, y = split_target(table.frame, options.target, options.upper)
    check_finite(frame[names])
    for name, kind in zip(names, kinds_of(frame[names]), strict=True):
        if kind != kinds[name] and frame[name].notna().any():
            raise InputError(
                f"column {name!r} of {options.evaluate} must hold {kinds[name]}s, as "
                f"in {options.table}, got {kind}s"
            )
    n, n_other = len(data.y), len(y)
    flags, weights, upper = data.is_censored, data.weights, data.upper
    if upper is not None and options.upper is not None:
        upper = np.concatenate([upper, numbers_in(frame, options.upper)])
    if flags is not None and options.censored is not None:
        flags = np.concatenate([flags, flags_in(frame, options.censored)])
        check_orderable(y, flags[n:])
    if weights is not None:
        weights = np.concatenate([weights, np.ones(n_other)])
    joined = replace(
        data,
        X=pd.concat([data.X, frame[names]], ignore_index=True),
        y=np.concatenate([data.y, y]),
        weights=weights,
        is_censored=flags,
        order=None,
        groups=None,
        upper=upper,
    )
    return joined, replace(parts, test=np.arange(n, n + n_other))


def read_settings(options: FitOptions) -> dict[str, Any]:
    """Return the arguments of the regressor in the file of ``--settings``."""
    if options.settings is None:
        return {}
    try:
        settings = json.loads(options.settings.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{options.settings} cannot be read: {error}") from error
    if not isinstance(settings, dict) or not set(settings) <= TUNED_SETTINGS:
        raise InputError(
            f"{options.settings} must hold an object with some of "
            f"{', '.join(sorted(TUNED_SETTINGS))}, got {reprlib.repr(settings)}"
        )
    try:
        check_options(HistogramRegressor(**settings))
    except (TypeError, ValueError) as error:
        raise InputError(f"{options.settings}: {error}") from error
    return settings


def fit(
    data: TrainingTable,
    parts: Parts,
    options: FitOptions,
    settings: dict[str, Any] | None = None,
) -> HistogramRegressor:
    """Return the fitted model, calibrated if there are enough rows for it."""
    loss = options.loss
    title = f"Fitting ({loss})"
    model = _train(title, loss, data, data.is_censored, parts, options, settings)
    if len(parts.calibrate) >= MIN_CALIBRATION_ROWS and loss not in ON_NUMBERS:
        rows = parts.calibrate
        groups = options.calibrate_by
        model.calibrate(data.X.iloc[rows], data.y[rows], groups=groups)
        if groups is not None and not options.quiet:
            _print_small_groups(model, groups)
    return model


def _print_small_groups(model: HistogramRegressor, column: str) -> None:
    """Name the groups that have too few calibration rows for 90 % intervals."""
    assert model.model_.calibration is not None
    groups = model.model_.calibration.groups
    assert groups is not None
    counts = groups.codes.bincount(minlength=groups.n).tolist()
    small = [
        f"{level} ({n})"
        for level, n in zip(groups.levels, counts, strict=True)
        if n < MIN_CALIBRATION_ROWS
    ]
    if small:
        more = ", ..." if len(small) > MAX_NAMED_GROUPS else ""
        Console(stderr=True).print(
            f"90 % intervals need {MIN_CALIBRATION_ROWS} calibration rows in each "
            f"group of {column}, and are infinite with fewer: "
            f"{', '.join(small[:MAX_NAMED_GROUPS])}{more}. Use a larger --calibration, "
            "or a column of coarser groups.",
            highlight=False,
            markup=False,
        )


@dataclass(frozen=True)
class Tested:
    """Test scores by name, those of the model first, and the verdict on it."""

    scores: dict[str, AnyScores]
    verdict: Verdict | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the scores and the verdict as JSON values."""
        return scores_as_json(self.scores, self.verdict)


def score(
    model: HistogramRegressor,
    data: TrainingTable,
    parts: Parts,
    options: FitOptions,
    settings: dict[str, Any] | None = None,
    *,
    with_l2: bool = True,
) -> Tested:
    """Return the test scores of the model, and of those it is compared with.

    Those it is compared with are fitted here, the same networks with the l2 loss only
    if asked for. Without test rows there are no scores.
    """
    if not len(parts.test):
        return Tested({})
    if data.upper is not None:
        return Tested(_interval_scores(model, data, parts, options, settings))
    if data.is_censored is not None:
        flags = data.is_censored
        return Tested(_censored_scores(model, data, flags, parts, options, settings))
    loss, X, y = options.loss, data.X, data.y
    calibrated = None
    if loss in ON_NUMBERS:
        own = _point_scores(model, data, parts)
    else:
        predictions = model.predict_all(X.iloc[parts.test])
        own = row_scores_of(predictions, y[parts.test])
        if model.model_.calibration is not None:
            calibrated = row_scores_of_calibrated(predictions, y[parts.test])
    rows = {CONSTANT: _constant_scores(data, parts)}
    if options.compare:
        learn = X.iloc[parts.learn]
        for name in (LINEAR, BOOSTING):
            simple = baseline(name, learn, random_state=options.seed)
            with boosting_threads(learn.size):
                simple.fit(learn, y[parts.learn])
                rows[name] = _point_scores(simple, data, parts)
    if options.compare and with_l2 and loss != "l2":
        title = "Fitting l2, to compare"
        l2 = _train(title, "l2", data, None, parts, options, settings)
        rows[L2] = _point_scores(l2, data, parts)
    groups = None if data.groups is None else data.groups[parts.test]
    verdict = verdict_on(
        own, rows, calibrated=calibrated, groups=groups, seed=options.seed
    )
    constant, name = rows[CONSTANT], _own_name(loss)
    # Residuals of simple models are those of the calibration rows, so that only the
    # calibrated distribution is like theirs.
    of_model = {name: own}
    if calibrated is not None:
        of_model[f"{name}, calibrated"] = calibrated
    rows = of_model | rows
    scores = {name: each.means(constant) for name, each in rows.items()}
    return Tested({**scores}, verdict)


def save(
    model: HistogramRegressor,
    tested: Tested,
    data: TrainingTable,
    parts: Parts,
    options: FitOptions,
    n_learnt: int | None = None,
) -> None:
    """Write the model with notes on its origin, and the held-out rows if asked for.

    ``n_learnt`` is the number of rows that were learnt from, if not all are in memory.
    """
    n_unseen = len(parts.calibrate) + len(parts.test)
    if n_learnt is None:
        n_learnt = len(parts.learn)
    table, y = data.table, data.y
    known_y = y[parts.learn]
    if data.upper is not None:
        known_y = np.where(np.isfinite(known_y), known_y, data.upper[parts.learn])
    model.notes_ = {
        "target": options.target,
        "censored": options.censored or options.upper,
        "upper": options.upper,
        "source": options.table.name,
        "time": options.time,
        "spelling": asdict(table.spelling),
        "tested_on": (options.evaluate or options.table).name,
        "n_rows": n_learnt + n_unseen,
        "n_learnt": n_learnt,
        "n_calibrated": len(parts.calibrate),
        "n_tested": len(parts.test),
        "y_percentiles": np.percentile(known_y, range(101)).tolist(),
        "scores": scores_to_notes(tested.scores),
        "verdict": None if tested.verdict is None else asdict(tested.verdict),
    }
    model.save(options.out)
    if options.save_holdout is not None:
        has_y = has_target(table.frame, options.target, options.upper)
        known = table.as_written[has_y]
        tables.write(known.iloc[parts.test], options.save_holdout, table.spelling)


def print_result(
    tested: Tested, data: TrainingTable, parts: Parts, options: FitOptions
) -> None:
    """Print the verdict and the scores, and where the model is; or all as JSON."""
    if options.output_format == "json":
        print_json(
            {
                "model": str(options.out),
                "target": options.target,
                "n_tested": len(parts.test),
                **tested.as_json(),
            }
        )
        return
    n_rows = len(data.table.frame)
    if len(data.y) < n_rows:
        Console(stderr=True).print(
            f"{n_rows - len(data.y):,} of {n_rows:,} rows have no "
            f"{escape(options.target)} and were left out"
        )
    if tested.scores:
        print_scores(
            tested.scores, len(parts.test), options.target, verdict=tested.verdict
        )
    console = Console()
    folder = escape(str(options.out))
    console.print(f"Model in [bold]{folder}[/bold]", highlight=False)
    held_out = options.evaluate or options.save_holdout
    if held_out is None:
        suffixes = "".join(options.table.suffixes[-2:])  # .csv.gz
        new, predictions = (
            ("new/", "predictions/")
            if is_partitioned(options.table)
            else (f"new{suffixes}", "predictions.csv")
        )
        command = f"histreg predict {options.out} {new}"
        advice = f"Next: {command} --interval 0.9 --out {predictions}"
    else:
        advice = f"Next: histreg report {options.out} {held_out} --out report.html"
    console.print(advice, style="dim", highlight=False, markup=False, soft_wrap=True)


def _train(
    title: str,
    loss: str,
    data: TrainingTable,
    is_censored: NDArray[np.bool_] | None,
    parts: Parts,
    options: FitOptions,
    settings: dict[str, Any] | None,
) -> HistogramRegressor:
    """Return a regressor trained with this loss, and show its progress."""
    rows = parts.learn
    model = new_regressor(loss, options, settings)
    with epoch_progress(title, quiet=options.quiet) as show:
        model.callback = show
        model.fit(
            data.X.iloc[rows],
            data.y[rows],
            None if data.weights is None else data.weights[rows],
            None if is_censored is None else is_censored[rows],
            None if data.upper is None else data.upper[rows],
        )
    model.callback = None
    return model


def new_regressor(
    loss: str, options: FitOptions, settings: dict[str, Any] | None = None
) -> HistogramRegressor:
    """Return a regressor with the options of the command."""
    return HistogramRegressor(
        loss=loss,
        n_bins=options.bins,
        bins=options.spacing,
        tails=options.tails,
        y_range=options.y_range,
        n_estimators=options.estimators,
        max_iter=options.epochs,
        random_state=options.seed,
        **(settings or {}),
    )


def _own_name(loss: str) -> str:
    """Return the name of the fitted model among those it is compared with."""
    return HISTREG if loss == "histogram" else f"{HISTREG}, {loss}"


def _censored_scores(
    model: HistogramRegressor,
    data: TrainingTable,
    is_censored: NDArray[np.bool_],
    parts: Parts,
    options: FitOptions,
    settings: dict[str, Any] | None,
) -> dict[str, AnyScores]:
    X, truth = data.X.iloc[parts.test], (data.y[parts.test], is_censored[parts.test])
    scores: dict[str, AnyScores] = {
        _own_name(options.loss): censored_scores_of(model.predict_all(X), *truth)
    }
    if options.compare:
        title = "Fitting, bounds taken for targets"
        naive = _train(title, options.loss, data, None, parts, options, settings)
        name = "the same, bounds taken for targets"
        scores[name] = censored_scores_of(naive.predict_all(X), *truth)
    return scores


def _interval_scores(
    model: HistogramRegressor,
    data: TrainingTable,
    parts: Parts,
    options: FitOptions,
    settings: dict[str, Any] | None,
) -> dict[str, AnyScores]:
    """Return scores for targets that are intervals."""
    assert data.upper is not None
    X, upper = data.X.iloc[parts.test], data.upper
    distributions = {_own_name(options.loss): _distribution_of(model, X)}
    learnt = _distribution_of(model, data.X.iloc[parts.learn])
    average = learnt.probs.mean(dim=0).expand(len(X), -1)
    distributions[SAME_FOR_ALL] = Histogram(learnt.bins, probs=average)
    if options.compare:
        taken = replace(data, y=data.middle, upper=None)
        title = "Fitting, middles taken for targets"
        naive = _train(title, options.loss, taken, None, parts, options, settings)
        name = "the same, middles taken for targets"
        distributions[name] = _distribution_of(naive, X)
    rows = parts.test
    scores = interval_scores_of(distributions, data.y[rows], upper[rows], SAME_FOR_ALL)
    return {**scores}


def _distribution_of(model: HistogramRegressor, X: pd.DataFrame) -> Histogram:
    (distribution,) = model.predict_all(X).distributions
    return distribution


def _point_scores(model: Any, data: TrainingTable, parts: Parts) -> RowScores:
    """Return the scores of a model that predicts one number, with its residuals.

    These are those of the calibration rows, if there are any.
    """
    X, y = data.X, data.y
    rows = parts.calibrate if len(parts.calibrate) else parts.learn
    return row_scores_of_point(
        model.predict(X.iloc[parts.test]),
        y[parts.test],
        y[rows] - model.predict(X.iloc[rows]),
    )


def _constant_scores(data: TrainingTable, parts: Parts) -> RowScores:
    """Return the scores of the training targets as the prediction for every row."""
    learnt, y = data.y[parts.learn], data.y[parts.test]
    mean = learnt.mean()
    return row_scores_of_point(np.full(len(y), mean), y, learnt - mean)
