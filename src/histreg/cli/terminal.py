"""Terminal: tables of numbers that fit its width, without cutting a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

MIN_NAME_WIDTH = 12
MAX_NAME_WIDTH = 36  # beyond which a name is wrapped rather than a column left out
GAP = 2  # between columns


def print_table(
    title: str,
    headers: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    least_needed: Sequence[str],
    console: Console,
) -> None:
    """Print a table of numbers with a name in each row.

    Parameters
    ----------
    title : str
    headers : sequence of str
    rows : sequence of pairs
        The name of a row, and its cells.
    least_needed : sequence of str
        Headers of columns that are left out if the terminal is too narrow, the first
        of them first. Names are wrapped, numbers never.
    console : Console
    """
    widths = {
        header: max([cell_len(header), *(cell_len(row[i]) for _, row in rows)])
        for i, header in enumerate(headers)
    }
    longest = max((cell_len(name) for name, _ in rows), default=0)
    shown = list(headers)
    for header in least_needed:
        if _total(widths, shown) + min(longest, MAX_NAME_WIDTH) <= console.width:
            break
        if header in shown:
            shown.remove(header)
    room = max(MIN_NAME_WIDTH, console.width - _total(widths, shown))
    console.print(escape(title), style="italic", highlight=False)
    table = Table(
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
    for name, cells in rows:
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
