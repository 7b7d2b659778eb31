"""The command ``histreg study list``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.study.options import DataDir, Imports
from histreg.cli.study.user_modules import import_user_modules

if TYPE_CHECKING:
    from rich.console import Console

    from histreg.study.datasets import FrameSource, TableSource


@exit_on_user_error
def list_(data_dir: DataDir = None, modules: Imports = None) -> None:
    """Show the experiments and the data sets."""
    with requires_extra("study"):
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        from histreg.study.catalogue import EXPERIMENTS
        from histreg.study.datasets import FRAMES, SERIES, TABLES

    import_user_modules(modules)
    console = Console()
    table = Table("name", "question", "paper", "runs", title="Experiments")
    for experiment in EXPERIMENTS.values():
        n_runs = str(len(experiment.runs))
        table.add_row(experiment.name, experiment.question, experiment.place, n_runs)
    console.print(table)
    table = Table("name", "title", "rows", "features", "here", title="Data sets")
    sources: list[TableSource | FrameSource] = [
        *TABLES.values(),
        *FRAMES.values(),
        *SERIES.values(),
    ]
    for data in sources:
        is_here = data.is_embedded or data.find(data_dir) is not None
        table.add_row(
            data.name,
            data.title,
            f"{data.n_rows:,}",
            str(data.n_features),
            "yes" if is_here else "no",
        )
    console.print(table)
    for data in sources:
        console.print(f"[bold]{data.name}[/bold]: {escape(data.quirks)}", style="dim")
    _print_games(console, data_dir)


def _print_games(console: Console, data_dir: Path | None) -> None:
    """Show the games in a paragraph: there are too many for a row each."""
    from rich.markup import escape

    from histreg.study.datasets import GAMES

    by_place: dict[str, list[str]] = {"here": [], "not here": []}
    for name, game in GAMES.items():
        place = "not here" if game.find(data_dir) is None else "here"
        by_place[place].append(name)
    counts = [
        f"{len(names)} of {len(GAMES)} {place} ({', '.join(names)})"
        for place, names in by_place.items()
        if names
    ]
    quirks = escape(next(iter(GAMES.values())).quirks)
    console.print(
        f"[bold]Atari games[/bold]: {'; '.join(counts)}. {quirks}", style="dim"
    )
