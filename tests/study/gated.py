"""A run that waits for a file: tests decide how long it is at work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from histreg.study.engine.runs import Outcome, Run

PATIENCE_S = 120.0  # processes that import torch start slowly on a busy machine

MODULE = """
from histreg.study.catalogue import EXPERIMENTS, Experiment
from tests.study.gated import GatedRun

runs = tuple(GatedRun({place!r}, name) for name in {names!r})
EXPERIMENTS["gated"] = Experiment("gated", "Gated", "nowhere", "When?", runs)
"""

# A shell's background job ignores Ctrl-C, and this may be the child of one.
LISTENING = """
import signal
from histreg.__main__ import main

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
"""


def wait_until(condition: Callable[[], Any]) -> Any:
    """Return the condition's value as soon as it is true; fail after two minutes."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError("it did not happen within two minutes")
        time.sleep(0.01)
    return value


@dataclass(frozen=True)
class GatedRun(Run):
    """Is done when its gate is opened; dies with its process, if that is wished.

    It has a checkpoint, as of its first epoch, when one is due.
    """

    kind: ClassVar[str] = "gated"

    place: str
    name: str
    kills: bool = False

    @property
    def folder(self):
        return ("gated",)

    @property
    def label(self):
        return self.name

    @property
    def stack_key(self):
        return (self.kind, self.name)

    @property
    def expected_s(self):
        return 1.0

    @classmethod
    def from_json(cls, description):
        return cls(description["place"], description["name"], description["kills"])

    @classmethod
    def compute(cls, runs, context):
        (run,) = runs
        started = Path(run.place) / f"{run.name}.started.{os.getpid()}"
        started.touch()
        if run.kills:
            os._exit(9)

        def is_open() -> bool:
            for checkpoint in context.checkpoints:
                if checkpoint.is_due():
                    checkpoint.save({"weights": torch.zeros(1)}, {"epoch": 1})
            context.report(0.5)
            return (Path(run.place) / f"{run.name}.open").exists()

        wait_until(is_open)
        return [Outcome({"process": float(os.getpid())})]

    def open(self) -> None:
        (Path(self.place) / f"{self.name}.open").touch()

    def workers(self) -> list[int]:
        """Return the processes that have begun with it, by their numbers."""
        found = Path(self.place).glob(f"{self.name}.started.*")
        return sorted(int(path.suffix[1:]) for path in found)


@contextmanager
def gated_study(place: Path, names: str, *options: str) -> Iterator[subprocess.Popen]:
    """Start ``histreg study run`` of gated runs, as a process group of its own."""
    (place / "mine.py").write_text(MODULE.format(place=str(place), names=names))
    own = ("--import", "mine")
    path = os.pathsep.join([str(place), *map(str, sys.path)])
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENING, "study", "run", "gated", *own, *options],
        cwd=place,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
