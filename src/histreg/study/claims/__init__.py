"""The paper's claims, each a small function from records to findings."""

from __future__ import annotations

from histreg.study.claims import overall
from histreg.study.claims.evidence import Claim, Evidence, Finding, Verdict, verdict_of

CLAIMS: dict[str, Claim] = {each.name: each for each in (*overall.CLAIMS,)}
"""By name, in the order of the specification."""

__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "Verdict", "verdict_of"]
