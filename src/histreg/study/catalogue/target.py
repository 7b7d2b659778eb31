"""The target distribution and its bins (Figures 4 to 6 and 15 to 18, Tables 2 and 8).

And the first weights of the layer that predicts it.
"""

from __future__ import annotations

from dataclasses import replace

from histreg.study.catalogue.experiment import (
    Experiment,
    FigureSpec,
    Pairing,
    Sweep,
    TableSpec,
    against,
)
from histreg.study.catalogue.tabular_runs import DATA, tabular
from histreg.study.measurements import Measurement
from histreg.study.methods import (
    L2,
    HLGauss,
    HLOneBin,
    HLProjected,
    HLUniform,
    L2SoftmaxMean,
)
from histreg.study.tabular.runs import TabularRun

UNIFORM = tuple(HLUniform(epsilon) for epsilon in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1))
"""The epsilons of the paper's appendix."""
N_BINS = (10, 20, 30, 50, 100, 200, 400)
SIGMAS = tuple(2.0**power for power in range(-4, 5))  # in bins
"""Numbers of bins and sigmas are ours: the paper does not state its own."""
NARROW = SIGMAS[0]
PADDING_OFF_BORDERS = 9.7  # in bins: the borders miss multiples of ten


RECOMMENDED = HLGauss(sigma_in_bins=2.0, padding_in_bins=6.0)
"""The paper's rule of thumb: 100 bins, sigma of two, a padding of three sigmas.

The preset "recommended" of `histreg.PRESETS`."""


def with_bins(n_bins: int) -> tuple[HLOneBin, HLGauss]:
    """Return histogram losses on finer or coarser bins of the usual support.

    Padding and sigma are constant in units of the target: an eighth and an eightieth of
    its range.
    """
    finer, padding = n_bins / 100, n_bins / 10
    return (
        HLOneBin(n_bins=n_bins, padding_in_bins=padding),
        HLGauss(sigma_in_bins=finer, n_bins=n_bins, padding_in_bins=padding),
    )


def epsilon_of(run: TabularRun) -> float | None:
    """Return the epsilon of HL-Uniform."""
    return run.method.epsilon if isinstance(run.method, HLUniform) else None


def n_bins_of(run: TabularRun) -> float | None:
    """Return the number of bins of HL-OneBin and HL-Gauss."""
    return run.method.n_bins if isinstance(run.method, HLOneBin | HLGauss) else None


def sigma_of(run: TabularRun) -> float | None:
    """Return the sigma of HL-Gauss, in bins."""
    return run.method.sigma_in_bins if isinstance(run.method, HLGauss) else None


def _with_zero_biases(run: TabularRun, other: TabularRun) -> bool:
    return other == replace(run, has_authors_head=False)


def _on_usual_borders(run: TabularRun, other: TabularRun) -> bool:
    method = run.method
    assert isinstance(method, HLOneBin | HLGauss)
    usual = replace(method, padding_in_bins=HLGauss().padding_in_bins)
    return other == replace(run, method=usual)


