"""HistogramRegressor compared with more peers on five tables: errors, coverage, time.

Every method sees the same rows. The rows of each set are shuffled once and cut into
eight parts. Parts 0, 1 and 2 are the test rows of the three seeds; the other seven are
the training rows. No choice was made on parts 0 to 2.

Methods that predict one number get the distribution of their residuals in five-fold
cross-validation on the training rows; those that predict quantiles are scored by twice
the mean pinball loss at 20 levels, which is their CRPS by the midpoint rule. All runs
have one thread. Each run is a line of the results file; runs that are in the file are
skipped, so the benchmark can be stopped and restarted.

    HISTREG_DATA=... python benchmarks/regressor.py --out results.jsonl
    python benchmarks/regressor.py --out results.jsonl --table

Peers: ngboost, catboost, quantile-forest, crepes, mapie, installed for the benchmark
only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from histreg import HistogramRegressor
from histreg.study.shapes import execution as shapes
from histreg.study.shapes.predictions import COVERAGES, LEVELS, Prediction
from histreg.study.shapes.predictors import Predictor, boosting, catboost, ngboost

N_SEEDS = 3
Predict = Callable[[np.ndarray], Prediction]


# ---- data sets: name -> X, y


def pole(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pole telecommunication, PMLB 201_pol: 15,000 rows, eleven distinct targets."""
    table = pd.read_csv(data / "pole/201_pol.tsv.gz", sep="\t")
    return table.drop(columns="target").to_numpy(float), table["target"].to_numpy(float)


def bike(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Hourly bike hire, UCI 275, without the parts that add up to the target."""
    table = pd.read_csv(data / "bike/hour.csv")
    y = table.pop("cnt")
    left_out = ["instant", "dteday", "casual", "registered"]
    return table.drop(columns=left_out).to_numpy(float), y.to_numpy(float)


def california(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """California house prices in dollars, PMLB 537_houses."""
    table = pd.read_csv(data / "california/537_houses.tsv.gz", sep="\t")
    return table.drop(columns="target").to_numpy(float), table["target"].to_numpy(float)


def ct(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Axial place of CT slices, UCI 206: a random fifth of the rows."""
    table = pd.read_csv(data / "ct/slice_localization_data.csv.gz")
    table = table.sample(frac=0.2, random_state=0)
    y = table.pop("reference")
    return table.drop(columns="patientId").to_numpy(float), y.to_numpy(float)


def diabetes(_: Path) -> tuple[np.ndarray, np.ndarray]:
    """Progression of diabetes, 442 rows, in scikit-learn."""
    return load_diabetes(return_X_y=True)


DATA_SETS: dict[str, Callable[[Path], tuple[np.ndarray, np.ndarray]]] = {
    load.__name__: load for load in (pole, bike, california, ct, diabetes)
}


# ---- methods: name -> a function that fits and returns a function that predicts


def histogram(**options: Any) -> Predictor:
    """Return our method; ``calibrate=0.15`` holds out that share of the rows."""
    share = options.pop("calibrate", 0.0)

    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Predict:
        n_learnt = round(len(y) * (1 - share))
        model = HistogramRegressor(random_state=seed, **options)
        model.fit(X[:n_learnt], y[:n_learnt])
        if options.get("loss") in ("l2", "l1"):  # only its errors are compared
            return lambda X_test: Prediction(model.predict(X_test))
        if share:
            model.calibrate(X[n_learnt:], y[n_learnt:])
        return lambda X_test: Prediction.of_model(model, X_test)

    return fit


def numbers(make: Callable[[int], Any]) -> Predictor:
    """Return a method that predicts one number, plus the residuals around it."""

    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Predict:
        model = make(seed).fit(X, y)

        def predict(X_test: np.ndarray) -> Prediction:
            folds = KFold(5, shuffle=True, random_state=seed)
            residuals = y - cross_val_predict(make(seed), X, y, cv=folds)
            return Prediction.of_residuals(model.predict(X_test), residuals)

        return predict

    return fit


def catboost_model(seed: int) -> Any:
    """CatBoost with its defaults."""
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False
    )


