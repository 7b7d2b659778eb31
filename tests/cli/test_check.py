"""``histreg check``: a table is looked at before a model is fitted to it."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.running import assert_refused, histreg, houses, invoke


@pytest.fixture
def rides(tmp_path, monkeypatch):
    """Go to a folder with a table whose target is the sum of two columns."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    casual, registered = rng.poisson(20, 200), rng.poisson(90, 200)
    table = pd.DataFrame(
        {
            "hour": pd.date_range("2024-01-01", periods=200, freq="h"),
            "temp": rng.normal(size=200).round(2),
            "casual": casual,
            "registered": registered,
            "cnt": casual + registered,
        }
    )
    table.to_csv("rides.csv", index=False)
    return tmp_path


@pytest.mark.usefixtures("rides")
def test_columns_problems_and_notes_are_printed_within_the_width():
    for width in (80, 140):
        result = histreg("check", "rides.csv", "--target", "cnt", width=width)
        lines = result.stdout.splitlines()
        assert max(map(len, lines)) <= width
        text = " ".join(result.stdout.split())
        assert "200 rows, all with a known target; 4 other columns" in text
        assert "hour time 200 2024-01-01 to 2024-01-09 07:00" in text
        assert "problem: a linear combination of 'casual' and 'registered'" in text
        assert "note: 'hour' holds times, used as time, time of day" in text


def test_strict_stops_at_a_problem_before_any_work(rides):
    sentence = r"--strict: the table has a problem: a linear combination of 'casual'"
    arguments = ["rides.csv", "--target", "cnt", "--strict"]
    result = invoke("check", *arguments)
    assert result.exit_code == 2 and "No problem" not in result.stdout
    assert_refused(rides, ["fit", *arguments, "--out", "m"], sentence)
    histreg("check", *arguments, "--drop", "casual")


@pytest.mark.usefixtures("rides")
def test_json_is_one_document_on_standard_output():
    result = histreg("check", "rides.csv", "-t", "cnt", "--format", "json")
    document = json.loads(result.stdout)
    assert document["target"] == "cnt" and document["n_rows"] == 200
    assert [column["kind"] for column in document["columns"]] == [
        *("time", "number", "number", "number")
    ]
    [leak] = [f for f in document["findings"] if f["is_problem"]]
    assert leak["kind"] == "leak" and leak["columns"] == ["casual", "registered"]


def test_a_table_without_problems_says_so(tmp_path):
    houses().to_csv(tmp_path / "houses.csv", index=False)
    result = histreg("check", "houses.csv", "-t", "price", "--drop", "id", cwd=tmp_path)
    assert "399 with a known target" in result.stdout
    assert "No problem was found. Read the notes, though" in result.stdout
    plain = histreg(
        *("check", "houses.csv", "-t", "price", "--drop", "id,sold,size"), cwd=tmp_path
    )
    assert plain.stdout.endswith("No problem was found.\n")


def test_wrong_options_are_refused_in_a_sentence(rides):
    start = ["check", "rides.csv", "--target"]
    for arguments, sentence in (
        (["nope"], "must have the column 'nope'"),
        (["cnt", "--groups", "nope"], "must have the column 'nope'"),
        (["cnt", "--format", "xml"], "--format must be one of 'text', 'json'"),
    ):
        assert_refused(rides, [*start, *arguments], sentence)
