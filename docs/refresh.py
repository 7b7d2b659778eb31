"""Fill the tables of a page from the records that are committed.

    python docs/refresh.py docs/paper.md

A block between ``<!-- table NAME OPTIONS -->`` and ``<!-- end -->`` becomes what
``histreg study table NAME OPTIONS --format markdown --store results/study`` prints; one
after ``<!-- claims OPTIONS -->`` likewise. A table without records says so.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from typer.testing import CliRunner

from histreg.cli import app

RECORDS = Path(__file__).parents[1] / "results" / "study"
NOTHING = "must have records, got none yet"
BLOCK = re.compile(r"(<!-- ((?:table|claims)\b.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def printed(command: str) -> str:
    """Return what a command of the study prints of the records that are committed."""
    arguments = ["study", *shlex.split(command)]
    arguments += ["--format", "markdown", "--store", str(RECORDS)]
    result = CliRunner().invoke(app, arguments)
    if result.exit_code and NOTHING in result.output:
        return f"Not run yet: `histreg study run {arguments[2]}`.\n"
    if result.exit_code:
        raise ValueError(f"{command}: {result.output}")
    return result.stdout


def refreshed(text: str) -> str:
    """Return a page with its tables made anew."""
    return BLOCK.sub(lambda m: m[1] + "\n" + printed(m[2]) + "\n" + m[3], text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(refreshed(page.read_text()))
