"""Tuning: a few settings of the regressor, searched by cross-validated CRPS.

Optuna proposes settings and keeps finished trials in a file, so that a search can be
stopped and go on. It is in the extra ``tune``.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from histreg._checks import check_count, check_positive
from histreg.errors import InputError
from histreg.tabular.baselines import CONSTANT
from histreg.tabular.columns import kinds_of, read_frame
from histreg.tabular.comparison import compare
from histreg.tabular.regressor import HistogramRegressor
from histreg.tabular.verdict import Estimate

TUNED, DEFAULTS = "tuned", "defaults"
DEFAULT_SETTINGS: dict[str, Any] = {
    "width": 96,
    "n_layers": 3,
    "dropout": 0.1,
    "learning_rate_init": 4e-3,
    "weight_decay": 1e-2,
    "n_waves": 4,
}
"""The regressor's defaults, in the terms of the search."""


@dataclass(frozen=True)
class Tuning:
    """The result of a search.

    Parameters
    ----------
    settings : dict
        Arguments of `HistogramRegressor` with the lowest CRPS.
    n_trials : int
        How many settings were tried, those of earlier calls included.
    crps, crps_of_defaults : float
        On the folds of the search; the first is too low by selection.
    gain : Estimate, optional
        1 - CRPS / CRPS of the defaults on fresh folds that no setting was chosen on,
        None if the defaults are best.
    """

    settings: dict[str, Any]
    n_trials: int
    crps: float
    crps_of_defaults: float
    gain: Estimate | None

    def __str__(self) -> str:
        if self.n_trials == 1:
            return "Only the defaults were tried; allow more time or trials."
        if self.gain is None:
            return f"The defaults are the best of {self.n_trials} settings."
        verdict = (
            "more than noise"
            if self.gain.low > 0
            else "worse on fresh folds, so keep the defaults"
            if self.gain.high < 0
            else "not more than noise, so keep the defaults"
        )
        return (
            f"The best of {self.n_trials} settings lowers the CRPS of the defaults by "
            f"{self.gain} on fresh folds: {verdict}."
        )


def tune(
    X: Any,
    y: ArrayLike,
    *,
    time_budget_s: float,
    storage: str | Path | None = None,
    folds: int = 3,
    groups: ArrayLike | None = None,
    order: ArrayLike | None = None,
    n_trials: int | None = None,
    fixed: Mapping[str, Any] | None = None,
    random_state: int = 0,
    on_trial: Callable[[int, float, float], None] | None = None,
) -> Tuning:
    """Search a few settings of `HistogramRegressor` by cross-validated CRPS.

    The defaults are tried first. In the end, the best settings are compared with the
    defaults on fresh folds and with another seed, because the lowest of many scores is
    lower than it will be again.

    Parameters
    ----------
    X : data frame of shape (n, d)
    y : array-like of shape (n,)
    time_budget_s : float
        Seconds for the search and the comparison. At least one trial is finished.
    storage : str or Path, optional
        A file for finished trials. A search with the same file goes on, if it is of
        the same table, folds and fixed arguments.
    folds : int
    groups, order : array-like of shape (n,), optional
        As in `compare`.
    n_trials : int, optional
        Stop after this many trials in all.
    fixed : mapping, optional
        Arguments of the regressor that are not searched, such as ``max_iter``.
    random_state : int
    on_trial : callable, optional
        Called after each trial with its number, its CRPS and the lowest so far.

    Returns
    -------
    Tuning
    """
    check_positive("time_budget_s", time_budget_s)
    check_count("folds", folds, at_least=2)
    if n_trials is not None:
        check_count("n_trials", n_trials, at_least=1)
    optuna = _optuna()
    start = time.monotonic()
    fixed = dict(fixed or {})

    def crps_of(settings: Mapping[str, Any]) -> float:
        model = HistogramRegressor(**fixed, **settings, random_state=random_state)
        board = compare(
            *(X, y, {TUNED: model}),
            folds=folds,
            groups=groups,
            order=order,
            random_state=random_state,
        )
        return next(s.scores.crps for s in board.standings if s.name == TUNED)

    with _journal(storage) as journal:
        study = optuna.create_study(
            study_name="histreg",
            storage=journal,
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(
                seed=random_state + _n_finished(optuna, journal)
            ),
        )
        _check_same(study, _fingerprint(X, y, folds, groups, order, fixed))
        if not any(trial.params == DEFAULT_SETTINGS for trial in _finished(study)):
            study.enqueue_trial(DEFAULT_SETTINGS)
        lasted_s = 0.0
        while True:
            done = _finished(study)
            # The comparison in the end takes as long as two trials.
            is_over = time.monotonic() - start + 3 * lasted_s > time_budget_s
            if done and (is_over or (n_trials is not None and len(done) >= n_trials)):
                break
            began = time.monotonic()
            trial = study.ask()
            try:
                crps = crps_of(_suggested(trial))
            except BaseException:  # Ctrl-C too: the settings may be tried again
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                raise
            study.tell(trial, crps)
            lasted_s = max(lasted_s, time.monotonic() - began)
            if on_trial is not None:
                on_trial(len(_finished(study)), crps, study.best_value)
    done = _finished(study)
    best = min(done, key=lambda trial: trial.value)
    defaults = next(trial for trial in done if trial.params == DEFAULT_SETTINGS)
    gain = None
    if best.params != DEFAULT_SETTINGS:
        gain = _gain_on_fresh_folds(
            *(X, y, _arguments(best.params), fixed),
            folds=folds,
            groups=groups,
            order=order,
            random_state=random_state + 1,
        )
    return Tuning(_arguments(best.params), len(done), best.value, defaults.value, gain)


