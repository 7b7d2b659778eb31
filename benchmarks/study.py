"""Throughput of the study's stacked trainer, Keras and bare matrix products.

    make bench-study

For each shape of network, the engines take turns, round after round. Both cores are
busy: an engine is two processes of one thread, which start to measure at the same time
and train until both have finished measuring. A number is the microseconds per optimiser
step of one network, at their combined throughput: 1 / (1 / t1 + 1 / t2). Keras is also
run as the paper's authors run it, as one process that chooses its number of threads.

* Keras ``fit`` trains one network per process, see ``benchmarks/study_keras.py``.
* histreg trains stacks with `histreg.study.tabular.trainer.train`. The time is measured
  from one call of ``on_epoch`` to the next, without the epochs after which errors are
  recorded. Stacks have the size that the study uses for the shape: one of histogram
  losses only, one of different methods; and one of 12 histogram losses, to show the
  effect of the size.
* Products are the matrix products of the same networks, forward and backward, into
  preallocated buffers: no activations, gradients of biases, losses or optimiser.

Times are medians over the rounds; a ratio is the median of the ratios in each round.
In brackets is the peak memory of a process, including its rows and all its networks.
The rows are random, as many as the data sets have for training (for Song, fewer), with
about as many distinct targets.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from histreg.study.engine.environment import environment
from histreg.study.methods import (
    L1,
    L2,
    MDN,
    Brier,
    HLGauss,
    HLOneBin,
    HLProjected,
    L1SoftmaxMean,
    L2Clipping,
    L2Noise,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
    NetworkMethod,
)
from histreg.study.tabular.runs import TabularRun, Training
from histreg.study.tabular.trainer import Examples, recorded_epochs, train
from study_keras import BATCH_SIZE, N_BINS, SHAPES, Shape, Stopwatch

HISTOGRAM_LOSSES: list[NetworkMethod] = [
    HLGauss(sigma_in_bins=i / 2, n_bins=N_BINS) for i in range(1, 13)
]
METHODS: list[NetworkMethod] = [
    HLGauss(),
    L2(),
    MDN(8),
    HLProjected(),
    L1(),
    HLOneBin(),
    L2Clipping(1.0),
    L2SoftmaxMean(),
    L2Noise(1e-3),
    Brier(),
    L1SoftmaxMean(),
    L2SoftmaxPerBin(),
]
STACKS = ("HL", "methods", "12 HL")


def stack_of(kind: str, name: str) -> list[NetworkMethod]:
    """Return the methods of a stack for a shape."""
    size = TabularRun.of(name, HLGauss(), 1).largest_stack
    stacks = {
        "HL": HISTOGRAM_LOSSES[:size],
        "methods": METHODS[:size],
        "12 HL": HISTOGRAM_LOSSES,
    }
    return stacks[kind]


Y_RANGE = (0.0, 100.0)
# Distances between neighbouring targets in the data sets, on that range; CT has none.
Y_STEPS = {"pole": 10.0, "bike": 0.1, "song": 100 / 89, "ct": 0.0}
# More than will ever be trained, so that errors are recorded after few of the epochs.
EPOCHS = 1_000_000_000

# The project's goals: Keras's time over ours, by shape, and that of the products.
BARS = {"pole": 20.0, "bike": 10.0, "song": 8.0, "ct": 3.0}
BAR_OF_PRODUCTS = 0.5
BAR_OF_MIXED = 0.6  # of stacks of different methods, on Pole and Song


# ---- what one process does: train or multiply until its standard input ends


def rows(name: str, *, seed: int = 0) -> Examples:
    """Return random rows: standard normal features, independent targets."""
    shape = SHAPES[name]
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape.n_rows, shape.n_inputs, generator=generator)
    low, high = Y_RANGE
    y = torch.rand(shape.n_rows, dtype=torch.float64, generator=generator)
    y = low + y * (high - low)
    if step := Y_STEPS[name]:
        y = (y / step).round() * step
    return Examples(x, y.clamp(low, high))


def train_stack(name: str, methods: list[NetworkMethod], stopwatch: Stopwatch) -> None:
    """Train as the study does."""
    shape = SHAPES[name]
    hidden = (shape.width,) * shape.n_layers
    recorded = set(recorded_epochs(EPOCHS))
    train(
        methods,
        rows(name),
        {},
        Training(hidden, shape.dropout, EPOCHS, 1e-3, BATCH_SIZE),
        value_range=Y_RANGE,
        seed=1,
        on_epoch=lambda epoch: stopwatch.lap(is_timed=epoch not in recorded),
    )


class Products:
    """The matrix products of a training step of M networks.

    They are those of `histreg.study.networks.perceptrons`, with its memory layout, on
    random numbers. Networks with the same number of outputs share a product.

    Parameters
    ----------
    shape : study_keras.Shape
    methods : sequence of M NetworkMethod
    n : int
        Examples of a batch.
    """

    def __init__(self, shape: Shape, methods: Sequence[NetworkMethod], n: int) -> None:
        m, width = len(methods), shape.width
        self.first = _Layer((shape.n_inputs, m * width))
        self.hidden = [_Layer((m, width, width)) for _ in range(shape.n_layers - 1)]
        sizes = Counter(method.n_outputs for method in methods)
        self.heads = [_Layer((each, width, o)) for o, each in sizes.items()]
        self.each = list(sizes.values())  # networks of each head
        self.outputs = [torch.empty(each, n, o) for o, each in sizes.items()]
        self.output_slopes = [torch.randn(each, n, o) for o, each in sizes.items()]
        self.wide = torch.empty(n, m * width)
        self.wide_slope = torch.randn(n, m * width)
        self.activations = [self.wide.view(n, m, width).transpose(0, 1)] + [
            torch.empty(m, n, width) for _ in self.hidden
        ]
        self.slopes = [torch.empty(m, n, width) for _ in self.activations]

    def step(self, x: Tensor) -> None:
        """Multiply forward and backward: (n, d) -> nothing."""
        torch.addmm(self.first.bias, x, self.first.weight, out=self.wide)
        for i, layer in enumerate(self.hidden):
            below, above = self.activations[i : i + 2]
            torch.baddbmm(layer.bias, below, layer.weight, out=above)
        tops = self.activations[-1].split(self.each)
        for top, layer, out in zip(tops, self.heads, self.outputs, strict=True):
            torch.baddbmm(layer.bias, top, layer.weight, out=out)

        tops_slopes = self.slopes[-1].split(self.each)
        for top, top_slope, layer, slope in zip(
            tops, tops_slopes, self.heads, self.output_slopes, strict=True
        ):
            torch.bmm(top.transpose(1, 2), slope, out=layer.gradient)
            torch.bmm(slope, layer.weight.transpose(1, 2), out=top_slope)
        for i in reversed(range(len(self.hidden))):
            layer = self.hidden[i]
            below, slope = self.activations[i], self.slopes[i + 1]
            torch.bmm(below.transpose(1, 2), slope, out=layer.gradient)
            torch.bmm(slope, layer.weight.transpose(1, 2), out=self.slopes[i])
        torch.mm(x.T, self.wide_slope, out=self.first.gradient)


class _Layer:
    """Weights (..., inputs, outputs) with variance 1 / inputs, and their gradient."""

    def __init__(self, size: tuple[int, ...]) -> None:
        self.weight = torch.randn(size) / size[-2] ** 0.5
        self.bias = torch.zeros(*size[:-2], 1, size[-1])
        self.gradient = torch.empty(size)


def multiply(name: str, methods: list[NetworkMethod], stopwatch: Stopwatch) -> None:
    """Compute the products of epoch after epoch."""
    shape = SHAPES[name]
    batches = rows(name).x.split(BATCH_SIZE)
    products = {n: Products(shape, methods, n) for n in map(len, batches[-2:])}
    while True:
        for x in batches:
            products[len(x)].step(x)
        stopwatch.lap()


WORK: dict[str, Callable[[str, list[NetworkMethod], Stopwatch], None]] = {
    "histreg": train_stack,
    "products": multiply,
}


def work(kind: str, stack: str, name: str, seconds: float) -> None:
    """Do the work of one process, and print the measurements as JSON."""
    torch.set_num_threads(1)
    methods = stack_of(stack, name)

    def show(measured: dict[str, Any]) -> None:
        n_steps = SHAPES[name].n_steps * len(methods)
        us_per_step = 1e6 * measured.pop("epoch_s") / n_steps
        print(
            json.dumps({"us_per_step": round(us_per_step, 2), **measured}), flush=True
        )

    with torch.no_grad():
        WORK[kind](name, methods, Stopwatch(seconds, show, together=True))
    raise RuntimeError("training must go on until it is stopped, but all diverged")


# ---- what starts the processes


@dataclass(frozen=True)
class Engine:
    """What is measured: a command, and how many processes of it."""

    name: str
    command: tuple[str, ...]
    n_processes: int


def engines(keras_python: str | None) -> list[Engine]:
    """Return the engines in the order in which they take turns."""
    here = Path(__file__).resolve()
    found = []
    if keras_python is not None:
        keras = (keras_python, str(here.with_name("study_keras.py")), "--together")
        found += [
            Engine("Keras, 2 x 1 thread", (*keras, "--threads=1"), 2),
            Engine("Keras, its threads", (*keras, "--threads=0"), 1),
        ]
    found += [
        Engine(
            f"{kind}, {stack}", (sys.executable, str(here), "--work", kind, stack), 2
        )
        for stack in STACKS
        for kind in WORK
    ]
    return found


def measure(engine: Engine, name: str, seconds: float) -> dict[str, Any]:
    """Return the measurements of an engine on a shape."""
    command = [*engine.command, "--shapes", name, "--seconds", str(seconds)]
    with tempfile.TemporaryFile("w+") as errors:
        processes = [
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},  # Keras's is an option
            )
            for _ in range(engine.n_processes)
        ]
        try:
            for each in processes:
                if each.stdout.readline() != "ready\n":
                    raise EOFError
            for each in processes:
                each.stdin.write("go\n")
                each.stdin.flush()
            found = [json.loads(each.stdout.readline()) for each in processes]
        except (EOFError, OSError, json.JSONDecodeError) as error:
            errors.seek(0)
            raise SystemExit(f"{engine.name} failed:\n{errors.read()}") from error
        finally:
            for each in processes:
                each.kill()
                each.communicate()
    together = 1 / sum(1 / each["us_per_step"] for each in found)
    return {"us_per_step": round(together, 2), "processes": found}


# ---- what is printed


Times = dict[tuple[str, str], list[dict[str, Any]]]
"""By shape and engine, the measurements of each round."""


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns but the first are numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(each)} |" for each in (header, rule, *lines))


def table_of_times(times: Times, names: list[str], contenders: list[Engine]) -> str:
    """Return microseconds per step of one network, and MB of a process."""

    def cell(name: str, engine: Engine) -> str:
        found = times[name, engine.name]
        time = statistics.median(each["us_per_step"] for each in found)
        sizes = [one["max_rss_mb"] for each in found for one in each["processes"]]
        known = [size for size in sizes if size is not None]
        return f"{time:,.0f}" + (f" ({max(known):,} MB)" if known else "")

    header = ["us per step", *(engine.name for engine in contenders)]
    lines = [
        [_title(name), *(cell(name, engine) for engine in contenders)] for name in names
    ]
    return markdown(header, lines)


def table_of_ratios(times: Times, names: list[str], contenders: list[Engine]) -> str:
    """Return the speed of our trainer relative to the others, and the goals."""
    peers = [each.name for each in contenders if each.name.startswith("Keras")]

    def ratio(name: str, other: str, ours: str) -> float:
        pairs = zip(times[name, other], times[name, ours], strict=True)
        return statistics.median(a["us_per_step"] / b["us_per_step"] for a, b in pairs)

    def verdict(value: float, bar: float) -> str:
        return f"{value:.{1 if bar > 1 else 2}f} {'met' if value >= bar else 'MISSED'}"

    header = [
        "times as fast as",
        "stack",
        *peers,
        "bar",
        "the products",
        "bar",
    ]
    lines = [
        [
            _title(name),
            f"{stack}, {len(stack_of(stack, name))}",
            *(
                verdict(ratio(name, peer, f"histreg, {stack}"), BARS[name])
                for peer in peers
            ),
            f"{BARS[name]:.0f}",
            verdict(
                ratio(name, f"products, {stack}", f"histreg, {stack}"), BAR_OF_PRODUCTS
            ),
            f"{BAR_OF_PRODUCTS}",
        ]
        for name in names
        for stack in STACKS
    ]
    return markdown(header, lines)


def _title(name: str) -> str:
    shape = SHAPES[name]
    return (
        f"{name} {shape.n_inputs}-{shape.width}x{shape.n_layers}-{N_BINS}"
        f"{f', dropout {shape.dropout}' if shape.dropout else ''}"
    )


def disturbances(times: Times) -> list[str]:
    """Return a line for each of our engines whose processes had less than a core."""
    shares = {
        key: min(one["n_cores_used"] for each in found for one in each["processes"])
        for key, found in times.items()
    }
    return [
        f"{name}, {engine}: a process had {share:.2f} of a core"
        for (name, engine), share in shares.items()
        # Keras waits for its own threads.
        if share < 0.95 and not engine.startswith("Keras")
    ]


def main() -> None:
    """Measure, and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES), help="comma-separated")
    parser.add_argument(
        "--seconds", type=float, default=6.0, help="at least, in whole epochs"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--keras-python", help="an interpreter that has Keras; it is left out otherwise"
    )
    parser.add_argument("--out", type=Path, help="JSON lines, to which are added")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = arguments.shapes.split(",")
    if unknown := set(names) - set(SHAPES):
        parser.error(f"--shapes must be among {', '.join(SHAPES)}, got {unknown}")
    if arguments.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {arguments.rounds}")
    if arguments.work is not None:
        work(*arguments.work, names[0], arguments.seconds)

    contenders = engines(arguments.keras_python)
    about = {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "seconds": arguments.seconds,
        "environment": environment(),
        "n_cpus": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
    }
    times: Times = {}
    for name in names:
        for round_ in range(1, arguments.rounds + 1):
            for engine in contenders:
                found = measure(engine, name, arguments.seconds)
                times.setdefault((name, engine.name), []).append(found)
                record = {"shape": name, "engine": engine.name, "round": round_}
                record |= found | about
                print(
                    f"{name}, round {round_}, {engine.name}: {found['us_per_step']} us",
                    file=sys.stderr,
                )
                if arguments.out is not None:
                    with arguments.out.open("a") as file:
                        file.write(json.dumps(record) + "\n")

    here = about["environment"]
    print(
        f"torch {here['torch']}, commit {here['commit']}, {about['n_cpus']} cores, "
        f"load before {about['load_before']}, batch {BATCH_SIZE}, "
        f"{arguments.rounds} rounds of {arguments.seconds:g} s\n"
    )
    print(table_of_times(times, names, contenders) + "\n")
    print(table_of_ratios(times, names, contenders))
    if found := disturbances(times):
        print("\nNot to be relied on:\n\n" + "\n".join(f"* {each}" for each in found))


if __name__ == "__main__":
    main()
