"""The commands of the study, as a person runs them."""

import json
import os
import signal
import sys

import pytest
import torch
from typer.testing import CliRunner

from histreg.cli import app
from histreg.study.catalogue import (
    EXPERIMENTS,
    FORECAST_HL,
    VALUE_HL,
    experiment,
    selected,
)
from histreg.study.claims import CLAIMS
from histreg.study.datasets import DATASETS, GAMES, SERIES
from histreg.study.engine.store import State, Store
from histreg.study.methods import L2, HLGauss, HLProjected
from histreg.study.tabular.runs import TabularRun
from tests.report.examples import RECORDS
from tests.study.gated import GatedRun, gated_study, wait_until
from tests.study.made_up import forecast_records, record_of, value_records
from tests.study.toy_game import written

FEW = ["--datasets", "diabetes", "--seeds", "1,2", "--epochs", "2"]
METHODS = ["--methods", "l2,HL-Gauss,HL-OneBin,Linear Regression"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HISTREG_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def study(*arguments, code=0) -> str:
    result = CliRunner().invoke(app, ["study", *map(str, arguments)])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result.output


def test_the_list_has_every_experiment_and_data_set():
    printed = study("list")
    for name in (*EXPERIMENTS, "ct", "song-7000", "bike", "pole", "diabetes", *SERIES):
        assert name in printed
    assert "casual + registered = cnt" in printed


def test_the_list_has_the_games_in_a_paragraph(place):
    printed = " ".join(study("list").split())
    assert "58 of 58 not here (AirRaid, Alien, " in printed
    written(place, b"Raaa", GAMES["Pong"])
    printed = " ".join(study("list", "--data-dir", place).split())
    assert "1 of 58 here (Pong); 57 of 58 not here (AirRaid, " in printed
    assert printed.count("The first episodes are the test") == 1


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


def test_the_table_has_what_the_records_say():
    command = ["overall", *FEW, "--methods", "l2"]
    study("run", *command, "--executor", "in-process")
    runs = selected(
        experiment("overall").runs,
        datasets=["diabetes"],
        methods=["l2"],
        seeds=[1, 2],
        epochs=2,
    )
    errors = [
        r.outcome.metrics["test MAE"] for r in Store("histreg-study").records(runs)
    ]
    mean = sum(errors) / 2
    assert f"{mean:.3f} ± {abs(errors[0] - mean):.3f}" in study("table", *command)


@pytest.mark.parametrize(
    ("form", "expected"), [("markdown", "| l2, epochs 2 |"), ("latex", r"\toprule")]
)
def test_tables_come_in_other_forms_and_into_files(place, form, expected):
    command = ["overall", *FEW, "--methods", "l2"]
    study("run", *command, "--executor", "in-process")
    study("table", *command, "--format", form, "--out", "table")
    text = (place / "table").read_text()
    assert expected in text
    assert "train RMSE" in text


def test_claims_are_judged_by_the_records_of_a_store(place):
    for seed, (better, worse) in enumerate([(1.0, 2.0)] * 5, start=1):
        for method, error in ((HLGauss(), better), (HLProjected(), worse)):
            run = TabularRun.of("diabetes", method, seed, epochs=2)
            metrics = {"test MAE": error, "test RMSE": error}
            Store("histreg-study").save(record_of(run, metrics))
    printed = study("claims", "K15", "--datasets", "diabetes", "--epochs", "2")
    assert "K15, confirmed" in printed
    assert "Diabetes: HL-Gauss below HL-Projected" in printed
    # Of the paper's data sets and epochs there is nothing.
    assert "K15, not run" in study("claims", "K15")
    study("claims", "--format", "markdown", "--details", "--out", "claims.md")
    text = (place / "claims.md").read_text()
    for name in CLAIMS:
        assert f"| {name} |" in text
        assert f"**{name}, " in text


def test_without_records_no_claim_was_run():
    printed = study("claims")
    for name in CLAIMS:
        assert f"{name} " in printed
    assert (
        f"0 confirmed, 0 refuted, 0 not significant, {len(CLAIMS)} not run" in printed
    )


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


def test_paired_differences_stand_instead_of_errors():
    command = ["overall", *FEW, "--methods", "l2,HL-Gauss"]
    study("run", *command, "--executor", "in-process")
    runs = selected(
        experiment("overall").runs,
        datasets=["diabetes"],
        methods=["l2", "HL-Gauss"],
        seeds=[1, 2],
        epochs=2,
    )
    error = {
        (record.run.method.name, record.run.seed): record.outcome.metrics["test MAE"]
        for record in Store("histreg-study").records(runs)
    }
    mean = sum(error["l2", seed] - error["HL-Gauss", seed] for seed in (1, 2)) / 2
    printed = study("table", *command, "--paired")
    assert "differences in test MAE: Diabetes" in printed
    (row,) = [line for line in printed.splitlines() if line.startswith("l2")]
    assert row.split()[6] == f"{mean:+.3f}"
    assert "differences in test MAE" not in study("table", *command)
    printed = study("table", *command, "--paired", "--metrics", "train RMSE")
    assert "differences in train RMSE" in printed


def test_metrics_that_are_not_paired_are_refused():
    printed = study(
        *("table", "training", "--paired", "--metrics", "test RMSE"), code=2
    )
    assert "--metrics must not be given for training --paired" in printed


def test_the_status_of_everything_leaves_out_what_lacks_a_method():
    printed = study("status", "--methods", "HL-Projected")
    assert "projected" in printed and "sines" not in printed
    assert "must be one of" in study("status", "--methods", "magic", code=2)


def test_a_dry_run_computes_nothing_and_says_how_long(place):
    printed = study("run", "overall", "--datasets", "pole", "--dry-run", "--jobs", "2")
    assert "120 runs to compute, about" in printed
    assert "min with 2 processes" in printed
    assert "not here, to be downloaded if possible: pole" in printed
    assert list(place.iterdir()) == []


def test_a_dry_run_of_forecasts_says_how_long_and_which_series_is_not_here(place):
    command = ["run", "forecasts", "--datasets", "ETTh1", "--dry-run", "--jobs", "2"]
    printed = study(*command)
    # Four models, two losses, five seeds; and what learns nothing.
    assert "41 runs to compute, about" in printed
    assert "h with 2 processes" in printed
    assert "not here, to be downloaded if possible: ETTh1" in printed
    # One epoch of ten, one seed of five.
    few = study(*command, "--epochs", "1", "--seeds", "1")
    assert "9 runs to compute, about" in few and "min with 2 processes" in few
    assert list(place.iterdir()) == []


def test_a_dry_run_of_values_says_how_long_and_which_games_are_not_here(place):
    printed = study("run", "values", "--dry-run", "--jobs", "2")
    # 14 games, two losses, two seeds; five and a half minutes each.
    assert "56 runs to compute, about 2.5 h with 2 processes" in printed
    assert "not here, to be downloaded if possible: AirRaid, Asteroids" in printed
    few = study("run", "values", "--datasets", "Pong", "--dry-run", "--jobs", "1")
    assert "4 runs to compute, about 22 min with 1 process," in few
    assert list(place.iterdir()) == []


def test_tables_series_and_games_are_asked_for_together():
    printed = study(
        *("run", "projected", "forecasts", "values", "--datasets", "pole,ETTh1,Pong"),
        *("--methods", "HL-Gauss", "--seeds", "1", "--dry-run"),
    )
    assert "7 runs to compute" in printed  # Pole, four models and naive, Pong


def test_a_method_may_have_a_comma_in_its_name():
    command = ["run", "shapes", "--datasets", "diabetes", "--seeds", "0", "--dry-run"]
    asked = "uniform bins,auto bins, 4 networks,NGBoost"
    printed = study(*command, "--methods", asked)
    assert "3 runs to compute" in printed and "auto bins, 4 networks" in printed
    assert "1 run to compute" in study(*command, "--methods", "auto bins, 4 networks")


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


def test_claims_about_games_are_judged_on_those_asked_for():
    games = ["Pong", "Alien", "Qbert", "Hero", "Krull"]
    for i, game in enumerate(games):
        for method, error in ((L2(), 0.3), (VALUE_HL, 0.1 + 0.01 * i)):
            for record in value_records(game, method, [error] * 2):
                Store("histreg-study").save(record)
    printed = study("claims", "K36", "K37", "--datasets", ",".join(games))
    assert "K36, confirmed: " in printed and "K37, confirmed: " in printed
    assert "5 of 5 games, p 0.031" in printed
    assert "K36, not run: " in study("claims", "K36")
    assert "K36, not run: " in study("claims", "K36", "--datasets", "pole")


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


def test_claims_about_series_are_judged_beside_those_about_tables():
    for method, error in ((L2(), 0.1), (FORECAST_HL, 0.3)):
        for record in forecast_records("ETTm2", "Linear", method, [error] * 5):
            Store("histreg-study").save(record)
    printed = study("claims", "K31", "--datasets", "ETTm2")
    assert "K31, confirmed on ETTm2 (1 of 1)" in printed
    assert "K31, confirmed on ETTm2 (1 of 4)" in study("claims", "K31")
    n = len(CLAIMS)
    for asked, confirmed in (("ETTm2", 1), ("pole", 0), ("pole,ETTm2", 1)):
        printed = " ".join(study("claims", "--datasets", asked).split())
        assert f"{n} claims: {confirmed} confirmed, 0 refuted" in printed
        assert f"{n - confirmed} not run" in printed


def test_the_status_of_everything_on_one_series():
    printed = study("status", "--datasets", "ETTh1")
    assert "ETTh1" in printed and "theorems" in printed
    assert "forecasts-of-change" in printed and "overall" not in printed


def test_experiments_without_data_run():
    study("run", "bound", "--executor", "in-process")
    assert "0.2032" in study("table", "bound")


def test_runs_that_fail_are_told_with_their_reason():
    printed = study(
        *("run", "targets", "--datasets", "song-7000", "--executor", "in-process"),
        code=1,
    )
    assert "1 failed: " in printed
    printed = study("status", "targets", "--datasets", "song-7000")
    assert "1 failed: " in printed
    assert "YearPredictionMSD" in printed


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "nothing"], "experiment must be one of 'sines', "),
        (["run", "overall", "--datasets", "iris"], "--datasets must be one of 'ct',"),
        (
            ["run", "forecasts", "--datasets", "etth1"],
            "--datasets must be one of 'ct',",
        ),
        (["run", "forecasts", "--datasets", "pole"], "has the dataset pole"),
        (["run", "overall", "--models", "GRU"], "--models must be for forecasts"),
        (["run", "forecasts", "--models", "MLP"], "--models must be one of 'Linear',"),
        (["run", "overall", "--datasets", "ETTh1"], "has the dataset ETTh1"),
        (["run", "overall", "--datasets", "Pong"], "has the dataset Pong"),
        (["run", "values", "--datasets", "pole"], "has the dataset pole"),
        (["run", "values", "--datasets", "pong"], "--datasets must be one of 'ct',"),
        (["run", "values", "--models", "GRU"], "--models must be for forecasts"),
        (["table", "values", "--paired"], "--paired must be for one of"),
        (["table", "forecasts"], "the table forecasts must have records"),
        (["run", "overall", "--methods", "l3"], "--methods must be one of "),
        (["run", "overall", "--seeds", "one"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--seeds", "9"], "no run of overall has the seed 9"),
        (["run", "overall", "--seeds", "5-1"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--seeds", "1-999999999"], "has the seed 6"),
        (["run", "overall", "--seeds", "7-999999999"], "has the seed 7"),
        (["run", "overall", "--seeds", "9" * 5000], "--seeds must be numbers such as"),
        (["run", "overall", "--seeds", "²"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--seeds", "-1"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--seeds", "1--1"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--seeds", "1-"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--datasets", ""], "--datasets must name something, got"),
        (["run", "projected", "--methods", "l2,HL-Gauss"], "has the method l2"),
        (["collect", "bound", "--out", "file"], "--out must be a folder, got file"),
        (
            ["run", "sines", "--epochs", "5"],
            "--epochs must be for networks trained in epochs",
        ),
        (["run", "bound", "--jobs", "0"], "--jobs must be a whole number"),
        (["table", "bound"], "the table bound must have records, got none yet"),
        (["run", "overall", "--epochs", "0"], "--epochs must be a whole number"),
        (["run", "bound", "--jobs", "-1"], "--jobs must be a whole number"),
        (["run", "bound", "--executor", "cloud"], "--executor must be processes,"),
        (["run", "bound", "--executor", "dask://"], "dask or dask://host:port, got "),
        (["run", "bound", "--executor", "dask://host"], "dask or dask://host:port, "),
        (["table", "bound", "--out", "/dev/null"], "--out must be a file, got /dev"),
        (["figure", "bound", "--out", "no/a.png"], "there is no folder no"),
        (["status", "bound", "--store", "file"], "the store must be a folder, got"),
        (["collect", "bound", "--out", "x" * 300], "File name too long"),
        (["run", "bound", "--import", "no_such_module"], "--import must name a module"),
        (["table", "sines", "--paired"], "--paired must be for one of"),
        (["table", "sines"], "the table sines must have records"),
        (["table", "overall", "--format", "pdf"], "--format must be one of 'text',"),
        (["table", "overall", "--metrics", "MSE"], "--metrics must be one of"),
        (["figure", "overall", "--out", "a.txt"], "--out must be named .png, .svg or"),
        (["figure", "bound", "--out", "a.png"], "must have records, got none yet"),
        (["run", "targets", "--data-dir", "no"], "--data-dir must be a folder, got no"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_nonsense_is_refused_in_one_sentence(arguments, sentence, place):
    (place / "file").touch()
    result = CliRunner().invoke(app, ["study", *arguments])
    assert result.exit_code == 2
    assert sentence in result.output
    assert result.output.strip().count("\n") <= 1, result.output


MODULES = {
    "raises": (
        "x = 1\nraise ValueError('no\\nluck')",
        "ValueError: no luck, line 2 of",
    ),
    "divides": (
        "def f():\n    1 / 0\nf()",
        "ZeroDivisionError: division by zero, line 3",
    ),
    "broken": ("x = 1\nx = (", "SyntaxError: '(' was never closed, line 2 of"),
    "null": ("x = '\0'", "SyntaxError: source code string cannot contain null bytes"),
    "leaves": ("import sys\nsys.exit(3)", "SystemExit: 3, line 2 of"),
    "needy": ("import no_such_library", "ModuleNotFoundError: No module named 'no_s"),
    "silent": ("raise AssertionError", "AssertionError, line 1 of"),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_cannot_be_imported_is_told_with_its_line(place, name):
    text, sentence = MODULES[name]
    (place / f"{name}_module.py").write_text(text)
    result = CliRunner().invoke(
        app, ["study", "table", "bound", "--import", f"{name}_module"]
    )
    assert result.exit_code == 2
    assert f"--import {name}_module failed with {sentence}" in result.output
    assert result.output.strip().count("\n") == 0, result.output


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


def test_an_experiment_of_ones_own_runs_in_workers_and_has_table_and_figure(
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


def ctrl_c(group: int) -> None:
    os.killpg(group, signal.SIGINT)  # as a terminal does


def sigterm(group: int) -> None:
    os.killpg(group, signal.SIGTERM)  # as a batch scheduler does


def sigterm_twice(group: int) -> None:
    os.kill(group, signal.SIGTERM)  # as timeout does
    os.killpg(group, signal.SIGTERM)


@pytest.mark.parametrize(
    ("executor", "send"),
    [
        ("processes", ctrl_c),
        ("processes", sigterm),
        ("processes", sigterm_twice),
        ("in-process", ctrl_c),
        ("in-process", sigterm_twice),
        ("dask", ctrl_c),
        ("dask", sigterm),
    ],
)
def test_a_study_that_is_stopped_goes_on_from_its_checkpoints(place, executor, send):
    """With a module of one's own, which is imported by the workers too."""
    first, second = (GatedRun(str(place), name) for name in "ab")
    store = Store(place / "histreg-study")
    options = ("--jobs", "2", "--executor", executor)
    first.open()
    with gated_study(place, "ab", *options) as process:
        wait_until(lambda: store.has(first) and second.workers())
        send(process.pid)
        printed, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.count("\n")) == (130, 1), errors
    assert "1 run finished" in printed
    assert "stopped; the same command goes on from here" in errors
    assert store.state(second) == State("missing", "stopped after epoch 1")
    assert not any(is_alive(worker) for worker in second.workers())


def test_a_study_that_was_stopped_goes_on_by_the_same_command(place):
    first, second = (GatedRun(str(place), name) for name in "ab")
    store = Store(place / "histreg-study")
    store.save(record_of(first))
    store.checkpoint(second).save({"weights": torch.zeros(1)}, {"epoch": 1})
    second.open()
    with gated_study(place, "ab", "--executor", "in-process") as process:
        printed, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "2 runs, 1 done already, 1 go on from checkpoints" in printed
    assert store.has(second)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_status_of_everything_on_one_data_set():
    printed = study("status", "--datasets", "pole")
    assert "pole" in printed
    assert "theorems" in printed


def test_the_report_is_pages_of_the_records_that_are_there(place):
    for record in RECORDS["bound"]:
        Store("histreg-study").save(record)
    printed = study("report", "--out", "site")
    assert f"{len(EXPERIMENTS) + 4} pages" in printed
    assert "site/index.html" in printed
    assert (place / "site" / "experiments" / "bound.html").is_file()
    printed = study("report", "--out", "site", code=2)
    assert "site holds a report already; --overwrite replaces it" in printed
    study("report", "--out", "site", "--overwrite")


def test_a_report_never_replaces_the_store_that_it_is_made_of(place):
    for record in RECORDS["bound"]:
        Store("site/store").save(record)
    study("report", "--out", "other", "--store", "site/store")
    (place / "other" / "index.html").rename(place / "site" / "index.html")
    printed = study(
        *("report", "--out", "site", "--store", "site/store", "--overwrite"), code=2
    )
    assert "--out must not be a folder that holds the store site/store" in printed
    assert len(list((place / "site" / "store").rglob("*.json"))) == 1


@pytest.mark.parametrize(
    ("out", "arguments"),
    [
        ("t.md", ["table", "bound"]),
        ("c.md", ["claims"]),
        ("f.png", ["figure", "bound"]),
        ("histreg-study/f.png", ["figure", "bound"]),
    ],
)
def test_what_is_there_is_replaced_only_if_asked_for(place, out, arguments):
    for record in RECORDS["bound"]:
        Store("histreg-study").save(record)
    (place / out).write_text("mine")
    printed = study(*arguments, "--out", out, code=2)
    assert printed == f"histreg: {out} exists already; --overwrite replaces it\n"
    assert (place / out).read_text() == "mine"
    study(*arguments, "--out", out, "--overwrite")
    assert (place / out).read_bytes() != b"mine"


@pytest.mark.parametrize("command", ["table bound", "claims"])
def test_no_command_writes_over_records_or_modules(place, command, monkeypatch):
    for record in RECORDS["bound"]:
        Store("histreg-study").save(record)
    study("collect", "bound")
    (place / "harmless.py").write_text("")
    monkeypatch.delitem(sys.modules, "harmless", raising=False)
    monkeypatch.syspath_prepend(str(place))
    (record,) = (place / "histreg-study" / "records").rglob("*.json")
    (place / "linked").hardlink_to(record)
    files = ("histreg-study/bound.jsonl", record, "linked", "harmless.py")
    before = [(place / out).read_bytes() for out in files]
    for out in files:
        printed = study(
            *(*command.split(), "--out", out, "--overwrite", "--import", "harmless"),
            code=2,
        )
        assert "must not be a file that this command reads" in printed
    assert [(place / out).read_bytes() for out in files] == before
    # It would be read as records from then on.
    printed = study(*command.split(), "--out", "histreg-study/new.jsonl", code=2)
    assert "--out must not be named .jsonl, as records are" in printed


def test_a_report_is_refused_in_one_sentence(place):
    assert "must have records, got none" in study("report", "--out", "site", code=2)
    assert not (place / "site").exists()
    (place / "mine").mkdir()
    (place / "mine" / "thesis").touch()
    printed = study("report", "--out", "mine", code=2)
    assert "has files that are not of this command" in printed
    assert printed.count("histreg:") == 1
