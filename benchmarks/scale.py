"""Tables larger than memory: rows a second and peak memory of fit and predict.

    python benchmarks/scale.py fit --rows 20000000 --folder build/scale
    python benchmarks/scale.py predict --rows 100000000 --folder build/scale

Makes Parquet files of ten columns in a folder, runs ``histreg fit`` for one epoch over
them, or ``histreg predict`` with the model of the last fit, and removes the files. The
command runs in a process of its own, of which time, processor time and peak memory are
printed. An epoch is a whole pass unless ``--epoch-rows`` is given; two fits that differ
in it alone tell the rate of training from the time of everything else.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

FILE_ROWS, GROUP_ROWS, N_COLUMNS = 1_000_000, 100_000, 10


def write_table(folder: Path, n_rows: int) -> None:
    """Write files of random columns, and a target of which a third is noise."""
    folder.mkdir(parents=True)
    for i, start in enumerate(range(0, n_rows, FILE_ROWS)):
        rng = np.random.default_rng(i)
        n = min(FILE_ROWS, n_rows - start)
        x = rng.normal(size=(n, N_COLUMNS))
        signal = x[:, 0] * x[:, 1] + np.abs(x[:, 2]) + np.sin(3 * x[:, 3])
        frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(N_COLUMNS)])
        frame["y"] = signal + (0.5 + 0.3 * np.abs(x[:, 4])) * rng.normal(size=n)
        frame.to_parquet(folder / f"{i:05}.parquet", row_group_size=GROUP_ROWS)


def measured(*arguments: str) -> tuple[float, float, float]:
    """Run a command; return its seconds, processor seconds and peak MiB."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "histreg", *arguments]
    subprocess.run(command, check=True)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    elapsed_s = time.perf_counter() - start
    return elapsed_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Make the table, measure the command, and remove the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["fit", "predict"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument("--epoch-rows", type=int, default=10**12)
    arguments, others = parser.parse_known_args()
    table, model = arguments.folder / "table", arguments.folder / "model"
    shutil.rmtree(table, ignore_errors=True)
    try:
        write_table(table, arguments.rows)
        n_bytes = sum(path.stat().st_size for path in table.iterdir())
        if arguments.command == "fit":
            command = ["fit", str(table), "--target", "y", "--out", str(model)]
            command += ["--epochs", "1", "--epoch-rows", str(arguments.epoch_rows)]
            command += ["--overwrite", "--no-compare", *others]
            title = f"fit, {min(arguments.rows, arguments.epoch_rows):,} rows an epoch"
        else:
            out = arguments.folder / "predictions"
            shutil.rmtree(out, ignore_errors=True)
            command = ["predict", str(model), str(table), "--out", str(out), *others]
            title = " ".join(["predict", *others])
        load = os.getloadavg()[0]
        elapsed_s, cpu_s, peak = measured(*command)
        print(
            f"{title}: {arguments.rows:,} rows, "
            f"{n_bytes / 2**20:,.0f} MiB in files; {elapsed_s:,.0f} s, "
            f"{cpu_s:,.0f} processor seconds, {peak:,.0f} MiB at most; "
            f"load {load:.1f} before"
        )
    finally:
        shutil.rmtree(table, ignore_errors=True)
        shutil.rmtree(arguments.folder / "predictions", ignore_errors=True)


if __name__ == "__main__":
    main()
