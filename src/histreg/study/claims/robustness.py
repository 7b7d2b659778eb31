"""Claims about corrupted targets and sensitivity to inputs (Figures 10, 23, 24)."""

from __future__ import annotations

from histreg.study.catalogue.robustness import CORRUPTED
from histreg.study.claims.claim import Claim
from histreg.study.claims.conditions import Condition, lower_each
from histreg.study.claims.scope import PAPER_TABLES
from histreg.study.methods import L1, L2, HLGauss, HLOneBin

MOST = CORRUPTED[-1]
METHODS = (L2(), L1(), HLOneBin(), HLGauss())


def _probed(metric: str) -> list[Condition]:
    return [Condition.of(method, metric, probes=("sensitivity",)) for method in METHODS]


_L2_LOST, _L1_LOST, _ONE_BIN_LOST, _GAUSS_LOST = [
    Condition.of(method, corrupted=MOST).minus(Condition.of(method), "rise of test MAE")
    for method in METHODS
]
_L2_SLOPE, _L1_SLOPE, _ONE_BIN_SLOPE, _GAUSS_SLOPE = _probed("test sensitivity")
_L2_ERROR, _L1_ERROR, _, _GAUSS_ERROR = _probed("test MAE")

CLAIMS = (
    Claim(
        "K29",
        "Of corrupted targets l2 suffers most and l1 least; HL-OneBin and HL-Gauss are "
        "between them.",
        f"By seed, the rise of the test MAE from no to {MOST:.0%} corrupted targets is "
        "lower for l1 than for HL-OneBin and HL-Gauss, and lower for these than for "
        "l2.",
        ("corruption",),
        lower_each(
            [
                (_L1_LOST, _ONE_BIN_LOST),
                (_L1_LOST, _GAUSS_LOST),
                (_ONE_BIN_LOST, _L2_LOST),
                (_GAUSS_LOST, _L2_LOST),
            ]
        ),
        PAPER_TABLES,
    ),
    Claim(
        "K30",
        "Networks of the histogram losses are less sensitive to their inputs than "
        "those of l1 and l2; HL-Gauss also has the lower error.",
        "The mean norm of the prediction's derivative in the inputs, on test rows, of "
        "HL-OneBin and HL-Gauss below that of l1 and l2; HL-Gauss's test MAE below "
        "both.",
        ("sensitivity",),
        lower_each(
            [
                *(
                    (hl, other)
                    for hl in (_ONE_BIN_SLOPE, _GAUSS_SLOPE)
                    for other in (_L1_SLOPE, _L2_SLOPE)
                ),
                (_GAUSS_ERROR, _L1_ERROR),
                (_GAUSS_ERROR, _L2_ERROR),
            ]
        ),
        PAPER_TABLES,
    ),
)
