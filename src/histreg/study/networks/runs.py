"""Network runs: descriptions of a network that is trained on its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import ClassVar, Self

from histreg.study.engine.checkpoints import Checkpoint
from histreg.study.engine.runs import Outcome, Run, RunContext


class NetworkRun(Run):
    """A run of one network, with a seed and a number of epochs."""

    numbers: ClassVar[tuple[str, ...]]
    """The numeric fields of the protocol, in the order in which they are listed."""

    def with_numbers(self, **numbers: float) -> Self:
        """Return the same with other numbers of its protocol."""
        own = {name: value for name, value in numbers.items() if name in self.numbers}
        return replace(self, **own)  # type: ignore[type-var]

    def for_epochs(self, epochs: int) -> Self:
        """Return the same with another number of epochs, at most."""
        return self.with_numbers(epochs=epochs)

    @property
    def changed_numbers(self) -> list[str]:
        """The numbers that differ from the protocol, in words."""
        defaults = {item.name: item.default for item in fields(self)}  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in self.numbers}
        return [
            f"{name.removeprefix('n_').replace('_', ' ')} {_shown(value)}"
            for name, value in values.items()
            if value != defaults[name]
        ]

    @abstractmethod
    def outcome(self, context: RunContext, checkpoint: Checkpoint | None) -> Outcome:
        """Train and evaluate the network."""

    @classmethod
    def compute(cls, runs: Sequence[NetworkRun], context: RunContext) -> list[Outcome]:
        """Train and evaluate each network."""
        checkpoints: Sequence[Checkpoint | None] = context.checkpoints
        checkpoints = checkpoints or [None] * len(runs)
        return [
            run.outcome(context, checkpoint)
            for run, checkpoint in zip(runs, checkpoints, strict=True)
        ]


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
