"""Options: the ones that the commands of the study share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histreg.errors import InputError
from histreg.report.printed_table import FORMATS

DEFAULT_STORE = Path("histreg-study")

Names = Annotated[list[str], typer.Argument(help="Experiments; see `list`.")]
Name = Annotated[str, typer.Argument(help="An experiment; see `list`.")]
StoreFolder = Annotated[
    Path,
    typer.Option(
        "--store",
        help="Folder of the records.",
        envvar="HISTREG_STUDY",
        show_envvar=True,
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Folder of the data sets; by default HISTREG_DATA, or a download.",
    ),
]
Datasets = Annotated[
    str | None,
    typer.Option("--datasets", help="Only these data sets, comma-separated."),
]
Methods = Annotated[
    str | None,
    typer.Option(
        "--methods",
        help="Only these methods, comma-separated; also with settings, as tables print "
        "them, such as 'MDN (n_components=4)'.",
    ),
]
Models = Annotated[
    str | None,
    typer.Option("--models", help="Only these forecasters, comma-separated."),
]
Seeds = Annotated[
    str | None,
    typer.Option("--seeds", help="Only these seeds, comma-separated or as 1-5."),
]
Epochs = Annotated[
    int | None,
    typer.Option("--epochs", help="Number of epochs, instead of the paper's."),
]
Rate = Annotated[
    float | None,
    typer.Option("--rate", help="Learning rate, instead of the paper's."),
]
Frames = Annotated[
    int | None,
    typer.Option("--frames", help="Frames of each game, from the start of its file."),
]
Format = Annotated[
    str, typer.Option("--format", help=f"Output format: {', '.join(FORMATS)}.")
]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="File to write; standard output by default."),
]
Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        help="Python module that adds methods, data sets or experiments; repeatable.",
    ),
]


def split_option(given: str | None, option: str = "") -> list[str]:
    """Return the comma-separated names of an option.

    Raises
    ------
    InputError
        If an option is named here, and is given without a name in it.
    """
    names = [name.strip() for name in (given or "").split(",") if name.strip()]
    if option and given is not None and not names:
        raise InputError(f"{option} must not be empty")
    return names
