"""Time and memory of the HL-Gauss loss, as ratios to F.cross_entropy in one run.

    make bench-loss       (installs the PyPI package hl-gauss-pytorch to compare with)

One step is forward and backward to the logits, float32. The losses take turns in random
order; a ratio is the median over rounds of the time of a loss divided by the time of
``F.cross_entropy`` with class indices in the same round. Memory is the peak of what a
step allocates beyond its inputs, divided likewise.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from histreg import Bins, HistogramLoss, losses, targets

Step = Callable[[Tensor], Tensor]

# The project's goals, for batches of at least 4,096.
BARS = {
    "time, on the fly / cross-entropy": 2.0,
    "time, precomputed / cross-entropy": 1.25,
    "time, on the fly / hl-gauss-pytorch": 0.5,
    "memory, on the fly / hl-gauss-pytorch": 2 / 3,
}


def losses_to_compare(bins: Bins, y: Tensor, *, alone: bool) -> dict[str, Step]:
    """Return the losses to compare, each a function of the logits."""
    loss = HistogramLoss(bins)
    labels = bins.index_of(y)
    target_probs = targets.gaussian(y, bins, sigma=2 * bins.width)
    steps: dict[str, Step] = {
        "cross-entropy": lambda logits: F.cross_entropy(logits, labels),
        "on the fly": lambda logits: loss(logits, y),
        "precomputed": lambda logits: losses.histogram_loss(
            logits, target_probs
        ).mean(),
        "precomputed, autograd": lambda logits: (
            -(target_probs * logits.log_softmax(-1)).sum(-1).mean()
        ),
    }
    if alone:
        return steps
    try:
        from hl_gauss_pytorch import HLGaussLoss
    except ImportError:
        return steps
    other = HLGaussLoss(bins.low, bins.high, bins.n_bins, sigma=2 * bins.width)
    return {**steps, "hl-gauss-pytorch": lambda logits: other(logits, y)}


def seconds(steps: dict[str, Step], logits: Tensor, rounds: int) -> dict[str, list]:
    """Return the times of each loss, round by round."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    order = list(steps)
    for _ in range(rounds + 3):
        random.shuffle(order)
        for name in order:
            logits.grad = None
            start = time.perf_counter()
            steps[name](logits).backward()
            times[name].append(time.perf_counter() - start)
    return {name: values[3:] for name, values in times.items()}  # without the warm-up


def peak_bytes(step: Step, logits: Tensor) -> int:
    """Return the peak number of bytes that one step allocates."""
    logits.grad = None
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step(logits).backward()
    held = peak = 0
    events = profiler.profiler.kineto_results.events()
    for event in sorted(events, key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak


def check_agreement(steps: dict[str, Step], logits: Tensor) -> None:
    """Stop if the losses differ."""
    values = {name: steps[name](logits).item() for name in steps}
    reference = values["precomputed"]
    for name, value in values.items():
        if name != "cross-entropy" and abs(value - reference) > 1e-4 * reference:
            raise SystemExit(f"{name} gives {value}, precomputed gives {reference}")


def main() -> None:
    """Print one line per size, then compare with the goals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=6.0, help="per size")
    parser.add_argument(
        "--alone",
        action="store_true",
        help="leave out hl-gauss-pytorch, whose large arrays change how the "
        "allocator serves the other losses",
    )
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    random.seed(0)
    warnings.simplefilter("error")

    print(f"torch {torch.__version__}, {arguments.threads} threads, ratios in one run")
    header = f"{'batch':>6} {'bins':>5} {'cross-entropy':>14}"
    worst: dict[str, float] = {}
    for n_bins in (100, 256):
        for batch in (256, 4096, 65536):
            bins = Bins.around(0.0, 100.0, n_bins=n_bins)
            y = torch.rand(batch) * 100
            logits = torch.randn(batch, n_bins, requires_grad=True)
            steps = losses_to_compare(bins, y, alone=arguments.alone)
            check_agreement(steps, logits)
            once = sum(sum(t) for t in seconds(steps, logits, 2).values()) / 2
            rounds = max(9, min(1000, int(arguments.seconds / once)))
            times = seconds(steps, logits, rounds)
            memory = {name: peak_bytes(step, logits) for name, step in steps.items()}

            def ratio(name: str, to: str, times: dict = times) -> float:
                pairs = zip(times[name], times[to], strict=True)
                return statistics.median(a / b for a, b in pairs)

            others = [name for name in steps if name != "cross-entropy"]
            if header:
                columns = [f"{name} (mem)" for name in others]
                print(header, "  ".join(f"{column:>27}" for column in columns))
                header = ""
            base = statistics.median(times["cross-entropy"]) * 1e3
            cells = [
                f"{ratio(name, 'cross-entropy'):20.2f} "
                f"({memory[name] / memory['cross-entropy']:4.2f})"
                for name in others
            ]
            print(
                f"{batch:>6} {n_bins:>5} {base:>11.2f} ms", "  ".join(cells), flush=True
            )
            if batch < 4096:
                continue
            for bar in BARS:
                kind, names = bar.split(", ")
                name, to = names.split(" / ")
                if to not in steps:
                    continue
                value = ratio(name, to) if kind == "time" else memory[name] / memory[to]
                worst[bar] = max(worst.get(bar, 0.0), value)

    print("\nworst over batches of 4,096 and more:")
    for bar, value in worst.items():
        verdict = "met" if value <= BARS[bar] else "MISSED"
        print(f"  {bar:<40}{value:6.2f}   bar {BARS[bar]:.2f}   {verdict}")


if __name__ == "__main__":
    main()
