"""Results: an experiment with its records, the input of tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from histreg._checks import check_choice
from histreg.study.analysis.statistics import (
    CHOICES,
    METRICS,
    Setting,
    TableSetting,
)
from histreg.study.catalogue import Experiment
from histreg.study.engine.runs import Record
from histreg.study.tabular.runs import TabularRun


@dataclass(frozen=True, eq=False)
class Results:
    """An experiment with the records that exist.

    Parameters
    ----------
    experiment : Experiment
    records : sequence of Record
    metrics : sequence of str
        Columns of tables of errors, unless the experiment has its own.
    """

    experiment: Experiment
    records: Sequence[Record]
    metrics: Sequence[str] = METRICS

    @property
    def title(self) -> str:
        """The title of its tables."""
        return self.experiment.table.title or self.experiment.title

    @cached_property
    def settings(self) -> list[Setting[Any]]:
        """The settings that the experiment reports, with its summaries as metrics."""
        check_choice("choice", self.experiment.choice, CHOICES)
        return CHOICES[self.experiment.choice](self._summarised)

    @property
    def tabular_settings(self) -> list[TableSetting]:
        """The settings of runs on tables."""
        return [
            setting for setting in self.settings if isinstance(setting.run, TabularRun)
        ]

    @property
    def _summarised(self) -> list[Record]:
        summaries = self.experiment.summaries
        return [
            record
            if record.outcome.diverged_at is not None
            else replace(
                record,
                outcome=replace(
                    record.outcome,
                    metrics={
                        **record.outcome.metrics,
                        **{name: of(record) for name, of in summaries.items()},
                    },
                ),
            )
            for record in self.records
        ]
