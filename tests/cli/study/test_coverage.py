"""The command that counts the paper's numbers that we have."""

import pytest

from histreg.study.engine.store import Store
from histreg.study.methods import HLGauss
from tests.cli.study.running import assert_refused, study
from tests.study.made_up import tabular_records


@pytest.fixture
def one_method(place):
    store = Store(place / "histreg-study")
    for record in tabular_records("pole", HLGauss(), [0.7, 0.72, 0.7, 0.7, 0.74]):
        store.save(record)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["coverage", "--table", "5"], "--table must be one of '1', '2', '3', '4', "),
        (["coverage", "--beyond", "-1"], "--beyond must be a finite number from 0 on"),
        (["coverage", "--beyond", "nan"], "--beyond must be a finite number from 0 on"),
        (["coverage", "--format", "pdf"], "--format must be one of 'text',"),
        (["coverage", "--out", "a.jsonl"], "--out must not be named .jsonl"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence, place):
    assert_refused(place, arguments, sentence)


def numbers(printed, start):
    (line,) = [line for line in printed.splitlines() if line.startswith(start)]
    return line.removeprefix(start).split()


def test_a_store_without_records_has_none_of_the_numbers(place):
    total = numbers(study("coverage"), "all")
    assert total[:-1] == ["412", "0", "0", "412", "0", "0", "0", "0", "0"]
    assert list(place.iterdir()) == []


@pytest.mark.usefixtures("one_method")
def test_numbers_that_are_there_are_counted():
    # Four metrics in Tables 7, 8 and 9, and the test MAE in Table 2.
    assert numbers(study("coverage"), "all")[1] == "13"
    printed = study("coverage", "--table", "2")
    assert numbers(printed, "2, Pole")[:4] == ["3", "1", "0", "2"]


@pytest.mark.usefixtures("one_method")
def test_commands_and_far_cells_are_shown_if_asked_for():
    usual = study("coverage", "--table", "2")
    assert "What is missing" not in usual and "Cells more than" not in usual
    printed = study("coverage", "--table", "2", "--missing", "--beyond", "0.05")
    assert "histreg study run projected --datasets pole --methods" in printed
    assert "HL-OneBin,HL-Projected" in printed
    assert "Cells more than 0.05 joint standard errors" in printed
    assert "0.712 ± 0.008" in printed


@pytest.mark.usefixtures("one_method")
def test_tables_come_in_other_forms_and_into_files(place):
    study("coverage", "--format", "markdown", "--out", "coverage.md")
    assert "| all | 412 | 13 |" in (place / "coverage.md").read_text()
    printed = study("coverage", "--out", "coverage.md", code=2)
    assert "--overwrite" in printed
