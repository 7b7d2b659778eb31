"""The study's figures: records in, a drawing out, as the paper describes its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from histreg._checks import check_choice
from histreg.errors import InputError
from histreg.report import (
    error_figures,
    forecast_figures,
    measurement_figures,
    probe_figures,
    shape_figures,
    sweep_figures,
    value_figures,
)
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.engine.runs import Record


def figure_of(name: str, records: Sequence[Record]) -> Figure:
    """Return the figure of an experiment; one of somebody's own has that of all errors.

    Parameters
    ----------
    name : str
    records : sequence of Record
        As many as there are; without any it is refused.
    """
    check_choice("figure", name, EXPERIMENTS)
    if not records:
        raise InputError(f"the figure {name} must have records, got none yet")
    return FIGURES.get(name, error_figures.all_settings)(records)


FIGURES: dict[str, Callable[[Sequence[Record]], Figure]] = {
    "sines": measurement_figures.sines,
    "sines-reduced": measurement_figures.sines,
    "overall": error_figures.overall,
    "overall-validation": error_figures.overall_validation,
    "head-start": error_figures.all_settings,
    "label-bias": measurement_figures.label_bias,
    "projected": error_figures.all_settings,
    **{name: sweep_figures.swept(name) for name in sweep_figures.SWEEPS},
    "rule-of-thumb": error_figures.all_settings,
    "grid": error_figures.all_settings,
    "representation": error_figures.representation,
    "training": probe_figures.training,
    "snapshots": probe_figures.snapshots,
    "sensitivity": probe_figures.sensitivity,
    "rates": sweep_figures.rates,
    "forecasts": forecast_figures.forecasts,
    "forecast-readings": forecast_figures.readings,
    "forecasts-direct": forecast_figures.forecasts,
    "forecasts-of-change": forecast_figures.forecasts,
    "replays": value_figures.replays,
    "values": value_figures.values,
    "values-textbook": value_figures.values,
    "shapes": shape_figures.shapes,
    "targets": measurement_figures.targets,
    "bias": measurement_figures.bias,
    "bound": measurement_figures.bound,
    "theorems": measurement_figures.theorems,
}
