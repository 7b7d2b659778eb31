"""Targets of any shape (the open problem of the paper's last section)."""

from __future__ import annotations

from histreg.study.catalogue.experiment import (
    Experiment,
    FigureSpec,
    Pairing,
    TableSpec,
)
from histreg.study.shapes.predictors import PREDICTORS
from histreg.study.shapes.runs import ShapeRun
from histreg.study.shapes.tables import (
    COMPARED_METRICS,
    HEAVY,
    LIGHT,
    NOT_POSITIVE,
    SHAPE_SEEDS,
    UNIFORM_BINS,
)


def _with_uniform_bins(run: ShapeRun, other: ShapeRun) -> bool:  # noqa: ARG001
    return other.method == UNIFORM_BINS


EXPERIMENTS = (
    Experiment(
        "shapes",
        "Targets of any shape",
        "not in it; the open problem of its last section",
        "Do bins that follow the targets solve what even bins cannot, heavy tails, and "
        "cost nothing where there are none?",
        tuple(
            ShapeRun(name, method, seed)
            for seed in SHAPE_SEEDS
            for name in (*HEAVY, *LIGHT)
            for method in PREDICTORS
            if not (method == "log bins" and name in NOT_POSITIVE)
        ),
        protocol="Twelve tables, seven with a heavy tail, many zeros or far modes and "
        "five without. Our regressor with each spacing of its\n100 bins, beside the "
        "squared error of logarithms, quantiles by HistGradientBoosting and CatBoost, "
        "and normal distributions\nby NGBoost, all as they come and on one core. An "
        "eighth of the rows is tested on, another for each of three seeds.",
        table=TableSpec("shapes"),
        figure=FigureSpec(
            "shapes",
            "The CRPS of each predictor over that of uniform bins, table by table, on "
            "a logarithmic axis.",
        ),
        pairing=Pairing(_with_uniform_bins, COMPARED_METRICS),
        conclusion="shapes",
    ),
)
