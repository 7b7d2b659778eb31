"""Terminal: tables of numbers that fit its width, without cutting a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

MIN_NAME_WIDTH = 12
GAP = 2  # between columns


def print_table(
    title: str,
    headers: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    least_needed: Sequence[str],
    console: Console,
) -> None:
    """Print a table of numbers with a name in each row.

    Parameters
    ----------
    title : str
    headers : sequence of str
    rows : mapping of sequences
        Cells by the name of the row.
    least_needed : sequence of str
        Headers of columns that are left out if the terminal is too narrow, the first
        of them first. Names are wrapped, numbers never.
    console : Console
    """
    widths = {
        header: max([cell_len(header), *(cell_len(row[i]) for row in rows.values())])
        for i, header in enumerate(headers)
    }
    longest = max((cell_len(name) for name in rows), default=0)
    shown = list(headers)
    for header in least_needed:
        if _total(widths, shown) + longest <= console.width:
            break
        if header in shown:
            shown.remove(header)
    room = max(MIN_NAME_WIDTH, console.width - _total(widths, shown))
    table = Table(
        title=escape(title),
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, GAP, 0, 0),
        header_style="bold",
    )
    table.add_column("", max_width=room, overflow="fold")
    for header in shown:
        table.add_column(
            header, justify="right", no_wrap=True, min_width=widths[header]
        )
    for name, cells in rows.items():
        by_header = dict(zip(headers, cells, strict=True))
        table.add_row(escape(name), *(by_header[header] for header in shown))
    console.print(table, highlight=False)
    left_out = [header for header in headers if header not in shown]
    if left_out:
        console.print(
            f"Not shown for lack of width: {', '.join(left_out)}.", style="dim"
        )


def _total(widths: Mapping[str, int], shown: Sequence[str]) -> int:
    """Return the width that the shown columns take, with the gaps between them."""
    return sum(widths[header] + GAP for header in shown)
