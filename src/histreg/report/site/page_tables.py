"""Marked tables: printed tables whose cells say what they are, for a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from histreg.report.error_tables import FAR_APART
from histreg.report.printed import PrintedTable
from histreg.study.claims import Verdict

CLOSE = 1.0  # joint standard errors, within which most differences are by chance
LONGEST = 24  # letters of a word column that is not broken into lines
SYMBOLS = {
    Verdict.CONFIRMED: "✓",
    Verdict.REFUTED: "✗",
    Verdict.NOT_SIGNIFICANT: "≈",
    Verdict.NOT_RUN: "·",
}
"""Of verdicts, for those who see no colour."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table on a page.

    Parameters
    ----------
    text : str
    kind : str
        Names of its looks: words or number; near, fair or far; a verdict's.
    link : str
        An address on the site, if it leads somewhere.
    """

    text: str
    kind: str
    link: str = ""


@dataclass(frozen=True)
class MarkedTable:
    """A table of cells, the first of each row its name."""

    title: str
    header: list[Cell]
    rows: list[list[Cell]]
    notes: list[str]
    has_names_alone: bool
    """Whether all but the first column are numbers."""


def marked(table: PrintedTable, links: Mapping[str, str] | None = None) -> MarkedTable:
    """Return a printed table with every cell marked by what it is.

    Parameters
    ----------
    table : PrintedTable
    links : mapping of str
        Addresses by the texts of cells that lead there.
    """
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.header)
    kinds = []
    for i, column in enumerate(columns):
        is_short = max(map(len, column), default=0) <= LONGEST
        words = "short" if is_short else "words"
        kinds.append(words if i < table.n_words else "number")
    rows = [
        [
            _cell(text, kind, name, links or {})
            for text, kind, name in zip(row, kinds, table.header, strict=True)
        ]
        for row in table.rows
    ]
    header = [Cell(*each) for each in zip(table.header, kinds, strict=True)]
    return MarkedTable(table.title, header, rows, list(table.notes), table.n_words == 1)


def _cell(text: str, kind: str, name: str, links: Mapping[str, str]) -> Cell:
    if name == "apart" and text:
        kind += f" {distance(text)}"
    if text in SYMBOLS:
        verdict = Verdict(text)
        return Cell(f"{SYMBOLS[verdict]} {text}", f"{kind} verdict {looks_of(verdict)}")
    return Cell(text, kind, links.get(text, ""))


def distance(apart: str) -> str:
    """Return near, fair or far: a difference as printed, by its size."""
    size = abs(float(apart.rstrip("*")))
    if size > FAR_APART or apart.endswith("*"):
        return "far"
    return "near" if size <= CLOSE else "fair"


def looks_of(verdict: Verdict) -> str:
    """Return the name of a verdict's looks."""
    return verdict.replace(" ", "-")
