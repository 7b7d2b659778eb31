"""Time per optimiser step of Keras ``fit`` on the networks of the tabular study.

    python3 -m venv VENV
    VENV/bin/pip install tensorflow-cpu==2.21.0 keras==3.15.1 numpy==2.4.6
    VENV/bin/python benchmarks/study_keras.py --shapes pole,bike --threads 1

It stands alone, so that TensorFlow stays out of our environment: numpy and Keras 3
with TensorFlow behind it. Prints one JSON object per shape, on one line.

The training is as the paper's authors run it: an in-memory table, target vectors
computed beforehand, softmax output, ``CategoricalCrossentropy``, batch 256, Adam, and
everything else as Keras 3 has it by default, which includes XLA (``jit_compile="auto"``
is on). ``--jit-compile`` and ``--steps-per-execution`` are what a user who knows Keras
would try next.

For both cores busy, start two of these at once with ``--threads 1`` and divide
``us_per_step`` by two; ``--threads 2`` gives one process both cores. Several shapes in
one process share its ``max_rss_mb``, which only grows: name one shape to know its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import keras

N_BINS = 100
BATCH_SIZE = 256


@dataclass(frozen=True)
class Shape:
    """A network and the size of its table: d inputs, hidden layers, n rows."""

    n_inputs: int
    width: int
    n_layers: int
    n_rows: int
    dropout: float = 0.0  # of the inputs


SHAPES = {
    "pole": Shape(48, 24, 3, 12_000),
    "bike": Shape(12, 64, 4, 13_903),
    # 412,276 rows in the paper: fewer here, as only the time per step counts
    "song": Shape(90, 45, 4, 40_000, dropout=0.05),
    "ct": Shape(384, 192, 4, 42_800, dropout=0.05),
}


def limit_threads(n_threads: int) -> None:
    """Tell TensorFlow its threads; it reads them when it is imported."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # standard output is for JSON alone
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = str(n_threads)


def table(shape: Shape, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return made features and target vectors that look like those of HL-Gauss.

    Returns
    -------
    x : array of shape (n, d), float32
    target_probs : array of shape (n, k), float32
        Discretised Gaussians of two bins' width around a random place.
    """
    rng = np.random.default_rng(seed)
    x = rng.random((shape.n_rows, shape.n_inputs), dtype=np.float32)
    place = rng.uniform(6, N_BINS - 6, (shape.n_rows, 1)).astype(np.float32)
    centers = np.arange(N_BINS, dtype=np.float32) + np.float32(0.5)
    probs = np.exp(-0.5 * ((centers - place) / 2) ** 2)  # (n, k)
    return x, probs / probs.sum(axis=1, keepdims=True)


def network(shape: Shape) -> keras.Model:
    """Return the paper's network for a shape, not yet compiled."""
    import keras

    layers = [keras.layers.Input((shape.n_inputs,))]
    if shape.dropout:
        layers.append(keras.layers.Dropout(shape.dropout))
    for _ in range(shape.n_layers):
        layers.append(
            keras.layers.Dense(
                shape.width, activation="relu", kernel_initializer="lecun_uniform"
            )
        )
    layers.append(
        keras.layers.Dense(
            N_BINS, activation="softmax", kernel_initializer="lecun_uniform"
        )
    )
    return keras.Sequential(layers)


def epoch_times(
    shape: Shape,
    *,
    seconds: float,
    n_warmup_epochs: int,
    jit_compile: str | bool = "auto",
    steps_per_execution: int = 1,
) -> tuple[list[float], float]:
    """Return the time of each epoch after the warm-up, and the cores in use meanwhile.

    All epochs are of one call to ``fit``, which stops at the end of the first epoch
    that makes the timed ones last `seconds` together.
    """
    import keras

    class Clock(keras.callbacks.Callback):
        """Times at the ends of epochs, the first of them the end of the warm-up."""

        def __init__(self) -> None:
            super().__init__()
            self.wall: list[float] = []
            self.cpu: list[float] = []

        def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
            if epoch + 1 < n_warmup_epochs:
                return
            self.wall.append(time.perf_counter())
            self.cpu.append(time.process_time())  # of all threads
            if not math.isfinite(logs["loss"]):
                raise RuntimeError(f"the loss must stay finite, got {logs['loss']}")
            if len(self.wall) > 1 and self.wall[-1] - self.wall[0] >= seconds:
                self.model.stop_training = True

    keras.utils.set_random_seed(0)
    model = network(shape)
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=keras.losses.CategoricalCrossentropy(),
        jit_compile=jit_compile,
        steps_per_execution=steps_per_execution,
    )
    clock = Clock()
    x, target_probs = table(shape)
    model.fit(
        x,
        target_probs,
        batch_size=BATCH_SIZE,
        epochs=1_000_000,  # the clock stops it
        shuffle=True,
        verbose=0,
        callbacks=[clock],
    )
    n_cores_used = (clock.cpu[-1] - clock.cpu[0]) / (clock.wall[-1] - clock.wall[0])
    return np.diff(clock.wall).tolist(), n_cores_used


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that matter here."""
    found = {"python": platform.python_version()}
    for name in ("keras", "tensorflow-cpu", "tensorflow", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # TensorFlow has two names
    return found


def max_rss_mb() -> float:
    """Return the most memory that this process has had, in MB.

    Not from ``getrusage``: a process started by a larger one inherits its maximum.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status must have a line VmHWM, got none")


def main() -> None:
    """Print one JSON object per shape."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES), help="comma-separated")
    parser.add_argument("--seconds", type=float, default=4.0, help="timed, per shape")
    parser.add_argument("--warmup-epochs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--jit-compile", choices=("auto", "on", "off"), default="auto")
    parser.add_argument("--steps-per-execution", type=int, default=1)
    arguments = parser.parse_args()
    names = arguments.shapes.split(",")
    if unknown := set(names) - set(SHAPES):
        parser.error(f"--shapes must be among {', '.join(SHAPES)}, got {unknown}")
    for option in ("threads", "warmup_epochs", "steps_per_execution"):
        if getattr(arguments, option) < 1:
            flag = "--" + option.replace("_", "-")
            parser.error(f"{flag} must be at least 1, got {getattr(arguments, option)}")

    limit_threads(arguments.threads)
    for name in names:
        shape = SHAPES[name]
        times, n_cores_used = epoch_times(
            shape,
            seconds=arguments.seconds,
            n_warmup_epochs=arguments.warmup_epochs,
            jit_compile={"auto": "auto", "on": True, "off": False}[
                arguments.jit_compile
            ],
            steps_per_execution=arguments.steps_per_execution,
        )
        n_steps = math.ceil(shape.n_rows / BATCH_SIZE)  # of an epoch
        record = {
            "engine": "keras fit",
            "shape": name,
            "us_per_step": round(1e6 * sum(times) / len(times) / n_steps, 1),
            "us_per_step_best_epoch": round(1e6 * min(times) / n_steps, 1),
            "n_epochs": len(times),
            "n_threads": arguments.threads,
            "n_cores_used": round(n_cores_used, 2),
            "jit_compile": arguments.jit_compile,
            "steps_per_execution": arguments.steps_per_execution,
            "versions": versions(),
            "max_rss_mb": round(max_rss_mb()),
        }
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
