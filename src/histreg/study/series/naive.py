"""Naive forecasts, which learn nothing."""

from __future__ import annotations

import torch

from histreg.study.datasets import series
from histreg.study.engine.runs import Outcome, RunContext
from histreg.study.series.runs import ForecastRun
from histreg.study.series.windows import windows_of


def naive_forecasts(name: str, context: RunContext) -> Outcome:
    """Return the errors of naive forecasts on the test part of a series.

    These are the last value, the mean of the inputs, and 0, the mean of training.
    """
    facts = series(name)
    table = facts.load(context.data_dir)
    rows = windows_of(facts, table, ForecastRun.n_inputs, ForecastRun.n_steps)["test"]
    everything = slice(None)
    y = rows.targets(everything).double()
    forecasts = {
        "last value": rows.last(everything).double(),
        "mean of inputs": rows.inputs(everything)[..., -1].double().mean(1, True),
        "zero": torch.zeros(1, 1, dtype=torch.float64),
    }
    metrics = {}
    for how, forecast in forecasts.items():
        error = forecast - y
        metrics[f"{how}, test MSE"] = error.square().mean().item()
        metrics[f"{how}, test MAE"] = error.abs().mean().item()
    return Outcome(metrics, data_sha256=table.sha256)
