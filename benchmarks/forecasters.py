"""Time of a training step of the study's forecasters, HL-Gauss compared with l2.

    .venv/bin/python benchmarks/forecasters.py

One step is a training step of the study with 32 windows of a synthetic series: 96 time
steps of 7 channels as input, 96 steps of forecast, forward, backward and AdamW, in
float32 with one thread. The body is the same; the head has 96 outputs for l2 and
96 x 100 logits for HL-Gauss. The two take turns in random order; the ratio is the
median over rounds of the time of HL-Gauss divided by that of l2 in the same round.
Times are processor times, so waiting for a busy core does not count.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

import torch
from torch import Tensor

from histreg.study.catalogue import FORECAST_HL
from histreg.study.methods import L2
from histreg.study.series.execution import ForecastTraining
from histreg.study.series.forecasters import BODIES
from histreg.study.series.runs import ForecastRun
from histreg.study.series.windows import Windows

METHODS = {"l2": L2(), "HL-Gauss": FORECAST_HL}
BAR = 1.15  # the project's goal for recurrent bodies
BOUND_BY_IT = ("LSTM", "GRU")
N_CHANNELS, N_MOMENTS, N_WARMUP = 7, 2000, 3


def made_up() -> Windows:
    """Return windows of noisy waves; the last channel is forecast."""
    moments = torch.arange(N_MOMENTS).unsqueeze(-1)
    noise = torch.randn(N_MOMENTS, N_CHANNELS)
    values = (moments / torch.arange(2, 2 + N_CHANNELS)).sin() + 0.3 * noise
    return Windows(values, values[:, -1].clone(), n_inputs=96, n_steps=96)


def seconds(training: ForecastTraining, index: Tensor) -> float:
    """Return the time of one step."""
    start = time.process_time()
    training.step(index)
    return time.process_time() - start


def times_of(
    trainings: dict[str, ForecastTraining], batches: list[Tensor]
) -> dict[str, list[float]]:
    """Return the times of each training, batch by batch."""
    times: dict[str, list[float]] = {name: [] for name in trainings}
    order = list(trainings)
    for index in batches:
        random.shuffle(order)
        for name in order:
            times[name].append(seconds(trainings[name], index))
    return times


def main() -> None:
    """Print one line per body."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="per body")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)

    windows = made_up()
    print(f"torch {torch.__version__}, 1 thread, ratios in one run")
    print(f"{'body':<12}{'rounds':>7}{'l2':>12}{'HL-Gauss':>12}{'ratio':>7}", end="")
    print(f"{'quartiles':>14}")
    for body in BODIES:
        trainings = {
            name: ForecastTraining(
                ForecastRun("made up", body, method, seed=1), {"train": windows}, None
            )
            for name, method in METHODS.items()
        }
        batch_size = trainings["l2"].run.batch_size
        batches = [torch.randint(len(windows), (batch_size,)) for _ in range(1000)]
        warm_up = times_of(trainings, batches[:N_WARMUP])
        once = sum(times[-1] for times in warm_up.values())
        n_rounds = max(9, min(len(batches), int(arguments.seconds / once)))
        times = times_of(trainings, batches[:n_rounds])
        ratios = [a / b for a, b in zip(times["HL-Gauss"], times["l2"], strict=True)]
        lower, ratio, upper = statistics.quantiles(ratios, n=4)
        milliseconds = [statistics.median(values) * 1e3 for values in times.values()]
        verdict = ""
        if body in BOUND_BY_IT:
            verdict = f"   bar {BAR:.2f}   {'met' if ratio <= BAR else 'MISSED'}"
        print(
            f"{body:<12}{n_rounds:>7}",
            *(f"{value:>9.2f} ms" for value in milliseconds),
            f"{ratio:>6.2f}{lower:>8.2f}-{upper:.2f}{verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main()
