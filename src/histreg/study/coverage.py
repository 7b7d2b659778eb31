"""Coverage: which numbers of the paper's tables we have, how near, and what is left."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import PaperCell, Row, paper_cells, row_of
from histreg.study.analysis.statistics import CHOICES, Setting
from histreg.study.catalogue import EXPERIMENTS, selected
from histreg.study.engine.runner import stacked
from histreg.study.engine.runs import Record, Run
from histreg.study.engine.times import Times

EXPERIMENT_OF = {
    1: "overall",
    2: "projected",
    3: "representation",
    4: "forecasts",
    6: "forecasts",
    7: "overall",
    8: "projected",
    9: "representation",
}
"""By the number of a table: the experiment that has its rows."""
NO_RUN = "no run of ours is this row"
SEEDS_DIVERGED = "all seeds were run, and some diverged"


@dataclass(frozen=True)
class Cell:
    """A number of the paper beside ours.

    Parameters
    ----------
    paper : PaperCell
    ours : Estimate or None
        Over the seeds that did not diverge; None if there is none.
    """

    paper: PaperCell
    ours: Estimate | None

    @property
    def n_seeds(self) -> int:
        """The number of seeds of ours."""
        return 0 if self.ours is None else self.ours.n

    @property
    def is_complete(self) -> bool:
        """Whether ours has as many seeds as the paper's."""
        return self.n_seeds >= self.paper.estimate.n

    @property
    def apart(self) -> float:
        """Ours minus the paper's, in joint standard errors.

        NaN without a number of ours, and for a single seed, whose error is not known.
        """
        return math.nan if self.ours is None else self.ours.apart(self.paper.estimate)


@dataclass(frozen=True)
class Gap:
    """Rows of the paper that are not complete, and the command that computes them.

    Parameters
    ----------
    cells : sequence of Cell
        The incomplete cells of the rows.
    datasets, methods : tuple of str
    models : tuple of str
        Architectures of forecasters; empty for other rows.
    experiment : str
        The experiment that the command runs; empty if there is nothing to run.
    runs : tuple of Run
        The runs that the command computes if those of the gaps before it are done. They
        may be more than the rows need: variants of ours have the same method's name.
    expected_s : float
        Their time, in seconds of one core.
    obstacle : str
        Why there is nothing to run, if so.
    """

    cells: Sequence[Cell]
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    models: tuple[str, ...] = ()
    experiment: str = ""
    runs: tuple[Run, ...] = ()
    expected_s: float = 0.0
    obstacle: str = ""

    @property
    def command(self) -> str:
        """The command, for a shell; empty if there is nothing to run."""
        if not self.runs:
            return ""
        words = ["histreg", "study", "run", self.experiment]
        words += ["--datasets", ",".join(self.datasets)]
        words += ["--methods", ",".join(self.methods)]
        words += ["--models", ",".join(self.models)] if self.models else []
        return shlex.join(words)


