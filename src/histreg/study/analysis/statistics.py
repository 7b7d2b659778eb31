"""Statistics over seeds: what records say of each setting, and which is best."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from histreg.study.analysis.estimates import Estimate
from histreg.study.atari.runs import ValueRun
from histreg.study.engine.runs import Record
from histreg.study.methods import Method
from histreg.study.series.runs import ForecastRun
from histreg.study.shapes.runs import ShapeRun
from histreg.study.tabular.runs import TabularRun

RunOfSeed = TypeVar("RunOfSeed", TabularRun, ForecastRun, ValueRun, ShapeRun)
METRICS = ("train MAE", "train RMSE", "test MAE", "test RMSE")


@dataclass(frozen=True, eq=False)
class Seeds:
    """The records of a run, one for each seed."""

    records: Sequence[Record]

    @property
    def n_diverged(self) -> int:
        """Seeds that left the finite numbers; the others are what is estimated."""
        return len(self.records) - len(self.finite)

    @property
    def finite(self) -> list[Record]:
        """The records of seeds that did not diverge, on whichever rows."""
        return [
            each
            for each in self.records
            if each.outcome.diverged_at is None
            and all(map(math.isfinite, each.outcome.metrics.values()))
        ]

    def by_seed(self) -> dict[int, Record]:
        """Return the records by seed, of those that are finite."""
        return {int(str(each.run.facet("seed"))): each for each in self.finite}

    def values(self, metric: str) -> dict[int, float]:
        """Return a metric by seed, of those that are finite."""
        return {
            seed: each.outcome.metrics[metric]
            for seed, each in self.by_seed().items()
            if metric in each.outcome.metrics
        }

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Means and standard errors by metric."""
        names = dict.fromkeys(
            name for each in self.finite for name in each.outcome.metrics
        )
        return {name: Estimate.of(self.values(name).values()) for name in names}


@dataclass(frozen=True, eq=False)
class Setting(Seeds):
    """A method on a data set over its seeds.

    Parameters
    ----------
    run : TabularRun
        Of seed 0, which stands for all.
    """

    run: TabularRun

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.run.dataset

    @property
    def method(self) -> Method:
        """The method."""
        return self.run.method

    @property
    def changes(self) -> str:
        """What differs from the protocol of the data set, such as the epochs."""
        return ", ".join(self.run.changes)

    @property
    def label(self) -> str:
        """The method, what differs from the protocol, and what went wrong."""
        told = [self.method.label, self.changes]
        told.append(f"{self.n_diverged} diverged" if self.n_diverged else "")
        return ", ".join(part for part in told if part)


@dataclass(frozen=True, eq=False)
class ForecastSetting(Seeds):
    """A loss with a sequence model on a series over its seeds.

    Parameters
    ----------
    run : ForecastRun
        Of seed 0, which stands for all.
    """

    run: ForecastRun

    @property
    def label(self) -> str:
        """The model, the loss, what differs from the protocol, and what went wrong."""
        told = [self.run.architecture, self.run.method.name, *self.run.changes]
        told += [f"{self.n_diverged} diverged"] if self.n_diverged else []
        return ", ".join(told)


@dataclass(frozen=True, eq=False)
class ValueSetting(Seeds):
    """A loss on a game over its seeds.

    Parameters
    ----------
    run : ValueRun
        Of seed 0, which stands for all.
    """

    run: ValueRun


@dataclass(frozen=True, eq=False)
class ShapeSetting(Seeds):
    """A predictor on a table over its seeds.

    Parameters
    ----------
    run : ShapeRun
        Of seed 0, which stands for all.
    """

    run: ShapeRun

    @property
    def label(self) -> str:
        """The predictor."""
        return self.run.method


def settings_of(records: Iterable[Record], *, part: str = "test") -> list[Setting]:
    """Return what tabular records say of each method, in the order of appearance."""
    groups = _by_seed(records, TabularRun)
    return [Setting(each, run) for run, each in groups.items() if run.part == part]


def forecast_settings(records: Iterable[Record]) -> list[ForecastSetting]:
    """Return what records say of each model and loss, in the order of appearance."""
    groups = _by_seed(records, ForecastRun)
    return [ForecastSetting(each, run) for run, each in groups.items()]


def value_settings(records: Iterable[Record]) -> list[ValueSetting]:
    """Return what records say of each game and loss, in the order of appearance."""
    groups = _by_seed(records, ValueRun)
    return [ValueSetting(each, run) for run, each in groups.items()]


def shape_settings(records: Iterable[Record]) -> list[ShapeSetting]:
    """Return what records say of each predictor, in the order of appearance."""
    groups = _by_seed(records, ShapeRun)
    return [ShapeSetting(each, run) for run, each in groups.items()]


def _by_seed(
    records: Iterable[Record], kind: type[RunOfSeed]
) -> dict[RunOfSeed, list[Record]]:
    """Return the records that differ but in their seeds, by their run of seed 0."""
    groups: dict[RunOfSeed, list[Record]] = {}
    for record in records:
        if isinstance(record.run, kind):
            groups.setdefault(replace(record.run, seed=0), []).append(record)
    return groups


def of_tuned_method(setting: Setting) -> Hashable:
    """Return what the settings of a tuned method share; None of one that is not."""
    if not setting.method.is_tuned:
        return None
    return (setting.dataset, setting.method.name, setting.changes)


def of_any_rate(setting: Setting) -> Hashable:
    """Return what a method's settings share at whichever learning rate."""
    return (setting.dataset, setting.method.name)


def best_settings(
    settings: Sequence[Setting],
    metric: str,
    rivals: Callable[[Setting], Hashable] = of_tuned_method,
) -> list[Setting]:
    """Return settings with but the best, of lowest mean, of those that are rivals.

    Only settings with as many seeds as the most complete one take part, and none that
    diverged: a mean over the lucky seeds would win.

    Parameters
    ----------
    settings : sequence of Setting
    metric : str
    rivals : callable
        Settings for which it returns the same are rivals; those with None have none.
    """
    groups: dict[Hashable, list[Setting]] = {}
    for each in settings:
        place = rivals(each)
        groups.setdefault(each.run if place is None else place, []).append(each)
    best = []
    for group in groups.values():
        if len(group) == 1:
            best += group
            continue
        most = max(_n_seeds(each, metric) for each in group)
        complete = [
            each
            for each in group
            if not each.n_diverged and most and _n_seeds(each, metric) == most
        ]
        if complete:
            best.append(min(complete, key=lambda each: each.estimates[metric].mean))
    return best


def best_on_validation(
    records: Sequence[Record],
    rivals: Callable[[Setting], Hashable] = of_tuned_method,
) -> dict[TabularRun, Setting]:
    """Return the settings of lowest MAE on validation rows, by their run on test rows.

    That run is the one to report; whether it has records is another question.
    """
    on_validation = settings_of(records, part="validation")
    return {
        replace(each.run, part="test"): each
        for each in best_settings(on_validation, "validation MAE", rivals)
        if "validation MAE" in each.estimates
    }


def validated_settings(
    records: Sequence[Record],
    rivals: Callable[[Setting], Hashable] = of_tuned_method,
) -> list[Setting]:
    """Return settings on test rows; of rivals, but that best on validation rows."""
    chosen = best_on_validation(records, rivals)
    return [
        each
        for each in settings_of(records)
        if rivals(each) is None or each.run in chosen
    ]


def _n_seeds(setting: Setting, metric: str) -> int:
    return setting.estimates[metric].n if metric in setting.estimates else 0
