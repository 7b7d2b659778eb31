"""The figures of experiments, drawn from records like those of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from histreg._checks import check_choice
from histreg.errors import InputError
from histreg.report import (
    column_figures,
    error_figures,
    forecast_figures,
    measurement_figures,
    peer_figures,
    probe_figures,
    shape_figures,
    sine_figures,
    sweep_figures,
    value_figures,
)
from histreg.report.results import Results
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.engine.runs import Record

KINDS: dict[str, Callable[[Results], Figure]] = {
    "errors": error_figures.errors,
    "representation": error_figures.representation,
    "columns": column_figures.columns,
    "sweep": sweep_figures.sweeps,
    "rates": sweep_figures.rates,
    "training": probe_figures.training,
    "snapshots": probe_figures.snapshots,
    "sensitivity": probe_figures.sensitivity,
    "sines": sine_figures.sines,
    "label bias": measurement_figures.label_bias,
    "targets": measurement_figures.targets,
    "bias": measurement_figures.bias,
    "bound": measurement_figures.bound,
    "theorems": measurement_figures.theorems,
    "forecasts": forecast_figures.forecasts,
    "readings": forecast_figures.readings,
    "replays": value_figures.replays,
    "values": value_figures.values,
    "shapes": shape_figures.shapes,
    "tables": peer_figures.tables,
}
"""Values of `FigureSpec.kind`: functions from results to a figure."""


def figure_of(name: str, records: Sequence[Record]) -> Figure:
    """Return the figure of an experiment.

    Parameters
    ----------
    name : str
        The name of an experiment.
    records : sequence of Record
        The existing records; an InputError is raised if there are none.
    """
    check_choice("figure", name, EXPERIMENTS)
    if not records:
        raise InputError(f"the figure {name} must have records, got none yet")
    results = Results(EXPERIMENTS[name], records)
    kind = results.experiment.figure.kind
    check_choice(f"the kind of figure of {name}", kind, KINDS)
    return KINDS[kind](results)
