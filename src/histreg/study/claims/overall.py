"""Claims about the overall results (Tables 1 and 7)."""

from __future__ import annotations

from histreg.study.claims.evidence import Claim, Evidence, Finding, lower, title
from histreg.study.methods import HLGauss


def _mixture(evidence: Evidence) -> list[Finding]:
    return [
        lower(
            f"{title(name)}: HL-Gauss below MDN",
            evidence.values(name, HLGauss()),
            evidence.chosen(name, "MDN"),
        )
        for name in evidence.datasets
    ]


CLAIMS = (
    Claim(
        "K6",
        "MDN has a higher test MAE than HL-Gauss on all four data sets.",
        "HL-Gauss below MDN, whose number of components is chosen on validation rows.",
        ("overall-validation",),
        _mixture,
    ),
)
