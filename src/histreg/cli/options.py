"""Options: the ones that commands share, and how their text is parsed.

Typer reads the signature of every command before it runs one. So this module, and
every module that declares a command, imports only what is quick to load.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from histreg._checks import check_count
from histreg.errors import InputError

T = TypeVar("T")
MAX_SEED = 2**32 - 1  # of NumPy's generators

TablePath = Annotated[
    Path, typer.Argument(help="A .csv, .tsv (also .gz) or .parquet file.")
]
TablesPath = Annotated[
    Path,
    typer.Argument(
        help="A .csv, .tsv (also .gz) or .parquet file; or a folder of .parquet files, "
        "or a pattern such as 'data/*.parquet', for more rows than fit into memory."
    ),
]
ModelPath = Annotated[Path, typer.Argument(help="A folder written by `fit`.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Delimiter of a text file, such as ';' or 'tab'; detected by default."
    ),
]
DecimalMark = Annotated[
    str | None,
    typer.Option(help="Decimal mark of a text file, '.' or ','; detected by default."),
]
DayFirst = Annotated[
    bool | None,
    typer.Option(
        "--day-first/--month-first",
        help="How to read dates such as 05/06/2020; detected by default.",
    ),
]
OutputFormat = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="text|json",
        help="What to print on standard output: text for people, or one JSON document.",
    ),
]
FORMATS = ("text", "json")
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Stop if the table has a problem that `check` sees."),
]
Groups = Annotated[
    str | None,
    typer.Option(
        help="Column of groups, such as a customer, that are kept on one side of a "
        "split; not used as a feature."
    ),
]
Target = Annotated[str, typer.Option("--target", "-t", help="Column to predict.")]
Drop = Annotated[
    list[str] | None, typer.Option(help="Columns to leave out, comma-separated.")
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        help="Numeric columns to treat as labels, such as a zip code, comma-separated."
    ),
]
Estimators = Annotated[int, typer.Option(help="Number of networks in the ensemble.")]
Epochs = Annotated[int, typer.Option(help="Maximum number of epochs.")]
RollingTime = Annotated[
    str | None,
    typer.Option(
        help="Column to order rows by, so that each fold is tested on later rows than "
        "it was trained on; not used as a feature."
    ),
]
KeepTime = Annotated[
    bool,
    typer.Option(
        "--keep-time",
        help="Also use the column of --time as a feature: its time of day, weekday and "
        "day of the year.",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace existing output.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]


def takes_options(
    options: Callable[..., T],
) -> Callable[[Callable[[T], None]], Callable[..., None]]:
    """Give a command that takes one object of options a Typer option for each field.

    Parameters
    ----------
    options : dataclass
        Its fields are annotated as parameters of a Typer command are.
    """

    def decorate(command: Callable[[T], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def command_of_fields(**fields: Any) -> None:
            command(options(**fields))

        hints = get_type_hints(options, include_extras=True)
        parameters = [
            parameter.replace(annotation=hints[name])
            for name, parameter in inspect.signature(options).parameters.items()
        ]
        # Typer reads these two, not the arguments of the function.
        command_of_fields.__dict__["__signature__"] = inspect.Signature(parameters)
        command_of_fields.__annotations__ = {p.name: p.annotation for p in parameters}
        return command_of_fields

    return decorate


def check_time_or_groups(
    time: str | None, groups: str | None, *, keep_time: bool
) -> None:
    """Raise if rows are to be split both by time and by groups."""
    if keep_time and time is None:
        raise InputError("--keep-time needs --time, got none")
    if time is not None and groups is not None:
        raise InputError(
            f"--time and --groups cannot be combined, got --time {time} and --groups "
            f"{groups}"
        )


def check_seed(seed: int) -> None:
    """Raise unless NumPy's generators take a seed."""
    if not 0 <= seed <= MAX_SEED:
        raise InputError(f"--seed must lie from 0 to {MAX_SEED}, got --seed={seed}")


def check_networks(folds: int, estimators: int, epochs: int) -> None:
    """Raise unless the numbers of folds, networks and epochs can be used."""
    check_count("--folds", folds, at_least=2)
    check_count("--estimators", estimators, at_least=1)
    check_count("--epochs", epochs, at_least=1)


def split_names(given: list[str] | None) -> list[str]:
    """Return the names of an option that is repeatable and comma-separated."""
    return [name for part in given or [] for name in part.split(",") if name]


def parse_numbers(option: str, given: str | None) -> list[float]:
    """Return the distinct, comma-separated numbers of an option."""
    if given is None:
        return []
    try:
        numbers = [float(part) + 0.0 for part in given.split(",")]  # no -0.0
    except ValueError:
        raise InputError(
            f"{option} must be comma-separated numbers, got {given or 'nothing'}"
        ) from None
    if any(map(math.isnan, numbers)):
        raise InputError(f"{option} must be comma-separated numbers, got {given}")
    repeated = [number for number in numbers if numbers.count(number) > 1]
    if repeated:
        raise InputError(
            f"{option} must not repeat a number, got {shortest_text(repeated[0])} twice"
        )
    return numbers


def shortest_text(number: float) -> str:
    """Return the shortest text that reads as exactly this number."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number).removesuffix(".0")
