"""The command that explains: importance, dependence, rows and figures."""

import json
from contextlib import chdir

import pandas as pd
import pytest

from histreg import HistogramRegressor
from histreg.tabular import column_importance
from tests.cli.running import assert_refused, histreg

QUICK = ("--repeats", "1", "--max-rows", "20")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--row", "0"], "--row must be a whole number of at least 1"),
        (["--row", "9999"], "--row must be a row of test.csv, from 1 to 80, got 9999"),
        (["--row", "1", "--column", "size"], "--row and --column cannot be combined"),
        (["--column", "nope"], "column must name a column of the model"),
        (["--group", "nope"], "--group must be NAME=COLUMN,COLUMN,..., got 'nope'"),
        (["--group", "a=no"], "groups must name a column of the model"),
        (["--plot", "figure.txt"], "--plot must be named .png, .svg, .pdf"),
        (["--plot", "test.csv.png/x.png"], "there is no folder test.csv.png"),
        (["--format", "xml"], "--format must be one of 'text', 'json'"),
        (["--quantiles", "2"], "--quantiles must be levels from 0 to 1"),
        (["--target", "size"], "--target must not be a feature of the model"),
        (["--target", "nope"], "the table must have the column 'nope'"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(place, arguments, sentence):
    with chdir(place):
        assert_refused(place, ["explain", "model", "test.csv", *arguments], sentence)


def test_importance_is_that_of_the_function(place):
    printed = histreg(
        *("explain", "model", "test.csv", "--format", "json", *QUICK), cwd=place
    )
    found = json.loads(printed.stdout)
    model = HistogramRegressor.load(place / "model")
    test = pd.read_csv(place / "test.csv", dtype={"zone": str}, parse_dates=["sold"])
    test = test[test.price.notna()]
    expected = column_importance(
        model,
        test[list(model.feature_names_in_)],
        test.price,
        n_repeats=1,
        max_rows=20,
        random_state=0,
    )
    assert found["columns"] == expected.rows() and found["n_rows"] == 20
    assert found["columns"][0]["column"] == "size"


def test_without_a_target_only_changes_are_shown(place):
    pd.read_csv(place / "test.csv").drop(columns="price").to_csv(
        place / "unknown.csv", index=False
    )
    printed = histreg("explain", "model", "unknown.csv", *QUICK, cwd=place).stdout
    assert "CRPS" not in printed and "spread" in printed


def test_the_parts_of_a_row_are_printed_and_add_up(place):
    one = json.loads(
        histreg(
            *("explain", "model", "test.csv", "--row", "17", "--above", "90000"),
            *("--format", "json"),
            cwd=place,
        ).stdout
    )
    for name in ("mean", "spread", "P(y > 90000)"):
        total = one["base"][name] + sum(part[name] for part in one["columns"])
        assert total == pytest.approx(one["predicted"][name])


def test_dependence_is_printed_for_each_column(place):
    found = json.loads(
        histreg(
            *("explain", "model", "test.csv", "--column", "size,kind"),
            *("--max-rows", "10", "--format", "json"),
            cwd=place,
        ).stdout
    )
    assert list(found) == ["size", "kind"]
    means = [row["mean"] for row in found["size"]["values"]]
    assert means[-1] > means[0]
    sizes = [row["value"] for row in found["size"]["values"]]
    assert sizes == sorted(sizes) and sizes[0] > 0
    assert {row["value"] for row in found["kind"]["values"]} == {"flat", "house"}


@pytest.mark.parametrize("what", [[], ["--row", "1"], ["--column", "size,kind"]])
def test_a_figure_is_written_once(place, tmp_path, what):
    arguments = ("explain", place / "model", place / "test.csv", *QUICK, *what)
    path = tmp_path / "figure.svg"
    histreg(*arguments, "--plot", path, "--quiet")
    assert path.read_text().startswith("<?xml")
    with chdir(tmp_path):
        again = [*arguments, "--plot", path]
        assert_refused(tmp_path, again, "exists already; --overwrite replaces it")
