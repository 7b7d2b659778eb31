"""The headline: our test MAE beside the paper's, and how much has been run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from histreg.report.beside_paper import apart_of, in_paper, shown
from histreg.report.printed_table import PrintedTable
from histreg.report.site.page_tables import distance
from histreg.report.site.study_results import StudyResults
from histreg.report.value_tables import size_of
from histreg.study.analysis.paper import UNMATCHED, published, rows_of
from histreg.study.analysis.statistics import (
    TableSetting,
    best_settings,
    settings_of,
)
from histreg.study.atari.runs import ValueRun
from histreg.study.catalogue import DATA, EXPERIMENTS
from histreg.study.datasets import GAMES, SERIES, source
from histreg.study.engine.runs import Record, Run

MAIN = "test MAE"
NOT_RUN = "not run"
OTHERS = A_GAME, OTHER_DATA, NO_DATA = ("Atari", "other data", "no data")
"""Columns for runs that are on none of the paper's data sets and series."""


@dataclass(frozen=True)
class HeadlineCell:
    """A number of ours with the paper's, as they are printed.

    Parameters
    ----------
    ours, paper, apart : str
        Empty if there is none.
    seeds : int
        The number of ours.
    is_best : bool
        Whether ours is the lowest of all networks on the data set.
    """

    ours: str
    paper: str = ""
    apart: str = ""
    seeds: int = 0
    is_best: bool = False

    @property
    def kind(self) -> str:
        """Near, fair, better or worse; empty if the distance is not known."""
        return distance(self.apart) if self.apart else ""


@dataclass(frozen=True)
class Headline:
    """The table of the front page: a row for each method, columns for data sets."""

    titles: list[str]
    rows: list[tuple[str, list[HeadlineCell]]]
    n_seeds: int


def headline(records: Sequence[Record]) -> Headline:
    """Return the paper's Tables 1 and 7 in test MAE, all data sets in one.

    Of methods with several settings, the one of lowest test MAE, as in the paper. Data
    sets of which most was run come first.
    """
    best = [
        setting
        for setting in best_settings(settings_of(records), MAIN)
        if in_paper(setting, MAIN) is not None
    ]
    by_place = {(setting.method.name, setting.dataset): setting for setting in best}
    lowest = {name: _lowest(best, name) for name in DATA}
    n_run = Counter(setting.dataset for setting in best)
    data = sorted(DATA, key=lambda name: -n_run[name])
    rows = [
        (row, [_cell(row, of, by_place, lowest[of]) for of in data])
        for row in rows_of("overall")
    ]
    counts = [cell.seeds for _, cells in rows for cell in cells]
    titles = [source(name).title for name in data]
    return Headline(titles, rows, max(counts, default=0))


def _lowest(settings: Sequence[TableSetting], name: str) -> TableSetting | None:
    of_set = [e for e in settings if e.dataset == name and MAIN in e.estimates]
    return min(of_set, key=lambda e: e.estimates[MAIN].mean, default=None)


def _cell(
    name: str,
    of: str,
    by_place: dict[tuple[str, str], TableSetting],
    lowest: TableSetting | None,
) -> HeadlineCell:
    paper = published(of, name, MAIN)
    shown_paper = "" if paper is None else shown(paper)
    if name in UNMATCHED:
        return HeadlineCell("", shown_paper)
    setting = by_place.get((name, of))
    if setting is None or MAIN not in setting.estimates:
        return HeadlineCell(NOT_RUN, shown_paper)
    ours = setting.estimates[MAIN]
    in_table = in_paper(setting, MAIN)
    apart = "" if in_table is None else apart_of(ours, in_table)
    return HeadlineCell(shown(ours), shown_paper, apart, ours.n, setting is lowest)


def what_was_run(study: StudyResults) -> PrintedTable:
    """Return how many runs of each experiment have a record, by data sets."""
    columns = [*(source(name).title for name in (*DATA, *SERIES)), *OTHERS]
    # What was not run at all comes last.
    names = sorted(EXPERIMENTS, key=lambda name: not study.records[name])
    counts = {
        name: [
            _counted(EXPERIMENTS[name].runs, study.records[name], of) for of in columns
        ]
        for name in names
    }
    used = [i for i in range(len(columns)) if any(row[i] for row in counts.values())]
    titles = [columns[i] for i in used]
    rows = [
        (EXPERIMENTS[name].title, *(row[i] for i in used))
        for name, row in counts.items()
    ]
    notes = [
        "Runs with a record, of all that the experiment has.",
        *_sizes(run for each in EXPERIMENTS.values() for run in each.runs),
    ]
    return PrintedTable("What was run", ("experiment", *titles), rows, notes)


def _sizes(runs: Iterable[Run]) -> list[str]:
    """Return a note on the games, of which the experiments have only a part."""
    on_games = [run for run in runs if isinstance(run, ValueRun)]
    return [f"Atari: {size_of(on_games)}."] if on_games else []


def _column(run: Run) -> str:
    """Return where a run is counted, so that every run is somewhere."""
    name = run.facet("dataset")
    if not name:
        return NO_DATA
    if name in DATA or name in SERIES:
        return source(str(name)).title
    return A_GAME if name in GAMES else OTHER_DATA


def _counted(runs: Sequence[Run], records: Sequence[Record], of: str) -> str:
    n = sum(_column(run) == of for run in runs)
    done = sum(_column(record.run) == of for record in records)
    if not n:
        return ""
    if not done:
        return NOT_RUN
    return f"all {n}" if done == n else f"{done} of {n}"
