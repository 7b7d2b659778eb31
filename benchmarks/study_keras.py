"""Time per optimiser step of Keras ``fit`` on the networks of the tabular study.

    python3 -m venv VENV
    VENV/bin/pip install tensorflow-cpu==2.21.0 keras==3.15.1 numpy==2.4.6
    VENV/bin/python benchmarks/study_keras.py --shapes pole,bike --threads 1

It does not import histreg, so that TensorFlow stays out of our environment; it needs
numpy and Keras 3 with TensorFlow. Prints one JSON object per shape, on one line.
``benchmarks/study.py`` compares it with our trainer, using the same `Stopwatch`.

Training is as the paper's authors run it: an in-memory table, target vectors
computed beforehand, softmax output, ``CategoricalCrossentropy``, batch 256, Adam, and
the defaults of Keras 3 for everything else, which include XLA (``jit_compile="auto"``
is on). ``--jit-compile`` and ``--steps-per-execution`` are what a user who knows Keras
would try next.

To use both cores, ``benchmarks/study.py`` starts two of these with ``--threads 1``;
``--threads 2`` gives one process both cores, and ``--threads 0`` leaves the number to
TensorFlow. Several shapes in one process share its ``max_rss_mb``, which only grows:
run one shape at a time to get its own value.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

    @property
    def n_steps(self) -> int:
        """Of an epoch."""
        return math.ceil(self.n_rows / BATCH_SIZE)


SHAPES = {
    "pole": Shape(48, 24, 3, 12_000),
    "bike": Shape(12, 64, 4, 13_903),
    # 412,276 rows in the paper: fewer here, as only the time per step counts
    "song": Shape(90, 45, 4, 40_000, dropout=0.05),
    "ct": Shape(384, 192, 4, 42_800, dropout=0.05),
}


class Stopwatch:
    """Times whole epochs after two that are not timed.

    Parameters
    ----------
    seconds : float
        The least that the timed epochs last together.
    on_enough : callable
        Called once, with what was measured, at the end of the epoch that is enough.
    together : bool
        In step with other processes: prints "ready" before the first timed epoch and
        awaits a line. Training should then go on after the last timed epoch, so that
        the others are not left alone: the process ends when its standard input does.
    """

    N_WARMUP_EPOCHS = 2

    def __init__(
        self,
        seconds: float,
        on_enough: Callable[[dict[str, Any]], None],
        *,
        together: bool,
    ) -> None:
        self.seconds = seconds
        self.on_enough = on_enough
        self.together = together
        self.n_epochs = -self.N_WARMUP_EPOCHS  # timed
        self.wall = self.cpu = 0.0  # the second of all threads
        self.last = (0.0, 0.0)
        self.is_running = True

    def lap(self, *, is_timed: bool = True) -> None:
        """Take the end of an epoch, or of something that does not count as one."""
        if not self.is_running:
            return
        now = time.perf_counter(), time.process_time()
        if self.n_epochs < 0:
            self.n_epochs += 1
            if self.n_epochs == 0:
                if self.together:
                    self._meet()
                now = time.perf_counter(), time.process_time()
        elif is_timed:
            self.n_epochs += 1
            self.wall += now[0] - self.last[0]
            self.cpu += now[1] - self.last[1]
        self.last = now
        if self.n_epochs > 0 and self.wall >= self.seconds:
            self.is_running = False
            self.on_enough(self.measured)

    @property
    def measured(self) -> dict[str, Any]:
        """The mean time of an epoch, and where the time went."""
        return {
            "epoch_s": self.wall / self.n_epochs,
            "n_epochs": self.n_epochs,
            "n_cores_used": round(self.cpu / self.wall, 2),
            "max_rss_mb": max_rss_mb(),
        }

    def _meet(self) -> None:
        print("ready", flush=True)
        sys.stdin.readline()
        threading.Thread(target=_end_with_input, daemon=True).start()


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)  # from whatever the main thread is in


def limit_threads(n_threads: int) -> None:
    """Set the number of threads, which TensorFlow reads when it is imported."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # standard output is for JSON only
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
        if n_threads:
            os.environ[name] = str(n_threads)
        else:
            os.environ.pop(name, None)


