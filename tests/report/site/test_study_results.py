"""What a site is made from."""

import pytest

from histreg.report.site.study_results import StudyResults
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.claims import CLAIMS, Origin, Verdict
from histreg.study.engine.store import Store
from tests.report.site.conftest import OVERALL


def test_every_experiment_has_its_records(study):
    assert study.records.keys() == EXPERIMENTS.keys()
    assert {each.run for each in study.records["overall"]} == {
        each.run for each in OVERALL
    }
    assert study.records["sines"] == []
    # HL-OneBin and HL-Gauss on Pole are in other experiments too, and count once.
    assert len(study.records["projected"]) > 0
    assert len(study.everything) == len(OVERALL) + 2


def test_every_claim_is_judged_as_the_command_does(study):
    judged = {each.claim.name: each for each in study.judged}
    assert judged.keys() == CLAIMS.keys()
    assert judged["K1"].verdict == Verdict.NOT_RUN
    # HL-OneBin above l2 on Pole, all five seeds.
    assert judged["K10"].verdict == Verdict.HOLDS_SO_FAR
    assert judged["K10"].on == "pole (1 of 4 data sets)"
    assert judged["K10"].findings.rows[0][1] == "confirmed"


def test_a_subset_is_judged_apart_and_counts_nowhere(study):
    apart = study.on_subset["K10"]
    assert apart.verdict == Verdict.HOLDS_SO_FAR
    assert apart.on == "song-7000 (not in the paper)"
    assert {row[0] for row in apart.findings.rows} == {
        "Song Year (7,000 rows): HL-OneBin below l2"
    }
    # Claims that were not run on it are not there, nor what has nothing to do with it.
    assert study.on_subset.keys() == {"K10"}
    assert all("song-7000" not in each.on for each in study.judged)
    assert all(run.facet("dataset") != "song-7000" for run in study.everything)


def test_claims_of_ours_are_apart(study):
    of_paper, others = study.by_origin
    assert [*of_paper, *others] == sorted(study.judged, key=lambda e: not e.is_of_paper)
    assert {each.claim.origin for each in of_paper} == {Origin.PAPER}
    assert "K40" in [each.claim.name for each in others]


def test_an_experiment_decides_the_claims_that_read_it(study):
    names = [e.claim.name for e in study.decided_by(EXPERIMENTS["bias"])]
    assert "K39" in names and "K10" not in names


def test_the_paper_s_numbers_are_compared_with_all_records(study):
    complete = {cell.paper.row for cell in study.coverage.cells if cell.is_complete}
    methods = ("l2", "HL-Gauss", "HL-OneBin")
    assert complete == {("pole", "", method) for method in methods}
    assert len(study.coverage.records) == len(study.everything)


def test_a_store_without_records_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must have records, got none in"):
        StudyResults.of(Store(tmp_path))
