"""The command ``histreg study list``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from histreg._checks import check_choice
from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import FORMATS, OutputFormat
from histreg.cli.study.options import DataDir, Imports
from histreg.cli.study.user_modules import import_user_modules

if TYPE_CHECKING:
    from rich.console import Console

    from histreg.study.catalogue import Experiment
    from histreg.study.datasets import FrameSource, TableSource


@exit_on_user_error
def list_(
    data_dir: DataDir = None,
    modules: Imports = None,
    output_format: OutputFormat = "text",
) -> None:
    """Show the experiments and the data sets."""
    check_choice("--format", output_format, FORMATS)
    with requires_extra("study"):
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        from histreg.cli.json_output import print_json
        from histreg.study.catalogue import EXPERIMENTS
        from histreg.study.datasets import FRAMES, GAMES, SERIES, TABLES

    import_user_modules(modules)
    sources: list[TableSource | FrameSource] = [
        *TABLES.values(),
        *FRAMES.values(),
        *SERIES.values(),
    ]
    here = {
        data.name
        for data in sources
        if data.is_embedded or data.find(data_dir) is not None
    }
    games = {name: game.find(data_dir) is not None for name, game in GAMES.items()}
    if output_format == "json":
        print_json(_as_json(EXPERIMENTS.values(), sources, here, games))
        return
    console = Console()
    table = Table("name", "question", "paper", "runs", title="Experiments")
    for experiment in EXPERIMENTS.values():
        n_runs = str(len(experiment.runs))
        table.add_row(experiment.name, experiment.question, experiment.place, n_runs)
    console.print(table)
    table = Table("name", "title", "rows", "features", "here", title="Data sets")
    for data in sources:
        table.add_row(
            data.name,
            data.title,
            f"{data.n_rows:,}",
            str(data.n_features),
            "yes" if data.name in here else "no",
        )
    console.print(table)
    for data in sources:
        console.print(f"[bold]{data.name}[/bold]: {escape(data.quirks)}", style="dim")
    _print_games(console, games)


def _as_json(
    experiments: Iterable[Experiment],
    sources: Iterable[TableSource | FrameSource],
    here: Collection[str],
    games: Mapping[str, bool],
) -> dict[str, Any]:
    """Return the experiments, data sets and games as JSON values."""
    return {
        "experiments": [
            {
                "name": experiment.name,
                "question": experiment.question,
                "paper": experiment.place,
                "n_runs": len(experiment.runs),
            }
            for experiment in experiments
        ],
        "data_sets": [
            {
                "name": data.name,
                "title": data.title,
                "n_rows": data.n_rows,
                "n_features": data.n_features,
                "is_here": data.name in here,
                "quirks": data.quirks,
            }
            for data in sources
        ],
        "games": [
            {"name": name, "is_here": is_here} for name, is_here in games.items()
        ],
    }


def _print_games(console: Console, games: Mapping[str, bool]) -> None:
    """Show the games in a paragraph: there are too many for a row each."""
    from rich.markup import escape

    from histreg.study.datasets import GAMES

    by_place = {
        "here": [name for name, is_here in games.items() if is_here],
        "not here": [name for name, is_here in games.items() if not is_here],
    }
    counts = [
        f"{len(names)} of {len(games)} {place} ({', '.join(names)})"
        for place, names in by_place.items()
        if names
    ]
    quirks = escape(next(iter(GAMES.values())).quirks)
    console.print(
        f"[bold]Atari games[/bold]: {'; '.join(counts)}. {quirks}", style="dim"
    )
