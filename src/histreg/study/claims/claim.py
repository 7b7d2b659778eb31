"""Claim: a statement of the paper, and the rule by which records decide it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from histreg.study.claims.evidence import Evidence
from histreg.study.claims.findings import Finding, Verdict
from histreg.study.claims.scope import Scope


class Origin(StrEnum):
    """Who claims it."""

    PAPER = "the paper's"
    REWORDED = "reworded"
    OURS = "ours"


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
    scope : Scope
        What the paper judges it on; of a claim of ours, what it is about.
    origin : Origin
        Claims that are not the paper's, or not in its words, are counted apart.
    """

    name: str
    text: str
    rule: str
    experiments: tuple[str, ...]
    find: Callable[[Evidence], Sequence[Finding]]
    scope: Scope
    origin: Origin = Origin.PAPER

    def judge(self, evidence: Evidence) -> Judgement:
        """Return the verdict that the evidence gives, with its findings."""
        others = evidence.departures if self.scope.is_trained else ()
        departures = (*self.scope.departures, *others)
        return Judgement(self, tuple(self.find(evidence)), departures)


@dataclass(frozen=True)
class Judgement:
    """A claim with the findings of its parts, which decide it.

    Parameters
    ----------
    claim : Claim
    findings : tuple of Finding
    departures : tuple of str
        How the runs differ from the paper's, in words.
    """

    claim: Claim
    findings: tuple[Finding, ...]
    departures: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict on the claim as a whole.

        Confirmed or refuted only if all of its scope was run as the paper has it;
        otherwise it holds or fails so far.
        """
        verdict = verdict_of(self.findings)
        return verdict if self.is_complete else SO_FAR.get(verdict, verdict)

    @property
    def is_complete(self) -> bool:
        """Whether all that the paper judges the claim on was run as it has it."""
        return (
            not self.departures
            and {*self.claim.scope.names} <= {*self.judged}
            and all(each.verdict is not Verdict.NOT_RUN for each in self.findings)
        )

    @property
    def judged(self) -> tuple[str, ...]:
        """The names on which all parts were run."""
        return judged_on(self.findings)

    @property
    def on(self) -> str:
        """What the claim was judged on, in words; never empty."""
        judged = self.judged
        covered = self.claim.scope.covered(judged)
        run = [each for each in self.findings if each.verdict is not Verdict.NOT_RUN]
        if not run:
            return covered
        words = [covered if judged else f"{covered} in full"]
        if any({*each.on}.isdisjoint(judged) for each in run):
            words.append(f"{len(run)} of {len(self.findings)} parts")
        return "; ".join([*words, *self.departures])


SO_FAR = {
    Verdict.CONFIRMED: Verdict.HOLDS_SO_FAR,
    Verdict.REFUTED: Verdict.FAILS_SO_FAR,
}
"""Verdicts on claims of which something was not run as the paper has it."""


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Return the verdict on a claim that asserts all of its parts.

    One part refuted refutes it. A data set on which a part was not run does not count;
    of the others all parts must be confirmed to confirm it, and so must those that are
    on several, if all of these were run. Where parts follow different readings of the
    paper, all readings that were run must agree.
    """
    findings = tuple(findings)
    readings = {each.reading for each in findings if each.reading} or {""}
    verdicts = {
        _all_parts(each for each in findings if each.reading in ("", reading))
        for reading in readings
    }
    if len(verdicts) > 1:
        verdicts.discard(Verdict.NOT_RUN)
    return verdicts.pop() if len(verdicts) == 1 else Verdict.DEPENDS


def judged_on(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the names on which all parts of a claim were run.

    Of a name that some parts are about by itself these count, of others all parts that
    are about it.
    """
    findings = tuple(findings)
    names = dict.fromkeys(name for finding in findings for name in finding.on)
    return tuple(name for name in names if _is_judged(name, findings))


def _is_judged(name: str, findings: Sequence[Finding]) -> bool:
    about = [each for each in findings if name in each.on]
    alone = [each for each in about if each.on == (name,)]
    return all(each.verdict is not Verdict.NOT_RUN for each in alone or about)


def _all_parts(findings: Iterable[Finding]) -> Verdict:
    by_place: dict[tuple[str, ...], set[Verdict]] = {}
    for finding in findings:
        place = finding.on if len(finding.on) == 1 else ()
        by_place.setdefault(place, set()).add(finding.verdict)
    if any(Verdict.REFUTED in verdicts for verdicts in by_place.values()):
        return Verdict.REFUTED
    complete = [
        verdicts for verdicts in by_place.values() if Verdict.NOT_RUN not in verdicts
    ]
    counted = set().union(*complete)
    if not counted:
        return Verdict.NOT_RUN
    return counted.pop() if len(counted) == 1 else Verdict.NOT_SIGNIFICANT
