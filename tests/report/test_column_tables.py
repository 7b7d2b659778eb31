"""Tables of columns, of records made by hand."""

import math

import pytest

from histreg.report.column_tables import rmse_over_all_rows
from histreg.report.experiment_tables import tables_of
from histreg.study.methods import LinearRegression
from tests.report.reading import one, rows
from tests.study.made_up import tabular_records

CT = tabular_records(
    *("ct", LinearRegression(), [6.0, 6.2]), train_RMSE=[8.0, 8.2], test_RMSE=[9.0, 8.5]
)
CT_385 = tabular_records("ct-385", LinearRegression(), [5.0, 5.0])


def test_the_rmse_over_all_rows_is_that_of_both_parts_together():
    errors = [1.0, -2.0, 3.0, 0.5, 4.0]  # four rows of training and one of test
    train, test = math.sqrt(sum(e * e for e in errors[:4]) / 4), errors[4]
    whole = math.sqrt(sum(e * e for e in errors) / 5)
    assert rmse_over_all_rows(train, test) == pytest.approx(whole)


def test_the_papers_errors_stand_beside_both_choices_of_columns():
    found = rows(one("columns", [*CT, *CT_385]))
    assert list(found) == ["CT Position", "CT Position (with the patient's number)"]
    for cells, n_columns in zip(found.values(), ("384", "385"), strict=True):
        assert cells[0] == n_columns
        assert cells[2] == "6.073 ± 0.007" and cells[5] == "6.170 ± 0.025"
        # Of the paper's 8.209 and 8.341.
        assert cells[8] == "8.2356"


def test_the_rmse_over_all_rows_is_a_mean_over_splits():
    (cells,) = rows(one("columns", CT)).values()
    by_split = [math.sqrt(0.8 * 64 + 0.2 * 81), math.sqrt(0.8 * 8.2**2 + 0.2 * 8.5**2)]
    mean, half = sum(by_split) / 2, abs(by_split[0] - by_split[1]) / 2
    assert cells[7] == f"{mean:.4f} ± {half:.4f}"
    assert float(cells[9]) == pytest.approx(mean - 8.23557, abs=1e-4)


def test_a_sample_of_the_rows_has_none_of_the_papers_numbers():
    records = tabular_records("song-7000", LinearRegression(), [6.0])
    (cells,) = rows(one("columns", records)).values()
    assert cells[2:4] == cells[8:10] == ("", "")


def test_nothing_is_printed_without_records():
    assert tables_of("columns", []) == []
