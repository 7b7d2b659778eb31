"""Experiment pages: a question, how it was answered, and what the records say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from histreg.report.experiment_figures import figure_of
from histreg.report.experiment_tables import MAIN_METRICS, tables_of
from histreg.report.printed_table import PrintedTable
from histreg.report.site.answers import answer_of
from histreg.report.site.page_figures import PageFigure, page_figure
from histreg.report.site.story import run_first
from histreg.report.site.study_results import JudgedClaim, StudyResults
from histreg.report.value_tables import size_of
from histreg.study.analysis.statistics import METRICS
from histreg.study.atari.runs import ValueRun
from histreg.study.catalogue import EXPERIMENTS, Experiment
from histreg.study.catalogue.tabular_runs import PROTOCOL
from histreg.study.datasets import source
from histreg.study.engine.runs import Record, Run
from histreg.study.tabular.runs import TabularRun


@dataclass(frozen=True, eq=False)
class ExperimentPage:
    """The contents of the page of an experiment.

    Parameters
    ----------
    experiment : Experiment
    answer : str
        What the records say, in a sentence.
    records : sequence of Record
        The existing records.
    protocol : tuple of str
        Description of the experiment, one paragraph each.
    facts : mapping
        Data sets, methods, seeds and runs, in words.
    tables : sequence of PrintedTable
    notes : sequence of str
        Notes common to all tables.
    more : sequence of PrintedTable
        The same tables with all errors, where they have more.
    figure : PageFigure, optional
    caption : str
        What the figure shows.
    commands : tuple of str
        Commands that compute, print and draw the same.
    claims : sequence of JudgedClaim
    """

    experiment: Experiment
    answer: str
    records: Sequence[Record]
    protocol: tuple[str, ...]
    facts: Mapping[str, str]
    tables: Sequence[PrintedTable]
    notes: Sequence[str]
    more: Sequence[PrintedTable]
    figure: PageFigure | None
    caption: str
    commands: tuple[str, ...]
    claims: Sequence[JudgedClaim]

    @property
    def has_distances(self) -> bool:
        """Whether a table has differences from the paper's numbers."""
        return any("apart" in table.header for table in self.tables)

    @classmethod
    def of(cls, experiment: Experiment, study: StudyResults) -> ExperimentPage:
        """Collect the contents; the tables are made and the figure is drawn."""
        name, runs = experiment.name, experiment.runs
        records = study.records[name]
        tables, more = _tables(name, records, runs)
        notes = _common_notes(tables)
        common = PROTOCOL if _is_tabular(runs) else ""
        claims = study.decided_by(experiment)
        return cls(
            experiment,
            answer_of(experiment, records, claims),
            records,
            tuple(text for text in (experiment.protocol, common) if text),
            facts_of(runs, records),
            _without(notes, tables),
            notes,
            _without(notes, more),
            _figure(name, records),
            experiment.figure.caption or experiment.title,
            (
                f"histreg study run {name}",
                f"histreg study table {name}",
                f"histreg study figure {name} --out {name}.png",
            ),
            run_first(claims),
        )


def _is_tabular(runs: Sequence[Run]) -> bool:
    return any(isinstance(run, TabularRun) for run in runs)


def _tables(
    name: str, records: Sequence[Record], runs: Sequence[Run]
) -> tuple[list[PrintedTable], list[PrintedTable]]:
    """Return tables of test errors, and those of all errors if they have more."""
    if not records:
        return [], []
    tables = tables_of(name, records, MAIN_METRICS, runs=runs)
    more = tables_of(name, records, METRICS, runs=runs)
    has_more = [table.header for table in more] != [table.header for table in tables]
    return tables, more if has_more else []


def _common_notes(tables: Sequence[PrintedTable]) -> list[str]:
    """Return the notes that all of several tables have, to be printed once."""
    if len(tables) < 2:
        return []
    return [
        note for note in tables[0].notes if all(note in table.notes for table in tables)
    ]


def _without(
    notes: Sequence[str], tables: Sequence[PrintedTable]
) -> list[PrintedTable]:
    return [
        replace(table, notes=[note for note in table.notes if note not in notes])
        for table in tables
    ]


def _figure(name: str, records: Sequence[Record]) -> PageFigure | None:
    if not records:
        return None
    try:
        return page_figure(figure_of(name, records), name)
    except ValueError:  # records that cannot be drawn, such as diverged ones
        return None


def facts_of(runs: Sequence[Run], records: Sequence[Record]) -> dict[str, str]:
    """Return what an experiment has: data sets, methods, seeds, runs."""
    names = _facets(runs, "dataset")
    data = []
    for name in names:
        epochs = {
            run.epochs
            for run in runs
            if isinstance(run, TabularRun) and run.dataset == name and run.hidden
        }
        title = source(name).title
        data.append(f"{title} ({epochs.pop():,} epochs)" if len(epochs) == 1 else title)
    on_games = [run for run in runs if isinstance(run, ValueRun)]
    facts = {
        "Data": ", ".join(data),
        "Size": size_of(on_games) if on_games else "",
        "Methods": ", ".join(_facets(runs, "method")),
        "Seeds": ", ".join(_facets(runs, "seed")),
        "Runs": f"{len(records):,} of {len(runs):,} have a record",
    }
    spent = sum(record.elapsed_s for record in records) / 3600
    if spent >= 0.05:
        facts["Time"] = f"{spent:.1f} hours of one core"
    return {name: fact for name, fact in facts.items() if fact}


def _facets(runs: Sequence[Run], name: str) -> list[str]:
    facets = dict.fromkeys(run.facet(name) for run in runs)
    return [str(facet) for facet in facets if facet is not None]


def neighbours(name: str) -> tuple[Experiment | None, Experiment | None]:
    """Return the experiments before and after one in the catalogue."""
    names = list(EXPERIMENTS)
    at = names.index(name)
    before = EXPERIMENTS[names[at - 1]] if at else None
    after = EXPERIMENTS[names[at + 1]] if at + 1 < len(names) else None
    return before, after
