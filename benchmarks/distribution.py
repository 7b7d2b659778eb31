"""Time of the Histogram's methods on 100,000 rows of 100 bins.

    .venv/bin/python benchmarks/distribution.py

Prints seconds, and their ratio to the time of one softmax over the same logits in the
same run, which depends less on the machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from histreg import Bins, Histogram


def seconds(function: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print one line per method; a new Histogram each time, so nothing is cached."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)

    bins = Bins.around(0.0, 1.0)
    logits = torch.randn(arguments.rows, bins.n_bins)
    y = torch.rand(arguments.rows)
    levels = torch.linspace(0.1, 0.9, 9).unsqueeze(-1)
    methods: dict[str, Callable[[Histogram], object]] = {
        "mean": lambda d: d.mean,
        "stddev": lambda d: d.stddev,
        "icdf, 9 levels": lambda d: d.icdf(levels),
        "interval, central": lambda d: d.interval(0.9),
        "interval, shortest": lambda d: d.interval(0.9, "shortest"),
        "cdf": lambda d: d.cdf(y),
        "log_prob": lambda d: d.log_prob(y),
        "crps": lambda d: d.crps(y),
        "sample, 9 each": lambda d: d.sample((9,)),
    }
    unit = seconds(lambda: logits.softmax(dim=-1))
    print(f"{arguments.rows} rows of {bins.n_bins} bins, {arguments.threads} threads")
    print(f"{'softmax alone':<20}{unit:8.3f} s")
    for name, method in methods.items():
        taken = seconds(lambda m=method: m(Histogram(bins, logits=logits)))
        print(f"{name:<20}{taken:8.3f} s{taken / unit:8.1f} softmaxes")


if __name__ == "__main__":
    main()
