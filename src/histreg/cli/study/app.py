"""The commands of the study."""

from __future__ import annotations

import typer

from histreg.cli.study import (
    claims,
    collect,
    coverage,
    figure,
    list,
    report,
    run,
    status,
    table,
    verify,
)

app = typer.Typer(
    help="Run the paper's experiments, and see our numbers beside the paper's.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.command("list")(list.list_)
app.command(epilog=run.EXAMPLE)(run.run)
app.command(epilog=status.EXAMPLE)(status.status)
app.command(epilog=collect.EXAMPLE)(collect.collect)
app.command(epilog=verify.EXAMPLE)(verify.verify)
app.command(epilog=table.EXAMPLE)(table.table)
app.command(epilog=claims.EXAMPLE)(claims.claims)
app.command(epilog=coverage.EXAMPLE)(coverage.coverage)
app.command(epilog=figure.EXAMPLE)(figure.figure)
app.command(epilog=report.EXAMPLE)(report.report)
