"""Synthetic sines (Figure 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from histreg.study.catalogue.experiment import Experiment, FigureSpec, TableSpec
from histreg.study.methods import L2, HLGauss
from histreg.study.sines.runs import SineRun

SINE_RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
SINE_SEEDS = (0, 1, 2, 3, 4)
SINE_HL = HLGauss(sigma_in_bins=2.0, padding_in_bins=0.0)
FREQUENCIES = tuple((alpha, 0.0) for alpha in (1.0, 10.0, 20.0))
OFFSETS = tuple((10.0, beta) for beta in (0.0, 1.0, 10.0))
UNSCALED = (0.0, 1.0)  # the range by which a loss on one number leaves y alone
NEAR, FAR = (-1.5, 1.5), (-1.5, 11.5)  # supports of the two parts


def sine_runs(
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
        for method, value_range in ((L2(), UNSCALED), (SINE_HL, support))
        for rate in rates
        for seed in seeds
    )


EXPERIMENTS = (
    Experiment(
        "sines",
        "Synthetic sines",
        "Figure 3",
        "Does the loss change how fast a network fits, as the target's frequency or "
        "offset grows?",
        tuple(dict.fromkeys(sine_runs(FREQUENCIES, NEAR) + sine_runs(OFFSETS, FAR))),
        protocol="sin(alpha x) + beta at 500 points, without noise; a network of two "
        "layers of 1,024, all points at once, 1,001\niterations. Five learning rates, "
        "of which each loss has the one of lowest area under its error; five seeds.",
        table=TableSpec("sines"),
        figure=FigureSpec(
            "sines",
            "Left: what each loss has fitted of sin(10 x). Middle and right: the "
            "error over iterations, by frequency and by offset.",
        ),
    ),
    Experiment(
        "sines-reduced",
        "Synthetic sines, a small network for 300 iterations",
        "Figure 3, reduced",
        "The same in a minute, on a network of an eighth of the width.",
        tuple(
            replace(run, hidden=(128, 128), iterations=301)
            for run in sine_runs(FREQUENCIES, NEAR, rates=(1e-3, 1e-2), seeds=(0, 1))
        ),
        protocol="sin(alpha x) at 500 points, without noise; a network of two layers "
        "of 128, 301 iterations, two learning rates and two seeds.",
        conclusion="sines",
        table=TableSpec("sines", title="Synthetic sines"),
        figure=FigureSpec(
            "sines",
            "What each loss has fitted of sin(10 x), and the error over iterations by "
            "frequency.",
        ),
    ),
)
