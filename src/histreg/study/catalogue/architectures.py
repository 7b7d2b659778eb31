"""Other networks than the paper's, which it chose by the test MAE of l2."""

from __future__ import annotations

from histreg.study.catalogue.experiment import (
    Experiment,
    FigureSpec,
    Pairing,
    Sweep,
    TableSpec,
    against_l2,
)
from histreg.study.catalogue.tabular_runs import tabular
from histreg.study.datasets import dataset
from histreg.study.methods import L2, HLGauss
from histreg.study.tabular.runs import TabularRun

DEPTHS = (1, 2, 3, 4, 5, 6, 7)
WIDTHS = (1 / 8, 1 / 4, 1 / 2, 1.0, 3 / 2, 2.0, 3.0)
"""Relative to the paper's width. The paper names seven values of either, not which."""


def networks_of(name: str) -> tuple[tuple[int, ...], ...]:
    """Return the hidden layers of the networks for a data set, the paper's among them.

    Seven depths at the paper's width, and seven widths at its depth.

    Examples
    --------
    >>> networks_of("pole")[:2]
    ((24,), (24, 24))
    """
    paper = dataset(name).hidden
    depths = [paper[:1] * n for n in DEPTHS]
    widths = [(round(factor * paper[0]),) * len(paper) for factor in WIDTHS]
    return tuple(dict.fromkeys([*depths, *widths]))


def depth_of(run: TabularRun) -> float | None:
    """Return the number of hidden layers, of networks as wide as the paper's."""
    paper = dataset(run.dataset).hidden
    return len(run.hidden) if run.hidden[0] == paper[0] else None


def width_of(run: TabularRun) -> float | None:
    """Return the width over the paper's, of networks as deep as the paper's."""
    paper = dataset(run.dataset).hidden
    return run.hidden[0] / paper[0] if len(run.hidden) == len(paper) else None


EXPERIMENTS = (
    Experiment(
        "architectures",
        "Other networks",
        "not in it; its networks were chosen by the test MAE of l2",
        "Does another network change the order of l2 and HL-Gauss?",
        tuple(
            run
            for name in ("pole", "bike")
            for hidden in networks_of(name)
            for run in tabular((L2(), HLGauss()), datasets=(name,), hidden=hidden)
        ),
        protocol="The paper chose its networks by the test MAE of l2, with depth and "
        "width varied across seven values each, which it does not name.\nThe values "
        "are ours: one to seven hidden layers of the paper's width; and the paper's "
        "depth with 1/8, 1/4, 1/2, 1, 3/2, 2 and 3 times its width.",
        table=TableSpec("architectures"),
        figure=FigureSpec(
            "sweep",
            "Test errors over the number of hidden layers, and over their width as a "
            "multiple of the paper's. The paper's network has three layers on Pole, "
            "four on Bike Sharing, and a width of 1.",
            tuple(
                Sweep(label, x, scale, ticks, splits=("test",))
                for label, x, scale, ticks in (
                    ("hidden layers", depth_of, "linear", DEPTHS),
                    ("width over the paper's", width_of, "log2", WIDTHS),
                )
            ),
        ),
        pairing=Pairing(against_l2),
    ),
)