def scaled_mlp(seed: int) -> Any:
    """Return scikit-learn's MLPRegressor with standardised X and y."""
    return TransformedTargetRegressor(
        make_pipeline(StandardScaler(), MLPRegressor(random_state=seed)),
        transformer=StandardScaler(),
    )


def quantile_forest(X: np.ndarray, y: np.ndarray, seed: int) -> Predict:
    """Quantile forest with its defaults: 100 trees, one row kept per leaf."""
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=seed).fit(X, y)
    return lambda X_test: Prediction.of_quantiles(
        model.predict(X_test, quantiles=LEVELS.tolist()),
        point=model.predict(X_test, quantiles="mean"),
    )


def crepes_boosting(X: np.ndarray, y: np.ndarray, seed: int) -> Predict:
    """Boosting with a normalised conformal predictive system, on 15 % of the rows."""
    from crepes import WrapRegressor
    from crepes.extras import DifficultyEstimator

    X, X_cal, y, y_cal = train_test_split(X, y, test_size=0.15, random_state=seed)
    boosted = HistGradientBoostingRegressor(random_state=seed)
    model = WrapRegressor(boosted)
    model.fit(X, y)
    # The difficulty of a row: the residuals of its 25 neighbours, in standardised X.
    residuals = y - cross_val_predict(boosted, X, y)
    difficulty = DifficultyEstimator()
    difficulty.fit(X, residuals=residuals, scaler=True)
    model.calibrate(X_cal, y_cal, de=difficulty, cps=True)

    def predict(X_test: np.ndarray) -> Prediction:
        levels = (100 * LEVELS).tolist()
        quantiles = model.predict_percentiles(X_test, lower_percentiles=levels)
        quantiles = np.clip(quantiles, y.min(), y.max())  # the ends may be infinite
        return Prediction.of_quantiles(quantiles, point=model.predict(X_test))

    return predict


def mapie_boosting(X: np.ndarray, y: np.ndarray, seed: int) -> Predict:
    """Conformalised quantile boosting on 15 % of the rows, a model per coverage."""
    from mapie.regression import ConformalizedQuantileRegressor

    X, X_cal, y, y_cal = train_test_split(X, y, test_size=0.15, random_state=seed)
    median = HistGradientBoostingRegressor(
        loss="quantile", quantile=0.5, random_state=seed
    )
    models = {
        coverage: ConformalizedQuantileRegressor(median, confidence_level=coverage)
        .fit(X, y)
        .conformalize(X_cal, y_cal)
        for coverage in COVERAGES
    }

    def predict(X_test: np.ndarray) -> Prediction:
        predicted = {c: model.predict_interval(X_test) for c, model in models.items()}
        point = predicted[COVERAGES[-1]][0]
        intervals = {
            c: (ends[:, 0, 0], ends[:, 1, 0]) for c, (_, ends) in predicted.items()
        }
        return Prediction(point, intervals=intervals)

    return predict


OURS: dict[str, Predictor] = {
    "histreg": histogram(),
    "histreg, calibrated": histogram(calibrate=0.15),
}
PARTS: dict[str, Predictor] = {
    "networks alone": histogram(blend_with=()),
    "networks not sharpened": histogram(blend_with=(), final_sigma_in_bins=None),
    "networks, squared error": histogram(loss="l2"),
}
PEERS: dict[str, Predictor] = {
    "HistGradientBoosting": numbers(
        lambda seed: HistGradientBoostingRegressor(random_state=seed)
    ),
    "HistGradientBoosting, quantiles": boosting,
    "CatBoost": numbers(catboost_model),
    "CatBoost, quantiles": catboost,
    "NGBoost": ngboost,
    "quantile forest": quantile_forest,
    "HistGradientBoosting, crepes": crepes_boosting,
    "HistGradientBoosting, MAPIE": mapie_boosting,
    "MLPRegressor": numbers(scaled_mlp),
    "linear regression": numbers(lambda _: LinearRegression()),
}
METHODS = OURS | PARTS | PEERS


