"""The command that prints tables."""

import pytest

from histreg.study.catalogue import experiment, selected
from histreg.study.engine.store import Store
from tests.cli.study.running import FEW, assert_refused, study


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table", "values", "--paired"], "--paired is available only for"),
        (["table", "forecasts"], "the table forecasts must have records"),
        (["table", "bound"], "the table bound must have records, got none yet"),
        (
            ["table", "bound", "--out", "/dev/null"],
            "--out must be a regular file, got /dev",
        ),
        (["table", "sines", "--paired"], "--paired is available only for"),
        (["table", "sines"], "the table sines must have records"),
        (["table", "overall", "--format", "pdf"], "--format must be one of 'text',"),
        (["table", "overall", "--metrics", "MSE"], "--metrics must be one of"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence, place):
    assert_refused(place, arguments, sentence)


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
    assert "--metrics cannot be combined with --paired for training" in printed
