"""The page of one model: how it does on a table, in pictures."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from histreg import metrics
from histreg._files import whole
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.report import figures
from histreg.report.figures import Array
from histreg.report.printed import shown_number
from histreg.tabular.columns import described_kinds
from histreg.tabular.scores import Scores, scores_of

LEVELS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
N_EXAMPLES = 6


@dataclass(frozen=True)
class Evidence:
    """What a model predicted for some rows, and what came."""

    target: str
    source: str
    y: Array
    predicted: Array
    distribution: Histogram
    scores: Scores
    coverage: dict[str, Array]  # by kind of interval, at each of LEVELS
    facts: dict[str, str]
    is_training_table: bool  # by its name

    @classmethod
    def of(cls, model: Any, X: Any, y: Array, *, target: str, source: str) -> Evidence:
        """Collect the predictions of a `HistogramRegressor` with one target."""
        predictions = model.predict_all(X)
        distribution = predictions.distribution
        if not isinstance(distribution, Histogram):
            raise InputError("the page is of a model with one target, got several")
        as_predicted = [distribution.interval(level) for level in LEVELS]
        coverage = {"as predicted": _shares(as_predicted, y)}
        if model.model_.calibration is not None:
            calibrated = [predictions.interval(level) for level in LEVELS]
            coverage["calibrated"] = _shares(calibrated, y)
        fitted = model.model_
        facts = {
            "Loss": model.loss,
            "Network": f"{fitted.network.n_models} x {model.hidden_layer_sizes}",
            "Columns": described_kinds(fitted.kinds),
            "Bins": str(model.bins_),
            "Epochs": str(model.n_iter_),
            "Calibrated": "no"
            if fitted.calibration is None
            else f"on {len(fitted.calibration.y):,} rows",
        }
        return cls(
            target=target,
            source=source,
            y=y,
            predicted=predictions.mean,
            distribution=distribution,
            scores=scores_of(predictions, y),
            coverage=coverage,
            facts=facts,
            is_training_table=model.notes_.get("source") == source,
        )


def write_page(evidence: Evidence, path: Path) -> None:
    """Write the page: one file that needs no other, whole or absent."""
    template = resources.files("histreg.report") / "model_page.html"
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    html = environment.from_string(template.read_text(encoding="utf-8")).render(
        evidence=evidence, pictures=_pictures(evidence), shown_number=shown_number
    )
    with whole(path) as partial:
        partial.write_text(html, encoding="utf-8")


def _pictures(evidence: Evidence) -> dict[str, str | list[str]]:
    e = evidence
    spread = e.distribution.stddev.numpy()
    pit = metrics.pit(e.distribution, e.y).numpy()
    # Rows spread over the range of predictions, whatever their order in the table.
    ranked = np.argsort(e.predicted, kind="stable")
    places = np.linspace(0, len(ranked) - 1, min(N_EXAMPLES, len(ranked)))
    chosen = ranked[places.round().astype(int)]
    return {
        "predictions": figures.picture(
            lambda ax: figures.draw_predictions(ax, e.predicted, e.y, target=e.target)
        ),
        "distributions": [_example(e, int(row)) for row in chosen],
        "pit": figures.picture(lambda ax: figures.draw_pit(ax, pit)),
        "reliability": figures.picture(
            lambda ax: figures.draw_reliability(ax, LEVELS, e.coverage)
        ),
        "error_by_spread": figures.picture(
            lambda ax: figures.draw_error_by_spread(
                ax, spread, e.predicted - e.y, target=e.target
            )
        ),
    }


def _example(e: Evidence, row: int) -> str:
    return figures.picture(
        lambda ax: figures.draw_distribution(
            ax, e.distribution[row], float(e.y[row]), target=e.target
        ),
        height=2.6,
    )


def _shares(intervals: list[tuple[Any, Any]], y: Array) -> Array:
    return np.array(
        [metrics.covered(lower, upper, y).mean().item() for lower, upper in intervals]
    )
