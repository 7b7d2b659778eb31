"""A study from its first run to its figure, and what no command does."""

import json
import sys

from histreg.study.catalogue import EXPERIMENTS
from histreg.study.datasets import DATASETS
from histreg.study.engine.store import Store
from tests.cli.study.running import FEW, study
from tests.report.examples import RECORDS

METHODS = ["--methods", "l2,HL-Gauss,HL-OneBin,Linear Regression"]


def test_a_study_from_the_first_run_to_its_figure(place):
    """Run, see, run again, collect, print and draw."""
    command = ["overall", *FEW, *METHODS]
    printed = study("run", *command, "--executor", "in-process")
    assert "10 runs, 0 done already" in printed
    assert "10 runs finished" in printed
    assert "10 runs, 10 done already" in study("run", *command)
    printed = study("status", *command)
    assert [cell.strip() for cell in _row(printed, "overall")] == [
        *("overall", "diabetes", "10", "0", "0", "0")
    ]
    printed = study("table", *command)
    assert "Overall results: Diabetes" in printed
    assert "HL-Gauss" in printed
    study("figure", *command, "--out", "overall.png")
    assert (place / "overall.png").read_bytes().startswith(b"\x89PNG")
    printed = study("collect", *command, "--out", "kept")
    assert "10 of 10 records in kept/overall.jsonl" in printed
    lines = (place / "kept" / "overall.jsonl").read_text().splitlines()
    assert len({json.loads(line)["key"] for line in lines}) == 10
    assert study("table", *command, "--store", "kept") == study("table", *command)


def _row(printed: str, name: str) -> list[str]:
    (line,) = [line for line in printed.splitlines() if f"│ {name} " in line]
    return line.strip("│").split("│")


OWN = """
import numpy as np
from histreg.study.catalogue import EXPERIMENTS, Experiment, tabular
from histreg.study.datasets import DATASETS, DataSet, Table
from histreg.study.methods import L2


def parse(_):
    x = np.random.default_rng(0).normal(size=(100, 2))
    return Table(x, 50 + x[:, 0], ("a", "b"), "")


DATASETS["mine"] = DataSet(
    name="mine", title="Mine", homepage="", licence="", url=None, files=(), member="",
    sha256=None, n_rows=100, n_features=2, y_range=(0.0, 100.0), hidden=(4,),
    dropout=0.0, epochs=2, quirks="", parse=parse,
)
runs = tabular([L2()], datasets=["mine"], seeds=[1, 2])
EXPERIMENTS["own"] = Experiment("own", "My own", "nowhere", "Why?", runs)
"""


def test_an_experiment_of_a_user_runs_in_workers_and_has_table_and_figure(
    place, monkeypatch
):
    (place / "own_study.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(place))
    own = ("own", "--import", "own_study")
    try:
        assert "2 runs finished" in study("run", *own, "--jobs", "1")
        assert "My own: Mine" in study("table", *own)
        study("figure", *own, "--out", "own.svg")
    finally:
        EXPERIMENTS.pop("own", None)
        DATASETS.pop("mine", None)
        sys.modules.pop("own_study", None)
    assert (place / "own.svg").exists()


def test_values_have_tables_and_a_figure(place):
    for record in RECORDS["values"]:
        Store("histreg-study").save(record)
    command = ["values", "--datasets", "Breakout,Gravitar,Pong"]
    printed = study("table", *command)
    assert "Values of games: over games" in printed
    for row in ("Breakout", "Pong", "mean log ratio"):
        assert f"\n{row} " in printed
    assert "Not finished" not in printed
    study("figure", *command, "--out", "values.png")
    assert (place / "values.png").read_bytes().startswith(b"\x89PNG")


def test_forecasts_have_table_and_figure(place):
    for record in RECORDS["forecasts"]:
        Store("histreg-study").save(record)
    printed = study("table", "forecasts", "--datasets", "ETTh1")
    assert "Forecasts of series: ETTh1" in printed
    for row in ("last value", "mean of inputs", "zero", "Linear, HL-Gauss"):
        assert f"\n{row} " in printed
    assert "Not finished: 36 of 41 runs" in printed
    study("figure", "forecasts", "--out", "forecasts.png")
    assert (place / "forecasts.png").read_bytes().startswith(b"\x89PNG")
