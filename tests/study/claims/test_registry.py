"""All claims: their order, what they need, and the records that are kept."""

import random
from pathlib import Path

import pytest

from histreg.study.atari.runs import ValueRun
from histreg.study.catalogue import EXPERIMENTS, selected
from histreg.study.claims import (
    CLAIMS,
    Evidence,
    Judgement,
    Origin,
    Verdict,
    verdict_of,
)
from histreg.study.claims.scope import PAPER_GAMES
from histreg.study.datasets import GAMES, SERIES
from histreg.study.engine.store import Store
from histreg.study.measurements import Measurement
from histreg.study.series.runs import ForecastRun
from histreg.study.sines.runs import SineRun
from tests.study.made_up import label_bias_record, naive_record, record_of

NO_DATA = ("K1", "K2", "K3", "K4", "K38", "K39", "K40")
"""Claims about no data set, series or game."""
OURS = ("K7b", "K8b", "K9b", "K21b", "K26b", "K35", "K40")
KEPT = Path(__file__).parents[3] / "results" / "study"


def test_the_claims_are_there_in_order():
    expected = [f"K{i}" for i in range(1, 42)]
    for name in ("K8", "K9", "K10"):
        expected.insert(expected.index(name), f"K{int(name[1:]) - 1}b")
    expected.insert(expected.index("K22"), "K21b")
    expected.insert(expected.index("K27"), "K26b")
    assert list(CLAIMS) == expected
    assert all(name == claim.name for name, claim in CLAIMS.items())


def test_every_claim_says_what_it_is_and_how_it_is_decided():
    for claim in CLAIMS.values():
        for said in (claim.text, claim.rule):
            assert said.endswith((".", ")")), claim.name
            assert "  " not in said, claim.name


def any_record(run):
    """Return a record with everything that a claim could read in it."""
    if isinstance(run, Measurement) and not run.dataset:
        return Store(KEPT).find(run)
    if isinstance(run, Measurement) and run.what == "naive":
        return naive_record(run.dataset)
    if isinstance(run, Measurement):
        return label_bias_record(
            run.dataset, [0.0, 0.1, 1.0, 9.0], [9.0, 9.0, 0.1, 9.0]
        )
    draw = random.Random(run.key).random
    if isinstance(run, SineRun):
        curves = {"iteration": [0], "MSE": [1.0]}
        return record_of(run, {"area": draw(), "final MSE": draw()}, curves)
    if isinstance(run, ForecastRun):
        return record_of(run, {"test MSE": draw(), "test MAE": draw()})
    if isinstance(run, ValueRun):
        return record_of(run, {"test MAE": draw(), "test RMSE": draw()})
    names = [
        f"{part} {kind}"
        for part in ("train", run.part)
        for kind in ("MAE", "RMSE", "sensitivity")
    ]
    epochs = list(range(1, 11))
    curves = {"epoch": epochs} | {
        name: [1.0 + draw() for _ in epochs]
        for name in ("train MAE", "gradient norm", "excess loss")
    }
    return record_of(run, {name: 1.0 + draw() for name in names}, curves)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
def test_the_experiments_of_a_claim_have_all_that_it_reads(claim):
    runs = {run for name in claim.experiments for run in EXPERIMENTS[name].runs}
    findings = claim.find(Evidence([any_record(run) for run in runs]))
    assert findings
    missing = [each for each in findings if each.verdict is Verdict.NOT_RUN]
    assert [each for each in missing if "cannot be told" not in each.numbers] == []


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
def test_without_records_nothing_is_decided(claim):
    if not claim.experiments:
        pytest.skip("needs no records")
    assert verdict_of(claim.find(Evidence([]))) is Verdict.NOT_RUN


@pytest.mark.parametrize("datasets", [("ct", "song", "bike", "pole"), ("song-7000",)])
def test_all_claims_can_be_told_of_the_records_that_are_kept(datasets):
    runs = dict.fromkeys(
        run
        for each in EXPERIMENTS.values()
        for run in selected(each.runs, datasets=datasets)
    )
    records = Store(KEPT).records(runs)
    assert records
    evidence = Evidence(records, datasets)
    findings = [each for claim in CLAIMS.values() for each in claim.find(evidence)]
    decided = [each for each in findings if each.verdict is not Verdict.NOT_RUN]
    assert decided and all(each.numbers for each in decided)
    of_theory = {name for claim in NO_DATA for name in CLAIMS[claim].scope.names}
    on = {name for each in findings for name in each.on} - of_theory
    assert on <= {*datasets, *evidence.series, *evidence.games}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
@pytest.mark.parametrize("name", ["ETTh2", "diabetes", "Pong"])
def test_a_claim_is_looked_at_on_a_table_a_series_or_games_as_it_is_about(claim, name):
    findings = claim.find(Evidence([], (name,)))
    on = {name for each in findings for name in each.on}
    if "forecasts" in claim.experiments:
        assert on == ({name} & SERIES.keys())
    elif claim.experiments == ("values",):
        assert on == ({name} & GAMES.keys())
    elif claim.name in NO_DATA:
        assert on == {*claim.scope.names}
    else:
        assert on <= ({name} - SERIES.keys() - GAMES.keys())


def everything_of(claim):
    """Return evidence with a record of all that the claim reads."""
    runs = {run for name in claim.experiments for run in EXPERIMENTS[name].runs}
    return Evidence([any_record(run) for run in runs])


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
@pytest.mark.parametrize(
    "evidence",
    [
        Evidence([]),
        Evidence([], ("song-7000",)),
        Evidence([], ("Pong",)),
        Evidence([], epochs=3),
        None,
    ],
    ids=["nothing", "a subset", "a game", "few epochs", "everything"],
)
def test_what_a_claim_was_judged_on_is_never_empty(claim, evidence):
    assert claim.judge(evidence or everything_of(claim)).on


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
def test_a_claim_knows_all_that_its_parts_are_about(claim):
    names = {name for each in claim.find(Evidence([])) for name in each.on}
    assert names <= {*claim.scope.names}
    if claim.scope is not PAPER_GAMES and claim.name not in ("K8", "K9"):
        assert names == {*claim.scope.names}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS.keys())
def test_a_claim_is_decided_for_good_only_if_all_of_it_was_run_as_in_the_paper(claim):
    decided = {Verdict.CONFIRMED, Verdict.REFUTED}
    judgement = claim.judge(everything_of(claim))
    so_far = {Verdict.HOLDS_SO_FAR, Verdict.FAILS_SO_FAR}
    runs_as_paper = not claim.scope.departures and claim.name not in ("K8", "K9")
    assert judgement.is_complete == runs_as_paper
    assert judgement.verdict not in (so_far if runs_as_paper else decided)
    for name in claim.scope.names:  # without one of them nothing is decided for good
        others = [each for each in judgement.findings if name not in each.on]
        assert Judgement(claim, tuple(others)).verdict not in decided


def test_claims_that_are_ours_or_reworded_are_marked():
    origins = {name: claim.origin for name, claim in CLAIMS.items()}
    assert [n for n, each in origins.items() if each is Origin.OURS] == [*OURS]
    assert [n for n, each in origins.items() if each is Origin.REWORDED] == ["K39"]
