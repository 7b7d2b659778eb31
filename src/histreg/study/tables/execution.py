"""How table runs are computed: fits, residuals, times and scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from histreg.study.datasets import frame
from histreg.study.datasets.source import Floats
from histreg.study.engine.runs import Outcome, RunContext
from histreg.study.shapes.predictions import Prediction
from histreg.study.shapes.predictors import installed
from histreg.study.tables.encodings import Frame
from histreg.study.tables.peers import PEERS, Peer
from histreg.study.tables.runs import TableRun
from histreg.study.tables.splits import split_of

N_FIFTHS = 5

T = TypeVar("T")


def outcome_of(run: TableRun, context: RunContext) -> Outcome:
    """Fit and score a method on a fold."""
    peer = PEERS[run.method]
    installed(peer.package)  # before any time is measured
    data = frame(run.dataset).load(context.data_dir)
    learnt, tested = split_of(len(data.y), run.seed)
    X, y = _at(data.X, learnt), data.y[learnt]
    X_test, y_test = _at(data.X, tested), data.y[tested]
    context.report(0.0)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # of others about their own dependencies
        predict, fit_s, fit_wall_s = _timed(lambda: peer.fit(X, y, run.seed))
        predicted, predict_s, _ = _timed(lambda: predict(X_test))
        residuals, residuals_s, _ = _timed(
            lambda: residuals_of(peer, X, y, run.seed, context)
        )
    prediction = (
        Prediction.of_residuals(predicted, residuals)
        if peer.n_residual_folds
        else predicted
    )
    metrics = {
        **prediction.scores(y_test),
        "fit seconds": fit_s,
        "fit wall seconds": fit_wall_s,
        "residual seconds": residuals_s,
        "predict seconds per 1,000 rows": predict_s * 1000 / len(tested),
        "train rows": float(len(learnt)),
        "test rows": float(len(tested)),
    }
    return Outcome(metrics, data_sha256=data.sha256)


def residuals_of(
    peer: Peer, X: Frame, y: Floats, seed: int, context: RunContext
) -> Floats:
    """Return the residuals of rows that were held out, a fifth after the other.

    Parameters
    ----------
    peer : Peer
        ``n_residual_folds`` of the five fifths are held out; without any there are no
        residuals.
    X, y : training rows
    seed : int
        Of the fifths and of the fits.
    context : RunContext
    """
    fifths = np.array_split(np.random.default_rng(seed).permutation(len(y)), N_FIFTHS)
    residuals = [np.empty(0)]
    for i, held in enumerate(fifths[: peer.n_residual_folds], start=1):
        rest = np.setdiff1d(np.arange(len(y)), held)
        predict = peer.fit(_at(X, rest), y[rest], seed)
        residuals.append(y[held] - predict(_at(X, held)))
        context.report(i / (peer.n_residual_folds + 1))
    return np.concatenate(residuals)


def _at(X: Frame, rows: object) -> Frame:
    return X.iloc[rows].reset_index(drop=True)


def _timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """Return a result with its seconds of the processor and of the wall clock."""
    started, started_wall = time.process_time(), time.perf_counter()
    result = work()
    return (
        result,
        time.process_time() - started,
        time.perf_counter() - started_wall,
    )
