"""Claim: a statement of the paper, and the rule by which records decide it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from histreg.study.claims.evidence import Evidence
from histreg.study.claims.findings import Finding, Verdict


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the rule by which records decide it.

    Parameters
    ----------
    name : str
        Its number in the specification.
    text : str
        The statement.
    rule : str
        The rule that decides it, in words.
    experiments : tuple of str
        The names of the experiments whose records are read.
    find : callable
        From evidence to the findings of its parts.
    """

    name: str
    text: str
    rule: str
    experiments: tuple[str, ...]
    find: Callable[[Evidence], Sequence[Finding]]

    def judge(self, evidence: Evidence) -> Judgement:
        """Return the verdict that the evidence gives, with its findings."""
        return Judgement(self, tuple(self.find(evidence)))


@dataclass(frozen=True)
class Judgement:
    """A claim with the findings of its parts, which decide it.

    Parameters
    ----------
    claim : Claim
    findings : tuple of Finding
    """

    claim: Claim
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the claim as a whole."""
        return verdict_of(self.findings)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the data sets that the claim is about."""
        names = dict.fromkeys(finding.dataset for finding in self.findings)
        return tuple(name for name in names if name)

    @property
    def decided_on(self) -> tuple[str, ...]:
        """The data sets on which all parts were run, which alone count."""
        return decided_on(self.findings)


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Return the verdict on a claim that asserts all of its parts.

    One part refuted refutes it. A data set on which a part was not run does not count;
    of the others all parts must be confirmed to confirm it, and so must those that are
    on no data set, or on several.
    """
    by_dataset = _by_dataset(findings)
    if any(Verdict.REFUTED in verdicts for verdicts in by_dataset.values()):
        return Verdict.REFUTED
    complete = [
        verdicts for verdicts in by_dataset.values() if Verdict.NOT_RUN not in verdicts
    ]
    counted = set().union(*complete)
    if Verdict.NOT_RUN in by_dataset.get("", ()):
        counted.discard(Verdict.CONFIRMED)  # further parts may be run later
    if not counted:
        return Verdict.NOT_RUN
    return counted.pop() if len(counted) == 1 else Verdict.NOT_SIGNIFICANT


def decided_on(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the data sets on which all parts of a claim were run."""
    return tuple(
        name
        for name, verdicts in _by_dataset(findings).items()
        if name and Verdict.NOT_RUN not in verdicts
    )


def _by_dataset(findings: Iterable[Finding]) -> dict[str, set[Verdict]]:
    verdicts: dict[str, set[Verdict]] = {}
    for finding in findings:
        verdicts.setdefault(finding.dataset, set()).add(finding.verdict)
    return verdicts
