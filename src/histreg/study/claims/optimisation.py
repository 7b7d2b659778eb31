"""Claims about the training process and annealing (Figures 8, 9, 21 and 22)."""

from __future__ import annotations

from collections.abc import Callable

from histreg.study.claims.claim import Claim
from histreg.study.claims.conditions import (
    Condition,
    all_of,
    lower_each,
    not_lower_each,
    on_tables,
)
from histreg.study.engine.runs import Record
from histreg.study.methods import L2, HLGauss, HLGaussAnnealed, HLOneBin
from histreg.study.tabular.curves import (
    FIRST_EPOCHS,
    early_area,
    jumpiness,
    unsteadiness,
)

CLEAR = 0.1
SMALL_SIGMAS = tuple(2.0**power for power in (-6, -5, -4, -3))  # in bins


def _trained(of: Callable[[Record], float], metric: str) -> list[Condition]:
    return [
        Condition.summary(method, of, metric, dropout=0.0, probes=("gradients",))
        for method in (L2(), HLOneBin(), HLGauss())
    ]


_L2_AREA, _ONE_BIN_AREA, _GAUSS_AREA = _trained(early_area, "area under train MAE")
_L2_SD, _ONE_BIN_SD, _GAUSS_SD = _trained(unsteadiness, "sd of steepness")
_L2_JUMPS, _ONE_BIN_JUMPS, _GAUSS_JUMPS = _trained(jumpiness, "jumps of steepness")

AREA = (
    f"the area under train MAE over the first {FIRST_EPOCHS} epochs (all, if there are "
    "fewer), trained without dropout,"
)
SD = (
    "the standard deviation over epochs of log10 of the gradient's norm over the loss "
    "minus its minimum"
)

CLAIMS = (
    Claim(
        "K25",
        "In the first epochs the training error of HL-Gauss falls faster than that of "
        "l2 on all four data sets.",
        f"By seed, {AREA} is lower for HL-Gauss than for l2.",
        ("training",),
        lower_each([(_GAUSS_AREA, _L2_AREA)]),
    ),
    Claim(
        "K26",
        "The gradient's norm, relative to the loss, varies more with l2 than with the "
        "histogram losses.",
        f"By seed, {SD} is lower for HL-Gauss and HL-OneBin than for l2.",
        ("training",),
        lower_each([(_GAUSS_SD, _L2_SD), (_ONE_BIN_SD, _L2_SD)]),
    ),
    Claim(
        "K26b",
        "(Ours.) From one epoch to the next, the gradient's norm relative to the loss "
        "jumps more with l2 than with the histogram losses.",
        "By seed, the root mean square of the change in log10 of the gradient's norm "
        "over the loss minus its minimum is lower for HL-Gauss and HL-OneBin than for "
        "l2. (K26 counts a slow trend as variation too.)",
        ("training",),
        lower_each([(_GAUSS_JUMPS, _L2_JUMPS), (_ONE_BIN_JUMPS, _L2_JUMPS)]),
    ),
    Claim(
        "K27",
        "HL-Gauss has no clear advantage over HL-OneBin in optimisation.",
        f"For HL-Gauss neither {AREA} nor {SD} is more than {CLEAR:.0%} below that of "
        "HL-OneBin. (The first errors of HL-OneBin include what rounding to bins "
        "costs.)",
        ("training",),
        all_of(
            not_lower_each([(_GAUSS_AREA, _ONE_BIN_AREA)], CLEAR),
            not_lower_each([(_GAUSS_SD, _ONE_BIN_SD)], CLEAR),
        ),
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
    ),
)
