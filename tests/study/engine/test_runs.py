import json
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import ClassVar

import pytest

from histreg.study.engine.runs import Outcome, Record
from histreg.study.measurements import Measurement
from histreg.study.methods import L2, MDN, HLGauss
from histreg.study.series.runs import ForecastRun
from histreg.study.shapes.runs import ShapeRun
from histreg.study.sines.runs import SineRun
from histreg.study.tables.runs import TableRun
from histreg.study.tabular.runs import TabularRun
from tests.study.descriptions import run_of

KEPT = Path(__file__).parents[3] / "results" / "study"
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
    again = run_of(json.loads(json.dumps(run.to_json())))
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


def groups_of(run):
    """Return the groups of alike runs that a run is in."""
    match run:
        case TabularRun() if not run.hidden:
            return [f"{run.dataset}, linear regression"]
        case TabularRun():
            told = f"{run.dataset}, {run.epochs} epochs"
            how = [*run.probes]
            how += ["donor"] if run.donor else []
            how += ["frozen body"] if run.has_frozen_body else []
            return [told, f"{told}, {', '.join(how) or 'plain'}"]
        case ForecastRun():
            return [f"{run.dataset}, {run.architecture}, {run.method.name}"]
        case ShapeRun():
            return [f"shapes, {run.dataset}", f"shapes, {run.method}"]
        case TableRun():
            return []  # all were made beside other work
        case Measurement():
            on_its_own = run.what in ("label-bias", "targets")
            return [f"{run.what} {run.dataset}" if on_its_own else run.what]
    return [f"{run.kind}, {run.method.name}"]


NOT_TYPICAL = (
    # Other work kept the machine busy.
    "bike, HL-Gauss, seed 1, with snapshots",
    "bias-by-text",
    "diabetes, label-bias",  # most of its time is the first import of scikit-learn
)
# Groups most of whose records were made beside other work, by the clock.
BUSY = ("sines, l2", "ct, 1000 epochs", "ct, 1000 epochs, plain")
# Stopped early: most after four of at most ten epochs, where seven are expected.
STOPPED = ("ETTh1, LSTM, HL-Gauss",)


def stored():
    """Return the records that are kept, with their runs, by path and line."""
    records = {}
    for path in sorted(KEPT.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            record = json.loads(line)
            records[path.name, number] = record, run_of(record["run"])
    return records


STORED = stored()


def stored_times():
    """Return, by group, seconds taken and expected of the records that are kept."""
    times = {}
    for record, run in STORED.values():
        if run.label not in NOT_TYPICAL and record["status"] == "done":
            for group in groups_of(run):
                by_key = times.setdefault(group, {})
                by_key[record["key"]] = record["elapsed_s"], run.expected_s
    return {
        group: list(by_key.values())
        for group, by_key in times.items()
        if group not in BUSY + STOPPED
    }


def test_every_stored_record_has_the_key_of_its_run():
    others = {
        place: run.label
        for place, (record, run) in STORED.items()
        if record["key"] != run.key
    }
    assert len(STORED) > 4000
    assert others == {}


TIMES = stored_times()
LONG = [name for name, of in TIMES.items() if median(took for took, _ in of) >= 1]


@pytest.mark.parametrize("name", LONG)
def test_runs_take_what_is_expected_within_a_factor_of_two(name):
    # Of two, because records were made on machines with more or less else to do.
    ratio = median(took / expected for took, expected in TIMES[name])
    assert 1 / 2 <= ratio <= 2


@pytest.mark.parametrize("name", sorted(TIMES.keys() - LONG))
def test_what_takes_less_than_a_second_is_expected_to(name):
    assert median(expected for _, expected in TIMES[name]) < 1


def test_stored_times_are_of_all_kinds_and_of_the_data_sets_trained_in_full():
    names = " ".join(LONG)
    for told in ("ct, 10 epochs", "bike, 500", "pole, 500", "song-7000, 150"):
        assert told in names
    assert {"replays", "value, l2", "ETTh1, GRU, l2", "shapes, bike"} <= set(LONG)
