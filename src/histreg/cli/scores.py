"""Scores: those of held-out rows, noted in a model's file and printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from rich.console import Console
from rich.markup import escape

from histreg.cli.terminal import print_table
from histreg.report.printed_table import shown_number
from histreg.tabular.scores import (
    COVERAGE,
    CensoredScores,
    IntervalScores,
    Scores,
    is_off,
)
from histreg.tabular.verdict import Estimate, Verdict

AnyScores = Scores | CensoredScores | IntervalScores
ABOUT_SCORES = (
    "skill: how much lower the CRPS is than that of a constant, the training targets. "
    "CRPS: the error of the whole distribution; for a single number, the MAE. "
    "MAE, RMSE, R²: of the mean. covers, width: of 90 % intervals."
)
ABOUT_CENSORED_SCORES = (
    "Concordance: how often two rows are predicted in the right order, 0.5 by chance. "
    "CRPS: the error of the whole distribution, adjusted for censored rows."
)
ABOUT_INTERVAL_SCORES = (
    "log score: minus the log probability of the interval in which each target lies, "
    "in nats. gain: how much lower it is than with the average prediction for all rows."
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
    kind: type[AnyScores] = CensoredScores if notes.get("censored") else Scores
    if notes.get("upper"):
        kind = IntervalScores
    names = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    noted = notes.get("scores")
    if not isinstance(noted, dict) or not isinstance(notes.get("n_tested"), int):
        return {}
    scores: dict[str, AnyScores] = {}
    for name, row in noted.items():
        if not isinstance(row, dict) or not needed <= set(row) <= names:
            return {}
        if not all(isinstance(number, float | int | None) for number in row.values()):
            return {}
        known = {k: _noted_null(k) if x is None else x for k, x in row.items()}
        scores[name] = kind(**known)
    return scores


def scores_as_json(
    scores: Mapping[str, AnyScores], verdict: Verdict | None
) -> dict[str, Any]:
    """Return scores and the verdict, in words and in numbers, as JSON values."""
    words = None if verdict is None else str(verdict)
    numbers = {} if verdict is None else asdict(verdict)
    return {"verdict": words, **numbers, "scores": scores_to_notes(scores)}


def _noted_null(name: str) -> float:
    """Return what null stands for: an infinite score, or one that is not known."""
    return math.inf if name in ("width", "log_score") else math.nan


def verdict_from_notes(notes: dict[str, Any]) -> Verdict | None:
    """Return the verdict that `fit` noted, None if there is none."""
    noted = notes.get("verdict")
    if not isinstance(noted, dict):
        return None
    names = ("skill", "r2", "gain", "calibration")
    estimates = [noted.get(name) for name in names]
    best = noted.get("best")
    if not all(
        _is_estimate(estimate) for estimate in estimates if estimate is not None
    ):
        return None
    skill, r2, gain, calibration = (
        None if e is None else Estimate(**e) for e in estimates
    )
    if skill is None or r2 is None or not isinstance(best, str | None):
        return None
    n_tested = notes.get("n_tested")
    n_rows = n_tested if isinstance(n_tested, int) else None
    return Verdict(skill, r2, best, gain, calibration, n_rows)


def _is_estimate(noted: Any) -> bool:
    return (
        isinstance(noted, dict)
        and set(noted) == {"value", "low", "high"}
        and all(isinstance(number, float | int) for number in noted.values())
    )


def percentiles_from_notes(notes: dict[str, Any]) -> list[float] | None:
    """Return the percentiles of y that `fit` noted, None if there are none."""
    noted = notes.get("y_percentiles")
    if not isinstance(noted, list) or not noted:
        return None
    is_from_fit = all(isinstance(y, float | int) and math.isfinite(y) for y in noted)
    return noted if is_from_fit else None


def print_scores(
    scores: Mapping[str, AnyScores],
    n_rows: int,
    target: str,
    *,
    verdict: Verdict | None = None,
) -> None:
    """Print a table with one row per model, and the verdict on the first one."""
    console = Console()
    horizons = [
        row.horizon for row in scores.values() if isinstance(row, CensoredScores)
    ]
    if verdict is not None:
        console.print(f"[bold]{escape(str(verdict))}[/bold]", highlight=False)
    title = f"{n_rows:,} held-out row{'s' * (n_rows != 1)}, in units of {target}"
    if horizons:
        headers = ["concordance", f"CRPS up to {shown_number(horizons[0])}"]
        about = ABOUT_CENSORED_SCORES
    elif all(isinstance(row, IntervalScores) for row in scores.values()):
        headers, about = ["log score", "gain"], ABOUT_INTERVAL_SCORES
    else:
        headers, about = list(HEADERS), ABOUT_SCORES
    cells = [(name, _cells(row)) for name, row in scores.items()]
    print_table(title, headers, cells, LEAST_NEEDED, console)
    console.print(about, style="dim", highlight=False)
    if verdict is not None and not verdict.has_few_rows:
        r2 = verdict.r2
        console.print(
            f"R² of {escape(next(iter(scores)))}: {shown_r2(r2.value)}, 95 % interval "
            f"{shown_r2(r2.low)} to {shown_r2(r2.high)}.",
            highlight=False,
        )
    own = next(iter(scores.values()))
    if not isinstance(own, Scores):
        return
    if math.isinf(own.width):
        console.print(
            "Some 90 % intervals are infinite: there are too few calibration rows, or "
            "targets among them lie outside the bins. Use more rows for calibration "
            "(`histreg fit --calibration 0.2`).",
            highlight=False,
            markup=False,
        )
    # They may hold more for a good reason: a target of few values.
    if own.coverage < COVERAGE and is_off(own.coverage, n_rows):
        console.print(
            f"90 % intervals hold {shown_percent(own.coverage)} of these rows: they "
            "differ from the rows that the intervals were made from. Calibrate on rows "
            "like these, or let the intervals of a series adapt (`histreg predict "
            "--adaptive`).",
            highlight=False,
            markup=False,
        )


def _cells(scores: AnyScores) -> list[str]:
    if isinstance(scores, CensoredScores):
        return [f"{scores.concordance:.3f}", shown_number(scores.crps)]
    if isinstance(scores, IntervalScores):
        return [f"{scores.log_score:.3f}", f"{scores.gain:+.3f}"]
    return [cell(scores) for cell in HEADERS.values()]


def shown_percent(share: float) -> str:
    """Return a share in percent, nothing if it is not known or infinite."""
    if not math.isfinite(share):
        return ""
    if abs(share) >= 100:
        return f"{100 * share:,.3g} %"
    return f"{100 * share:.1f} %".replace("-0.0 %", "0.0 %")


def shown_r2(r2: float) -> str:
    """Return an R² with three digits after the point, short if it is far below 0."""
    text = f"{r2:.3f}" if abs(r2) < 100 else f"{r2:.3g}"
    return "0.000" if text == "-0.000" else text


HEADERS: dict[str, Callable[[Scores], str]] = {
    "skill": lambda scores: shown_percent(scores.skill),
    "CRPS": lambda scores: shown_number(scores.crps),
    "MAE": lambda scores: shown_number(scores.mae),
    "RMSE": lambda scores: shown_number(scores.rmse),
    "R²": lambda scores: shown_r2(scores.r2) if math.isfinite(scores.r2) else "",
    "covers": lambda scores: shown_percent(scores.coverage),
    "width": lambda scores: shown_number(scores.width),
}
LEAST_NEEDED = ("RMSE", "width", "R²", "MAE")
"""Columns that a narrow terminal does without, the first of them first."""
