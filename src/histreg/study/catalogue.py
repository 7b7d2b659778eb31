"""The catalogue: tables and figures of the paper as named tuples of runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from histreg._checks import check_choice, check_count
from histreg.study.atari.runs import ValueRun
from histreg.study.datasets import GAMES, SERIES, TABLES
from histreg.study.engine.runs import Run
from histreg.study.measurements import Measurement
from histreg.study.methods import (
    L1,
    L2,
    MDN,
    METHODS,
    Brier,
    HLGauss,
    HLGaussAnnealed,
    HLOneBin,
    HLProjected,
    HLUniform,
    L1SoftmaxMean,
    L2Clipping,
    L2Moments,
    L2MultiTask,
    L2Noise,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
    LinearRegression,
    Method,
)
from histreg.study.series.runs import (
    ARCHITECTURES,
    CRITERIA,
    FIRST_WEIGHTS,
    HEADS,
    READING,
    ForecastRun,
)
from histreg.study.shapes.predictors import PREDICTORS
from histreg.study.shapes.runs import ShapeRun
from histreg.study.sines.runs import SineRun
from histreg.study.tabular.runs import TabularRun

SEEDS = (1, 2, 3, 4, 5)
DATA = ("ct", "song", "bike", "pole")

NOISE = tuple(L2Noise(sd) for sd in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1))
CLIPPING = tuple(L2Clipping(norm) for norm in (0.01, 0.1, 1.0, 10.0))
MIXTURES = tuple(MDN(n) for n in (2, 4, 8, 16, 32))
GRIDS = (*NOISE, *CLIPPING, *MIXTURES)
"""Baselines that come in several settings, of which the best is reported."""
UNIFORM = tuple(HLUniform(epsilon) for epsilon in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1))
OURS = (L1SoftmaxMean(), Brier(), HLOneBin(shift_in_bins=0.5))
"""What the paper suggests or leaves open, and its tables do not have."""
OVERALL = (
    LinearRegression(),
    L2(),
    *NOISE,
    *CLIPPING,
    L1(),
    *MIXTURES,
    L2SoftmaxPerBin(),
    L2SoftmaxMean(),
    HLOneBin(),
    HLGauss(),
    *OURS,
)

N_BINS = (10, 20, 30, 50, 100, 200, 400)
SIGMAS = tuple(2.0**power for power in range(-4, 5))  # in bins
NARROW = SIGMAS[0]
OFF_THE_BORDERS = 9.7  # bins of padding, by which the borders miss multiples of ten
AUXILIARY = (
    *(L2MultiTask(weight) for weight in (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)),
    *(L2Moments(n) for n in (2, 3, 4, 6, 8)),
)
FINAL_SIGMAS = tuple(2.0**power for power in range(-6, 3))  # in bins
CORRUPTED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
TUNED = (L2(), L1(), MDN(2), MDN(4), HLGauss())
"""The losses whose learning rates are tuned; components of MDN with them."""


RECOMMENDED = HLGauss(sigma_in_bins=2.0, padding_in_bins=6.0)
"""The paper's rule of thumb: 100 bins, sigma of two, a padding of three sigmas.

