"""Findings: what `check` sees in a table, printed, as JSON, or as a reason to stop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from histreg.errors import InputError
from histreg.tabular.table_check import TableCheck, TableFinding

MAX_COLUMNS = 60  # listed on a terminal
MAX_FINDINGS = 5  # of one kind
MAX_NAME_WIDTH = 24  # of a column's name that is shown in one line


def print_columns(check: TableCheck) -> None:
    """Print the columns of a table as they were understood."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    longest = max((cell_len(column.name) for column in check.columns), default=0)
    name_width = max(10, min(MAX_NAME_WIDTH, longest))
    table.add_column("column", overflow="fold", min_width=name_width)
    table.add_column("kind")
    table.add_column("missing", justify="right")
    table.add_column("distinct", justify="right")
    table.add_column("content", overflow="fold")
    for column in check.columns[:MAX_COLUMNS]:
        table.add_row(
            escape(column.name),
            column.kind,
            _missing(column.n_missing, check.n_rows),
            f"{column.n_distinct:,}",
            escape(column.content),
        )
    console = Console()
    console.print(table)
    n_more = len(check.columns) - MAX_COLUMNS
    if n_more > 0:
        console.print(f"and {n_more:,} more columns; --format json lists all")


def print_findings(findings: Iterable[TableFinding], console: Console) -> None:
    """Print findings, a paragraph each; of one kind only the first few."""
    by_kind: dict[tuple[str, bool], list[TableFinding]] = {}
    for finding in findings:
        by_kind.setdefault((finding.kind, finding.is_problem), []).append(finding)
    for (_, is_problem), alike in by_kind.items():
        mark = "[bold red]problem[/]" if is_problem else "[bold]note[/]"
        for finding in alike[:MAX_FINDINGS]:
            text = f"{mark}: {escape(str(finding))}"
            console.print(text, highlight=False)
        more = [name for f in alike[MAX_FINDINGS:] for name in f.columns]
        if more:
            names = escape(", ".join(more))
            console.print(f"{mark}: the same applies to {names}", highlight=False)


def check_without_problems(check: TableCheck) -> None:
    """Raise if the check of a table found problems, for ``--strict``."""
    problems = check.problems
    if problems:
        count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
        sentences = " ".join(map(str, problems)).rstrip(".")
        raise InputError(f"--strict: the table has {count}: {sentences}")


def check_as_json(check: TableCheck) -> dict[str, Any]:
    """Return the check of a table as JSON values."""
    return {
        "n_rows": check.n_rows,
        "columns": [asdict(column) for column in check.columns],
        "findings": [asdict(finding) for finding in check.findings],
    }


def _missing(n: int, n_rows: int) -> str:
    return f"{100 * n / n_rows:.1f} %" if n else ""
