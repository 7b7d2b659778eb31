"""Claims about the training process and annealing (Figures 8, 9, 21 and 22)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from histreg.study.catalogue.optimisation import TRAINED
from histreg.study.claims.claim import Claim, Origin
from histreg.study.claims.conditions import (
    Condition,
    Find,
    Pair,
    all_of,
    in_reading,
    lower_each,
    not_lower_each,
    on_tables,
)
from histreg.study.claims.scope import PAPER_TABLES, tables
from histreg.study.engine.runs import Record
from histreg.study.methods import L2, HLGauss, HLGaussAnnealed, HLOneBin, Method
from histreg.study.tabular.curves import (
    FIRST_EPOCHS,
    early_area,
    jumpiness,
    unsteadiness,
)

CLEAR = 0.1
SMALL_SIGMAS = tuple(2.0**power for power in (-6, -5, -4, -3))  # in bins


READINGS: dict[str, dict[str, Any]] = {
    "zero biases": {},
    "the authors' biases": {"has_authors_head": True},
}
"""First biases of the last layer: as the text has them, and as the later code does."""
L2_LOSS, ONE_BIN, GAUSS = L2(), HLOneBin(), HLGauss()


@dataclass(frozen=True)
class _Curve:
    """A number computed from the training curves of each run."""

    of: Callable[[Record], float]
    metric: str

    def __call__(self, method: Method, changes: dict[str, Any]) -> Condition:
        changes = TRAINED | changes
        return Condition.summary(method, self.of, self.metric, **changes)


_AREA = _Curve(early_area, "area under train MAE")
_SD = _Curve(unsteadiness, "sd of steepness")
_JUMPS = _Curve(jumpiness, "jumps of steepness")


def _in_both_readings(
    each: Callable[[list[Pair]], Find],
    curves: Sequence[_Curve],
    methods: Sequence[tuple[Method, Method]],
) -> Find:
    """Compare pairs of methods by their curves, with both kinds of first biases."""
    finds = []
    for reading, changes in READINGS.items():
        pairs = [
            (curve(a, changes), curve(b, changes))
            for curve in curves
            for a, b in methods
        ]
        finds.append(in_reading(reading, each(pairs)))
    return all_of(*finds)


AREA = (
    f"the area under train MAE over the first {FIRST_EPOCHS} epochs (all, if there are "
    "fewer), trained without dropout,"
)
SD = (
    "the standard deviation over epochs of log10 of the gradient's norm over the loss "
    "minus its minimum"
)

BOTH_BIASES = (
    "Judged with zero first biases of the last layer, as the text seems to have them, "
    "and with the random ones of the authors' later code: both must agree."
)
TRAINING = ("training", "training-head-start")

CLAIMS = (
    Claim(
        "K25",
        "In the first epochs the training error of HL-Gauss falls faster than that of "
        "l2 on all four data sets.",
        f"By seed, {AREA} is lower for HL-Gauss than for l2. {BOTH_BIASES}",
        TRAINING,
        _in_both_readings(lower_each, [_AREA], [(GAUSS, L2_LOSS)]),
        PAPER_TABLES,
    ),
    Claim(
        "K26",
        "The gradient's norm, relative to the loss, varies more with l2 than with the "
        "histogram losses.",
        f"By seed, {SD} is lower for HL-Gauss and HL-OneBin than for l2. {BOTH_BIASES}",
        TRAINING,
        _in_both_readings(lower_each, [_SD], [(GAUSS, L2_LOSS), (ONE_BIN, L2_LOSS)]),
        PAPER_TABLES,
    ),
    Claim(
        "K26b",
        "From one epoch to the next, the gradient's norm relative to the loss jumps "
        "more with l2 than with the histogram losses.",
        "By seed, the root mean square of the change in log10 of the gradient's norm "
        "over the loss minus its minimum is lower for HL-Gauss and HL-OneBin than for "
        f"l2. (K26 counts a slow trend as variation too.) {BOTH_BIASES}",
        TRAINING,
        _in_both_readings(lower_each, [_JUMPS], [(GAUSS, L2_LOSS), (ONE_BIN, L2_LOSS)]),
        PAPER_TABLES,
        Origin.OURS,
    ),
    Claim(
        "K27",
        "HL-Gauss has no clear advantage over HL-OneBin in optimisation.",
        f"For HL-Gauss neither {AREA} nor {SD} is more than {CLEAR:.0%} below that of "
        "HL-OneBin. (The first errors of HL-OneBin include what rounding to bins "
        f"costs.) {BOTH_BIASES}",
        TRAINING,
        _in_both_readings(
            partial(not_lower_each, margin=CLEAR), [_AREA, _SD], [(GAUSS, ONE_BIN)]
        ),
        PAPER_TABLES,
    ),
    Claim(
        "K28",
        "When the final sigma is small, annealing it improves HL-Gauss on Song Year "
        "and Bike Sharing.",
        "At a final sigma of 2^-6, 2^-5, 2^-4 and 2^-3 bins the test MAE with "
        "annealing below that with sigma fixed, both without dropout.",
        ("annealing",),
        lower_each(
            [
                (
                    Condition.of(
                        HLGaussAnnealed(sigma),
                        label=f"annealed to sigma {sigma:g}",
                        dropout=0.0,
                    ),
                    Condition.of(HLGauss(sigma), label="fixed", dropout=0.0),
                )
                for sigma in SMALL_SIGMAS
            ],
            where=on_tables("song", "bike"),
        ),
        tables("song", "bike"),
    ),
)
