"""Scores: those of held-out rows, noted in a model's file and printed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from histreg.report.printed_table import shown_number
from histreg.tabular.scores import CensoredScores, Scores

AnyScores = Scores | CensoredScores
HEADERS = ("MAE", "median", "RMSE", "CRPS", "90 % covers", "width")
ABOUT_SCORES = (
    "CRPS: the error of the whole distribution, in the same units; for a single number "
    "it equals the MAE. Median: the MAE of the predicted median, which is below that "
    "of the mean if targets are skewed."
)
ABOUT_CENSORED_SCORES = (
    "Concordance: how often two rows are predicted in the right order, 0.5 by chance. "
    "CRPS: the error of the whole distribution, adjusted for censored rows."
)


def scores_to_notes(scores: Mapping[str, AnyScores]) -> dict[str, Any]:
    """Return scores as JSON has them: an infinite width, from too few rows, is None."""
    return {
        name: {
            field: number if math.isfinite(number) else None
            for field, number in asdict(row).items()
        }
        for name, row in scores.items()
    }


def scores_from_notes(notes: dict[str, Any]) -> dict[str, AnyScores]:
    """Return the scores that `fit` noted, none if the notes are not from `fit`."""
    kind = CensoredScores if notes.get("censored") else Scores
    names = {field.name for field in fields(kind)}
    noted = notes.get("scores")
    if not isinstance(noted, dict) or not isinstance(notes.get("n_tested"), int):
        return {}
    scores: dict[str, AnyScores] = {}
    for name, row in noted.items():
        if not isinstance(row, dict) or set(row) != names:
            return {}
        if not all(isinstance(number, float | int | None) for number in row.values()):
            return {}
        scores[name] = kind(
            **{k: math.inf if number is None else number for k, number in row.items()}
        )
    return scores


def percentiles_from_notes(notes: dict[str, Any]) -> list[float] | None:
    """Return the percentiles of y that `fit` noted, None if there are none."""
    noted = notes.get("y_percentiles")
    if not isinstance(noted, list) or not noted:
        return None
    is_from_fit = all(isinstance(y, float | int) and math.isfinite(y) for y in noted)
    return noted if is_from_fit else None


def print_scores(scores: Mapping[str, AnyScores], n_rows: int, target: str) -> None:
    """Print a table with one row per model."""
    headers, about = list(HEADERS), ABOUT_SCORES
    horizons = [
        row.horizon for row in scores.values() if isinstance(row, CensoredScores)
    ]
    if horizons:
        headers = ["concordance", f"CRPS up to {shown_number(horizons[0])}"]
        about = ABOUT_CENSORED_SCORES
    table = Table(title=f"{n_rows:,} held-out rows, in units of {escape(target)}")
    table.add_column("")
    for header in headers:
        table.add_column(header, justify="right")
    for name, row in scores.items():
        table.add_row(escape(name), *_cells(row))
    Console().print(table)
    Console().print(about, style="dim")


def _cells(scores: AnyScores) -> list[str]:
    if isinstance(scores, CensoredScores):
        return [f"{scores.concordance:.3f}", shown_number(scores.crps)]
    return [
        *map(
            shown_number, (scores.mae, scores.mae_of_median, scores.rmse, scores.crps)
        ),
        f"{100 * scores.coverage:.1f} %",
        shown_number(scores.width),
    ]
