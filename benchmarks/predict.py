"""Time and memory to predict a million rows.

    python benchmarks/predict.py [--rows 1000000] [--columns 20]

The network has the default architecture; it is trained for two epochs only, which does
not affect the time.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import torch

from histreg import HistogramRegressor


def peak_mb() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Time each kind of prediction, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(arguments.rows, arguments.columns))
    y = X[:, 0] + rng.normal(size=arguments.rows)
    model = HistogramRegressor(max_iter=2, random_state=0).fit(X[:2000], y[:2000])
    model.calibrate(X[:2000], y[:2000])
    start_mb = peak_mb()
    print(
        f"{arguments.rows:,} rows x {arguments.columns} columns "
        f"({X.nbytes / 2**20:,.0f} MB), {torch.get_num_threads()} threads"
    )
    predictions = {
        "mean": lambda: model.predict(X),
        "90 % interval, calibrated": lambda: model.predict_interval(X),
        "nine quantiles": lambda: model.predict_quantiles(X),
        "P(y > 0)": lambda: model.predict_proba_above(X, 0.0),
    }
    for name, predict in predictions.items():
        started = time.perf_counter()
        predict()
        elapsed = time.perf_counter() - started
        print(f"{name:28s}{elapsed:6.1f} s, {peak_mb() - start_mb:6,.0f} MB more")


if __name__ == "__main__":
    main()
