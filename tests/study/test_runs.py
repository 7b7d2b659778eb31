import json
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from histreg.study.measurements import Measurement
from histreg.study.methods import L2, MDN, HLGauss
from histreg.study.runs import Outcome, Record
from histreg.study.sines import SineRun
from histreg.study.tabular import TabularRun

RUNS = [
    TabularRun("pole", HLGauss(), 1, 2, (4, 4)),
    TabularRun("pole", HLGauss(2.0), 1, 2, (4, 4)),
    TabularRun("pole", MDN(4), 1, 2, (4, 4)),
    TabularRun("pole", MDN(4), 1, 2, (4, 4), part="validation"),
    TabularRun("bike", MDN(4), 2, 2, (4, 4)),
    SineRun(L2(), 1.0, 0.0, (0.0, 1.0), 1e-3, 0),
    Measurement("bound"),
    Measurement("targets", "pole"),
]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.label)
def test_a_run_survives_json(run):
    again = type(run).from_json(json.loads(json.dumps(run.to_json())))
    assert again == run
    assert again.key == run.key
    assert hash(again) == hash(run)


def test_different_runs_have_different_keys_and_labels():
    assert len({run.key for run in RUNS}) == len(RUNS)
    assert len({run.label for run in RUNS}) == len(RUNS)


def test_a_new_field_with_a_default_leaves_the_keys_as_they_are():
    @dataclass(frozen=True)
    class Grown(TabularRun):
        kind: ClassVar[str] = "tabular"
        corruption: float = 0.0

    old = RUNS[0]
    new = Grown(old.dataset, old.method, old.seed, old.epochs, old.hidden)
    assert new.key == old.key
    assert replace(new, corruption=0.5).key != old.key


def test_a_record_survives_json():
    outcome = Outcome({"test MAE": 1 / 3}, {"epoch": [1]}, None)
    record = Record(RUNS[0], outcome, {"torch": "2"}, 0.1, "now")
    found = json.loads(json.dumps(record.to_json()))
    assert Record.from_json(found, RUNS[0]) == record
    assert found["status"] == "done"
    diverged = replace(record, outcome=Outcome(diverged_at=3))
    assert diverged.to_json()["status"] == "diverged"