# ---- running


def commit() -> str:
    """Return the commit of the code, marked if there are changes."""
    try:
        result = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parent,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return result.stdout.strip()


def record(name: str, method: str, seed: int, data: Path) -> dict[str, Any]:
    """Run a method on a set and return its record."""
    X, y = DATA_SETS[name](data)
    learnt, tested = shapes.rows_of(len(y), seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # peers warn about convergence
        started = time.perf_counter()
        predict = METHODS[method](X[learnt], y[learnt], seed)
        fit_s = time.perf_counter() - started
        scores = predict(X[tested]).scores(y[tested])
    packages = ["histreg", "torch", "scikit-learn", "numpy"]
    return {
        "method": method,
        "fit_s": fit_s,
        **{key_of(score): value for score, value in scores.items()},
        "set": name,
        "seed": seed,
        "n_learnt": len(learnt),
        "n_tested": len(tested),
        "commit": commit(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
        "threads": 1,
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def key_of(score: str) -> str:
    """Return the name of a score in a record.

    >>> key_of("test MAE of the median"), key_of("test coverage 0.9")
    ('mae_of_median', 'coverage_90')
    """
    word, _, level = score.removeprefix("test ").partition(" 0.")
    name = word.lower().replace(" of the ", "_of_")
    return f"{name}_{100 * float('0.' + level):g}" if level else name


def main() -> None:
    """Run what is missing, or print the table of the results file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    sets = list(DATA_SETS)
    parser.add_argument("--sets", nargs="*", choices=DATA_SETS, default=sets)
    methods = list(METHODS)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=methods)
    parser.add_argument("--seeds", nargs="*", type=int, default=list(range(N_SEEDS)))
    parser.add_argument("--table", action="store_true", help="only print the table")
    arguments = parser.parse_args()
    done = []
    if arguments.out.exists():
        done = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    if arguments.table:
        print(table(done))
        return
    data = Path(os.environ.get("HISTREG_DATA", ""))
    have = {(r["set"], r["method"], r["seed"]) for r in done}
    wanted = [
        (name, method, seed)
        for seed in arguments.seeds
        for name in arguments.sets
        for method in arguments.methods
    ]
    missing = [run for run in wanted if run not in have]
    for i, run in enumerate(missing, start=1):
        result = record(*run, data)
        with arguments.out.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(
            f"{i}/{len(missing)} {run[0]:10s} {run[1]:32s} seed {run[2]}: "
            f"MAE {result['mae']:.5g}, CRPS {result.get('crps', np.nan):.5g}, "
            f"{result['fit_s']:.1f} s",
            flush=True,
        )


def table(records: list[dict[str, Any]]) -> str:
    """Return the means over seeds as Markdown, one table per set."""
    frame = pd.DataFrame(records)
    columns = {
        "mae": "MAE",
        "mae_of_median": "MAE of the median",
        "rmse": "RMSE",
        "crps": "CRPS",
        "coverage_50": "50 %",
        "coverage_80": "80 %",
        "coverage_90": "90 %",
        "coverage_95": "95 %",
        "width_90": "90 % width",
        "fit_s": "fit, s",
        "seed": "seeds",
    }
    parts = []
    for name, group in frame.groupby("set", sort=False):
        means = group.groupby("method", sort=False).mean(numeric_only=True)
        means["seed"] = group.groupby("method").size()
        lines = [
            f"### {name}, {int(group.n_learnt.iloc[0]):,} rows to learn from",
            "",
            "| method | " + " | ".join(columns.values()) + " |",
            "|---" * (len(columns) + 1) + "|",
        ]
        for method, mean in means.iterrows():
            cells = [shown(mean.get(column), column) for column in columns]
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def shown(value: float | None, column: str) -> str:
    """Return a number for the table, or a dash."""
    if value is None or np.isnan(value):
        return "-"
    if column.startswith("coverage"):
        return f"{value:.3f}"
    if column == "seed":
        return f"{value:.0f}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


if __name__ == "__main__":
    main()