The preset "recommended" of `histreg.PRESETS`."""

FORECAST_HL = RECOMMENDED

VALUE_HL = HLGauss(sigma_in_bins=2.0, padding_in_bins=8.0)
"""The preset "atari" of `histreg.PRESETS`."""
VALUE_SEEDS = (1, 2)
WITHOUT_REWARD = ("Assault", "MontezumaRevenge", "Tennis", "Venture")
"""Games in whose first 250,000 frames nobody scores; in the full file of Assault, which
the paper has, somebody does."""
VALUE_GAMES = tuple(name for name in GAMES if name not in WITHOUT_REWARD)[::4]
"""Every fourth by the alphabet: chosen by that alone, before any was trained on."""

HEAVY = ("lognormal", "pareto", "zeros", "far-mode", "bike", "flights", "diamonds")
"""Tables whose targets have a long tail, many zeros or far modes."""
LIGHT = ("california", "song-7000", "pole", "friedman", "diabetes")
"""Tables on which even bins resolve all targets."""
NOT_POSITIVE = ("zeros", "far-mode", "flights", "pole", "friedman")
"""Of these, tables that have no logarithm for bins to be even in."""
SHAPE_SEEDS = (0, 1, 2)

SINE_RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
SINE_SEEDS = (0, 1, 2, 3, 4)
SINE_HL = HLGauss(sigma_in_bins=2.0, padding_in_bins=0.0)
FREQUENCIES = tuple((alpha, 0.0) for alpha in (1.0, 10.0, 20.0))
OFFSETS = tuple((10.0, beta) for beta in (0.0, 1.0, 10.0))
AS_IT_IS = (0.0, 1.0)  # the range by which a loss on one number leaves y alone
NEAR, FAR = (-1.5, 1.5), (-1.5, 11.5)  # supports of the two parts

NAIVE_FORECASTS = tuple(Measurement("naive", name) for name in SERIES)


@dataclass(frozen=True)
class Experiment:
    """A question, and the runs that answer it.

    Parameters
    ----------
    name : str
    title : str
    place : str
        Of the paper.
    question : str
    runs : tuple of Run
        As in the paper.
    """

    name: str
    title: str
    place: str
    question: str
    runs: tuple[Run, ...]


def tabular(
    methods: Iterable[Method],
    *,
    datasets: Iterable[str] = DATA,
    seeds: Iterable[int] = SEEDS,
    **changes: Any,
) -> tuple[TabularRun, ...]:
    """Return the runs of methods by the common protocol, but for some changes."""
    return tuple(
        TabularRun.of(name, method, seed, **changes)
        for name in datasets
        for method in methods
        for seed in seeds
    )


def with_bins(n_bins: int) -> tuple[HLOneBin, HLGauss]:
    """Return histogram losses on finer or coarser bins of the usual support.

    Padding and sigma stay what they are in units of the target: an eighth and an
    eightieth of its range.
    """
    finer, padding = n_bins / 100, n_bins / 10
    return (
        HLOneBin(n_bins=n_bins, padding_in_bins=padding),
        HLGauss(sigma_in_bins=finer, n_bins=n_bins, padding_in_bins=padding),
    )


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


def at_rates(
    methods: Iterable[Method], rates: Iterable[float] = RATES
) -> tuple[TabularRun, ...]:
    """Return the runs of methods at learning rates, on validation and test rows."""
    usual = tabular(methods, part="validation") + tabular(methods)
    return tuple(replace(run, learning_rate=rate) for rate in rates for run in usual)


def forecasts(
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


def readings() -> tuple[ForecastRun, ...]:
    """Return the linear forecasters in every reading of the paper's text, seed 1.

    For l2 the loss is the squared error, so that one criterion stands for both.
    """
    every = (
        forecasts(
            bodies=("Linear",),
            seeds=SEEDS[:1],
            head=head,
            first_weights=weights,
            validation=criterion,
        )
        for head, weights, criterion in product(HEADS, FIRST_WEIGHTS, CRITERIA)
    )
    usual = READING["validation"]
    return tuple(
        run
        for runs in every
        for run in runs
        if run.method != L2() or run.validation == usual
    )


def values(
    games: Iterable[str] = VALUE_GAMES,
    *,
    seeds: Iterable[int] = VALUE_SEEDS,
    **changes: Any,
) -> tuple[ValueRun, ...]:
    """Return the runs of both losses on games."""
    return tuple(
        ValueRun(name, method, seed, **changes)
        for name in games
        for method in (L2(), VALUE_HL)
        for seed in seeds
    )


def sines(
    targets: Iterable[tuple[float, float]],
    support: tuple[float, float],
    *,
    rates: Iterable[float] = SINE_RATES,
    seeds: Iterable[int] = SINE_SEEDS,
) -> tuple[SineRun, ...]:
    """Return the runs of both losses on these (alpha, beta)."""
    return tuple(
        SineRun(method, alpha, beta, value_range, rate, seed)
        for alpha, beta in targets
        for method, value_range in ((L2(), AS_IT_IS), (SINE_HL, support))
        for rate in rates
        for seed in seeds
    )


EXPERIMENTS = {
    each.name: each
    for each in (
        Experiment(
            "sines",
            "Synthetic sines",
            "Figure 3",
            "Does the loss change how fast a network fits, as the target's frequency "
            "or offset grows?",
            tuple(dict.fromkeys(sines(FREQUENCIES, NEAR) + sines(OFFSETS, FAR))),
        ),
        Experiment(
            "sines-reduced",
            "Synthetic sines, a small network for 300 iterations",
            "Figure 3, reduced",
            "The same in a minute, on a network of an eighth of the width.",
            tuple(
                replace(run, hidden=(128, 128), iterations=301)
                for run in sines(FREQUENCIES, NEAR, rates=(1e-3, 1e-2), seeds=(0, 1))
            ),
        ),
        Experiment(
            "overall",
            "Overall results",
            "Tables 1 and 7",
            "Is HL-Gauss competitive, and is its gain explained by a flexible "
            "distribution, noise, clipping, robustness or the softmax?",
            tabular(OVERALL),
        ),
        Experiment(
            "overall-validation",
            "Overall results, settings chosen on validation rows",
            "Tables 1 and 7, which choose on test rows",
            "Do the baselines keep their numbers when their settings are chosen "
            "without looking at the test rows?",
            tabular(OVERALL) + tabular(GRIDS, part="validation"),
        ),
        Experiment(
            "uniform",
            "HL-Uniform",
            "Figures 4 and 15",
            "Can uniform smoothing of the target help?",
            tabular((HLOneBin(), *UNIFORM)),
        ),
        Experiment(
            "head-start",
            "The authors' first weights of the last layer",
            "not in it; explains Tables 1 and 7",
            "Does the random bias, with which the authors' later code starts the last "
            "layer, explain where the paper's l2 is worse than ours?",
            tuple(
                run
                for each in tabular((L2(), L2SoftmaxMean(), HLOneBin(), HLGauss()))
                for run in (each, replace(each, has_authors_head=True))
            ),
        ),
        Experiment(
            "label-bias",
            "Label bias",
            "Figures 5 and 16",
            "How far is the mean of an exactly matched histogram from the label?",
            tuple(Measurement("label-bias", name) for name in DATA),
        ),
        Experiment(
            "projected",
            "HL-Projected",
            "Tables 2 and 8",
            "How much of HL-OneBin's deficit is discretisation bias?",
            tabular((HLOneBin(), HLProjected(), HLGauss())),
        ),
        Experiment(
            "bins",
            "Number of bins",
            "Figures 6 (left) and 17",
            "Is there a trade-off between coarse and fine bins?",
            tabular((L2(), *(each for k in N_BINS for each in with_bins(k)))),
        ),
        Experiment(
            "sigma",
            "Width of the target",
            "Figures 6 (right) and 18",
            "How wide should the Gaussian target be?",
            tabular((L2(), *(HLGauss(sigma) for sigma in SIGMAS))),
        ),
        Experiment(
            "rule-of-thumb",
            "The recommended bins",
            "its summary and conclusion, which have no table of it",
            "Is HL-Gauss with the recommended settings as good as with those of the "
            "tables, and better than l2?",
            tabular((L2(), HLGauss(), RECOMMENDED)),
        ),
        Experiment(
            "grid",
            "Targets on and off the borders of the bins",
            "not in it; explains Figures 16 and 18 on Pole",
            "Do narrow targets do no harm on Pole because all y lie on borders?",
            tabular(
                [
                    each
                    for padding in (10.0, OFF_THE_BORDERS)
                    for each in (
                        HLOneBin(padding_in_bins=padding),
                        HLGauss(NARROW, padding_in_bins=padding),
                        HLGauss(padding_in_bins=padding),
                    )
                ]
            ),
        ),
        Experiment(
            "representation",
            "Exchanged representations",
            "Tables 3 and 9",
            "Is the gain of HL-Gauss due to a better representation?",
            exchanged(L2(), HLGauss())
            # The same softmax over the same bodies: what is left is the loss.
            + tabular((L2SoftmaxMean(), L1SoftmaxMean()), has_frozen_body=True)
            + tabular((L2SoftmaxMean(),), donor=HLGauss(), has_frozen_body=True),
        ),
        Experiment(
            "auxiliary",
            "Auxiliary tasks",
            "Figures 7, 19 and 20",
            "Is a histogram, or are moments, good as something else to learn?",
            tabular((L2(), *AUXILIARY, HLGauss())),
        ),
        Experiment(
            "training",
            "Training process",
            "Figures 8 and 21",
            "Does a histogram loss fall faster, with steadier gradients?",
            tabular((L2(), HLOneBin(), HLGauss()), dropout=0.0, probes=("gradients",)),
        ),
        Experiment(
            "snapshots",
            "Predicted histograms while training lasts",
            "not in it",
            "How does a network come to predict a histogram?",
            tabular(
                (HLGauss(),), datasets=("bike",), seeds=(1,), probes=("snapshots",)
            ),
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
        ),
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
        ),
        Experiment(
            "sensitivity",
            "Sensitivity to the inputs",
            "Figures 10 (right) and 24",
            "Do predictions of a histogram change less with the inputs?",
            tabular((L2(), L1(), HLOneBin(), HLGauss()), probes=("sensitivity",)),
        ),
        Experiment(
            "rates",
            "Learning rates, chosen on validation rows",
            "not in it; its first limitation",
            "Does the order of the losses survive when each has its own learning rate?",
            at_rates(TUNED),
        ),
        Experiment(
            "forecasts",
            "Forecasts of series",
            "Tables 4 and 6",
            "Does the advantage carry over to sequence models?",
            (*NAIVE_FORECASTS, *forecasts(**READING)),
        ),
        Experiment(
            "forecast-readings",
            "Linear forecasts, by the reading of the text",
            "Tables 4 and 6, which leave it open",
            "Which head, first weights and validation give the paper's numbers?",
            readings(),
        ),
        Experiment(
            "forecasts-direct",
            "Forecasts without a projection",
            "Tables 4 and 6, read otherwise",
            "Is it the projection before the head that decides between the losses?",
            (*NAIVE_FORECASTS, *forecasts()),
        ),
        Experiment(
            "forecasts-of-change",
            "Forecasts of the change from the last value",
            "not in it",
            "Does a histogram still help where the level is not what fails?",
            (*NAIVE_FORECASTS, *forecasts(subtracts_last=True)),
        ),
        Experiment(
            "replays",
            "Replays of games",
            "not in it; the data of Figure 11",
            "Do the games, replayed, end wherever their files begin anew, and what is "
            "there to learn from them?",
            tuple(Measurement("replays", name) for name in VALUE_GAMES),
        ),
        Experiment(
            "values",
            "Values of games",
            "Figure 11",
            "Does the advantage carry over to large networks that predict the return "
            "of a player?",
            values(),
        ),
        Experiment(
            "values-textbook",
            "Values of games, without the reward of arrival",
            "not in it",
            "Does it stay where the reward that a state has just brought, which can be "
            "seen, is no part of its return?",
            values(target="textbook"),
        ),
        Experiment(
            "shapes",
            "Targets of any shape",
            "not in it; the open problem of its last section",
            "Do bins that follow the targets solve what even bins cannot, heavy tails, "
            "and cost nothing where there are none?",
            tuple(
                ShapeRun(name, method, seed)
                for seed in SHAPE_SEEDS
                for name in (*HEAVY, *LIGHT)
                for method in PREDICTORS
                if not (method == "log bins" and name in NOT_POSITIVE)
            ),
        ),
        Experiment(
            "targets",
            "Targets of the data sets",
            "Figure 14 and Table 5",
            "How are the targets distributed?",
            tuple(Measurement("targets", name) for name in DATA),
        ),
        Experiment(
            "bias",
            "Bias simulation",
            "Figure 13",
            "How much do bins and truncation move the mean of a Gaussian target?",
            (Measurement("bias"),),
        ),
        Experiment(
            "bound",
            "Prediction bound",
            "Figure 12",
            "How tight are the two bounds on the difference of means?",
            (Measurement("bound"),),
        ),
        Experiment(
            "theorems",
            "Theorems as numbers",
            "Sections 2 and 3, Appendices A to C",
            "Do the paper's propositions and formulas hold, to rounding, of this code?",
            (Measurement("theorems"),),
        ),
    )
}


def experiment(name: str) -> Experiment:
    """Return an experiment by its name."""
    check_choice("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def selected(
    runs: Sequence[Run],
    *,
    datasets: Collection[str] = (),
    methods: Collection[str] = (),
    models: Collection[str] = (),
    seeds: Collection[int] = (),
    epochs: int | None = None,
) -> tuple[Run, ...]:
    """Return those of the runs that are asked for; nothing asked for is everything.

    Parameters
    ----------
    runs : sequence of Run
    datasets : collection of str
        Also those that an experiment does not have: they get the runs of the first
        that it has, by their own protocol. Tables, series and games have none of each
        other's runs.
    methods : collection of str
    models : collection of str
        The bodies of forecasters.
    seeds : collection of int
    epochs : int, optional
        Instead of the protocol's, for networks that are trained in epochs.
    """
    for name in datasets:
        check_choice("--datasets", name, {**TABLES, **SERIES, **GAMES})
    for name in methods:
        check_choice("--methods", name, {**METHODS, **PREDICTORS})
    for name in models:
        check_choice("--models", name, ARCHITECTURES)
    if epochs is not None:
        check_count("--epochs", epochs, at_least=1)
    if datasets:
        runs = [run for name in datasets for run in _on(name, runs)]
    chosen = []
    for run in dict.fromkeys(runs):
        if methods and run.facet("method") not in (None, *methods):
            continue
        if models and run.facet("architecture") not in (None, *models):
            continue
        if seeds and run.facet("seed") not in (None, *seeds):
            continue
        if epochs is not None:
            run = run.for_epochs(epochs)
        chosen.append(run)
    return tuple(chosen)


def _on(dataset: str, runs: Sequence[Run]) -> list[Run]:
    """Return runs on a data set: what there is, or what there is on another."""
    there = [run.facet("dataset") for run in runs]
    alike = [name for name in there if name is None or _are_alike(name, dataset)]
    if not alike:
        return []
    source = dataset if dataset in alike else alike[0]
    return [
        run.moved_to(dataset)
        for run, name in zip(runs, there, strict=True)
        if name == source
    ]


def _are_alike(a: object, b: str) -> bool:
    """Return whether both are tables, both series or both games."""
    return any(a in each and b in each for each in (TABLES, SERIES, GAMES))
