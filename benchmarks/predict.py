"""Prediction from a table: rows a second, one row at a time, memory.

    python benchmarks/predict.py [--rows 200000]

A default `HistogramRegressor` is fitted to a made table of 20 columns. Its predictions
are timed by processor time, which depends less on what else the machine does than a
wall clock: with one thread, and with two threads, whose time together is halved. The
goal is judged by the second, so it is met only where both cores are free; the wall
clock is shown beside it. Products are the matrix products of the same networks alone:
no prediction can be faster.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from histreg import HistogramRegressor
from histreg.tabular.model import AT_ONCE, Model

N_COLUMNS, N_TRAINING = 20, 2_000
LEVELS = [i / 10 for i in range(1, 10)]

# The project's goals, on two cores: rows a second, and microseconds for one row.
BARS = {"mean": 500_000, "nine quantiles": 300_000}
ONE_ROW_BAR, ONNX_BAR = 1_000.0, 100.0


def peak_mb() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns (n, 20) and a target that four of them determine, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_COLUMNS))
    y = X[:, 0] + np.sin(3 * X[:, 1]) * X[:, 2] + 0.3 * X[:, 3] ** 2
    return X, y + 0.3 * rng.normal(size=n)


def described(model: Model) -> str:
    """Return what the model is made of."""
    weight = model.network.readout.weight
    assert model.blends is not None
    parts = [
        f"{part['n_trees']:,} trees of depth {part['depth']}"
        if part["kind"] == "trees"
        else {"networks": "the networks' mean"}.get(part["kind"], part["kind"])
        for part in model.blends[0].described()
    ]
    return f"{len(weight)} networks, {weight.shape[-1]} bins; " + ", ".join(parts)


def products(model: Model) -> Callable[[], None]:
    """Return the products of the networks for a block of rows, forward only."""
    stack = model.sharp or model.network
    weights = [
        parameter.detach()
        for name, parameter in stack.named_parameters()
        if name.endswith("weight")
    ]
    inputs = [torch.randn(len(w), AT_ONCE, w.shape[1]) for w in weights]
    outputs = [torch.empty(len(w), AT_ONCE, w.shape[2]) for w in weights]

    def multiply() -> None:
        for x, w, out in zip(inputs, weights, outputs, strict=True):
            torch.bmm(x, w, out=out)

    return multiply


def rate(
    function: Callable[[], object], n: int, clock: Callable[[], float], rounds: int
) -> float:
    """Return rows a second, the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = clock()
        function()
        best = min(best, clock() - start)
    return n / best


def quartile_us(function: Callable[[], object], n_calls: int = 400) -> float:
    """Return microseconds that a quarter of the calls stay below."""
    times = []
    for _ in range(n_calls):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.quantile(times, 0.25))


def onnx_us(model: HistogramRegressor, row: np.ndarray) -> float | None:
    """Return microseconds of one row through ONNX Runtime, None without it."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        model.to_onnx(path)
        session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
    return quartile_us(lambda: session.run(None, {"numbers": row}))


def print_predictions(n: int) -> None:
    """Print rows a second and microseconds for one row, against the goals."""
    torch.set_num_threads(1)
    model = HistogramRegressor(random_state=0).fit(*table(N_TRAINING, 0))
    X, _ = table(n, 1)
    readings: dict[str, Callable[[], object]] = {
        "mean": lambda: model.predict(X),
        "nine quantiles": lambda: model.predict_quantiles(X, LEVELS),
    }
    model.predict(X[:5_000])  # compiles
    print(f"\n{n:,} rows of {N_COLUMNS} columns: {described(model.model_)}")
    print(f"{'rows a second':<24}{'one core':>12}{'two cores':>12}{'wall clock':>12}")
    alone = rate(products(model.model_), AT_ONCE, time.thread_time, 500)
    print(f"{'products alone':<24}{alone:>12,.0f}{2 * alone:>12,.0f}")
    before = peak_mb()
    for name, reading in readings.items():
        torch.set_num_threads(1)
        one = rate(reading, n, time.thread_time, 2)
        torch.set_num_threads(2)
        two = rate(reading, n, lambda: time.process_time() / 2, 2)
        wall = rate(reading, n, time.perf_counter, 1)
        share, bar = two / BARS[name], BARS[name]
        verdict = "met" if share >= 1 else "MISSED"
        print(
            f"{name:<24}{one:>12,.0f}{two:>12,.0f}{wall:>12,.0f}   {share:.2f} of the "
            f"bar {bar:,}   {verdict}; one core {one / alone:.2f} of the products",
            flush=True,
        )
    torch.set_num_threads(1)
    print(f"memory beyond the table and the model: {peak_mb() - before:,.0f} MB")
    row = X[:1]
    found = {
        "in Python": (quartile_us(lambda: model.predict(row)), ONE_ROW_BAR),
        "through ONNX": (onnx_us(model, row), ONNX_BAR),
    }
    for name, (us, bar) in found.items():
        if us is not None:
            print(
                f"{'one row ' + name:<24}{us:>9,.0f} us   {us / bar:.2f} of the bar "
                f"{bar:,.0f} us   {'met' if us <= bar else 'MISSED'}",
                flush=True,
            )


def main() -> None:
    """Print all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    print_predictions(parser.parse_args().rows)


if __name__ == "__main__":
    main()
