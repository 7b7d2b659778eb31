"""Leaderboard: cross-validated scores of models, printed or as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from histreg.cli.scores import ABOUT_SCORES, HEADERS
from histreg.cli.terminal import print_table
from histreg.tabular.comparison import Leaderboard, Standing

LEAST_NEEDED = ("RMSE", "width", "predict", "R²", "MAE", "fit")


def print_leaderboard(board: Leaderboard, target: str) -> None:
    """Print the verdict and a table, the model with the lowest CRPS first."""
    console = Console()
    if board.verdict is not None:
        console.print(f"[bold]{escape(str(board.verdict))}[/bold]", highlight=False)
    headers = [*HEADERS, "fit", "predict"]
    headers[1:1] = ["(95 %)"]
    cells = [(standing.name, _cells(standing)) for standing in board.standings]
    title = f"{board.n_rows:,} rows, each tested once, in units of {target}"
    print_table(title, headers, cells, LEAST_NEEDED, console)
    console.print(f"{ABOUT_SCORES} Times per fold.", style="dim", highlight=False)


def leaderboard_as_json(board: Leaderboard) -> dict[str, Any]:
    """Return a leaderboard as JSON values."""
    return {
        "n_rows": board.n_rows,
        "verdict": None if board.verdict is None else str(board.verdict),
        "models": [asdict(standing) for standing in board.standings],
    }


def _cells(standing: Standing) -> list[str]:
    scores, skill = standing.scores, standing.verdict.skill
    own = [cell(scores) for cell in HEADERS.values()]
    interval = f"{100 * skill.low:.0f} to {100 * skill.high:.0f}"
    times = [_seconds(standing.fit_s), _seconds(standing.predict_s)]
    return [own[0], interval, *own[1:], *times]


def _seconds(elapsed_s: float) -> str:
    return f"{elapsed_s:.2g} s" if elapsed_s < 10 else f"{elapsed_s:.0f} s"
