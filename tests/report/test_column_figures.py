"""Figures of columns, of records made by hand."""

import math

import numpy as np
import pytest

from histreg.study.methods import LinearRegression
from tests.report.reading import axes_of, data_of, lines_of
from tests.study.made_up import tabular_records

RECORDS = [
    *tabular_records("bike", LinearRegression(), [100.0]),
    *tabular_records(
        *("ct", LinearRegression(), [6.0, 6.2]),
        **{"train_RMSE": [8.0, 8.0], "test_RMSE": [8.0, 9.0]},
    ),
    *tabular_records("ct-385", LinearRegression(), [5.0, 5.2]),
]


def test_each_choice_of_columns_has_a_row_with_a_dot_for_each_split():
    *_, train, over_all = axes_of("columns", RECORDS)
    assert [text.get_text() for text in train.get_yticklabels()] == [
        *("384 columns", "385 columns")
    ]
    dots = [data_of(line) for line in train.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(dots, [[[6.0, 6.2], [0, 0]], [[5.0, 5.2], [1, 1]]])
    first = next(line for line in over_all.lines if line.get_marker() == "o")
    expected = [8.0, math.sqrt(0.8 * 64 + 0.2 * 81)]
    np.testing.assert_allclose(data_of(first)[0], expected)


def test_the_papers_means_are_lines_for_all_choices_of_columns():
    *_, train, over_all = axes_of("columns", RECORDS)
    assert set(lines_of(train)["the paper's mean"].get_xdata()) == {6.073}
    x = lines_of(over_all)["the paper's mean"].get_xdata()
    assert x == pytest.approx([8.23557] * 2, abs=1e-5)


def test_each_data_set_has_a_row_of_its_own():
    titles = [ax.get_title() for ax in axes_of("columns", RECORDS)]
    assert titles == ["Bike Sharing"] * 2 + ["CT Position"] * 2


def test_what_the_paper_does_not_have_has_no_line():
    records = tabular_records("diabetes", LinearRegression(), [50.0])
    for ax in axes_of("columns", records):
        assert "the paper's mean" not in lines_of(ax)
