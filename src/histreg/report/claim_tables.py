"""Claims as tables: scoreboards, and the findings that decide each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from histreg.report.printed_table import PrintedTable
from histreg.study.catalogue import DATA
from histreg.study.claims import (
    HOW_DECIDED,
    OF_PARTS,
    Claim,
    Evidence,
    Finding,
    Judgement,
    Origin,
    Verdict,
)
from histreg.study.datasets import GAMES, SERIES, TABLES, source

HOW_COUNTED = (
    "A claim is confirmed or refuted only if everything that the paper judges it on "
    "was run with the paper's protocol; otherwise it holds so far or fails so far. It "
    "fails if one of its parts is refuted, and holds if all parts are confirmed "
    "wherever all of them were run. It depends if the paper leaves something open and "
    "different readings give different verdicts."
)


def scoreboards(claims: Iterable[Claim], evidence: Evidence) -> list[PrintedTable]:
    """Return the verdicts on claims of the paper, and those on others apart.

    One row per claim: its verdict, what it was judged on, and how many of its parts
    have which verdict. A table without claims is left out.
    """
    judgements = [claim.judge(evidence) for claim in claims]
    of_paper = [each for each in judgements if each.claim.origin is Origin.PAPER]
    others = [each for each in judgements if each.claim.origin is not Origin.PAPER]
    notes = [
        "The numbers count the parts of a claim, such as one for each data set.",
        HOW_COUNTED,
        HOW_DECIDED,
        *_other_evidence(evidence),
    ]
    tables = []
    if of_paper:
        counted = f"{len(of_paper)} claims of the paper: {counts_of(of_paper)}."
        tables.append(_scoreboard("Claims of the paper", of_paper, [counted, *notes]))
    if others:
        counted = f"{len(others)} claims that are ours or reworded: "
        notes = [f"{counted}{counts_of(others)}.", *_other_evidence(evidence)]
        tables.append(_scoreboard("Not counted among them", others, notes))
    return tables


def counts_of(judgements: Iterable[Judgement]) -> str:
    """Return in words how many claims have which verdict, of those that occur."""
    counts = Counter(judgement.verdict for judgement in judgements)
    return ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]
    )


def _scoreboard(
    title: str, judgements: Iterable[Judgement], notes: list[str]
) -> PrintedTable:
    header = ("claim", "verdict", "on", "what is claimed", *map(str, OF_PARTS))
    rows = [_row(judgement) for judgement in judgements]
    return PrintedTable(title, header, rows, notes, n_words=4)


def _row(judgement: Judgement) -> tuple[str, ...]:
    claim = judgement.claim
    parts = Counter(finding.verdict for finding in judgement.findings)
    counts = (str(parts[verdict]) for verdict in OF_PARTS)
    return (_name(claim), str(judgement.verdict), judgement.on, claim.text, *counts)


def _name(claim: Claim) -> str:
    whose = "" if claim.origin is Origin.PAPER else f" ({claim.origin})"
    return f"{claim.name}{whose}"


def findings_of(claim: Claim, evidence: Evidence) -> PrintedTable:
    """Return the parts of a claim with the numbers that decided them."""
    judgement = claim.judge(evidence)
    rows = [
        (finding.part, str(finding.verdict), finding.numbers)
        for finding in judgement.findings
        if finding.numbers
    ]
    title = f"{_name(claim)}, {judgement.verdict}. On: {judgement.on}. {claim.text}"
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
    left = Counter(
        _title(finding.on[0]) if len(finding.on) == 1 else ""
        for finding in findings
        if not finding.numbers
    )
    where = []
    for title, n in left.items():
        parts = "1 part" if n == 1 else f"{n} parts"
        where.append(f"{title} ({parts})" if title else parts)
    return [f"Not run: {', '.join(where)}."] if where else []


def _title(name: str) -> str:
    """Return the title of a data set; empty for what is none, as in theory."""
    is_data = name in {**TABLES, **SERIES, **GAMES}
    return source(name).title if is_data else ""
