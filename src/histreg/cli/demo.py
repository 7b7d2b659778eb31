"""The command ``histreg demo``: the first minutes, on a table of the package."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import Overwrite
from histreg.cli.outputs import check_output_folder

EXAMPLE = "Example: histreg demo --out histreg-demo/"
TABLE, PAGE, FIGURE = "bike.csv", "report.html", "paper.png"
METHODS = ("l2", "HL-OneBin", "HL-Gauss")
RUNS = f"overall --datasets bike --methods {','.join(METHODS)} --seeds 1-3"


@dataclass(frozen=True)
class Step:
    """A command that the demo runs in its folder, and what it says before.

    Parameters
    ----------
    text : str
    command : str
        Without the program's name.
    writes : bool
        Whether it writes a file, so that it may have to replace one.
    """

    text: str
    command: str
    writes: bool = False


def steps(*, fit_epochs: int, study_epochs: int) -> list[Step]:
    """Return the steps of the demo."""
    runs = f"{RUNS} --epochs {study_epochs} --store study"
    return [
        Step(
            "Are there columns that would spoil a model?", f"check {TABLE} --target cnt"
        ),
        Step(
            "casual and registered add up to the target, and instant is the row "
            "number; all three columns are dropped.\n"
            f"To save time: 2 networks and {fit_epochs} epochs, instead of the default "
            "5 networks and up to 200 epochs.",
            f"fit {TABLE} --target cnt --drop instant,casual,registered --estimators 2 "
            f"--epochs {fit_epochs} --out model --save-holdout test.csv",
            writes=True,
        ),
        Step(
            "The page of this model:",
            f"report model test.csv --out {PAGE}",
            writes=True,
        ),
        Step(
            "The paper's question on the same table: is a histogram a better target "
            f"than a number?\nTo save time: {study_epochs} epochs instead of 500, 3 "
            "seeds instead of 5, and 3 of the methods. HL-OneBin is listed twice; "
            "shift_in_bins marks another reading of the paper.",
            f"study run {runs}",
        ),
        Step("", f"study table {runs}"),
        Step(
            f"The paper has, after 500 epochs instead of {study_epochs} (mean and "
            f"standard error over 5 seeds):\n{_published_errors()}",
            f"study figure {runs} --out {FIGURE}",
            writes=True,
        ),
    ]


def _published_errors() -> str:
    """Return the paper's errors on this table, a line for each method."""
    from histreg.report.beside_paper import shown
    from histreg.study.analysis.paper import published

    metrics = ("test MAE", "test RMSE")
    lines = [f"{'method':<10}" + "".join(f"{metric:>18}" for metric in metrics)]
    for method in METHODS:
        errors = [published("bike", method, metric) for metric in metrics]
        cells = [f"{shown(error):>18}" for error in errors if error is not None]
        lines.append(f"{method:<10}" + "".join(cells))
    return "\n".join(lines)


@exit_on_user_error
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for all its files.")
    ] = Path("histreg-demo"),
    fit_epochs: Annotated[int, typer.Option(min=1, help="Epochs of the model.")] = 15,
    study_epochs: Annotated[
        int, typer.Option(min=1, help="Epochs of the paper's networks.")
    ] = 20,
    overwrite: Overwrite = False,
) -> None:
    """Show the first steps on a table that comes with the package, in two minutes."""
    check_output_folder(
        "--out",
        out,
        overwrite=overwrite,
        content="a demo",
        is_there=lambda folder: (folder / TABLE).exists(),
    )
    with requires_extra("study"):
        import filelock  # noqa: F401  the last step needs it, so find out first
        from rich.console import Console

        from histreg._files import atomic_write
        from histreg.study.datasets import source

    console = Console(highlight=False, markup=False)
    bike = source("bike")
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(out / TABLE) as partial:
        partial.write_bytes(bike.content())
    console.print(
        f"{out / TABLE}: {bike.title}, 17,379 hours; cnt is the number of bicycles "
        f"hired.\nSource: {bike.homepage}, {bike.licence}."
    )
    for step in steps(fit_epochs=fit_epochs, study_epochs=study_epochs):
        words = shlex.split(step.command)
        if step.writes and overwrite:
            words.append("--overwrite")
        console.print(f"\n{step.text}" if step.text else "")
        console.print(f"$ histreg {shlex.join(words)}", style="bold", soft_wrap=True)
        # A process of its own, as if it had been typed; -m finds this installation.
        code = subprocess.run([sys.executable, "-m", "histreg", *words], cwd=out)
        if code.returncode:
            raise typer.Exit(code.returncode)
    page, figure = (out.resolve() / name for name in (PAGE, FIGURE))
    console.print(
        f"\nOpen the page of the model: python -m webbrowser {page.as_uri()}\n"
        f"and the figure of the paper's question: {figure}\n"
        f"Everything is in {out}; repeat any command from there with other options.",
        soft_wrap=True,
    )
