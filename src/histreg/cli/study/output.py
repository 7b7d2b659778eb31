"""Output: where the tables and figures of the study are written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from histreg._files import atomic_write
from histreg.cli.outputs import check_output
from histreg.cli.study.user_modules import files_of_user_modules
from histreg.errors import InputError
from histreg.report.printed_table import PrintedTable


def check_output_file(
    out: Path, store: Path, modules: list[str] | None, *, overwrite: bool
) -> None:
    """Raise unless a command of the study may write this file."""
    # A store consists of all its JSON files; other files may lie beside them.
    reads = chain(store.rglob("*.json*"), files_of_user_modules(modules))
    check_output("--out", out, overwrite=overwrite, reads=reads)
    if out.suffix == ".jsonl":  # a store would read it as records
        raise InputError(f"--out must not be named .jsonl, as records are, got {out}")


def print_tables(tables: Iterable[PrintedTable], form: str, out: Path | None) -> None:
    """Print tables one after another, or as one list, or write them to a file."""
    texts = [table.shown(form) for table in tables]
    text = f"[{', '.join(texts)}]" if form == "json" else "\n\n".join(texts)
    if out is None:
        print(text)
        return
    with atomic_write(out) as partial:
        partial.write_text(text + "\n")
