"""How the time and the error of a fit change with the number of rows of a table.

A made table of ten columns, whose noise depends on one of them, is drawn with 1,000 to
1,000,000 rows to learn from. All methods have their defaults and one thread, and are
tested on the same 20,000 further rows. Times are those of the processor. Each run is a
line of the results file; runs that are in the file are skipped, so the benchmark can
be stopped and restarted.

    python benchmarks/rows.py --out results/rows.jsonl
    python benchmarks/rows.py --out results/rows.jsonl --table

Peers: catboost, lightgbm, installed for the benchmark only.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from histreg.study.engine.environment import environment
from histreg.study.shapes.predictors import installed
from histreg.study.tables.metrics import CRPS
from histreg.study.tables.peers import OURS, PEERS

SIZES = (1_000, 10_000, 100_000, 1_000_000)
METHODS = (OURS, "CatBoost", "LightGBM", "HistGradientBoosting")
N_TEST = 20_000


def table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return ten columns, of which seven matter, and a target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    signal = X[:, 0] + np.sin(3 * X[:, 1]) * X[:, 2] + 0.3 * X[:, 3] ** 2
    signal += 0.5 * np.abs(X[:, 4]) * X[:, 5]
    noise = 0.3 * np.exp(0.5 * X[:, 6]) * rng.normal(size=n)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(10)]), signal + noise


def record(method: str, n: int) -> dict[str, Any]:
    """Fit a method to n rows and return its errors and times."""
    peer = PEERS[method]
    installed(peer.package)  # before any time is measured
    X, y = table(n, seed=1)
    X_test, y_test = table(N_TEST, seed=2)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # of others about their own dependencies
        started, started_wall = time.process_time(), time.perf_counter()
        predict = peer.fit(X, y, 0)
        fit_s = time.process_time() - started
        fit_wall_s = time.perf_counter() - started_wall
        predicted = predict(X_test)
    scores = {} if peer.n_residual_folds else predicted.scores(y_test)
    errors = (predicted if peer.n_residual_folds else predicted.point) - y_test
    return {
        "method": method,
        "rows": n,
        "mae": float(np.abs(errors).mean()),
        "rmse": float(np.sqrt(np.square(errors).mean())),
        "crps": scores.get(CRPS),
        "coverage_90": scores.get("test coverage 0.9"),
        "fit_s": fit_s,
        "fit_wall_s": fit_wall_s,
        "environment": environment(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def printed(records: list[dict[str, Any]]) -> str:
    """Return the records as Markdown: a line for each method and number of rows."""
    lines = [
        "| method | rows | fit, s | s per 1,000 rows | MAE | RMSE | CRPS | 90 % hold |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for r in sorted(records, key=lambda r: (METHODS.index(r["method"]), r["rows"])):
        has_crps = r["crps"] is not None
        cells = [
            r["method"],
            f"{r['rows']:,}",
            f"{r['fit_s']:.3g}",
            f"{1000 * r['fit_s'] / r['rows']:.2g}",
            f"{r['mae']:.4f}",
            f"{r['rmse']:.4f}",
            f"{r['crps']:.4f}" if has_crps else "",
            f"{r['coverage_90']:.3f}" if has_crps else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, or print the table of the results file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--table", action="store_true", help="only print the table")
    arguments = parser.parse_args()
    done = []
    if arguments.out.exists():
        done = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    if arguments.table:
        print(printed(done))
        return
    have = {(r["method"], r["rows"]) for r in done}
    wanted = [(method, n) for n in arguments.rows for method in arguments.methods]
    missing = [run for run in wanted if run not in have]
    for i, run in enumerate(missing, start=1):
        result = record(*run)
        with arguments.out.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(
            f"{i}/{len(missing)} {run[0]}, {run[1]:,} rows: MAE {result['mae']:.4f}, "
            f"{result['fit_s']:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
