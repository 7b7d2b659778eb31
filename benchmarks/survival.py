"""HistogramRegressor on censored targets, compared with survival analysis.

Public sets that come with lifelines and scikit-survival. For each of five seeds, 70 %
of the rows, drawn at random, are used for training and the others for testing; every
method sees the same rows. Peers use their defaults: where they need it, missing values
are replaced by the median, labels by 0/1 columns, numbers are standardised, and a small
penalty (0.01) makes the fit converge. Predicted curves are evaluated at 500 times.

Scores on test rows, up to a horizon (the time that a fifth of the set exceeds, at most
0.95 of the longest): Harrell's C of the predicted mean, or of the method's own ranking;
`histreg.metrics.censored_crps`, in units of time; and the integrated Brier score of
scikit-survival, which is the same up to its grid and the length of time it divides by.
Each run is a line of the results file; runs that are in the file are skipped.

    python benchmarks/survival.py --out results/survival.jsonl
    python benchmarks/survival.py --out results/survival.jsonl --table
    python benchmarks/survival.py --check    # metrics and references against peers

lifelines and scikit-survival are for the benchmark only: they need an older pandas than
our tests.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from histreg import Bins, Histogram, HistogramRegressor, metrics

N_SEEDS, TEST_SHARE, N_TIMES = 5, 0.3, 500


class Lives(NamedTuple):
    """Rows, how long each was seen, and whether it was seen no longer."""

    X: pd.DataFrame
    y: np.ndarray
    censored: np.ndarray

    def at(self, rows: np.ndarray) -> Lives:
        """Return these rows."""
        return Lives(self.X.iloc[rows], self.y[rows], self.censored[rows])


class Prediction(NamedTuple):
    """Curves P(y > t), and the order in which a method expects the ends."""

    survival: np.ndarray  # (n, t), at the times asked for
    ranks: np.ndarray  # (n,), greater for longer


# ---- data sets


def _of_sksurv(name: str, left_out: tuple[str, ...] = ()) -> Lives:
    from sksurv import datasets

    X, y = getattr(datasets, f"load_{name}")()
    event, duration = y.dtype.names
    X = X.drop(columns=list(left_out))
    return Lives(X, y[duration].astype(float), ~y[event])


def _rossi() -> Lives:
    from lifelines.datasets import load_rossi

    X = load_rossi()
    y, arrested = X.pop("week"), X.pop("arrest")
    return Lives(X.astype(float), y.to_numpy(float), arrested.to_numpy() == 0)


DATA_SETS: dict[str, Callable[[], Lives]] = {
    "gbsg2": lambda: _of_sksurv("gbsg2"),  # breast cancer, days to recurrence
    "whas500": lambda: _of_sksurv("whas500"),  # heart attack, days to death
    "veterans": lambda: _of_sksurv("veterans_lung_cancer"),  # days to death
    "rossi": _rossi,  # released convicts, weeks to arrest
    "aids": lambda: _of_sksurv("aids"),  # days to AIDS or death
    # Days to death of older people; the chapter is the cause of death.
    "flchain": lambda: _of_sksurv("flchain", ("chapter",)),
}


# ---- methods: learn from rows, predict curves at these times for others

ONE_NETWORK: dict[str, Any] = {
    "hidden_layer_sizes": (256, 256, 256),
    "n_estimators": 1,
    "learning_rate_init": 1e-3,
}


def histogram(
    treat: Callable[[Lives], tuple[Lives, np.ndarray | None]], **options: Any
) -> Callable[..., Prediction]:
    """Return our method, on the rows and flags that a treatment makes of the lives."""

    def run(learnt: Lives, X: pd.DataFrame, times: np.ndarray, seed: int) -> Prediction:
        lives, flags = treat(learnt)
        model = HistogramRegressor(random_state=seed, **ONE_NETWORK | options)
        model.fit(lives.X, lives.y, censored=flags)
        d = model.predict_dist(X)
        survival = d.prob(torch.tensor(times).unsqueeze(-1), np.inf).T
        return Prediction(survival.numpy(), model.predict(X))

    return run


def kaplan_meier(
    learnt: Lives, X: pd.DataFrame, times: np.ndarray, _: int
) -> Prediction:
    """Return one curve for all rows."""
    from lifelines import KaplanMeierFitter

    curve = KaplanMeierFitter().fit(learnt.y, ~learnt.censored)
    at = curve.survival_function_at_times(times).to_numpy()
    return Prediction(np.tile(at, (len(X), 1)), np.zeros(len(X)))


def regression(name: str) -> Callable[..., Prediction]:
    """Return a regression of lifelines."""

    def run(learnt: Lives, X: pd.DataFrame, times: np.ndarray, _: int) -> Prediction:
        import lifelines

        table = _columns(learnt.X)
        frame = pd.DataFrame(table.transform(learnt.X))
        frame.columns = [f"x{i}" for i in range(frame.shape[1])]
        new = pd.DataFrame(table.transform(X), columns=frame.columns)
        # A day for those who were seen for less: a time must be positive.
        frame["y"] = learnt.y.clip(min=1)
        frame["seen"] = ~learnt.censored
        model = getattr(lifelines, name)(penalizer=0.01)
        model.fit(frame, "y", event_col="seen")
        survival = model.predict_survival_function(new, times=times).to_numpy().T
        if hasattr(model, "predict_partial_hazard"):
            return Prediction(survival, -model.predict_partial_hazard(new).to_numpy())
        return Prediction(survival, model.predict_median(new).to_numpy())

    return run


def forest(learnt: Lives, X: pd.DataFrame, times: np.ndarray, seed: int) -> Prediction:
    """Return a random survival forest with the options it comes with."""
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    table = _columns(learnt.X)
    model = RandomSurvivalForest(random_state=seed)
    model.fit(table.transform(learnt.X), Surv.from_arrays(~learnt.censored, learnt.y))
    new = table.transform(X)
    curves = model.predict_survival_function(new, return_array=True)
    place = np.searchsorted(model.unique_times_, times, side="right")
    survival = np.pad(curves, ((0, 0), (1, 0)), constant_values=1.0)[:, place]
    return Prediction(survival, -model.predict(new))


def _columns(X: pd.DataFrame) -> Any:
    numbers = make_column_selector(dtype_include="number")
    labels = make_column_selector(dtype_include=["category", "object"])
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    coded = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    return make_column_transformer((scaled, numbers), (coded, labels)).fit(X)


def _marked(lives: Lives) -> tuple[Lives, np.ndarray]:
    return lives, lives.censored


def _as_events(lives: Lives) -> tuple[Lives, None]:
    return lives, None


def _dropped(lives: Lives) -> tuple[Lives, None]:
    return lives.at(np.flatnonzero(~lives.censored)), None


METHODS: dict[str, Callable[..., Prediction]] = {
    "histreg, censored=": histogram(_marked),
    "histreg x 4, censored=": histogram(_marked, n_estimators=4),
    "histreg, bounds taken for events": histogram(_as_events),
    "histreg, censored rows left out": histogram(_dropped),
    "Cox": regression("CoxPHFitter"),
    "Weibull AFT": regression("WeibullAFTFitter"),
    "random survival forest": forest,
    "Kaplan-Meier": kaplan_meier,
}


# A forest stores a curve for each leaf: about ten gigabytes.
LEFT_OUT = {("flchain", "random survival forest")}


# ---- running


def horizon_of(lives: Lives) -> float:
    """Return the time up to which predictions are scored."""
    return float(min(np.quantile(lives.y, 0.8), 0.95 * lives.y.max()))


def scores(predicted: Prediction, times: np.ndarray, tested: Lives) -> dict[str, float]:
    """Return all scores of a prediction at these times, the last the horizon."""
    from sksurv.metrics import integrated_brier_score
    from sksurv.util import Surv

    # The curve starts at 0 and is linear between the times. What lies beyond the last
    # time is in one additional bin, which is not scored.
    survival = np.minimum.accumulate(predicted.survival.clip(0, 1), axis=1)
    borders = [0.0, *times, 2 * times[-1]]
    curve = np.pad(survival, ((0, 0), (1, 0)), constant_values=1.0)
    curve = np.pad(curve, ((0, 0), (0, 1)))
    d = Histogram(Bins(borders), probs=torch.tensor(-np.diff(curve, axis=1)))
    crps = metrics.censored_crps(d, tested.y, tested.censored, horizon=times[-1])
    inside = (times >= tested.y.min()) & (times < tested.y.max())
    outcome = Surv.from_arrays(~tested.censored, tested.y)
    ibs = integrated_brier_score(outcome, outcome, survival[:, inside], times[inside])
    return {
        "concordance": metrics.concordance(predicted.ranks, tested.y, tested.censored),
        "crps": crps.mean().item(),
        "ibs": float(ibs),
    }


def record(name: str, method: str, seed: int) -> dict[str, Any]:
    """Run a method on a set and return its record."""
    lives = DATA_SETS[name]()
    order = np.random.default_rng(seed).permutation(len(lives.y))
    n_tested = round(TEST_SHARE * len(order))
    learnt, tested = lives.at(order[n_tested:]), lives.at(order[:n_tested])
    horizon = horizon_of(lives)
    times = np.linspace(0, horizon, N_TIMES + 1)[1:]
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn about convergence
        predicted = METHODS[method](learnt, tested.X, times, seed)
        elapsed_s = time.perf_counter() - started
        values = scores(predicted, times, tested)
    packages = "histreg torch scikit-learn lifelines scikit-survival pandas numpy"
    return {
        "set": name,
        "method": method,
        "seed": seed,
        **values,
        "elapsed_s": elapsed_s,
        "horizon": horizon,
        "n_learnt": len(learnt.y),
        "n_tested": len(tested.y),
        "n_columns": lives.X.shape[1],
        "censored_share": float(lives.censored.mean()),
        "commit": commit(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages.split()},
        "threads": torch.get_num_threads(),
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


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


def table(records: list[dict[str, Any]]) -> str:
    """Return means and standard errors over seeds as Markdown, one table per set."""
    frame = pd.DataFrame(records)
    digits = {"concordance": 3, "ibs": 4}
    parts = []
    for name, group in frame.groupby("set", sort=False):
        first = group.iloc[0]
        lines = [
            f"### {name}: {first.n_learnt:,} rows to learn from, {first.n_columns} "
            f"columns, {100 * first.censored_share:.0f} % censored, horizon "
            f"{first.horizon:,.0f}",
            "",
            "| method | concordance | integrated Brier score | CRPS | seeds |",
            "|---|---:|---:|---:|---:|",
        ]
        for method in METHODS:
            runs = group[group.method == method]
            if len(runs) == 0:
                continue
            cells = [
                _mean_and_error(runs[column], digits.get(column))
                for column in ("concordance", "ibs", "crps")
            ]
            lines.append(f"| {method} | {' | '.join(cells)} | {len(runs)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _mean_and_error(values: pd.Series, digits: int | None) -> str:
    mean = values.mean()
    if digits is None:
        digits = max(0, 3 - int(np.floor(np.log10(abs(mean)))))
    if len(values) == 1:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {values.sem():.{digits}f}"


def check() -> None:
    """Compare our metrics, and the references of our tests, with those of peers."""
    import sys

    from lifelines import KaplanMeierFitter
    from lifelines.utils import concordance_index
    from sksurv.metrics import integrated_brier_score
    from sksurv.nonparametric import kaplan_meier_estimator
    from sksurv.util import Surv

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests import references

    rng = np.random.default_rng(0)
    worst = dict.fromkeys(["concordance", "Kaplan-Meier", "integrated Brier"], 0.0)

    def note(name: str, ours: Any, theirs: Any) -> None:
        worst[name] = max(worst[name], float(np.abs(np.subtract(ours, theirs)).max()))

    for trial in range(40):
        life, limit = 5 * rng.weibull(1.5, size=200), rng.uniform(0, 9, size=200)
        y, censored = np.minimum(life, limit), limit < life
        if trial % 2:  # ties
            y = np.ceil(y)
        predicted = np.round(y + 4 * rng.normal(size=200), trial % 3)
        theirs = concordance_index(y, predicted, ~censored)
        note("concordance", metrics.concordance(predicted, y, censored), theirs)
        note("concordance", references.concordance(predicted, y, censored), theirs)
        times, theirs = kaplan_meier_estimator(~censored, y)
        note("Kaplan-Meier", references.kaplan_meier(y, censored, times), theirs)
        theirs = KaplanMeierFitter().fit(y, ~censored).predict(times).to_numpy()
        note("Kaplan-Meier", references.kaplan_meier(y, censored, times), theirs)
        if trial % 2:  # with ties, scikit-survival weights events differently
            continue
        logits = torch.tensor(rng.normal(size=(200, 20)))
        d = Histogram(Bins.uniform(y.min(), 12.0, 20), logits=logits)
        grid = np.linspace(y.min(), 7.0, 5001)
        survival = d.prob(torch.tensor(grid).unsqueeze(-1), np.inf).T.numpy()
        outcome = Surv.from_arrays(~censored, y)
        theirs = integrated_brier_score(outcome, outcome, survival, grid)
        ours = metrics.censored_crps(d, y, censored, horizon=7.0).mean().item()
        note("integrated Brier", ours / (grid[-1] - grid[0]), theirs)
    for name, difference in worst.items():
        print(f"{name}: largest difference {difference:.1e}")


def main() -> None:
    """Run what is missing, or print the table of the results file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sets", nargs="*", default=list(DATA_SETS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--seeds", nargs="*", type=int, default=list(range(N_SEEDS)))
    parser.add_argument("--table", action="store_true", help="only print the table")
    parser.add_argument("--check", action="store_true", help="only compare metrics")
    arguments = parser.parse_args()
    if arguments.check:
        check()
        return
    if arguments.out is None:
        parser.error("--out is needed")
    done = []
    if arguments.out.exists():
        done = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    if arguments.table:
        print(table(done))
        return
    have = {(r["set"], r["method"], r["seed"]) for r in done}
    wanted = [
        (name, method, seed)
        for name in arguments.sets
        for seed in arguments.seeds
        for method in arguments.methods
        if (name, method) not in LEFT_OUT
    ]
    missing = [run for run in wanted if run not in have]
    for i, run in enumerate(missing, start=1):
        result = record(*run)
        with arguments.out.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(
            f"{i}/{len(missing)} {run[0]:10s} {run[1]:32s} seed {run[2]}: "
            f"C {result['concordance']:.3f}, IBS {result['ibs']:.4f}, "
            f"{result['elapsed_s']:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
