"""What was found in a table, for a terminal."""

import io

import pytest
from rich.console import Console

from histreg.cli.findings import (
    MAX_COLUMNS,
    check_without_problems,
    print_columns,
    print_findings,
)
from histreg.errors import InputError
from histreg.tabular.table_check import ColumnSummary, TableCheck, TableFinding


def ids(n):
    names = [f"id{i}" for i in range(n)]
    return [TableFinding("id", (x,), f"{x!r} is an id", "Drop it", True) for x in names]


def test_of_many_findings_of_a_kind_the_first_are_printed_and_all_are_named():
    text = io.StringIO()
    print_findings(ids(8), Console(file=text, width=200))
    lines = text.getvalue().splitlines()
    assert len(lines) == 6
    assert lines[0] == "problem: 'id0' is an id. Drop it."
    assert lines[-1] == "problem: the same applies to id5, id6, id7"


def test_of_many_columns_the_first_are_printed(capsys):
    columns = [ColumnSummary(f"[b]{i}", "number", 1, 2, "0 to 1") for i in range(70)]
    print_columns(TableCheck(4, tuple(columns), ()))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + MAX_COLUMNS + 1
    assert lines[1].split() == ["[b]0", "number", "25.0", "%", "2", "0", "to", "1"]
    assert lines[-1] == "and 10 more columns; --format json lists all"


def test_problems_stop_and_notes_do_not():
    note = TableFinding("gaps", ("a",), "'a' has gaps", "Look", False)
    check_without_problems(TableCheck(4, (), (note,)))
    with pytest.raises(InputError, match="the table has 2 problems: 'id0' is an id"):
        check_without_problems(TableCheck(4, (), (*ids(2), note)))
