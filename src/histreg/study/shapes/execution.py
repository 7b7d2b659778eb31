"""How shape runs are computed: rows to train and to test on, times and scores."""

from __future__ import annotations

import time
import warnings

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from histreg.study.datasets import table
from histreg.study.engine.runs import Outcome, RunContext
from histreg.study.shapes.predictors import PREDICTORS
from histreg.study.shapes.runs import ShapeRun

N_PARTS = 8

RowNumbers = npt.NDArray[np.int64]


def outcome_of(run: ShapeRun, context: RunContext) -> Outcome:
    """Fit and score a predictor."""
    data = table(run.dataset).load(context.data_dir)
    learnt, tested = rows_of(len(data.y), run.seed)
    context.report(0.0)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # of others about their convergence
        started = time.process_time()
        predict = PREDICTORS[run.method](data.X[learnt], data.y[learnt], run.seed)
        fit_s = time.process_time() - started
        prediction = predict(data.X[tested])
    metrics = {
        **prediction.scores(data.y[tested]),
        "fit seconds": fit_s,
        "train rows": float(len(learnt)),
        "test rows": float(len(tested)),
    }
    return Outcome(metrics, data_sha256=data.sha256)


def parts_of(n: int) -> list[RowNumbers]:
    """Return the rows in eight parts by one shuffle, the same for all seeds.

    Earlier defaults were chosen on parts 3 to 7; parts 0, 1 and 2 are for tests.
    """
    from sklearn.model_selection import KFold  # slow to import

    shuffled = KFold(N_PARTS, shuffle=True, random_state=0).split(np.arange(n))
    return [part for _, part in shuffled]


def rows_of(n: int, seed: int) -> tuple[RowNumbers, RowNumbers]:
    """Return the training rows, shuffled by the seed, and the test rows.

    >>> learnt, tested = rows_of(80, seed=1)
    >>> len(learnt), len(tested), len({*learnt, *tested})
    (70, 10, 80)
    """
    parts = parts_of(n)
    learnt = np.concatenate([*parts[:seed], *parts[seed + 1 :]])
    return np.random.default_rng(seed).permutation(learnt), parts[seed]