@dataclass(frozen=True, eq=False)
class Coverage:
    """The paper's numbers beside ours, and what it takes to complete them.

    Parameters
    ----------
    cells : sequence of Cell
    records : mapping of Run to Record
        Of any experiments; all of them tell how long runs take.
    """

    cells: Sequence[Cell]
    records: Mapping[Run, Record]

    @classmethod
    def of(
        cls, records: Iterable[Record], tables: Collection[int] = tuple(EXPERIMENT_OF)
    ) -> Coverage:
        """Compare records with the paper's tables.

        Parameters
        ----------
        records : iterable of Record
        tables : collection of int
            Numbers of the tables.
        """
        by_run = {record.run: record for record in records}
        wanted = [cell for cell in paper_cells() if cell.table in tables]
        names = {EXPERIMENT_OF[cell.table] for cell in wanted}
        settings = {name: _settings(name, by_run) for name in names}
        cells = [
            Cell(paper, _ours(settings[EXPERIMENT_OF[paper.table]], paper))
            for paper in wanted
        ]
        return cls(cells, by_run)

    def expected_s(self, cells: Iterable[Cell]) -> float:
        """Return the time to complete cells, in seconds of one core.

        A run that several cells need counts once.
        """
        runs: dict[Run, None] = {}
        for cell in cells:
            if not cell.is_complete:
                missing = self._missing[EXPERIMENT_OF[cell.paper.table]]
                runs |= dict.fromkeys(missing.get(cell.paper.row, ()))
        return self._times.of_stacks(stacked(runs))

    @cached_property
    def gaps(self) -> list[Gap]:
        """What is not complete: one for each command, then what no command completes.

        A row that several experiments have is completed by the first of them.
        """
        rows: dict[Row, list[Cell]] = {}
        for cell in self.cells:
            if not cell.is_complete:
                rows.setdefault(cell.paper.row, []).append(cell)
        gaps: list[Gap] = []
        for name, missing in self._missing.items():
            by_dataset: dict[str, list[Row]] = {}
            for row in rows:
                if missing.get(row):
                    by_dataset.setdefault(row[0], []).append(row)
            for dataset, of_set in by_dataset.items():
                planned = {run for gap in gaps for run in gap.runs}
                cells = [cell for row in of_set for cell in rows.pop(row)]
                gaps.append(self._gap(name, dataset, of_set, cells, planned))
        obstacles: dict[tuple[str, str], list[Cell]] = {}
        for row, cells in rows.items():
            is_run = any(row in missing for missing in self._missing.values())
            obstacle = SEEDS_DIVERGED if is_run else NO_RUN
            obstacles.setdefault((row[2], obstacle), []).extend(cells)
        for (method, obstacle), cells in obstacles.items():
            datasets = tuple(dict.fromkeys(cell.paper.dataset for cell in cells))
            gaps.append(Gap(cells, datasets, (method,), obstacle=obstacle))
        return gaps

    def _gap(
        self,
        name: str,
        dataset: str,
        rows: Sequence[Row],
        cells: Sequence[Cell],
        planned: Collection[Run],
    ) -> Gap:
        """Return the gap of rows that one command completes."""
        runs = [run for row in rows for run in self._missing[name][row]]
        methods = tuple(dict.fromkeys(str(run.facet("method")) for run in runs))
        models = tuple(dict.fromkeys(model for _, model, _ in rows if model))
        computed = tuple(
            run
            for run in selected(
                EXPERIMENTS[name].runs,
                datasets=[dataset],
                methods=methods,
                models=models,
            )
            if run not in self.records and run not in planned
        )
        expected_s = self._times.of_stacks(stacked(computed))
        return Gap(cells, (dataset,), methods, models, name, computed, expected_s)

    @cached_property
    def _times(self) -> Times:
        return Times(self.records.values())

    @cached_property
    def _missing(self) -> dict[str, dict[Row, list[Run]]]:
        """The runs without a record, by experiment and row; maybe none of a row."""
        used = {EXPERIMENT_OF[cell.paper.table] for cell in self.cells}
        missing: dict[str, dict[Row, list[Run]]] = {}
        for name, experiment in EXPERIMENTS.items():  # in the order of the catalogue
            if name not in used:
                continue
            by_row = missing.setdefault(name, {})
            for run in experiment.runs:
                row = row_of(run)
                if row is not None:
                    of_row = by_row.setdefault(row, [])
                    of_row += [] if run in self.records else [run]
        return missing


def _settings(name: str, records: Mapping[Run, Record]) -> dict[Row, Setting[Any]]:
    """Return the settings that an experiment reports, by their row in the paper."""
    experiment = EXPERIMENTS[name]
    of_runs = [records[run] for run in experiment.runs if run in records]
    by_row = {}
    for setting in CHOICES[experiment.choice](of_runs):
        row = row_of(setting.run)
        if row is not None:
            by_row[row] = setting
    return by_row


def _ours(settings: Mapping[Row, Setting[Any]], paper: PaperCell) -> Estimate | None:
    setting = settings.get(paper.row)
    return None if setting is None else setting.estimates.get(paper.metric)
