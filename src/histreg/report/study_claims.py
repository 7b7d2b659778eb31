"""The paper's claims as tables: a scoreboard, and what decided each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from histreg.report.printed import PrintedTable
from histreg.study.claims import Claim, Evidence, Verdict, verdict_of


def scoreboard(claims: Iterable[Claim], evidence: Evidence) -> PrintedTable:
    """Return one line a claim: the verdict, and what became of its parts."""
    rows, verdicts = [], []
    for claim in claims:
        findings = claim.find(evidence)
        verdict = verdict_of(findings)
        verdicts.append(verdict)
        parts = Counter(each.verdict for each in findings)
        counts = [str(parts[each]) for each in Verdict]
        rows.append((claim.name, str(verdict), claim.text, *counts))
    total = Counter(verdicts)
    told = ", ".join(f"{total[each]} {each}" for each in Verdict)
    notes = [
        f"{len(rows)} claims: {told}.",
        "The numbers count the parts of a claim, such as one for each data set. What "
        "was not run does not count for the verdict: one part refuted refutes a claim, "
        "and all that was run must be confirmed to confirm it.",
    ]
    header = ("claim", "verdict", "what is claimed", *map(str, Verdict))
    return PrintedTable("Claims", header, rows, notes, n_words=3)


def findings_of(claim: Claim, evidence: Evidence) -> PrintedTable:
    """Return the parts of a claim with the numbers that decided them."""
    findings = claim.find(evidence)
    rows = [(each.part, str(each.verdict), each.numbers) for each in findings]
    title = f"{claim.name}, {verdict_of(findings)}: {claim.text}"
    header = ("part", "verdict", "numbers")
    return PrintedTable(title, header, rows, [f"Rule: {claim.rule}"], n_words=3)
