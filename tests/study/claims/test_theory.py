"""Claims about the theory, on records made up and on those of this code."""

import math

import pytest

from histreg.study.claims import CLAIMS, Evidence, Verdict, verdict_of
from histreg.study.claims.theory import STATEMENTS, TOLERANCES
from histreg.study.measurements import Measurement
from tests.study.made_up import Alone, record_of

GOOD = {name: tolerance / 2 for name, tolerance in TOLERANCES.items()}
RECOMMENDED = "T11 largest bias of recommended, in bins"


def findings(name, *records):
    return CLAIMS[name].find(Evidence(records))


def theorems(**changes):
    return record_of(Measurement("theorems"), {**GOOD, **changes})


def bias(discretisation=1e-8, truncation=1e-8):
    curves = {
        "sigma_in_bins": [0.8, 0.88, 1.0],
        "discretisation bias": [1e-6, discretisation, 1e-9],
        "padding_in_sigmas": [5.5, 6.0, 7.0],
        "truncation bias": [1e-6, 1e-9, truncation],
    }
    return record_of(Measurement("bias"), {}, curves)


@pytest.fixture(scope="module")
def computed():
    run = Measurement("theorems")
    (outcome,) = Measurement.compute([run], Alone())
    return record_of(run, outcome.metrics)


def test_the_theorems_hold_of_this_code(computed):
    found = findings("K38", computed)
    assert [each for each in found if each.verdict != Verdict.CONFIRMED] == []
    assert [each.part.split(":")[0] for each in found] == [
        f"T{i}" for i in range(1, 14)
    ]


def test_every_number_has_its_tolerance_and_every_theorem_its_numbers(computed):
    assert computed.outcome.metrics.keys() == TOLERANCES.keys()
    assert {name.split()[0] for name in TOLERANCES} == STATEMENTS.keys()


def test_the_recommended_bins_have_the_edge_bias_of_the_specification(computed):
    (found,) = findings("K40", computed)
    assert found.verdict == Verdict.CONFIRMED
    assert found.numbers == "0.0091 bins"


@pytest.mark.parametrize("name", TOLERANCES)
@pytest.mark.parametrize("value", [1.01, math.nan])
def test_one_number_too_large_refutes_its_theorem_alone(name, value):
    record = theorems(**{name: value * TOLERANCES[name]})
    found = findings("K38", record)
    refuted = [each for each in found if each.verdict == Verdict.REFUTED]
    assert [each.part.split(":")[0] for each in refuted] == [name.split()[0]]
    assert name.split(" ", 1)[1] in refuted[0].numbers
    assert verdict_of(found) == Verdict.REFUTED


def test_the_numbers_of_a_theorem_that_holds_are_those_nearest_to_violating_it():
    nearest = "T7 nearly tight case from w / 2, in bins"
    found = findings("K38", theorems(**{nearest: 0.0019}))
    assert (
        found[6].numbers
        == "nearly tight case from w / 2, in bins 0.0019, at most 0.002"
    )


def test_numbers_that_an_older_record_does_not_have_are_not_run():
    metrics = {k: v for k, v in GOOD.items() if not k.startswith("T1 largest p")}
    found = findings("K38", record_of(Measurement("theorems"), metrics))
    assert found[0].verdict == Verdict.NOT_RUN
    assert {each.verdict for each in found[1:]} == {Verdict.CONFIRMED}


@pytest.mark.parametrize("name", ["K38", "K39", "K40"])
def test_without_records_nothing_is_decided(name):
    found = findings(name, record_of(Measurement("bound")))
    assert {each.verdict for each in found} == {Verdict.NOT_RUN}


def test_the_bias_is_judged_from_where_it_is_said_to_be_negligible():
    found = findings("K39", bias())
    assert [each.verdict for each in found] == [Verdict.CONFIRMED] * 2
    assert found[0].numbers == "largest 1e-08 bins, at 0.88"


@pytest.mark.parametrize(
    ("record", "verdicts"),
    [
        (bias(discretisation=2e-7), ["refuted", "confirmed"]),
        (bias(truncation=2e-7), ["confirmed", "refuted"]),
    ],
)
def test_a_bias_that_is_not_negligible_is_found(record, verdicts):
    assert [each.verdict for each in findings("K39", record)] == verdicts


@pytest.mark.parametrize(
    ("largest", "verdict"),
    [(0.009, "confirmed"), (0.0079, "refuted"), (0.0101, "refuted")],
)
def test_the_edge_bias_is_about_nine_thousandths(largest, verdict):
    (found,) = findings("K40", theorems(**{RECOMMENDED: largest}))
    assert found.verdict == verdict
