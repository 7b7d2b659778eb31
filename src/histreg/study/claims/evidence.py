"""Evidence: records by run, from which claims take their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from histreg.study.analysis.ratios import ValuePair
from histreg.study.analysis.statistics import (
    Setting,
    settings_of,
    settings_over_seeds,
    validated_settings,
)
from histreg.study.atari.runs import ValueRun
from histreg.study.catalogue import DATA, GRIDS, SEEDS, VALUE_GAMES, VALUE_HL
from histreg.study.claims.findings import BySeed
from histreg.study.datasets import GAMES, SERIES
from histreg.study.engine.runs import Record, Run
from histreg.study.measurements import Measurement
from histreg.study.methods import L2, HLGauss, Method
from histreg.study.series.runs import ForecastRun, reading_of
from histreg.study.tabular.runs import TabularRun


@dataclass(frozen=True, eq=False)
class Evidence:
    """Records by run.

    Parameters
    ----------
    records : sequence of Record
    datasets : tuple of str
        Data sets on which claims are judged; by default the paper's.
    epochs : int, optional
        Instead of the protocol's, for a reduced study.
    """

    records: Sequence[Record]
    datasets: tuple[str, ...] = DATA
    epochs: int | None = None

    @property
    def departures(self) -> tuple[str, ...]:
        """How the runs differ from the paper's protocol, in words."""
        return () if self.epochs is None else (f"{self.epochs} epochs",)

    def datasets_named(self, *names: str) -> tuple[str, ...]:
        """Return the data sets with one of these names.

        A part of a data set, such as song-7000, also has the name of the whole.
        """
        return tuple(name for name in self.datasets if name.split("-")[0] in names)

    @cached_property
    def _settings(self) -> dict[TabularRun, Setting[TabularRun]]:
        return {setting.run: setting for setting in settings_of(self.records)}

    def setting(
        self, name: str, method: Method, **changes: Any
    ) -> Setting[TabularRun] | None:
        """Return a method on a data set by the protocol, with some changes."""
        if self.epochs is not None:
            changes = {"epochs": self.epochs, **changes}
        return self._settings.get(TabularRun.of(name, method, 0, **changes))

    def values(
        self, name: str, method: Method, metric: str = "test MAE", **changes: Any
    ) -> BySeed:
        """Return a metric by seed; nothing if there is no such run."""
        setting = self.setting(name, method, **changes)
        return {} if setting is None else setting.values(metric)

    def summaries(
        self, name: str, method: Method, of: Callable[[Record], float], **changes: Any
    ) -> BySeed:
        """Return a number computed from each record, by seed; empty without records."""
        setting = self.setting(name, method, **changes)
        records = {} if setting is None else setting.by_seed()
        return {seed: of(record) for seed, record in records.items()}

    def measurement(self, what: str, name: str) -> Record | None:
        """Return the record of a measurement on a data set; None if there is none."""
        wanted = Measurement(what, name)
        return next((record for record in self.records if record.run == wanted), None)

    @property
    def tabular(self) -> tuple[str, ...]:
        """The data sets that are tables: neither series nor games."""
        others = {**SERIES, **GAMES}
        return tuple(name for name in self.datasets if name not in others)

    @property
    def series(self) -> tuple[str, ...]:
        """The series: all of them, unless data sets were asked for."""
        if self.datasets == DATA:
            return tuple(SERIES)
        return tuple(name for name in self.datasets if name in SERIES)

    def forecasts(
        self, name: str, architecture: str, method: L2 | HLGauss, metric: str
    ) -> BySeed:
        """Return a metric of a forecaster by seed; nothing if there is no such run."""
        reading = reading_of(architecture)
        wanted = ForecastRun(name, architecture, method, 0, **reading)
        if self.epochs is not None:
            wanted = wanted.for_epochs(self.epochs)
        setting = self._forecasts.get(wanted)
        return {} if setting is None else setting.values(metric)

    @cached_property
    def _forecasts(self) -> dict[ForecastRun, Setting[ForecastRun]]:
        settings = settings_over_seeds(self.records, ForecastRun)
        return {setting.run: setting for setting in settings}

    @property
    def games(self) -> tuple[str, ...]:
        """The games: those of the catalogue, unless data sets were asked for."""
        if self.datasets == DATA:
            return VALUE_GAMES
        return tuple(name for name in self.datasets if name in GAMES)

    def value_pair(self, name: str) -> ValuePair | None:
        """Return both losses on a game by the protocol; None if one was not run."""
        l2, hl = (
            self._on_games.get(
                ValueRun(name, method, 0)
                if self.epochs is None
                else ValueRun(name, method, 0, epochs=self.epochs)
            )
            for method in (L2(), VALUE_HL)
        )
        return None if l2 is None or hl is None else ValuePair(l2, hl)

    @cached_property
    def _on_games(self) -> dict[ValueRun, Setting[ValueRun]]:
        settings = settings_over_seeds(self.records, ValueRun)
        return {setting.run: setting for setting in settings}

    def chosen(self, name: str, method: str, metric: str = "test MAE") -> BySeed:
        """Return a metric of a tuned method, its setting chosen on validation rows.

        Empty if one of these runs is missing, because its setting could be the best.
        """
        if not self._has_whole_grid(name, method):
            return {}
        for setting in self._validated:
            if (setting.dataset, setting.method.name) == (name, method):
                return setting.values(metric)
        return {}

    def _has_whole_grid(self, name: str, method: str) -> bool:
        changes = {} if self.epochs is None else {"epochs": self.epochs}
        return all(
            TabularRun.of(name, variant, seed, part="validation", **changes)
            in self._runs
            for variant in GRIDS
            if variant.name == method
            for seed in SEEDS
        )

    @cached_property
    def _runs(self) -> set[Run]:
        return {record.run for record in self.records}

    @cached_property
    def _validated(self) -> list[Setting[TabularRun]]:
        usual = [record for record in self.records if self._is_usual(record)]
        return [
            setting for setting in validated_settings(usual) if setting.method.is_tuned
        ]

    def _is_usual(self, record: Record) -> bool:
        run = record.run
        if not isinstance(run, TabularRun):
            return False
        changes = {} if self.epochs is None else {"epochs": self.epochs}
        of = TabularRun.of(run.dataset, run.method, run.seed, part=run.part, **changes)
        return run == of
