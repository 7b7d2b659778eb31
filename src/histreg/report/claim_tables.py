"""The paper's claims as tables: a scoreboard, and the findings that decide each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from histreg.report.printed_table import PrintedTable
from histreg.study.catalogue import DATA
from histreg.study.claims import Claim, Evidence, Finding, Judgement, Verdict
from histreg.study.datasets import source


def scoreboard(claims: Iterable[Claim], evidence: Evidence) -> PrintedTable:
    """Return one row per claim: its verdict, and the counts of its parts' verdicts."""
    judgements = [claim.judge(evidence) for claim in claims]
    verdicts = Counter(judgement.verdict for judgement in judgements)
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in Verdict)
    notes = [
        f"{len(judgements)} claims: {counts}.",
        "The numbers count the parts of a claim, such as one for each data set. Data "
        "sets on which it was not run, or not all of it, do not count for the verdict; "
        "on the others one part refuted refutes a claim, and all must be confirmed to "
        "confirm it.",
        *_other_evidence(evidence),
    ]
    header = ("claim", "verdict", "on", "what is claimed", *map(str, Verdict))
    rows = [_row(judgement) for judgement in judgements]
    return PrintedTable("Claims", header, rows, notes, n_words=4)


def _row(judgement: Judgement) -> tuple[str, ...]:
    claim = judgement.claim
    parts = Counter(finding.verdict for finding in judgement.findings)
    counts = (str(parts[verdict]) for verdict in Verdict)
    where = decided_where(judgement)
    return (claim.name, str(judgement.verdict), where, claim.text, *counts)


def decided_where(judgement: Judgement) -> str:
    """Return the data sets on which all parts of a claim were run, and their count.

    Empty if the claim is about no data set, or was run on none.
    """
    names = judgement.decided_on
    if not names:
        return ""
    return f"{', '.join(names)} ({len(names)} of {len(judgement.datasets)})"


def findings_of(claim: Claim, evidence: Evidence) -> PrintedTable:
    """Return the parts of a claim with the numbers that decided them."""
    judgement = claim.judge(evidence)
    rows = [
        (finding.part, str(finding.verdict), finding.numbers)
        for finding in judgement.findings
        if finding.numbers
    ]
    where = decided_where(judgement)
    verdict = f"{judgement.verdict} on {where}" if where else judgement.verdict
    title = f"{claim.name}, {verdict}: {claim.text}"
    header = ("part", "verdict", "numbers")
    notes = [
        f"Rule: {claim.rule}",
        *_not_run(judgement.findings),
        *_other_evidence(evidence),
    ]
    return PrintedTable(title, header, rows, notes, n_words=3)


def _other_evidence(evidence: Evidence) -> list[str]:
    """Return a note on evidence that is not the paper's data sets and epochs."""
    parts = []
    if evidence.datasets != DATA:
        parts.append(", ".join(source(name).title for name in evidence.datasets))
    if evidence.epochs is not None:
        parts.append(f"networks trained for {evidence.epochs} epochs")
    return [f"Judged by {' and '.join(parts)} instead of the paper's."] if parts else []


def _not_run(findings: Iterable[Finding]) -> list[str]:
    """Return a note on the parts without numbers, by data sets."""
    left = Counter(finding.dataset for finding in findings if not finding.numbers)
    where = []
    for name, n in left.items():
        parts = "1 part" if n == 1 else f"{n} parts"
        where.append(f"{source(name).title} ({parts})" if name else parts)
    return [f"Not run: {', '.join(where)}."] if where else []
