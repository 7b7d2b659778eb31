"""The paper's claims, each a small function from records to findings."""

from __future__ import annotations

from itertools import chain

from histreg.study.claims import (
    forecasts,
    optimisation,
    overall,
    recommendation,
    representation,
    robustness,
    synthetic,
    target,
    theory,
    values,
)
from histreg.study.claims.evidence import (
    Claim,
    Evidence,
    Finding,
    Verdict,
    decided_on,
    verdict_of,
)

SUBJECTS = (
    synthetic,
    overall,
    target,
    representation,
    optimisation,
    robustness,
    forecasts,
    values,
    theory,
    recommendation,
)

CLAIMS: dict[str, Claim] = {
    each.name: each for each in chain.from_iterable(of.CLAIMS for of in SUBJECTS)
}
"""By name, in the order of the specification."""

__all__ = [
    "CLAIMS",
    "Claim",
    "Evidence",
    "Finding",
    "Verdict",
    "decided_on",
    "verdict_of",
]
