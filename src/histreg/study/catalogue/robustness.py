"""Corrupted targets, sensitivity to inputs (Figures 10, 23 and 24), learning rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from histreg.study.catalogue.experiment import (
    Experiment,
    FigureSpec,
    Pairing,
    Sweep,
    TableSpec,
    against,
    against_l2,
)
from histreg.study.catalogue.tabular_runs import tabular
from histreg.study.methods import L1, L2, MDN, HLGauss, HLOneBin, Method
from histreg.study.tabular.runs import TabularRun

CORRUPTED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Ours: the paper does not state its own."""
SENSITIVITY_METRICS = ("test sensitivity", "test MAE", "test RMSE")
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
TUNED = (L2(), L1(), MDN(2), MDN(4), HLGauss())
"""The losses whose learning rates are tuned; components of MDN with them."""


def at_rates(
    methods: Iterable[Method], rates: Iterable[float] = RATES
) -> tuple[TabularRun, ...]:
    """Return the runs of methods at learning rates, on validation and test rows."""
    usual = tabular(methods, part="validation") + tabular(methods)
    return tuple(replace(run, learning_rate=rate) for rate in rates for run in usual)


EXPERIMENTS = (
    Experiment(
        "corruption",
        "Corrupted targets",
        "Figures 10 (left) and 23",
        "Which loss suffers least from wrong targets?",
        tuple(
            run
            for share in CORRUPTED
            for run in tabular((L2(), L1(), HLOneBin(), HLGauss()), corrupted=share)
        ),
        protocol="A share of the training targets, up to a half, is replaced by "
        "uniform draws from the range; the same rows and draws for every loss. Test "
        "rows are clean. The six shares are ours: the paper does not state its own.",
        figure=FigureSpec(
            "sweep",
            "Test errors over the share of corrupted targets.",
            (
                Sweep(
                    "share of corrupted targets",
                    lambda run: run.corrupted,
                    "percent",
                    splits=("test",),
                ),
            ),
        ),
        pairing=Pairing(against_l2),
    ),
    Experiment(
        "sensitivity",
        "Sensitivity to the inputs",
        "Figures 10 (right) and 24",
        "Do predictions of a histogram change less with the inputs?",
        tabular((L2(), L1(), HLOneBin(), HLGauss()), probes=("sensitivity",)),
        protocol="After training, the norm of the derivative of the prediction (in "
        "units of y) by the standardised inputs, the mean over test rows.",
        table=TableSpec(
            metrics=SENSITIVITY_METRICS,
            note="Sensitivity: the norm of the derivative of the prediction, in units "
            "of y, by the inputs, in their standard deviations; the mean over test "
            "rows.",
        ),
        figure=FigureSpec(
            "sensitivity", "Test error over sensitivity, a mark for each run."
        ),
        pairing=Pairing(against(HLGauss()), SENSITIVITY_METRICS[:1]),
    ),
    Experiment(
        "rates",
        "Learning rates, chosen on validation rows",
        "not in it; its first limitation",
        "Does the order of the losses survive when each has its own learning rate?",
        at_rates(TUNED),
        protocol="Six learning rates for each loss, from 0.0001 to 0.03, chosen on a "
        "fifth of the training rows that was not learnt from; then trained on all of "
        "them. The rates are ours: the paper has 0.001 alone.",
        table=TableSpec("rates"),
        figure=FigureSpec(
            "rates",
            "Errors over the learning rate.",
            (
                Sweep(
                    "learning rate",
                    lambda run: run.learning_rate,
                    "log",
                    RATES,
                    # Too high a rate costs far more than tuning can gain.
                    has_log_errors=True,
                    splits=("validation", "test"),
                    line=lambda run: run.method.label,
                ),
            ),
        ),
        choice="best rate on validation",
        pairing=Pairing(against(HLGauss())),
    ),
)
