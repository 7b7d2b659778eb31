"""Speed of what the project has goals for, as ratios against them.

    make bench

Four parts: the distribution, the loss, predictions from a table
(``benchmarks/predict.py``), and the mixed stacks of the study's trainer
(``benchmarks/study.py``). Unless two cores are named, one thread runs and its processor
time is measured, which depends little on what else the machine does. What is compared
takes turns; a time is the least of all rounds. A
step of a loss is forward and backward to the logits, float32, and its unit is a step of
``F.cross_entropy`` with class indices. The unit of the distribution is a softmax over
the same logits; the Histogram is made anew each time, so that nothing is cached.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F

from histreg import Bins, Histogram, HistogramLoss
from histreg import _compiled as compiled
from predict import print_predictions
from study import BAR_OF_MIXED, engines, measure

BATCHES = 32, 256, 4096, 65536
N_BINS = 100, 256
ROWS = 100_000

# The project's goals: what takes at most how many units.
SMALL_BATCH_BAR, LARGE_BATCH_BAR = 2.0, 1.5  # the second from 4,096 on
DISTRIBUTION_BARS = {
    "mean": 2.0,
    "interval, central": 6.0,
    "nine quantiles": 6.0,
    "crps": 10.0,
    "interval, shortest": 25.0,
    "stddev": None,
    "mode": None,
    "entropy": None,
    "cdf": None,
    "log_prob": None,
    "sample, nine each": None,
}


def least_times(
    functions: Mapping[str, Callable[[], object]], seconds: float
) -> dict[str, float]:
    """Return the least processor time of each function, which take turns."""
    least = dict.fromkeys(functions, float("inf"))
    began, n_rounds = time.perf_counter(), 0
    while n_rounds < 5 or time.perf_counter() - began < seconds:
        for name, function in functions.items():
            start = time.thread_time()
            function()
            least[name] = min(least[name], time.thread_time() - start)
        n_rounds += 1
    return least


def verdict(ratio: float, bar: float | None) -> str:
    """Return the bar and whether it is met."""
    if bar is None:
        return ""
    return f"bar {bar:5.1f}   {'met' if ratio <= bar else 'MISSED'}"


def loss_step(
    loss: Callable[..., torch.Tensor], logits: torch.Tensor, y: torch.Tensor
) -> Callable[[], None]:
    """Return one step of a loss."""

    def step() -> None:
        logits.grad = None
        loss(logits, y).backward()

    return step


def without_numba(bins: Bins) -> HistogramLoss:
    """Return the loss as it is if Numba is not installed."""
    loss = HistogramLoss(bins)
    for part in loss._target_losses:
        part.__dict__["_compiled"] = None
    return loss


def print_loss(seconds: float) -> None:
    """Print one line per batch size and number of bins."""
    print(
        f"\n{'loss, on the fly':<24}{'cross-entropy':>14}{'without Numba':>15}", end=""
    )
    print(f"{'with Numba':>12}" if compiled.is_installed() else "   (no Numba)")
    for n_bins in N_BINS:
        for batch in BATCHES:
            bins = Bins.around(0.0, 100.0, n_bins=n_bins)
            y = torch.rand(batch) * 100
            logits = torch.randn(batch, n_bins, requires_grad=True)
            labels = bins.index_of(y)
            steps = {
                "unit": loss_step(F.cross_entropy, logits, labels),
                "without": loss_step(without_numba(bins), logits, y),
            }
            if compiled.is_installed():
                steps["with"] = loss_step(HistogramLoss(bins), logits, y)
            times = least_times(steps, seconds)
            unit = times.pop("unit")
            ratios = [value / unit for value in times.values()]
            bar = SMALL_BATCH_BAR if batch < 4096 else LARGE_BATCH_BAR
            print(
                f"{batch:>8} x {n_bins:<13}{unit * 1e3:>11.3f} ms{ratios[0]:>15.2f}"
                + "".join(f"{ratio:>12.2f}" for ratio in ratios[1:])
                + f"   {verdict(ratios[-1], bar)}",
                flush=True,
            )


def print_distribution(seconds: float) -> None:
    """Print one line per method."""
    bins = Bins.around(0.0, 1.0)
    logits = torch.randn(ROWS, bins.n_bins)
    y = torch.rand(ROWS)
    levels = [i / 10 for i in range(1, 10)]
    methods: dict[str, Callable[[Histogram], object]] = {
        "mean": lambda d: d.mean,
        "stddev": lambda d: d.stddev,
        "mode": lambda d: d.mode,
        "entropy": lambda d: d.entropy(),
        "nine quantiles": lambda d: d.quantiles(levels),
        "interval, central": lambda d: d.interval(0.9),
        "interval, shortest": lambda d: d.interval(0.9, "shortest"),
        "cdf": lambda d: d.cdf(y),
        "log_prob": lambda d: d.log_prob(y),
        "crps": lambda d: d.crps(y),
        "sample, nine each": lambda d: d.sample((9,)),
    }
    steps: dict[str, Callable[[], object]] = {
        name: lambda method=methods[name]: method(Histogram(bins, logits=logits))
        for name in DISTRIBUTION_BARS
    }
    steps["unit"] = lambda: logits.softmax(dim=-1)
    times = least_times(steps, seconds)
    unit = times.pop("unit")
    print(f"\n{ROWS} rows of {bins.n_bins} bins, in softmaxes of {unit * 1e3:.1f} ms")
    for name, bar in DISTRIBUTION_BARS.items():
        ratio = times[name] / unit
        print(f"{name:<24}{ratio:>14.1f}   {verdict(ratio, bar)}", flush=True)


def print_trainer(seconds: float) -> None:
    """Print the speed of mixed stacks beside that of their products."""
    print("\nthe study's trainer, two processes, us per step of one network")
    print(f"{'mixed stack':<24}{'products':>12}{'histreg':>12}")
    contenders = {e.name: e for e in engines(None)}
    names = "products, methods", "histreg, methods"
    for shape in ("pole", "song"):
        rounds = [
            [measure(contenders[name], shape, seconds)["us_per_step"] for name in names]
            for _ in range(2)
        ]
        bare, own = (min(times) for times in zip(*rounds, strict=True))
        ratio = max(bare / own for bare, own in rounds)
        print(
            f"{shape:<24}{bare:>12.0f}{own:>12.0f}   {ratio:.2f} of the products' speed"
            f"   bar {BAR_OF_MIXED:.2f}   "
            f"{'met' if ratio >= BAR_OF_MIXED else 'MISSED'}",
            flush=True,
        )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="per line of losses")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.simplefilter("error")
    print(f"torch {torch.__version__}, load before {os.getloadavg()[0]:.1f}")
    # First the distribution: a softmax pays for new pages as it does in a new process,
    # and not once the allocator has large arrays to use again.
    print_distribution(8 * arguments.seconds)
    print_loss(arguments.seconds)
    print_predictions(200_000)
    print_trainer(2 * arguments.seconds)


if __name__ == "__main__":
    main()
