"""Columns: those that a table lacks, and those that hold something else."""

import numpy as np
import pandas as pd
import pytest

from tests.cli.running import QUICK, invoke, sizes


def test_a_wide_table_shows_the_names_that_may_be_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wide = pd.DataFrame(np.zeros((2, 10_000))).add_prefix("column_")
    wide.assign(Price=1.0).to_csv("wide.csv", index=False)
    result = invoke("fit", "wide.csv", "-t", "prise", "-o", "m")
    assert result.exit_code == 2
    assert result.stderr == (
        "histreg: the table must have the column 'prise', got 10,001 columns, of which "
        "the most similar are: 'Price'\n"
    )
    result = invoke("fit", "wide.csv", "-t", "Price", "-o", "m", "--drop", "?!")
    assert "got 10,001 columns, such as 'column_0'" in result.stderr
    drop = ",".join(f"no_{i}" for i in range(5000))
    result = invoke("fit", "wide.csv", "-t", "Price", "-o", "m", "--drop", drop)
    assert "'no_9' and 4,990 more" in result.stderr and len(result.stderr) < 600


@pytest.mark.parametrize("cell", ["1" * 400, "inf", "-1e999"])
@pytest.mark.parametrize("column", ["size", "price"])
def test_a_number_that_is_too_large_is_refused_by_column(
    cell, column, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = sizes().astype({column: object})
    table.loc[7, column] = cell
    table.to_csv("t.csv", index=False)
    result = invoke("fit", "t.csv", "-t", "price", "-o", "m", *QUICK)
    assert result.exit_code == 2 and "Traceback" not in result.stderr
    assert f"column '{column}' must hold finite numbers" in result.stderr
    assert "in row 8" in result.stderr


def test_a_target_whose_square_is_infinite_is_refused_before_any_work(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = sizes()
    table.loc[4, "price"] = -3e200
    table.to_csv("t.csv", index=False)
    for command in (["fit", "t.csv", "-o", "m"], ["check", "t.csv"]):
        result = invoke(*command, "-t", "price")
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert "-1e+150 and 1e+150, got -3e+200 in row 5" in result.stderr
    assert not (tmp_path / "m").exists()
