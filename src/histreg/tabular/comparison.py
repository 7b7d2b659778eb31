"""Comparison: cross-validated scores of a regressor beside simple models."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

from histreg._checks import check_count
from histreg._names import ON_NUMBERS
from histreg.errors import InputError
from histreg.metrics import innermost, predicted_distribution
from histreg.tabular.baselines import BOOSTING, CONSTANT, L2, LINEAR, baseline
from histreg.tabular.regressor import HistogramRegressor
from histreg.tabular.scores import (
    RowScores,
    Scores,
    row_scores_of_distribution,
    row_scores_of_normal,
    row_scores_of_point,
)
from histreg.tabular.verdict import Verdict, verdict_on

HISTREG = "histreg"
MODELS = (HISTREG, CONSTANT, LINEAR, BOOSTING, L2)
RESIDUAL_FOLDS = 5
FEW_ROWS = 1000  # of which all are needed for residuals
OWN, NORMAL, RESIDUALS = "own", "normal", "residuals"  # where distributions come from
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Standing:
    """One line of a leaderboard.

    Parameters
    ----------
    name : str
    scores : Scores
        Over the test rows of all folds.
    verdict : Verdict
        Against the constant, and for the first model against the best of the others.
    fit_s, predict_s : float
        Seconds per fold.
    distribution : {"own", "normal", "residuals"}
        Where the distribution comes from: the model predicts it; it is normal, with
        the standard deviation that the model predicts; or it is made of residuals.
    """

    name: str
    scores: Scores
    verdict: Verdict
    fit_s: float
    predict_s: float
    distribution: str = RESIDUALS


@dataclass(frozen=True)
class Leaderboard:
    """Models by CRPS, the best first.

    Parameters
    ----------
    standings : tuple of Standing
    n_rows : int
        How many test rows there are in all folds.
    verdict : Verdict, optional
        On the first model that was compared, against the others.
    judged : str, optional
        The name of that model; None if it is the constant.
    """

    standings: tuple[Standing, ...]
    n_rows: int
    verdict: Verdict | None
    judged: str | None


def compare(
    X: Any,
    y: ArrayLike,
    models: Sequence[str] | Mapping[str, Any] = MODELS,
    *,
    folds: int = 5,
    groups: ArrayLike | None = None,
    order: ArrayLike | None = None,
    random_state: int = 0,
    on_fit: Callable[[str, int], None] | None = None,
) -> Leaderboard:
    """Return cross-validated scores of models on a table.

    A `HistogramRegressor` is scored by its distribution, also within a pipeline, a
    search or a ``TransformedTargetRegressor``, and so is any estimator with
    ``predict_dist``. A model whose ``predict`` takes ``return_std``, such as
    ``BayesianRidge``, has a normal distribution. Any other model gets one from its
    residuals: those of a fifth of the training rows, by a copy of the model that was
    fitted to the rest; up to 1,000 training rows, those of each fifth. Needs pandas.

    Parameters
    ----------
    X : data frame of shape (n, d)
        Of pandas or polars.
    y : array-like of shape (n,)
    models : sequence of str, or mapping of estimators
        Names: ``"histreg"`` (a `HistogramRegressor`), ``"constant"`` (the distribution
        of the training targets), ``"linear regression"``, ``"boosting"``
        (scikit-learn's HistGradientBoostingRegressor), ``"networks with l2"``, the name
        of a regressor of scikit-learn, or an import such as
        ``"lightgbm.LGBMRegressor"``. Estimators are fitted to data frames. The first
        one is judged in the verdict. The constant is always there.
    folds : int
        Of a shuffled cross-validation.
    groups : array-like of shape (n,), optional
        The rows of a group are in the same fold.
    order : array-like of shape (n,), optional
        Times, or anything that can be sorted: each fold is tested on rows that are
        later than all its training rows (rolling origin).
    random_state : int
    on_fit : callable, optional
        Called with a name and the number of the fold, before a model is fitted.

    Returns
    -------
    Leaderboard
    """
    check_count("folds", folds, at_least=2)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise InputError(f"X must be a data frame, got {type(X).__name__}")
    target = np.asarray(y, dtype=np.float64)
    if target.shape != (len(frame),) or not np.isfinite(target).all():
        raise InputError(
            f"y must hold a finite number for each of the {len(frame)} rows, got shape "
            f"{target.shape}"
        )
    made = _estimators(models, X, random_state)
    group_codes = None if groups is None else _codes(groups, "groups", len(target))
    times = None if order is None else _codes(order, "order", len(target))
    splits = list(
        _splits(len(target), folds, groups=group_codes, times=times, seed=random_state)
    )
    runs: dict[str, list[_Run]] = {name: [] for name in made}
    for number, (learn, test) in enumerate(splits, start=1):
        for name, estimator in made.items():
            if on_fit is not None:
                on_fit(name, number)
            runs[name].append(_run(estimator, frame, target, learn, test, random_state))
    tested = np.concatenate([test for _, test in splits])
    tested_groups = None if group_codes is None else group_codes[tested]
    return _leaderboard(runs, tested_groups)


@dataclass(frozen=True, eq=False)
class _Run:
    scores: RowScores
    fit_s: float
    predict_s: float
    distribution: str


def _leaderboard(
    runs: Mapping[str, list[_Run]], groups: Rows | None = None
) -> Leaderboard:
    joined = {
        name: RowScores.joined([run.scores for run in of_model])
        for name, of_model in runs.items()
    }
    first = next(iter(joined))
    constant = joined[CONSTANT]
    standings = []
    for name, rows in joined.items():
        others = {n: joined[n] for n in joined if n != name and name == first}
        others[CONSTANT] = constant
        standings.append(
            Standing(
                name,
                rows.means(constant),
                verdict_on(rows, others, groups=groups),
                float(np.mean([run.fit_s for run in runs[name]])),
                float(np.mean([run.predict_s for run in runs[name]])),
                runs[name][0].distribution,
            )
        )
    judged = None if first == CONSTANT else first
    verdict = None if judged is None else standings[0].verdict
    standings.sort(key=lambda standing: standing.scores.crps)
    return Leaderboard(tuple(standings), len(constant.y), verdict, judged)


def _estimators(
    models: Sequence[str] | Mapping[str, Any], X: Any, random_state: int
) -> dict[str, Any]:
    """Return unfitted estimators by name, the constant among them."""
    if isinstance(models, Mapping):
        made = {str(name): clone(model) for name, model in models.items()}
    else:
        if isinstance(models, str) or not models:
            raise InputError(f"models must be a list of names, got {models!r}")
        made = {name: _named(name, X, random_state) for name in models}
    return made | {CONSTANT: baseline(CONSTANT, X)}


def _named(name: str, X: Any, random_state: int) -> Any:
    if name == HISTREG:
        return HistogramRegressor(random_state=random_state)
    if name == L2:
        return HistogramRegressor(loss="l2", random_state=random_state)
    return baseline(name, X, random_state=random_state)


def _codes(values: ArrayLike, name: str, n: int) -> Rows:
    """Return the rank of each value among the distinct ones."""
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(
            f"{name} must have a value for each of the {n} rows, got shape "
            f"{array.shape}"
        )
    return np.unique(array, return_inverse=True)[1]


def _splits(
    n: int, folds: int, *, groups: Rows | None, times: Rows | None, seed: int
) -> Iterator[tuple[Rows, Rows]]:
    """Yield the training and test rows of each fold."""
    if groups is not None and times is not None:
        raise InputError("groups and order cannot be combined, got both")
    n_units = n if groups is None else len(np.unique(groups))
    needed = folds + 1 if times is not None else folds
    if n_units < needed:
        units = "rows" if groups is None else "groups"
        raise InputError(f"{folds} folds need at least {needed} {units}, got {n_units}")
    rows = np.arange(n)
    if times is not None:
        ordered = np.argsort(times, kind="stable")
        for learn, test in TimeSeriesSplit(folds).split(rows):
            yield ordered[learn], ordered[test]
    elif groups is not None:
        split = GroupKFold(folds, shuffle=True, random_state=seed)
        yield from split.split(rows, groups=groups)
    else:
        yield from KFold(folds, shuffle=True, random_state=seed).split(rows)


def _run(
    estimator: Any,
    frame: nw.DataFrame[Any],
    y: NDArray[np.float64],
    learn: Rows,
    test: Rows,
    seed: int,
) -> _Run:
    """Fit a model to rows of a table, and score it on others."""

    def at(rows: Rows) -> Any:
        return frame[rows].to_native()

    start = time.perf_counter()
    model = clone(estimator).fit(at(learn), y[learn])
    fit_s = time.perf_counter() - start
    own = _distribution_of(model)
    start = time.perf_counter()
    if own == OWN:
        predicted = predicted_distribution(model, at(test))
        # The mean is a part of what is predicted, and is computed when it is read.
        scores = row_scores_of_distribution(predicted, y[test])
        return _Run(scores, fit_s, time.perf_counter() - start, own)
    if own == NORMAL:
        mean, stddev = model.predict(at(test), return_std=True)
        predict_s = time.perf_counter() - start
        return _Run(row_scores_of_normal(mean, stddev, y[test]), fit_s, predict_s, own)
    point = np.asarray(model.predict(at(test)), dtype=np.float64)
    predict_s = time.perf_counter() - start
    if isinstance(model, DummyRegressor):  # all training targets, as they are
        residuals = y[learn] - y[learn].mean()
    else:
        residuals = _residuals(estimator, at, y, learn, seed)
    return _Run(row_scores_of_point(point, y[test], residuals), fit_s, predict_s, own)


def _distribution_of(model: Any) -> str:
    """Return where the distribution that a fitted model predicts comes from."""
    inner = innermost(model)
    if hasattr(inner, "predict_dist") and getattr(inner, "loss", "") not in ON_NUMBERS:
        return OWN
    # A search or a transformed target does not pass the argument on, and the constant
    # has all training targets.
    passes_it_on = inner is model or hasattr(model, "steps")
    takes_std = "return_std" in inspect.signature(inner.predict).parameters
    if takes_std and passes_it_on and not isinstance(inner, DummyRegressor):
        return NORMAL
    return RESIDUALS


def _residuals(
    estimator: Any,
    at: Callable[[Rows], Any],
    y: NDArray[np.float64],
    learn: Rows,
    seed: int,
) -> NDArray[np.float64]:
    """Return y minus prediction of rows that a copy of a model has not seen."""
    if len(learn) < RESIDUAL_FOLDS:
        raise InputError(
            f"a fold needs at least {RESIDUAL_FOLDS} training rows, got {len(learn)}"
        )
    splits = list(KFold(RESIDUAL_FOLDS, shuffle=True, random_state=seed).split(learn))
    residuals = []
    for rest, left_out in splits if len(learn) <= FEW_ROWS else splits[:1]:
        copy = clone(estimator).fit(at(learn[rest]), y[learn[rest]])
        predicted = np.asarray(copy.predict(at(learn[left_out])), dtype=np.float64)
        residuals.append(y[learn[left_out]] - predicted)
    return np.concatenate(residuals)
