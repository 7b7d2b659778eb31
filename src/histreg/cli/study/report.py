"""The command ``histreg study report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import Overwrite
from histreg.cli.outputs import check_output_folder
from histreg.cli.study.options import DEFAULT_STORE, Imports, StoreFolder
from histreg.cli.study.user_modules import import_user_modules
from histreg.errors import InputError

EXAMPLE = "Example: histreg study report --out site --store results/study"


@exit_on_user_error
def report(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder to write: new, empty, or an existing report.",
        ),
    ],
    overwrite: Overwrite = False,
    store: StoreFolder = DEFAULT_STORE,
    modules: Imports = None,
) -> None:
    """Write a website of all records: tables, figures, claims and missing runs.

    It needs neither a server nor a network: open index.html.
    """
    with requires_extra("study"):
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress

        from histreg.report.site.writing import is_site, write_site
        from histreg.study.engine.store import Store

    import_user_modules(modules)
    check_output_folder(
        "--out", out, overwrite=overwrite, content="a report", is_there=is_site
    )
    if out.resolve() in (store.resolve(), *store.resolve().parents):
        raise InputError(
            f"--out must not be a folder that holds the store {store}, got {out}"
        )
    console = Console()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("reading records", total=None)

        def show(page: str, n_done: int, n_pages: int) -> None:
            description = f"page {n_done + 1} of {n_pages}: {escape(page)}"
            progress.update(
                task, description=description, completed=n_done, total=n_pages
            )

        n_pages = write_site(Store(store), out, show)
    console.print(f"{n_pages} pages, the first is {escape(str(out / 'index.html'))}")
