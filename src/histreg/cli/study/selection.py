"""Selection: the runs of experiments that a command applies to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from histreg.cli.study.options import split_option
from histreg.errors import InputError
from histreg.study.catalogue import experiment, selected
from histreg.study.engine.runs import Run
from histreg.study.shapes.predictors import PREDICTORS


@dataclass(frozen=True)
class Selection:
    """The options that select runs, as given; None selects all."""

    datasets: str | None = None
    methods: str | None = None
    models: str | None = None
    seeds: str | None = None
    epochs: int | None = None
    rate: float | None = None
    frames: int | None = None

    def runs(self, names: list[str]) -> tuple[Run, ...]:
        """Return the selected runs of experiments, each once.

        Raises
        ------
        InputError
            If something is selected that no run has.
        """
        seeds = _parse_seeds(self.seeds, names)
        wanted: dict[str, list[str] | list[int]] = {
            "dataset": split_option(self.datasets, "--datasets"),
            "method": _parse_methods(self.methods),
            "architecture": split_option(self.models, "--models"),
            "seed": seeds,
        }
        runs: dict[Run, None] = {}
        for name in names:
            chosen = selected(
                experiment(name).runs,
                datasets=split_option(self.datasets),
                methods=_parse_methods(self.methods),
                models=split_option(self.models),
                seeds=seeds,
                epochs=self.epochs,
                rate=self.rate,
                frames=self.frames,
            )
            runs |= dict.fromkeys(chosen)
        self._check(runs, wanted, ", ".join(names))
        return tuple(runs)

    def _check(
        self,
        runs: Iterable[Run],
        wanted: dict[str, list[str] | list[int]],
        experiments: str,
    ) -> None:
        """Raise if something is selected that no run has."""
        for facet, values in wanted.items():
            existing = {run.facet(facet) for run in runs}
            if facet == "method":
                existing |= {name for run in runs for name in run.method_names}
            absent = [str(value) for value in values if value not in existing]
            if absent and existing != {None}:
                raise InputError(
                    f"no run of {experiments} has the {facet} {', '.join(absent)}"
                )
        if self.models is not None and not any(
            run.facet("architecture") for run in runs
        ):
            raise InputError(
                f"--models applies only to forecasts, and {experiments} has none"
            )
        for option, given, number, kind in (
            ("--epochs", self.epochs, "epochs", "networks trained in epochs"),
            ("--rate", self.rate, "learning_rate", "networks trained in epochs"),
            ("--frames", self.frames, "n_frames", "values of games"),
        ):
            if given is not None and not any(number in run.numbers for run in runs):
                raise InputError(
                    f"{option} applies only to {kind}, and {experiments} has none"
                )


def _parse_methods(given: str | None) -> list[str]:
    """Return the methods of a list, whose names and settings may contain commas."""
    names: list[str] = []
    for part in split_option(given, "--methods"):
        joined = ", ".join([*names[-1:], part])
        is_open = bool(names) and names[-1].count("(") > names[-1].count(")")
        if is_open or joined in PREDICTORS:
            names[-1:] = [joined]
        else:
            names.append(part)
    return names


def _parse_seeds(given: str | None, names: Iterable[str]) -> list[int]:
    """Return the numbers of ``1,2`` or ``1-5``.

    Ranges end at the first number beyond all seeds of the experiments, so that a large
    range takes no memory.
    """
    seeds = [run.facet("seed") for name in names for run in experiment(name).runs]
    beyond = 1 + max((seed for seed in seeds if isinstance(seed, int)), default=0)
    numbers: list[int] = []
    for part in split_option(given, "--seeds"):
        first, dash, last = part.partition("-")
        try:
            low, high = int(first), int(last if dash else first)
        except ValueError:
            low, high = 1, 0
        if not first.isdecimal() or high < low:
            raise InputError(f"--seeds must be numbers such as 1,2 or 1-5, got {given}")
        numbers += range(low, min(high, max(low, beyond)) + 1)
    return numbers
