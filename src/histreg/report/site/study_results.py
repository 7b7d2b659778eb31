"""Study results: the records and judged claims that pages are made of, read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from histreg.errors import InputError
from histreg.report.claim_tables import findings_of
from histreg.report.printed_table import PrintedTable
from histreg.study.catalogue import EXPERIMENTS, Experiment, selected
from histreg.study.claims import CLAIMS, Claim, Evidence, Judgement, Origin, Verdict
from histreg.study.coverage import Coverage
from histreg.study.engine.runs import Record, Run
from histreg.study.engine.store import Store

SUBSET = "song-7000"
"""A part of one of the paper's data sets, which claims are judged on apart."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict.

    Parameters
    ----------
    judgement : Judgement
    findings : PrintedTable
        The parts with their numbers; the rule is in the notes.
    """

    judgement: Judgement
    findings: PrintedTable

    @classmethod
    def of(cls, claim: Claim, evidence: Evidence) -> JudgedClaim:
        """Judge a claim."""
        return cls(claim.judge(evidence), findings_of(claim, evidence))

    @property
    def claim(self) -> Claim:
        """The claim."""
        return self.judgement.claim

    @property
    def verdict(self) -> Verdict:
        """Its verdict."""
        return self.judgement.verdict

    @property
    def on(self) -> str:
        """What it was judged on, in words."""
        return self.judgement.on

    @property
    def is_of_paper(self) -> bool:
        """Whether it counts among the paper's claims."""
        return self.claim.origin is Origin.PAPER


@dataclass(frozen=True, eq=False)
class StudyResults:
    """Records by experiment, and the claims that they decide.

    Parameters
    ----------
    records : mapping of str to sequence of Record
    evidence : Evidence
    judged : sequence of JudgedClaim
        All claims, by the paper's data sets.
    on_subset : mapping of str to JudgedClaim
        By name, the claims that were judged on `SUBSET`, which is not the paper's.
    """

    records: Mapping[str, Sequence[Record]]
    evidence: Evidence
    judged: Sequence[JudgedClaim]
    on_subset: Mapping[str, JudgedClaim]

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
        return cls(records, evidence, judged, _on_subset(store))

    @property
    def everything(self) -> dict[Run, Record]:
        """All records, each once."""
        return {record.run: record for of in self.records.values() for record in of}

    @property
    def by_origin(self) -> tuple[list[JudgedClaim], list[JudgedClaim]]:
        """The paper's claims, and those that are ours or reworded."""
        of_paper = [each for each in self.judged if each.is_of_paper]
        return of_paper, [each for each in self.judged if not each.is_of_paper]

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


def _on_subset(store: Store) -> dict[str, JudgedClaim]:
    """Judge the claims that were run in full on the subset."""
    runs = dict.fromkeys(
        run
        for experiment in EXPERIMENTS.values()
        for run in selected(experiment.runs, datasets=[SUBSET])
        if run.facet("dataset") == SUBSET
    )
    evidence = Evidence(store.records(runs), datasets=(SUBSET,))
    judged = (JudgedClaim.of(claim, evidence) for claim in CLAIMS.values())
    return {each.claim.name: each for each in judged if each.judgement.judged}
