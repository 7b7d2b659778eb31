"""Leaderboard: cross-validated scores of models, printed or as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from histreg.cli.scores import ABOUT_SCORES, HEADERS, shown_r2
from histreg.cli.terminal import print_table
from histreg.tabular.comparison import RESIDUALS, Leaderboard, Standing

R2_INTERVAL = "R² (95 %)"
LEAST_NEEDED = (R2_INTERVAL, "RMSE", "width", "predict", "R²", "MAE", "fit")


def print_leaderboard(board: Leaderboard, target: str) -> None:
    """Print the verdict and a table, the model with the lowest CRPS first."""
    console = Console()
    if board.verdict is not None:
        words = f"{board.judged}: {board.verdict}"
        console.print(f"[bold]{escape(words)}[/bold]", highlight=False)
    headers = [*HEADERS, "fit", "predict"]
    headers.insert(1, "(95 %)")
    headers.insert(headers.index("R²") + 1, R2_INTERVAL)
    cells = [(standing.name, _cells(standing)) for standing in board.standings]
    title = f"{board.n_rows:,} rows, each tested once, in units of {target}"
    print_table(title, headers, cells, LEAST_NEEDED, console)
    console.print(f"{ABOUT_SCORES} Times per fold.", style="dim", highlight=False)
    own = [s.name for s in board.standings if s.distribution != RESIDUALS]
    console.print(
        f"Models with a distribution of their own: {escape(', '.join(own)) or 'none'}. "
        "The others get one from their residuals on rows that they were not fitted to; "
        "the constant uses the training targets.",
        style="dim",
        highlight=False,
    )


def leaderboard_as_json(board: Leaderboard) -> dict[str, Any]:
    """Return a leaderboard as JSON values."""
    return {
        "n_rows": board.n_rows,
        "judged": board.judged,
        "verdict": None if board.verdict is None else str(board.verdict),
        "models": [asdict(standing) for standing in board.standings],
    }


def _cells(standing: Standing) -> list[str]:
    skill, r2 = standing.verdict.skill, standing.verdict.r2
    cells = []
    for header, cell in HEADERS.items():
        cells.append(cell(standing.scores))
        if header == "skill":
            cells.append(f"{100 * skill.low:.0f} to {100 * skill.high:.0f}")
        if header == "R²":
            cells.append(f"{shown_r2(r2.low)} to {shown_r2(r2.high)}")
    return [*cells, _seconds(standing.fit_s), _seconds(standing.predict_s)]


def _seconds(elapsed_s: float) -> str:
    return f"{elapsed_s:.2g} s" if elapsed_s < 10 else f"{elapsed_s:.0f} s"