def table(shape: Shape, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return random features and target vectors like those of HL-Gauss.

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


def fit(
    shape: Shape,
    *,
    seconds: float,
    together: bool = False,
    jit_compile: str | bool = "auto",
    steps_per_execution: int = 1,
    on_enough: Callable[[dict[str, Any]], None],
) -> None:
    """Train by one call to ``fit``, and pass the measurements to `on_enough`.

    Training stops then, unless it was started together with others.
    """
    import keras

    class Laps(keras.callbacks.Callback):
        """Stops the time at the ends of epochs."""

        def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:  # noqa: ARG002
            if not math.isfinite(logs["loss"]):
                raise RuntimeError(f"the loss must stay finite, got {logs['loss']}")
            stopwatch.lap()
            self.model.stop_training = not (together or stopwatch.is_running)

    keras.utils.set_random_seed(0)
    model = network(shape)
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=keras.losses.CategoricalCrossentropy(),
        jit_compile=jit_compile,
        steps_per_execution=steps_per_execution,
    )
    stopwatch = Stopwatch(seconds, on_enough, together=together)
    x, target_probs = table(shape)
    model.fit(
        x,
        target_probs,
        batch_size=BATCH_SIZE,
        epochs=1_000_000_000,  # the stopwatch ends it
        shuffle=True,
        verbose=0,
        callbacks=[Laps()],
    )


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that matter here."""
    found = {"python": platform.python_version()}
    for name in ("keras", "tensorflow-cpu", "tensorflow", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # TensorFlow has two names
    return found


def max_rss_mb() -> int | None:
    """Return the peak memory of this process in MB (on Linux only).

    Not from ``getrusage``: a process started by a larger one inherits its maximum.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    for line in status.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024)
    return None


def main() -> None:
    """Print one JSON object per shape."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES), help="comma-separated")
    parser.add_argument("--seconds", type=float, default=4.0, help="timed, per shape")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--jit-compile", choices=("auto", "on", "off"), default="auto")
    parser.add_argument("--steps-per-execution", type=int, default=1)
    parser.add_argument(
        "--together",
        action="store_true",
        help="keep step with other processes; see Stopwatch",
    )
    arguments = parser.parse_args()
    names = arguments.shapes.split(",")
    if unknown := set(names) - set(SHAPES):
        parser.error(f"--shapes must be among {', '.join(SHAPES)}, got {unknown}")
    if arguments.threads < 0:
        parser.error(f"--threads must be at least 0, got {arguments.threads}")
    if arguments.steps_per_execution < 1:
        parser.error(
            "--steps-per-execution must be at least 1, got "
            f"{arguments.steps_per_execution}"
        )
    if arguments.together and len(names) > 1:
        parser.error("--together must come with one shape, as training goes on")

    limit_threads(arguments.threads)
    for name in names:
        shape = SHAPES[name]

        def show(measured: dict, name: str = name, shape: Shape = shape) -> None:
            us_per_step = 1e6 * measured.pop("epoch_s") / shape.n_steps
            record = {
                "engine": "keras fit",
                "shape": name,
                "us_per_step": round(us_per_step, 1),
                **measured,
                "n_threads": arguments.threads,
                "jit_compile": arguments.jit_compile,
                "steps_per_execution": arguments.steps_per_execution,
                "versions": versions(),
            }
            print(json.dumps(record), flush=True)

        fit(
            shape,
            seconds=arguments.seconds,
            together=arguments.together,
            jit_compile={"auto": "auto", "on": True, "off": False}[
                arguments.jit_compile
            ],
            steps_per_execution=arguments.steps_per_execution,
            on_enough=show,
        )


if __name__ == "__main__":
    main()
