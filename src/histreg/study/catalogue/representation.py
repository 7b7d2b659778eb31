"""Representations and auxiliary tasks (Tables 3 and 9, Figures 7, 19 and 20)."""

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
from histreg.study.methods import (
    L2,
    HLGauss,
    L1SoftmaxMean,
    L2Moments,
    L2MultiTask,
    L2SoftmaxMean,
    Method,
)
from histreg.study.tabular.representations import column_of, with_own_body
from histreg.study.tabular.runs import TabularRun

WEIGHTS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
MOMENTS = (2, 3, 4, 6, 8)
"""Weights and moments are ours: the paper does not state its own."""
AUXILIARY = (*map(L2MultiTask, WEIGHTS), *map(L2Moments, MOMENTS))


def exchanged(a: Method, b: Method) -> tuple[TabularRun, ...]:
    """Return runs of two methods, each also on the body of the other."""
    return tuple(
        run
        for method, other in ((a, b), (b, a))
        for run in (
            *tabular([method]),
            *tabular([method], donor=other, has_frozen_body=True),
            *tabular([method], donor=other),
            *tabular([method], has_frozen_body=True),
        )
    )


def column_label(setting: Any) -> str:
    """Return a label as of Table 3, such as ``l2 [Fixed]``."""
    method = setting.method.label
    own = replace(setting, run=with_own_body(setting.run))
    return f"{method} [{column_of(setting.run)}]{own.label.removeprefix(method)}"


def _on_own_body(run: TabularRun, other: TabularRun) -> bool:
    """Compare a loss with itself on its own body, and a control with HL-Gauss.

    Both have the same body: a random one, or the body of HL-Gauss, with which HL-Gauss
    is the network as it was trained.
    """
    if run.method in (L2(), HLGauss()):
        return other == with_own_body(run)
    same = replace(run, method=HLGauss())
    return other == (with_own_body(same) if run.donor == HLGauss() else same)


def _weight_of(run: TabularRun) -> float | None:
    return run.method.weight if isinstance(run.method, L2MultiTask) else None


def _n_moments_of(run: TabularRun) -> float | None:
    if run.method == L2():
        return 1
    return run.method.n_moments if isinstance(run.method, L2Moments) else None


EXPERIMENTS = (
    Experiment(
        "representation",
        "Exchanged representations",
        "Tables 3 and 9",
        "Is the gain of HL-Gauss due to a better representation?",
        exchanged(L2(), HLGauss())
        # The same softmax over the same bodies: only the loss differs.
        + tabular((L2SoftmaxMean(), L1SoftmaxMean()), has_frozen_body=True)
        + tabular((L2SoftmaxMean(),), donor=HLGauss(), has_frozen_body=True),
        protocol="Each loss on a body (all but the last layer) of its own, on the "
        "other's, frozen or to start from, and on a random\nfrozen one. Ours: the "
        "softmax head with the squared and the absolute error of its mean, over the "
        "same bodies.",
        table=TableSpec(
            "representation",
            note="Default: a body of its own. Fixed and Initialized: the body that the "
            "other loss has trained (HL-Gauss for the controls), frozen or to start "
            "from. Random: one that nobody has trained, frozen. Controls have the "
            "softmax of HL-Gauss with another loss; the paper has none of them.",
        ),
        figure=FigureSpec(
            "representation",
            "Test errors by loss and kind of body: ours filled, the paper's open.",
        ),
        label=column_label,
        pairing=Pairing(_on_own_body),
    ),
    Experiment(
        "auxiliary",
        "Auxiliary tasks",
        "Figures 7, 19 and 20",
        "Is a histogram, or are moments, good as something else to learn?",
        tabular((L2(), *AUXILIARY, HLGauss())),
        protocol="l2 with a second head trained by HL-Gauss, whose weight varies; and "
        "l2 that also predicts powers of y. The weights and numbers of moments are "
        "ours: the paper does not state its own.",
        figure=FigureSpec(
            "sweep",
            "Errors over the weight of the second task and over the number of moments.",
            (
                Sweep(
                    "weight of HL-Gauss",
                    _weight_of,
                    "symlog",
                    WEIGHTS,
                    levels=(L2(), HLGauss()),
                ),
                Sweep(
                    "number of moments",
                    _n_moments_of,
                    ticks=(1, *MOMENTS),
                    levels=(L2(), HLGauss()),
                    line=lambda _: "l2+Moments",
                ),
            ),
        ),
        pairing=Pairing(against(HLGauss())),
    ),
)
