"""``histreg study verify``."""

import json

import pytest

from tests.cli.study.running import FEW, assert_refused, study

RUNS = ["overall", *FEW, "--methods", "l2,HL-Gauss"]


@pytest.fixture
def store(place):
    study("run", *RUNS, "--jobs", "1", "--store", place / "store")
    return place / "store"


def test_records_are_computed_again_to_the_bit_and_the_store_is_left_alone(store):
    before = {path: path.read_bytes() for path in store.rglob("*.json")}
    shown = study("verify", *RUNS, "--sample", "3", "--store", store, "--jobs", "1")
    assert "3 of 3 records equal to the bit" in shown
    assert "none" in shown
    assert {path: path.read_bytes() for path in store.rglob("*.json")} == before


def test_a_number_that_was_changed_is_found(store):
    for path in (store / "records").rglob("*.json"):
        record = json.loads(path.read_text())
        record["metrics"]["test MAE"] *= 2
        path.write_text(json.dumps(record))
    arguments = ["verify", *RUNS, "--sample", "1", "--store", store, "--jobs", "1"]
    shown = study(*arguments, code=1)
    assert "differs by -50 %" in shown
    assert "0 of 1 record equal to the bit" in shown


def test_a_dry_run_names_the_records_and_computes_none(store):
    shown = study("verify", *RUNS, "--sample", "2", "--store", store, "--dry-run")
    assert "2 records of 4" in shown and shown.count("diabetes, ") == 2


def test_the_comparison_is_one_json_document(store):
    command = ["verify", *RUNS, "--sample", "2", "--store", store, "--format", "json"]
    planned = json.loads(study(*command, "--dry-run"))
    assert planned["n_records"] == 4 and planned["expected_s"] > 0
    chosen = [record["run"] for record in planned["records"]]
    changed = next((store / "records").rglob("*.json"))
    record = json.loads(changed.read_text())
    record["metrics"]["test MAE"] *= 2
    changed.write_text(json.dumps(record))
    command[command.index("--sample") + 1] = "4"
    shown = json.loads(study(*command, "--jobs", "1", code=1))
    assert {record["run"] for record in shown["records"]} > set(chosen)
    (different,) = (r for r in shown["records"] if not r["is_equal"])
    assert different["relative_differences"] == {"test MAE": -0.5}
    assert shown["failures"] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["verify", "overall", "--sample", "0"], "--sample must be"),
        (["verify", "overall"], "must have records to verify, got none"),
        (["verify", "nope"], "nope"),
    ],
)
def test_what_cannot_be_verified_is_refused(place, arguments, sentence):
    assert_refused(place, arguments, sentence)
