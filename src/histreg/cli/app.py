"""The command line: its commands, and the options of the program itself."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from histreg.cli import (
    check,
    compare,
    demo,
    explain,
    fit,
    inspect,
    predict,
    report,
    serve,
    tune,
)
from histreg.cli.study.app import app as study_app

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command(epilog=demo.EXAMPLE)(demo.demo)
app.command(epilog=check.EXAMPLE)(check.check)
app.command(epilog=compare.EXAMPLE)(compare.compare)
app.command(epilog=fit.EXAMPLE)(fit.fit)
app.command(epilog=tune.EXAMPLE)(tune.tune)
app.command(epilog=predict.EXAMPLE)(predict.predict)
app.command(epilog=inspect.EXAMPLE)(inspect.inspect)
app.command(epilog=report.EXAMPLE)(report.report)
app.command(epilog=explain.EXAMPLE)(explain.explain)
app.command(epilog=serve.EXAMPLE)(serve.serve)
app.add_typer(study_app, name="study")


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(f"histreg {version('histreg')}")
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Regression by histograms: predict a number and know how sure you are."""


def run() -> None:
    """Run the command given by the arguments of this process."""
    app()
