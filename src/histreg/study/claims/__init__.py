"""The paper's claims, each with the rule by which records decide it."""

from __future__ import annotations

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
from histreg.study.claims.claim import Claim, Judgement, Origin, judged_on, verdict_of
from histreg.study.claims.evidence import Evidence
from histreg.study.claims.findings import HOW_DECIDED, OF_PARTS, Finding, Verdict
from histreg.study.claims.scope import Scope

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
    claim.name: claim for subject in SUBJECTS for claim in subject.CLAIMS
}
"""By name, in the order of the specification."""

__all__ = [
    "CLAIMS",
    "HOW_DECIDED",
    "OF_PARTS",
    "Claim",
    "Evidence",
    "Finding",
    "Judgement",
    "Origin",
    "Scope",
    "Verdict",
    "judged_on",
    "verdict_of",
]
