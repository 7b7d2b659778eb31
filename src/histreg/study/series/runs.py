"""Forecast runs: two losses on sequence models that forecast a series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from histreg._checks import check_choice, check_count
from histreg.study.datasets import series
from histreg.study.engine.checkpoints import Checkpoint
from histreg.study.engine.runs import Outcome, RunContext
from histreg.study.methods import L2, HLGauss
from histreg.study.networks.runs import NetworkRun

S_A_WINDOW = {"Linear": 7.2e-5, "LSTM": 8e-3, "GRU": 8e-3, "Transformer": 1.8e-2}
S_OF_HISTOGRAMS = 7e-4
"""Seconds of one busy core for one window of an epoch: of the body with one output for
each step, and what histograms for all steps add."""
COUNTS = ("epochs", "patience", "batch_size", "n_inputs", "n_steps")
RATES = ("learning_rate", "weight_decay")
DIRECT = "direct"
OVER_TIME = "over-time"
LINEAR_HEADS = (DIRECT, "per-step", "shared", "dense")
HEADS = (*LINEAR_HEADS, OVER_TIME)
LINEAR = "Linear"
ARCHITECTURES = (LINEAR, "LSTM", "GRU", "Transformer")
"""Bodies and heads, see `histreg.study.series.forecasters`."""
FIRST_WEIGHTS = {"pytorch": "PyTorch", "keras": "Keras"}
CRITERIA = ("loss", "MSE")
READING: Mapping[str, Any] = {
    "head": "shared",
    "first_weights": "keras",
    "validation": "MSE",
}
"""Our choices for the linear model where the paper is not explicit: of
`forecast-readings`, those nearest to its test MSE, see docs/forecasts.md."""


def reading_of(architecture: str) -> dict[str, Any]:
    """Return our choices where the paper is not explicit.

    The projection to the prediction length is along time: from the states after the
    inputs to as many as steps, of which one head reads each. A linear model has one
    number as its state, so that this is what its shared head does.
    """
    return {**READING} if architecture == LINEAR else {**READING, "head": OVER_TIME}


@dataclass(frozen=True)
class ForecastRun(NetworkRun):
    """A sequence model with a head for numbers or for histograms, on a series.

    Parameters
    ----------
    dataset : str
        The series.
    architecture : str
        One of `ARCHITECTURES`.
    method : L2 or HLGauss
    seed : int
        Seed of the first weights, the batches and the dropout.
    subtracts_last : bool
        Whether all channels are seen as their distance from their last values, and the
        distance of the target from its last value is what is forecast.
    epochs : int
        Maximum number of epochs.
    patience : int
        Epochs without a better validation after which to stop.
    learning_rate, weight_decay : float
        Options of AdamW.
    batch_size : int
    n_inputs, n_steps : int
        Number of time steps that are seen, and that are forecast.
    head : {"direct", "per-step", "shared", "dense", "over-time"}
        How features become the outputs of each step: by one layer, by a projection
        to the ``n_steps`` and a head on it, see `projected_head`, or by a projection of
        the states along time and a head on each, see `OverTime`.
    first_weights : {"pytorch", "keras"}
        The library whose default initialisation is used.
    validation : {"loss", "MSE"}
        The criterion that chooses the epoch on the validation months: the training
        loss, or the squared error of the forecasts.
    """

    kind: ClassVar[str] = "forecast"
    numbers: ClassVar[tuple[str, ...]] = COUNTS + RATES

    dataset: str
    architecture: str
    method: L2 | HLGauss
    seed: int
    subtracts_last: bool = False
    epochs: int = 10
    patience: int = 3
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    batch_size: int = 32
    n_inputs: int = 96
    n_steps: int = 96
    head: str = DIRECT
    first_weights: str = "pytorch"
    validation: str = "loss"

    def __post_init__(self) -> None:
        check_choice("architecture", self.architecture, ARCHITECTURES)
        check_choice("head", self.head, HEADS)
        check_choice("first_weights", self.first_weights, FIRST_WEIGHTS)
        check_choice("validation", self.validation, CRITERIA)
        for name in COUNTS:
            check_count(name, getattr(self, name), at_least=1)

    def moved_to(self, dataset: str) -> ForecastRun:
        """Return the same on another series."""
        return replace(self, dataset=series(dataset).name)

    @property
    def folder(self) -> tuple[str, ...]:
        """The series, then the architecture."""
        return (self.dataset, self.architecture)

    @property
    def label(self) -> str:
        """Series, architecture, method, seed, and deviations from the protocol."""
        parts = [self.dataset, self.architecture, self.method.name, f"seed {self.seed}"]
        return ", ".join([*parts, *self.changes])

    @property
    def is_of_paper(self) -> bool:
        """Whether it follows the paper, in some reading of its text."""
        return not self.subtracts_last and not self.changed_numbers

    @property
    def reading(self) -> dict[str, str]:
        """Its choices where the paper is not explicit, in words by field."""
        return {
            "head": f"{self.head} head",
            "first_weights": f"{FIRST_WEIGHTS[self.first_weights]} weights",
            "validation": f"stopped by {self.validation}",
        }

    @property
    def changes(self) -> list[str]:
        """Deviations from our reading of the paper, in words."""
        subtracted = ["last value subtracted"] if self.subtracts_last else []
        otherwise = [
            words
            for name, words in self.reading.items()
            if getattr(self, name) != reading_of(self.architecture)[name]
        ]
        return subtracted + otherwise + self.changed_numbers

    @property
    def stack_key(self) -> tuple[object, ...]:
        """Forecasters are trained one by one."""
        return (self.kind, self.key)

    @property
    def expected_s(self) -> float:
        """Estimated from the number of windows and most of the epochs."""
        n_windows = 12 * series(self.dataset).rows_a_month
        window_s = S_A_WINDOW[self.architecture]
        if isinstance(self.method, HLGauss):
            window_s += S_OF_HISTOGRAMS
        return 0.7 * self.epochs * n_windows * window_s

    @property
    def time_key(self) -> tuple[object, ...]:
        """The architecture, the method, the series and the head."""
        method = self.method.name
        return (self.kind, self.architecture, method, self.dataset, self.head)

    def outcome(self, context: RunContext, checkpoint: Checkpoint | None) -> Outcome:
        """Train and evaluate the forecaster."""
        from histreg.study.series.execution import outcome_of

        return outcome_of(self, context, checkpoint)
