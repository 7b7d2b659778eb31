"""Measurement: a run that trains nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from histreg._checks import check_choice
from histreg.study.datasets import TABLES
from histreg.study.engine.runs import Outcome, Run, RunContext

MEASUREMENTS = (
    "label-bias",
    "targets",
    "bias",
    "bias-by-text",
    "bound",
    "naive",
    "replays",
    "theorems",
)
EXPECTED_S = {  # of a core
    "bias": 40.0,
    "bias-by-text": 370.0,
    "replays": 215.0,
    "theorems": 6.0,
}
S_A_MEASUREMENT, S_A_CELL = 0.05, 2.8e-7  # of others, and of a table that they read


@dataclass(frozen=True)
class Measurement(Run):
    """Something to compute from formulas, or from the targets of a data set.

    Parameters
    ----------
    what : str
        One of `MEASUREMENTS`.
    dataset : str
        Empty for measurements without a data set.
    """

    kind: ClassVar[str] = "measurement"

    what: str
    dataset: str = ""

    def __post_init__(self) -> None:
        check_choice("what", self.what, MEASUREMENTS)

    def moved_to(self, dataset: str) -> Measurement:
        """Return the same on another data set; itself if it needs none."""
        return replace(self, dataset=dataset) if self.dataset else self

    @property
    def folder(self) -> tuple[str, ...]:
        """The data set, if there is one, then the name of the measurement."""
        return (self.dataset or "theory", self.what)

    @property
    def label(self) -> str:
        """The measurement and its data set."""
        return f"{self.dataset}, {self.what}" if self.dataset else self.what

    @property
    def stack_key(self) -> tuple[object, ...]:
        """Measurements are computed one by one."""
        return (self.kind, self.what, self.dataset)

    @property
    def expected_s(self) -> float:
        """The time to read the table, except for simulations and replays."""
        if self.what in EXPECTED_S:
            return EXPECTED_S[self.what]
        read = TABLES.get(self.dataset)
        n_cells = 0 if read is None else read.n_rows * read.n_features
        return S_A_MEASUREMENT + S_A_CELL * n_cells

    @property
    def time_key(self) -> tuple[object, ...]:
        """What is measured, then the data set."""
        return (self.kind, self.what, self.dataset)

    @classmethod
    def compute(cls, runs: Sequence[Measurement], context: RunContext) -> list[Outcome]:
        """Compute each measurement."""
        measure = _functions()
        return [measure[run.what](run.dataset, context) for run in runs]


def _functions() -> dict[str, Callable[[str, RunContext], Outcome]]:
    """Return the functions that compute measurements from the data set's name."""
    # Imported here, because they import PyTorch.
    from histreg.study.atari.replay_facts import replay_facts
    from histreg.study.series.naive import naive_forecasts
    from histreg.study.tabular.labels import label_bias, target_histogram
    from histreg.study.theory.biases import (
        bias_by_text,
        bias_simulation,
        bound_example,
    )
    from histreg.study.theory.theorems import theorems

    return {
        "label-bias": label_bias,
        "targets": target_histogram,
        "bias": bias_simulation,
        "bias-by-text": bias_by_text,
        "bound": bound_example,
        "naive": naive_forecasts,
        "replays": replay_facts,
        "theorems": theorems,
    }