def _gain_on_fresh_folds(
    X: Any,
    y: ArrayLike,
    settings: Mapping[str, Any],
    fixed: Mapping[str, Any],
    *,
    random_state: int,
    **split: Any,
) -> Estimate | None:
    options = {**fixed, "random_state": random_state}
    models = {
        TUNED: HistogramRegressor(**options, **settings),
        DEFAULTS: HistogramRegressor(**options),
    }
    board = compare(X, y, models, random_state=random_state, **split)
    verdict = board.verdict
    if verdict is None or verdict.best == CONSTANT:
        return None
    return verdict.gain


def _suggested(trial: Any) -> dict[str, Any]:
    """Return arguments of the regressor, drawn by a trial of Optuna."""
    return _arguments(
        {
            "width": trial.suggest_categorical("width", [64, 96, 128, 192]),
            "n_layers": trial.suggest_int("n_layers", 1, 4),
            "dropout": trial.suggest_float("dropout", 0.0, 0.4),
            "learning_rate_init": trial.suggest_float(
                "learning_rate_init", 3e-4, 1e-2, log=True
            ),
            "weight_decay": trial.suggest_float("weight_decay", 1e-4, 1e-1, log=True),
            "n_waves": trial.suggest_int("n_waves", 0, 6),
        }
    )


def _arguments(params: Mapping[str, Any]) -> dict[str, Any]:
    settings = dict(params)
    width, n_layers = settings.pop("width"), settings.pop("n_layers")
    return {"hidden_layer_sizes": [width] * n_layers, **settings}


def _finished(study: Any) -> list[Any]:
    return [trial for trial in study.trials if trial.value is not None]


def _n_finished(optuna: Any, journal: Any) -> int:
    """Return how many trials a file has, so that a search that goes on draws others."""
    if journal is None:
        return 0
    summaries = optuna.get_all_study_summaries(journal)
    return sum(summary.n_trials for summary in summaries)


def _fingerprint(
    X: Any,
    y: ArrayLike,
    folds: int,
    groups: ArrayLike | None,
    order: ArrayLike | None,
    fixed: Mapping[str, Any],
) -> str:
    """Return a text that differs if the table or what is fixed differs."""
    frame = nw.from_native(X, eager_only=True)
    table = read_frame(X, kinds_of(X))
    digest = hashlib.sha256(repr((frame.columns, len(frame), folds)).encode())
    digest.update(np.ascontiguousarray(table.numbers).tobytes())
    digest.update(repr(table.labels.tolist()).encode())
    digest.update(repr(sorted(fixed.items())).encode())
    for values in (y, groups, order):
        array: NDArray[Any] = np.asarray([] if values is None else values)
        digest.update(repr(array.tolist()).encode())
    return digest.hexdigest()


def _check_same(study: Any, fingerprint: str) -> None:
    """Raise if the trials in a file are of another search."""
    known = study.user_attrs.get("fingerprint")
    if known is None:
        study.set_user_attr("fingerprint", fingerprint)
    elif known != fingerprint:
        raise InputError(
            "the file of the search holds trials of another table, other folds or "
            "other options; name another file, or remove it"
        )


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise InputError(
            "a search needs the extra: pip install 'histreg[tune]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


@contextmanager
def _journal(path: str | Path | None) -> Iterator[Any]:
    """Yield a storage in a file of JSON lines, None without a path."""
    if path is None:
        yield None
        return
    from optuna.storages.journal import JournalFileBackend, JournalStorage

    try:
        yield JournalStorage(JournalFileBackend(str(path)))
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} cannot be used as the file of a search: {error}"
        ) from (error)
