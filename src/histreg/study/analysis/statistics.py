"""Statistics over seeds: estimates for each setting, and the best settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

from histreg.study.analysis.estimates import Estimate
from histreg.study.atari.runs import ValueRun
from histreg.study.engine.runs import Record
from histreg.study.series.runs import ForecastRun
from histreg.study.shapes.runs import ShapeRun
from histreg.study.tables.runs import TableRun
from histreg.study.tabular.runs import TabularRun

AnyRun = TabularRun | ForecastRun | ValueRun | ShapeRun | TableRun
RunOfSeed = TypeVar("RunOfSeed", TabularRun, ForecastRun, ValueRun, ShapeRun, TableRun)
METRICS = ("train MAE", "train RMSE", "test MAE", "test RMSE")


@dataclass(frozen=True, eq=False)
class Setting(Generic[RunOfSeed]):
    """A run over its seeds: on one data set, with one method and its parameters.

    Parameters
    ----------
    records : sequence of Record
        One for each seed.
    run : Run
        The run of seed 0, which stands for all seeds.
    """

    records: Sequence[Record]
    run: RunOfSeed

    @property
    def n_diverged(self) -> int:
        """Seeds whose numbers became NaN or infinite, which estimates leave out."""
        return len(self.records) - len(self.finite)

    @property
    def finite(self) -> list[Record]:
        """The records of seeds that did not diverge."""
        return [
            record
            for record in self.records
            if record.outcome.diverged_at is None
            and all(map(math.isfinite, record.outcome.metrics.values()))
        ]

    def by_seed(self) -> dict[int, Record]:
        """Return the finite records by seed."""
        return {int(str(record.run.facet("seed"))): record for record in self.finite}

    def values(self, metric: str) -> dict[int, float]:
        """Return a metric by seed, of the finite records."""
        return {
            seed: record.outcome.metrics[metric]
            for seed, record in self.by_seed().items()
            if metric in record.outcome.metrics
        }

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Means and standard errors by metric."""
        names = dict.fromkeys(
            name for record in self.finite for name in record.outcome.metrics
        )
        return {name: Estimate.of(self.values(name).values()) for name in names}

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.run.dataset

    @property
    def method(self) -> Any:
        """The method; of runs on shapes and tables, its name."""
        return self.run.method

    @property
    def changes(self) -> str:
        """Deviations from the protocol of the data set, such as the epochs."""
        return ", ".join(_changes(self.run))

    @property
    def label(self) -> str:
        """The method, deviations from the protocol, and number of diverged seeds."""
        diverged = f"{self.n_diverged} diverged" if self.n_diverged else ""
        parts = (*_method_words(self.run), self.changes, diverged)
        return ", ".join(part for part in parts if part)


def _changes(run: AnyRun) -> list[str]:
    return [] if isinstance(run, ShapeRun | TableRun) else run.changes


def _method_words(run: AnyRun) -> list[str]:
    """Return what distinguishes the methods on a data set."""
    if isinstance(run, ShapeRun | TableRun):
        return [run.method]
    if isinstance(run, ForecastRun):
        return [run.architecture, run.method.name]
    return [run.method.label]


def settings_over_seeds(
    records: Iterable[Record], kind: type[RunOfSeed]
) -> list[Setting[RunOfSeed]]:
    """Return the settings of runs of one kind, in the order of appearance.

    Records that differ only in their seeds make one setting; those of other kinds of
    runs are ignored.
    """
    by_run: dict[RunOfSeed, list[Record]] = {}
    for record in records:
        if isinstance(record.run, kind):
            by_run.setdefault(replace(record.run, seed=0), []).append(record)
    return [Setting(group, run) for run, group in by_run.items()]


def settings_of(
    records: Iterable[Record], *, part: str = "test"
) -> list[Setting[TabularRun]]:
    """Return the settings of runs on tables that are evaluated on one part of the rows.

    Parameters
    ----------
    records : iterable of Record
    part : {"test", "validation"}
    """
    settings = settings_over_seeds(records, TabularRun)
    return [setting for setting in settings if setting.run.part == part]


TableSetting = Setting[TabularRun]


def of_tuned_method(setting: TableSetting) -> Hashable:
    """Return a key shared by the settings of a tuned method; None for other methods."""
    if not setting.method.is_tuned:
        return None
    return (setting.dataset, setting.method.name, setting.changes)


def of_any_rate(setting: TableSetting) -> Hashable:
    """Return a key shared by the settings of a method with any learning rate."""
    return (setting.dataset, setting.method.name)


def best_settings(
    settings: Sequence[TableSetting],
    metric: str,
    rivals: Callable[[TableSetting], Hashable] = of_tuned_method,
) -> list[TableSetting]:
    """Return the settings; among rivals, only the one with the lowest mean.

    Rivals with fewer seeds than the most complete one, or with seeds that diverged, do
    not take part: a mean over the lucky seeds would win.

    Parameters
    ----------
    settings : sequence of Setting
    metric : str
    rivals : callable
        From a setting to a key: settings with the same key are rivals, those with None
        have none.
    """
    groups: dict[Hashable, list[TableSetting]] = {}
    for setting in settings:
        place = rivals(setting)
        groups.setdefault(setting.run if place is None else place, []).append(setting)
    best = []
    for group in groups.values():
        if len(group) == 1:
            best += group
            continue
        most = max(_n_seeds(setting, metric) for setting in group)
        complete = [
            setting
            for setting in group
            if not setting.n_diverged and most and _n_seeds(setting, metric) == most
        ]
        if complete:
            best.append(
                min(complete, key=lambda setting: setting.estimates[metric].mean)
            )
    return best


def best_on_validation(
    records: Sequence[Record],
    rivals: Callable[[TableSetting], Hashable] = of_tuned_method,
) -> dict[TabularRun, TableSetting]:
    """Return the settings of lowest MAE on validation rows, by their run on test rows.

    That run is the one to report; it may have no records yet.
    """
    on_validation = settings_of(records, part="validation")
    return {
        replace(setting.run, part="test"): setting
        for setting in best_settings(on_validation, "validation MAE", rivals)
        if "validation MAE" in setting.estimates
    }


def validated_settings(
    records: Sequence[Record],
    rivals: Callable[[TableSetting], Hashable] = of_tuned_method,
) -> list[TableSetting]:
    """Return settings on test rows; of rivals, only the best on validation rows."""
    chosen = best_on_validation(records, rivals)
    return [
        setting
        for setting in settings_of(records)
        if rivals(setting) is None or setting.run in chosen
    ]


def _n_seeds(setting: TableSetting, metric: str) -> int:
    return setting.estimates[metric].n if metric in setting.estimates else 0


def _best_on_test(records: Sequence[Record]) -> list[TableSetting]:
    return best_settings(settings_of(records), "test MAE")


def _best_rate_on_validation(records: Sequence[Record]) -> list[TableSetting]:
    return validated_settings(records, of_any_rate)


def _all_settings(records: Sequence[Record]) -> list[Setting[Any]]:
    return [
        *settings_of(records),
        *settings_over_seeds(records, ForecastRun),
        *settings_over_seeds(records, ValueRun),
        *settings_over_seeds(records, ShapeRun),
        *settings_over_seeds(records, TableRun),
    ]


CHOICES: dict[str, Callable[[Sequence[Record]], list[Setting[Any]]]] = {
    "all": _all_settings,
    "best on test": _best_on_test,
    "best on validation": validated_settings,
    "best rate on validation": _best_rate_on_validation,
}
"""Which settings of its methods an experiment reports: from records to settings."""
