"""The page of one model: how well it predicts a table, in pictures."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from histreg import metrics
from histreg._files import atomic_write
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.report.model_figures import (
    Array,
    draw_distribution,
    draw_error_by_spread,
    draw_pit,
    draw_predictions,
    draw_reliability,
    picture,
)
from histreg.report.printed_table import shown_number
from histreg.tabular.columns import described_kinds
from histreg.tabular.scores import Scores, scores_of

LEVELS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
N_EXAMPLES = 6


@dataclass(frozen=True)
class ModelPage:
    """The contents of the page of a model: its predictions for a table, and scores."""

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
    def of(cls, model: Any, X: Any, y: Array, *, target: str, source: str) -> ModelPage:
        """Collect the predictions of a `HistogramRegressor` with one target."""
        predictions = model.predict_all(X)
        distribution = predictions.distribution
        if not isinstance(distribution, Histogram):
            raise InputError(
                "the report needs a model with a single target, got several"
            )
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


def write_page(page: ModelPage, path: Path) -> None:
    """Write the page as one self-contained file, complete or not at all."""
    template = resources.files("histreg.report") / "model_page.html"
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    html = environment.from_string(template.read_text(encoding="utf-8")).render(
        page=page, pictures=_pictures(page), shown_number=shown_number
    )
    with atomic_write(path) as partial:
        partial.write_text(html, encoding="utf-8")


def _pictures(page: ModelPage) -> dict[str, str | list[str]]:
    spread = page.distribution.stddev.numpy()
    pit = metrics.pit(page.distribution, page.y).numpy()
    # Rows spread over the range of predictions, for any order of the table.
    ranked = np.argsort(page.predicted, kind="stable")
    places = np.linspace(0, len(ranked) - 1, min(N_EXAMPLES, len(ranked)))
    chosen = ranked[places.round().astype(int)]
    return {
        "predictions": picture(
            lambda ax: draw_predictions(ax, page.predicted, page.y, target=page.target)
        ),
        "distributions": [_example(page, int(row)) for row in chosen],
        "pit": picture(lambda ax: draw_pit(ax, pit)),
        "reliability": picture(lambda ax: draw_reliability(ax, LEVELS, page.coverage)),
        "error_by_spread": picture(
            lambda ax: draw_error_by_spread(
                ax, spread, page.predicted - page.y, target=page.target
            )
        ),
    }


def _example(page: ModelPage, row: int) -> str:
    return picture(
        lambda ax: draw_distribution(
            ax, page.distribution[row], float(page.y[row]), target=page.target
        ),
        height=2.6,
    )


def _shares(intervals: list[tuple[Any, Any]], y: Array) -> Array:
    return np.array(
        [metrics.covered(lower, upper, y).mean().item() for lower, upper in intervals]
    )
