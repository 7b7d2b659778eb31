"""The page on the loss: the range of y, and the histograms of a network in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from histreg import theory
from histreg.bins import PRESETS, Bins
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Record
from histreg.study.methods.histograms import HistogramLossMethod
from histreg.study.tabular.runs import TabularRun

RANGE = (0.0, 100.0)  # of y on the sliders
DIGITS = 3  # of probabilities on the page, enough for a drawing


def recommended_bias() -> float:
    """Return the largest bias of a target by the paper's recommendation, in bins."""
    preset = PRESETS["recommended"]
    bins = Bins.around(*RANGE)
    sigma = preset.sigma_in_bins * bins.width
    at_end = theory.truncation_bias(RANGE[0], low=bins.low, high=bins.high, sigma=sigma)
    return float(at_end) / bins.width


def snapshots_of(records: Sequence[Record]) -> dict[str, Any] | None:
    """Return the histograms of a network in training; None without a record.

    Borders, epochs, and of each row y and its probabilities by epoch.
    """
    for record in records:
        run, curves = record.run, record.outcome.curves
        if "test snapshots" not in curves:
            continue
        assert isinstance(run, TabularRun)
        assert isinstance(run.method, HistogramLossMethod)
        data = dataset(run.dataset)
        bins = run.method.bins(*data.y_range)
        moments = curves["test snapshots"]
        return {
            "title": data.title,
            "method": run.method.label,
            "seed": run.seed,
            "borders": [round(border, 9) for border in bins.borders.tolist()],
            "epochs": [int(epoch) for epoch in curves["epoch"]],
            "rows": [
                {
                    "y": row["y"],
                    "probs": [
                        [float(f"{p:.{DIGITS}g}") for p in moment[i]["probs"]]
                        for moment in moments
                    ],
                }
                for i, row in enumerate(moments[0])
            ],
        }
    return None
