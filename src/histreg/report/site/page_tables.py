"""Page tables: printed tables for a page, every cell with a class for its style."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from histreg.report.beside_paper import FAR_APART
from histreg.report.printed_table import PrintedTable
from histreg.study.claims import Verdict

CLOSE = 1.0  # joint standard errors, within which most differences are by chance
LONGEST = 24  # letters of a word column that is not broken into lines
SYMBOLS = {
    Verdict.CONFIRMED: "✓",
    Verdict.HOLDS_SO_FAR: "(✓)",
    Verdict.REFUTED: "✗",
    Verdict.FAILS_SO_FAR: "(✗)",
    Verdict.DEPENDS: "±",
    Verdict.NOT_SIGNIFICANT: "≈",
    Verdict.NOT_RUN: "·",
}
"""Of verdicts, for readers who do not see colours."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table on a page.

    Parameters
    ----------
    text : str
    kind : str
        Its CSS classes: words or number; near, fair, better or worse; a verdict's.
    link : str
        An address on the site; empty if it has none.
    """

    text: str
    kind: str
    link: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table of cells, the first of each row its name."""

    title: str
    header: list[Cell]
    rows: list[list[Cell]]
    notes: list[str]
    has_names_alone: bool
    """Whether all but the first column are numbers."""


def page_table(
    table: PrintedTable, links: Mapping[str, str] | None = None
) -> PageTable:
    """Return a printed table for a page.

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
    header = [Cell(*cell) for cell in zip(table.header, kinds, strict=True)]
    return PageTable(table.title, header, rows, list(table.notes), table.n_words == 1)


def _cell(text: str, kind: str, name: str, links: Mapping[str, str]) -> Cell:
    if name == "apart" and text:
        kind += f" {distance(text)}"
    if text in SYMBOLS:
        verdict = Verdict(text)
        return Cell(f"{SYMBOLS[verdict]} {text}", f"{kind} verdict {class_of(verdict)}")
    return Cell(text, kind, links.get(text, ""))


def distance(apart: str) -> str:
    """Return near, fair, better or worse: a difference of errors as printed.

    Beyond three joint standard errors, a lower error than the paper's is better.
    """
    size = float(apart.rstrip("*"))
    if abs(size) > FAR_APART or apart.endswith("*"):
        return "worse" if size > 0 else "better"
    return "near" if abs(size) <= CLOSE else "fair"


def class_of(verdict: Verdict) -> str:
    """Return the CSS class of a verdict."""
    return verdict.replace(" ", "-")
