"""Printed table: rows of text, as plain text, Markdown, LaTeX or JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

T = TypeVar("T")

FORMATS = ("text", "markdown", "latex", "json")
MAX_WIDTH = 64  # letters of a column of words on a terminal
_LATEX = {
    "\\": r"\textbackslash{}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    "²": "$^2$",
}


@dataclass(frozen=True)
class PrintedTable:
    """A table for readers, all cells as text.

    Parameters
    ----------
    title : str
    header : tuple of str
    rows : sequence of tuples of str
        As long as the header.
    notes : sequence of str
        Printed below, a paragraph each.
    n_words : int
        How many columns, from the first, are words; the others are numbers.
    """

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[str] = ()
    n_words: int = 1

    @classmethod
    def of(
        cls,
        title: str,
        items: Iterable[T],
        columns: Sequence[tuple[str, Callable[[T], str]]],
        notes: Sequence[str] = (),
    ) -> PrintedTable:
        """Return a table with a row for each item.

        Parameters
        ----------
        title : str
        items : iterable
        columns : sequence of pairs
            Each has the header of a column, and a function from an item to its cell.
        notes : sequence of str

        Examples
        --------
        >>> squares = [("x", str), ("x²", lambda x: str(x * x))]
        >>> PrintedTable.of("Squares", [2, 3], squares).rows
        [('2', '4'), ('3', '9')]
        """
        rows = [tuple(cell(item) for _, cell in columns) for item in items]
        return cls(title, tuple(header for header, _ in columns), rows, notes)

    def text(self) -> str:
        """Return the table for a terminal; long texts are wrapped."""
        lines = [line for row in self.rows for line in self._broken(row)]
        columns = list(zip(self.header, *lines, strict=True))
        widths = [max(map(len, column)) for column in columns]

        def line(cells: tuple[str, ...]) -> str:
            aligned = [
                cell.ljust(width) if i < self.n_words else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ]
            return "  ".join(aligned)

        rule = "-" * len(line(self.header))
        width = max(72, len(rule))
        title = textwrap.wrap(self.title, width)
        parts = [*title, rule, line(self.header), rule, *map(line, lines), rule]
        notes = [line for note in self.notes for line in textwrap.wrap(note, width)]
        return "\n".join([*(part.rstrip() for part in parts), *notes])

    def _broken(self, row: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return a row as lines whose words are no wider than `MAX_WIDTH`."""
        # Words stay whole: the parts of a command can be copied.
        cells = [
            textwrap.wrap(
                cell, MAX_WIDTH, break_long_words=False, break_on_hyphens=False
            )
            or [""]
            if i < self.n_words
            else [cell]
            for i, cell in enumerate(row)
        ]
        return list(zip_longest(*cells, fillvalue=""))

    def markdown(self) -> str:
        """Return the table for a page in Markdown."""

        def line(cells: tuple[str, ...]) -> str:
            return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

        n_numbers = len(self.header) - self.n_words
        alignment = "|" + "---|" * self.n_words + "---:|" * n_numbers
        table = [line(self.header), alignment, *map(line, self.rows)]
        notes = [part for note in self.notes for part in ("", note)]
        return "\n".join([f"**{self.title}**", "", *table, *notes])

    def latex(self) -> str:
        """Return the table for a paper, with the rules of booktabs."""

        def line(cells: tuple[str, ...]) -> str:
            return " & ".join(map(_escaped, cells)) + r" \\"

        alignment = "l" * self.n_words + "r" * (len(self.header) - self.n_words)
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{_escaped(' '.join([self.title + '.', *self.notes]))}}}",
                rf"\begin{{tabular}}{{{alignment}}}",
                r"\toprule",
                line(self.header),
                r"\midrule",
                *map(line, self.rows),
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
            ]
        )

    def json(self) -> str:
        """Return the table for a script: an object with the cells as they are shown."""
        document = {
            "title": self.title,
            "header": self.header,
            "rows": list(self.rows),
            "notes": list(self.notes),
        }
        return json.dumps(document, ensure_ascii=False, indent=2)

    def shown(self, form: str) -> str:
        """Return the table in one of `FORMATS`."""
        forms: dict[str, Callable[[], str]] = {
            "text": self.text,
            "markdown": self.markdown,
            "latex": self.latex,
            "json": self.json,
        }
        return forms[form]()


def _escaped(cell: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in cell)


def shown_number(value: float) -> str:
    """Return a number with four significant digits, or all digits before the point."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