EXPERIMENTS = (
    Experiment(
        "uniform",
        "HL-Uniform",
        "Figures 4 and 15",
        "Can uniform smoothing of the target help?",
        tabular((HLOneBin(), *UNIFORM)),
        protocol="HL-OneBin, and targets of which a share epsilon is spread evenly "
        "over all bins, from 0.00001 to 0.1: the paper's five values.",
        figure=FigureSpec(
            "sweep",
            "Errors over epsilon; HL-OneBin is epsilon 0. Train dotted, test solid.",
            (Sweep("epsilon", epsilon_of, "log", levels=(HLOneBin(),)),),
        ),
        pairing=Pairing(against(HLOneBin())),
    ),
    Experiment(
        "head-start",
        "The authors' first weights of the last layer",
        "not in it; explains Tables 1 and 7",
        "Does the random bias, with which the authors' later code starts the last "
        "layer, explain where the paper's l2 is worse than ours?",
        tuple(
            run
            for usual in tabular((L2(), L2SoftmaxMean(), HLOneBin(), HLGauss()))
            for run in (usual, replace(usual, has_authors_head=True))
        ),
        protocol="Four losses by the usual protocol, and again with the first weights "
        "that the authors' later code gives the last layer: random biases too.",
        table=TableSpec(title="First weights of the last layer"),
        figure=FigureSpec(caption="Errors of each loss with either start."),
        pairing=Pairing(_with_zero_biases),
    ),
    Experiment(
        "label-bias",
        "Label bias",
        "Figures 5 and 16",
        "How far is the mean of an exactly matched histogram from the label?",
        tuple(Measurement("label-bias", name) for name in DATA),
        protocol="No training: the distance between each label and the mean of its "
        "target, over the labels of a data set, for a range of sigmas, which is ours: "
        "the paper does not state its own.",
        table=TableSpec("label bias"),
        figure=FigureSpec(
            "label bias", "Mean distance between label and target mean, over sigma."
        ),
    ),
    Experiment(
        "projected",
        "HL-Projected",
        "Tables 2 and 8",
        "How much of HL-OneBin's deficit is discretisation bias?",
        tabular((HLOneBin(), HLProjected(), HLGauss())),
        protocol="HL-OneBin, HL-Gauss, and a target that splits each y between its "
        "two nearest centers, which has no bias.",
        figure=FigureSpec(caption="Errors of the three targets."),
        pairing=Pairing(against(HLGauss())),
    ),
    Experiment(
        "bins",
        "Number of bins",
        "Figures 6 (left) and 17",
        "Is there a trade-off between coarse and fine bins?",
        tabular((L2(), *(method for k in N_BINS for method in with_bins(k)))),
        protocol="From 10 to 400 bins, padding and sigma held in units of the target, "
        "so that the bins alone become finer. The seven numbers are ours: the paper "
        "does not state its own.",
        figure=FigureSpec(
            "sweep",
            "Errors over the number of bins; l2, which has none, as a level. Train "
            "dotted, test solid.",
            (Sweep("number of bins", n_bins_of, "log", N_BINS, levels=(L2(),)),),
        ),
        pairing=Pairing(against(L2())),
    ),
    Experiment(
        "sigma",
        "Width of the target",
        "Figures 6 (right) and 18",
        "How wide should the Gaussian target be?",
        tabular((L2(), *(HLGauss(sigma) for sigma in SIGMAS))),
        protocol="HL-Gauss with sigma from a sixteenth of a bin to sixteen bins, each "
        "twice the one before. The values are ours: the paper does not state its own.",
        figure=FigureSpec(
            "sweep",
            "Errors over sigma; l2, which has none, as a level. Train dotted, test "
            "solid.",
            (Sweep("sigma in bins", sigma_of, "log2", levels=(L2(),)),),
        ),
        pairing=Pairing(against(L2())),
    ),
    Experiment(
        "rule-of-thumb",
        "The recommended bins",
        "its summary and conclusion, which have no table of it",
        "Is HL-Gauss with the recommended settings as good as with those of the "
        "tables, and better than l2?",
        tabular((L2(), HLGauss(), RECOMMENDED)),
        protocol="HL-Gauss as the paper recommends it in its summary and conclusion: "
        "100 bins, a sigma of two bins, a padding of three sigmas\n(six bins) on each "
        "side. Beside it HL-Gauss as in the tables, with a sigma of one bin and a "
        "padding of ten, and l2.",
        figure=FigureSpec(
            caption="Test errors of HL-Gauss with either setting, and of l2: ours "
            "filled, the paper's open; the paper has none of the recommended setting.",
        ),
        pairing=Pairing(against(HLGauss())),
    ),
    Experiment(
        "grid",
        "Targets on and off the borders of the bins",
        "not in it; explains Figures 16 and 18 on Pole",
        "Do narrow targets do no harm on Pole because all y lie on borders?",
        tabular(
            [
                method
                for padding in (10.0, PADDING_OFF_BORDERS)
                for method in (
                    HLOneBin(padding_in_bins=padding),
                    HLGauss(NARROW, padding_in_bins=padding),
                    HLGauss(padding_in_bins=padding),
                )
            ]
        ),
        protocol="HL-OneBin, a narrow and the usual HL-Gauss, on the usual grid, "
        "which has all y of Pole on its borders, and on one moved off them.",
        figure=FigureSpec(caption="Errors of each target on either grid."),
        pairing=Pairing(_on_usual_borders),
        conclusion="grid",
    ),
)
