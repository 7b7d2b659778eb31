"""The training process and annealing (Figures 8, 9, 21 and 22)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from histreg.study.catalogue.experiment import (
    Experiment,
    FigureSpec,
    Pairing,
    Sweep,
    TableSpec,
    against,
)
from histreg.study.catalogue.tabular_runs import tabular
from histreg.study.catalogue.target import sigma_of
from histreg.study.methods import L2, HLGauss, HLGaussAnnealed, HLOneBin
from histreg.study.tabular.curves import (
    FIRST_EPOCHS,
    early_area,
    jumpiness,
    unsteadiness,
)
from histreg.study.tabular.runs import TabularRun

FINAL_SIGMAS = tuple(2.0**power for power in range(-6, 3))  # in bins
"""Ours: the paper does not state its own."""
SUMMARIES = {
    "unsteadiness": unsteadiness,
    "jumpiness": jumpiness,
    "early train MAE": early_area,
}
TRAINING_METRICS = (*SUMMARIES, "train MAE", "train RMSE")
TRAINED: dict[str, Any] = {"dropout": 0.0, "probes": ("gradients",)}
"""How the runs of the training process differ from the common protocol."""
TRAINING_TABLE = TableSpec(
    metrics=TRAINING_METRICS,
    note="Unsteadiness: the standard deviation over epochs of log10 of the gradient's "
    "norm over the excess loss, trend included. Jumpiness: the root mean square of its "
    "change from one epoch to the next. Early train MAE: its mean over the first "
    f"{FIRST_EPOCHS} epochs. The others are of the last epoch.",
)
TRAINING_FIGURE = FigureSpec(
    "training",
    "Over epochs: training errors, and the gradient's norm relative to the loss; the "
    "mean over seeds in a band of all.",
)
TRAINING_PAIRING = Pairing(against(L2()), TRAINING_METRICS[:4])


def _with_fixed_sigma(run: TabularRun, other: TabularRun) -> bool:
    target = run.method
    assert isinstance(target, HLGauss)  # the method that annealing modifies
    fixed = HLGauss(target.sigma_in_bins, target.n_bins, target.padding_in_bins)
    return other == replace(run, method=fixed)


EXPERIMENTS = (
    Experiment(
        "training",
        "Training process",
        "Figures 8 and 21",
        "Does a histogram loss fall faster, with steadier gradients?",
        tabular((L2(), HLOneBin(), HLGauss()), **TRAINED),
        protocol="No dropout. After every epoch the errors on all training rows, and "
        "on 2,048 of them the gradient's norm over how much the loss exceeds its "
        "minimum.",
        table=TRAINING_TABLE,
        figure=TRAINING_FIGURE,
        summaries=SUMMARIES,
        pairing=TRAINING_PAIRING,
    ),
    Experiment(
        "training-head-start",
        "Training process from the authors' first weights",
        "Figures 8 and 21, by the authors' later code",
        "Does it depend on the first biases of the last layer who falls faster at "
        "first?",
        tabular((L2(), HLOneBin(), HLGauss()), has_authors_head=True, **TRAINED),
        protocol="The training process again, with the first weights that the "
        "authors' later code gives the last layer: random biases too, with a "
        "standard deviation of 1 for the single output of l2.",
        table=TRAINING_TABLE,
        figure=TRAINING_FIGURE,
        summaries=SUMMARIES,
        pairing=TRAINING_PAIRING,
    ),
    Experiment(
        "snapshots",
        "Predicted histograms while training lasts",
        "not in it",
        "How does a network come to predict a histogram?",
        tabular((HLGauss(),), datasets=("bike",), seeds=(1,), probes=("snapshots",)),
        protocol="One run of HL-Gauss. At some 20 epochs its histograms for three "
        "test rows, whose y is a tenth, half and nine tenths of the way up, are "
        "written down.",
        figure=FigureSpec(
            "snapshots",
            "Predicted histograms of three test rows at a few epochs, with the truth.",
        ),
        conclusion="snapshots",
    ),
    Experiment(
        "annealing",
        "Annealed targets",
        "Figures 9 and 22",
        "Does it help to start with a wide target?",
        tabular(
            [
                method
                for sigma in FINAL_SIGMAS
                for method in (HLGauss(sigma), HLGaussAnnealed(sigma))
            ],
            dropout=0.0,
        ),
        protocol="No dropout. Sigma starts at eight bins and shrinks by equal factors "
        "over the first fifth of the epochs; beside it the same final sigma from the "
        "start. The nine final sigmas, from 1/64 of a bin to four bins, are ours: the "
        "paper does not state its own.",
        figure=FigureSpec(
            "sweep",
            "Errors over the final sigma, annealed and fixed.",
            (
                Sweep(
                    "final sigma in bins",
                    sigma_of,
                    "log2",
                    line=lambda run: (
                        "annealed"
                        if isinstance(run.method, HLGaussAnnealed)
                        else "fixed"
                    ),
                ),
            ),
        ),
        pairing=Pairing(_with_fixed_sigma),
    ),
)
