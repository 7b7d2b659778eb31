"""A run that waits for a file: tests decide how long it is at work."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from histreg.study.runs import Outcome, Run

PATIENCE_S = 60.0


def wait_until(condition: Callable[[], Any]) -> Any:
    """Return the condition's value as soon as it is true; fail after a minute."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError("it did not happen within a minute")
        time.sleep(0.01)
    return value


@dataclass(frozen=True)
class GatedRun(Run):
    """Is done when its gate is opened; dies with its process, if that is wished."""

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
    def stack(self):
        return (self.kind, self.name)

    @property
    def expected_s(self):
        return 1.0

    @classmethod
    def from_json(cls, description):
        return cls(description["place"], description["name"], description["kills"])

    @classmethod
    def compute(cls, runs, workplace):
        (run,) = runs
        started = Path(run.place) / f"{run.name}.started.{os.getpid()}"
        started.touch()
        if run.kills:
            os._exit(9)

        def is_open() -> bool:
            workplace.report(0.5)
            return (Path(run.place) / f"{run.name}.open").exists()

        wait_until(is_open)
        return [Outcome({"process": float(os.getpid())})]

    def open(self) -> None:
        (Path(self.place) / f"{self.name}.open").touch()

    def workers(self) -> list[int]:
        """Return the processes that have begun with it, by their numbers."""
        found = Path(self.place).glob(f"{self.name}.started.*")
        return sorted(int(path.suffix[1:]) for path in found)
