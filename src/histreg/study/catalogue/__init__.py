"""The catalogue: all experiments, one file per family.

A new experiment is one file: one of these, or one of your own for ``--import``.
"""

from __future__ import annotations

from histreg._checks import check_choice
from histreg.study.catalogue import (
    architectures,
    forecasts,
    optimisation,
    overall,
    representation,
    robustness,
    shapes,
    synthetic,
    tables,
    target,
    theory,
    values,
)
from histreg.study.catalogue.experiment import (
    Experiment,
    FigureSpec,
    Pairing,
    Sweep,
    TableSpec,
)
from histreg.study.catalogue.forecasts import FORECAST_HL
from histreg.study.catalogue.overall import GRIDS, OVERALL
from histreg.study.catalogue.selection import selected
from histreg.study.catalogue.tabular_runs import DATA, SEEDS, tabular
from histreg.study.catalogue.target import RECOMMENDED
from histreg.study.catalogue.values import VALUE_GAMES, VALUE_HL
from histreg.study.shapes.tables import HEAVY, LIGHT

FAMILIES = (
    synthetic,
    overall,
    architectures,
    target,
    representation,
    optimisation,
    robustness,
    forecasts,
    values,
    shapes,
    tables,
    theory,
)
"""In the order of the paper."""

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for family in FAMILIES
    for experiment in family.EXPERIMENTS
}


def experiment(name: str) -> Experiment:
    """Return an experiment by its name."""
    check_choice("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


__all__ = [
    "DATA",
    "EXPERIMENTS",
    "FORECAST_HL",
    "GRIDS",
    "HEAVY",
    "LIGHT",
    "OVERALL",
    "RECOMMENDED",
    "SEEDS",
    "VALUE_GAMES",
    "VALUE_HL",
    "Experiment",
    "FigureSpec",
    "Pairing",
    "Sweep",
    "TableSpec",
    "experiment",
    "selected",
    "tabular",
]
