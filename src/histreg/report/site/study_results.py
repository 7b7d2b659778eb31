"""Study results: the records and judged claims that pages are made of, read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from histreg.errors import InputError
from histreg.report.claim_tables import decided_where, findings_of
from histreg.report.printed_table import PrintedTable
from histreg.study.catalogue import EXPERIMENTS, Experiment
from histreg.study.claims import CLAIMS, Claim, Evidence, Verdict
from histreg.study.coverage import Coverage
from histreg.study.engine.runs import Record, Run
from histreg.study.engine.store import Store


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict.

    Parameters
    ----------
    claim : Claim
    verdict : Verdict
    where : str
        On which of its data sets.
    findings : PrintedTable
        The parts with their numbers; the rule is in the notes.
    """

    claim: Claim
    verdict: Verdict
    where: str
    findings: PrintedTable

    @classmethod
    def of(cls, claim: Claim, evidence: Evidence) -> JudgedClaim:
        """Judge a claim."""
        judgement = claim.judge(evidence)
        where = decided_where(judgement)
        return cls(claim, judgement.verdict, where, findings_of(claim, evidence))


@dataclass(frozen=True, eq=False)
class StudyResults:
    """Records by experiment, and the claims that they decide."""

    records: Mapping[str, Sequence[Record]]
    evidence: Evidence
    judged: Sequence[JudgedClaim]

    @classmethod
    def of(cls, store: Store) -> StudyResults:
        """Read the records of all experiments of the catalogue."""
        runs = dict.fromkeys(
            run for experiment in EXPERIMENTS.values() for run in experiment.runs
        )
        by_run = {record.run: record for record in store.records(runs)}
        records = {
            experiment.name: [by_run[run] for run in experiment.runs if run in by_run]
            for experiment in EXPERIMENTS.values()
        }
        if not by_run:
            raise InputError(f"the report must have records, got none in {store.root}")
        evidence = Evidence(list(by_run.values()))
        judged = [JudgedClaim.of(claim, evidence) for claim in CLAIMS.values()]
        return cls(records, evidence, judged)

    @property
    def everything(self) -> dict[Run, Record]:
        """All records, each once."""
        return {record.run: record for of in self.records.values() for record in of}

    @cached_property
    def coverage(self) -> Coverage:
        """The paper's numbers beside ours."""
        return Coverage.of(self.everything.values())

    def decided_by(self, experiment: Experiment) -> list[JudgedClaim]:
        """Return the claims that read the records of an experiment."""
        return [
            judged
            for judged in self.judged
            if experiment.name in judged.claim.experiments
        ]
