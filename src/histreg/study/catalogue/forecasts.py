"""Forecasts of series (Tables 4 and 6)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from histreg.study.catalogue.experiment import (
    Experiment,
    FigureSpec,
    Pairing,
    TableSpec,
    against_l2,
)
from histreg.study.catalogue.tabular_runs import SEEDS
from histreg.study.catalogue.target import RECOMMENDED
from histreg.study.datasets import SERIES
from histreg.study.measurements import Measurement
from histreg.study.methods import L2
from histreg.study.series.runs import (
    ARCHITECTURES,
    CRITERIA,
    FIRST_WEIGHTS,
    LINEAR,
    LINEAR_HEADS,
    READING,
    ForecastRun,
    reading_of,
)

FORECAST_HL = RECOMMENDED
FORECAST_ERRORS = ("test MSE", "test MAE")
NAIVE_FORECASTS = tuple(Measurement("naive", name) for name in SERIES)
PAIRING = Pairing(against_l2, FORECAST_ERRORS)
FIGURE = FigureSpec(
    "forecasts",
    "Windows of the test rows: what was seen, the truth, and both losses' forecasts, "
    "that of HL-Gauss as a fan.",
)


def forecast_runs(
    *,
    bodies: Iterable[str] = ARCHITECTURES,
    seeds: Iterable[int] = SEEDS,
    **changes: Any,
) -> tuple[ForecastRun, ...]:
    """Return the runs of both losses with sequence models on each series."""
    return tuple(
        ForecastRun(name, body, method, seed, **changes)
        for name in SERIES
        for body in bodies
        for method in (L2(), FORECAST_HL)
        for seed in seeds
    )


def runs_as_read() -> tuple[ForecastRun, ...]:
    """Return the runs as we read the paper's text, of all architectures."""
    by_body = {
        body: forecast_runs(bodies=(body,), **reading_of(body))
        for body in ARCHITECTURES
    }
    return tuple(
        run
        for name in SERIES
        for body in ARCHITECTURES
        for run in by_body[body]
        if run.dataset == name
    )


def reading_runs() -> tuple[ForecastRun, ...]:
    """Return the linear forecasters in every reading of the paper's text, seed 1.

    For l2 the loss is the squared error, so that one criterion stands for both.
    """
    by_reading = (
        forecast_runs(
            bodies=(LINEAR,),
            seeds=SEEDS[:1],
            head=head,
            first_weights=weights,
            validation=criterion,
        )
        for head, weights, criterion in product(LINEAR_HEADS, FIRST_WEIGHTS, CRITERIA)
    )
    usual = READING["validation"]
    return tuple(
        run
        for runs in by_reading
        for run in runs
        if run.method != L2() or run.validation == usual
    )


EXPERIMENTS = (
    Experiment(
        "forecasts",
        "Forecasts of series",
        "Tables 4 and 6",
        "Does the advantage carry over to sequence models?",
        (*NAIVE_FORECASTS, *runs_as_read()),
        protocol="Four series of transformer temperatures: 96 past values of seven "
        "columns, the next 96 of one. A linear model, LSTM, GRU and\nTransformer, "
        "each with a projection of its states, along time, to the 96 steps and one "
        "head for all of them; AdamW at 0.0001, at most ten\nepochs with early "
        "stopping by the validation MSE; sigma of two bins, padding of three sigmas. "
        "The head, the first weights\nand the criterion of early stopping are not "
        "stated in the paper: they are those that come nearest to its numbers on the\n"
        "linear model. Beside them forecasts that learn nothing.",
        table=TableSpec("forecasts"),
        figure=FIGURE,
        pairing=PAIRING,
    ),
    Experiment(
        "forecast-readings",
        "Linear forecasts, by the reading of the text",
        "Tables 4 and 6, which leave it open",
        "Which head, first weights and validation give the paper's numbers?",
        reading_runs(),
        protocol="The linear model on the four series, seed 1, in every reading of "
        "what the paper leaves open. Head: one layer from the inputs to\nthe outputs "
        'of all steps ("direct"), or a projection to the 96 steps followed by a map '
        'of its own for each step\'s value\n("per-step"), one map for all steps '
        '("shared"), or one layer from all steps to all outputs ("dense"). First '
        "weights: the\ndefaults of PyTorch or of Keras. Early stopping: by the "
        "validation loss or by the validation MSE, which for l2 are the\nsame.",
        table=TableSpec("readings"),
        figure=FigureSpec(
            "readings",
            "The test MSE of each reading with both losses; the reading that is used "
            "is in bold. Lines and bands: the paper's means and their 95 % intervals.",
        ),
        conclusion="readings",
    ),
    Experiment(
        "forecasts-per-step",
        "Linear forecasts with a head of its own for each step",
        "Tables 4 and 6, read otherwise",
        "Does a separate head for each step give the paper's errors, and their small "
        "spread over seeds?",
        (
            *NAIVE_FORECASTS,
            *forecast_runs(bodies=(LINEAR,), **{**READING, "head": "per-step"}),
        ),
        protocol="As the other forecasts of the linear model, but with a map of its "
        "own from the projected value of each step to its outputs, instead of one map "
        "for all steps.",
        table=TableSpec("forecasts"),
        figure=FIGURE,
        pairing=PAIRING,
    ),
    Experiment(
        "forecasts-pooled",
        "Forecasts of networks from a value of each step",
        "Tables 4 and 6, read otherwise",
        "Do networks forecast from one value of each step, as the linear model does?",
        (
            *NAIVE_FORECASTS,
            *forecast_runs(bodies=ARCHITECTURES[1:], **READING),
        ),
        protocol="As the other forecasts of networks, but their features, the last "
        "state of LSTM and GRU and the mean of the Transformer's, are projected to "
        "one value for each of the 96 steps, which the head reads.",
        table=TableSpec("forecasts"),
        figure=FIGURE,
        pairing=PAIRING,
    ),
    Experiment(
        "forecasts-direct",
        "Forecasts without a projection",
        "Tables 4 and 6, read otherwise",
        "Is it the projection before the head that decides between the losses?",
        (*NAIVE_FORECASTS, *forecast_runs()),
        protocol="As the other forecasts, but with one layer from the features to the "
        "outputs of all steps, the first weights of PyTorch, and early stopping by "
        "the validation loss.",
        table=TableSpec("forecasts"),
        figure=FIGURE,
        pairing=PAIRING,
    ),
    Experiment(
        "forecasts-of-change",
        "Forecasts of the change from the last value",
        "not in it",
        "Does a histogram still help where the level is not what fails?",
        (*NAIVE_FORECASTS, *forecast_runs(subtracts_last=True)),
        protocol="The series and networks of the forecasts without a projection, but "
        "what is predicted is the change from the last value seen.",
        table=TableSpec("forecasts"),
        figure=FIGURE,
        pairing=PAIRING,
    ),
)
