"""The claim about the recommended settings (summary of the study, conclusion)."""

from __future__ import annotations

from histreg.study.catalogue import RECOMMENDED
from histreg.study.claims.claim import Claim
from histreg.study.claims.conditions import (
    HL_GAUSS,
    L2_LOSS,
    Condition,
    all_of,
    lower_each,
    not_higher_each,
)
from histreg.study.claims.scope import PAPER_TABLES

MARGIN = 0.05  # by which the recommended settings may be worse than those of the tables

_RECOMMENDED = Condition.of(RECOMMENDED, label="HL-Gauss as recommended")

CLAIMS = (
    Claim(
        "K41",
        "HL-Gauss performs well on all data sets with 100 bins, a sigma of two bins "
        "and a padding of three sigmas, without tuning.",
        "HL-Gauss so set has a test MAE not more than "
        f"{MARGIN:.0%} above that with the settings of the tables (a sigma of one bin, "
        "a padding of ten), and below that of l2.",
        ("rule-of-thumb",),
        all_of(
            not_higher_each([(_RECOMMENDED, HL_GAUSS)], MARGIN),
            lower_each([(_RECOMMENDED, L2_LOSS)]),
        ),
        PAPER_TABLES,
    ),
)
