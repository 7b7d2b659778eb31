"""The command that judges claims."""

import re

import pytest

from histreg.study.catalogue import FORECAST_HL, VALUE_HL
from histreg.study.claims import CLAIMS, Origin
from histreg.study.engine.store import Store
from histreg.study.methods import L2, HLGauss, HLProjected
from histreg.study.tabular.runs import TabularRun
from tests.cli.study.running import study
from tests.study.made_up import forecast_records, record_of, value_records


def test_claims_are_judged_by_the_records_of_a_store(place):
    for seed, (better, worse) in enumerate([(1.0, 2.0)] * 5, start=1):
        for method, error in ((HLGauss(), better), (HLProjected(), worse)):
            run = TabularRun.of("diabetes", method, seed, epochs=2)
            metrics = {"test MAE": error, "test RMSE": error}
            Store("histreg-study").save(record_of(run, metrics))
    printed = study("claims", "K15", "--datasets", "diabetes", "--epochs", "2")
    assert "K15, holds so far" in printed
    assert "diabetes (not in the paper)" in printed
    assert "Diabetes: HL-Gauss below HL-Projected" in printed
    # Of the paper's data sets and epochs there is nothing.
    assert "K15, not run" in study("claims", "K15")
    study("claims", "--format", "markdown", "--details", "--out", "claims.md")
    text = (place / "claims.md").read_text()
    for name in CLAIMS:
        assert re.search(rf"^\| {name}( \(\w+\))? \|", text, re.MULTILINE)
        assert re.search(rf"^\*\*{name}( \(\w+\))?, ", text, re.MULTILINE)


def test_without_records_no_claim_was_run():
    printed = " ".join(study("claims").split())
    for name in CLAIMS:
        assert f"{name} " in printed
    n = sum(claim.origin is Origin.PAPER for claim in CLAIMS.values())
    assert f"{n} claims of the paper: {n} not run." in printed
    assert f"ours or reworded: {len(CLAIMS) - n} not run." in printed


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["K99"], "claim must be one of"),
        (["--datasets", "moon"], "--datasets must be one of"),
        (["--format", "word"], "--format must be one of"),
    ],
)
def test_claims_refuse_what_they_do_not_know(arguments, problem):
    assert problem in study("claims", *arguments, code=2)


def test_claims_about_games_are_judged_on_those_asked_for():
    games = ["Pong", "Alien", "Qbert", "Hero", "Krull", "Amidar"]
    for i, game in enumerate(games):
        for method, error in ((L2(), 0.3), (VALUE_HL, 0.1 + 0.01 * i)):
            for record in value_records(game, method, [error] * 2):
                Store("histreg-study").save(record)
    printed = study("claims", "K36", "K37", "--datasets", ",".join(games))
    assert "K36, holds so far. On: 6 of 55 games; 250,000 of 10,000,000" in printed
    assert "K37, holds so far. On: 6 of 55 games; 250,000 of 10,000,000" in printed
    # Of six games without an effect, all are lower or all higher in 1 of 32.
    assert "6 of 6 games, as a share [0.541, 1], claimed above 0.5" in printed
    assert "K36, not run. On: none of 55 games." in study("claims", "K36")
    assert "K36, not run. " in study("claims", "K36", "--datasets", "pole")


def test_claims_about_series_are_judged_beside_those_about_tables():
    for method, error in ((L2(), 0.1), (FORECAST_HL, 0.3)):
        for record in forecast_records("ETTm2", "Linear", method, [error] * 5):
            Store("histreg-study").save(record)
    printed = study("claims", "K31", "--datasets", "ETTm2")
    one_series = "K31, holds so far. On: ETTm2 (1 of 4 series)."
    assert one_series in printed
    assert one_series in study("claims", "K31")
    n = sum(claim.origin is Origin.PAPER for claim in CLAIMS.values())
    for asked in ("ETTm2", "pole,ETTm2"):
        printed = " ".join(study("claims", "--datasets", asked).split())
        assert f"{n} claims of the paper: 1 holds so far, {n - 1} not run." in printed
    printed = " ".join(study("claims", "--datasets", "pole").split())
    assert f"{n} claims of the paper: {n} not run." in printed
