"""The paper's claims as tables: a scoreboard, and what decided each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from histreg.report.printed_table import PrintedTable
from histreg.study.catalogue import DATA
from histreg.study.claims import (
    Claim,
    Evidence,
    Finding,
    Verdict,
    decided_on,
    verdict_of,
)
from histreg.study.datasets import source


def scoreboard(claims: Iterable[Claim], evidence: Evidence) -> PrintedTable:
    """Return one line a claim: the verdict, and what became of its parts."""
    rows, verdicts = [], []
    for claim in claims:
        findings = claim.find(evidence)
        verdict = verdict_of(findings)
        verdicts.append(verdict)
        parts = Counter(each.verdict for each in findings)
        counts = [str(parts[each]) for each in Verdict]
        rows.append((claim.name, str(verdict), _where(findings), claim.text, *counts))
    total = Counter(verdicts)
    told = ", ".join(f"{total[each]} {each}" for each in Verdict)
    notes = [
        f"{len(rows)} claims: {told}.",
        "The numbers count the parts of a claim, such as one for each data set. Data "
        "sets on which it was not run, or not all of it, do not count for the verdict; "
        "on the others one part refuted refutes a claim, and all must be confirmed to "
        "confirm it.",
        *_instead(evidence),
    ]
    header = ("claim", "verdict", "on", "what is claimed", *map(str, Verdict))
    return PrintedTable("Claims", header, rows, notes, n_words=4)


def _where(findings: Sequence[Finding]) -> str:
    """Return on how many of its data sets all of a claim was run, and on which."""
    names = {each.dataset for each in findings} - {""}
    there = decided_on(findings)
    if not names or not there:
        return ""
    return f"{', '.join(there)} ({len(there)} of {len(names)})"


def findings_of(claim: Claim, evidence: Evidence) -> PrintedTable:
    """Return the parts of a claim with the numbers that decided them."""
    findings = claim.find(evidence)
    told = [each for each in findings if each.numbers]
    rows = [(each.part, str(each.verdict), each.numbers) for each in told]
    where = _where(findings)
    told_on = f" on {where}" if where else ""
    title = f"{claim.name}, {verdict_of(findings)}{told_on}: {claim.text}"
    header = ("part", "verdict", "numbers")
    notes = [f"Rule: {claim.rule}", *_nothing_on(findings), *_instead(evidence)]
    return PrintedTable(title, header, rows, notes, n_words=3)


def _instead(evidence: Evidence) -> list[str]:
    """Return a note on evidence that is not the paper's data sets and epochs."""
    told = []
    if evidence.datasets != DATA:
        told.append(", ".join(source(name).title for name in evidence.datasets))
    if evidence.epochs is not None:
        told.append(f"networks trained for {evidence.epochs} epochs")
    return [f"Judged by {' and '.join(told)} instead of the paper's."] if told else []


def _nothing_on(findings: Iterable[Finding]) -> list[str]:
    """Return a note on what has no numbers, by data sets."""
    left = Counter(each.dataset for each in findings if not each.numbers)
    told = []
    for name, n in left.items():
        parts = "1 part" if n == 1 else f"{n} parts"
        told.append(f"{source(name).title} ({parts})" if name else parts)
    return [f"Not run: {', '.join(told)}."] if told else []
