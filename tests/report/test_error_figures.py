"""Figures of errors as dots, of records made by hand."""

import pytest
from matplotlib.colors import to_hex

from histreg.report.colours import BLUE
from histreg.report.experiment_figures import figure_of
from histreg.study.methods import (
    L1,
    L2,
    MDN,
    HLGauss,
    HLOneBin,
    LinearRegression,
)
from tests.report.examples import (
    REPRESENTATION,
)
from tests.report.reading import axes_of, ours_of, papers_of
from tests.study.made_up import tabular_records


def test_ours_are_filled_and_the_papers_open_marks():
    records = [
        *tabular_records("pole", L2(), [1.0, 1.2]),
        *tabular_records("pole", HLGauss(), [0.7, 0.8]),
        *tabular_records("pole", HLOneBin(shift_in_bins=0.5), [0.6, 0.6]),
    ]
    mae, rmse = figure_of("overall", records).axes
    shifted = "HL-OneBin (shift_in_bins=0.5)"
    expected = {"l2": 1.1, "HL-Gauss": 0.75, shifted: 0.6}
    assert ours_of(mae) == pytest.approx(expected)
    # Table 7; the grid that is moved is none of the paper's.
    assert papers_of(mae) == {"l2": 1.131, "HL-Gauss": 0.714}
    faces = {line.get_marker(): line.get_markerfacecolor() for line in mae.lines}
    assert to_hex(faces["o"]) == BLUE
    assert faces["D"] == "white"
    assert "test MAE" in mae.get_xlabel() and "test RMSE" in rmse.get_xlabel()
    assert mae.get_title() == "Pole"


def test_the_axis_explains_open_marks_only_if_there_are_any():
    (mae, _) = figure_of("overall", tabular_records("diabetes", L2(), [1.0])).axes
    assert papers_of(mae) == {}  # the paper has no diabetes
    assert mae.get_xlabel() == "test MAE"


def test_error_bars_are_one_standard_error_long():
    (mae, _) = figure_of("overall", tabular_records("diabetes", L2(), [1.0, 2.0])).axes
    (bar,) = mae.collections
    ((start, _), (end, _)) = bar.get_segments()[0]
    assert (start, end) == pytest.approx((1.0, 2.0))  # 1.5 ± 0.5


def test_each_data_set_has_a_row_of_drawings():
    records = [
        *tabular_records("pole", L2(), [1.0]),
        *tabular_records("bike", L2(), [30.0]),
    ]
    titles = [ax.get_title() for ax in figure_of("overall", records).axes]
    assert titles == ["Pole", "Pole", "Bike Sharing", "Bike Sharing"]


VALIDATED = [
    *tabular_records("diabetes", MDN(2), [1.0]),
    *tabular_records("diabetes", MDN(4), [2.0]),
    *tabular_records("diabetes", MDN(2), [0.9], part="validation"),
    *tabular_records("diabetes", MDN(4), [0.8], part="validation"),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("overall", {"MDN (n_components=2)": 1.0}),
        ("overall-validation", {"MDN (n_components=4)": 2.0}),
    ],
)
def test_settings_are_chosen_as_in_the_table_of_that_name(name, expected):
    mae, _ = figure_of(name, VALIDATED).axes
    assert ours_of(mae) == expected


def test_without_a_choice_all_settings_are_drawn():
    mae, _ = figure_of("projected", VALIDATED).axes
    assert len(ours_of(mae)) == 2


def test_linear_regression_is_left_out():
    records = [
        *tabular_records("diabetes", LinearRegression(), [40.0]),
        *tabular_records("diabetes", L2(), [4.0]),
    ]
    mae, _ = figure_of("overall", records).axes
    assert ours_of(mae) == {"l2": 4.0}


def test_with_linear_regression_alone_nothing_is_drawn():
    records = tabular_records("diabetes", LinearRegression(), [40.0])
    mae, _ = figure_of("overall", records).axes
    assert len(mae.lines) == 0


def test_a_failure_is_named_at_the_edge_and_leaves_the_scale_to_the_others():
    records = [
        *tabular_records("pole", L2(), [1.0]),
        *tabular_records("pole", L1(), [0.9]),
        *tabular_records("pole", HLGauss(), [0.8]),
        *tabular_records("pole", HLOneBin(), [28.94]),
    ]
    mae, _ = figure_of("overall", records).axes
    (told,) = mae.texts
    assert told.get_text().startswith("28.94")
    low, high = mae.get_xlim()
    assert high < 28
    for mark in (1.0, 0.9, 0.8, *papers_of(mae).values()):
        assert low < mark < high


def test_methods_that_are_equal_but_for_a_failure_have_a_scale():
    records = [
        *tabular_records("diabetes", L2(), [1.0]),
        *tabular_records("diabetes", L1(), [1.0]),
        *tabular_records("diabetes", HLGauss(), [9.0]),
    ]
    low, high = figure_of("overall", records).axes[0].get_xlim()
    assert low < 1.0 < high < 9.0


def test_without_a_failure_all_are_in_the_scale():
    records = [
        *tabular_records("diabetes", L2(), [1.0]),
        *tabular_records("diabetes", L1(), [2.9]),
    ]
    mae, _ = figure_of("overall", records).axes
    low, high = mae.get_xlim()
    assert low < 1.0 and high > 2.9
    assert len(mae.texts) == 0


def test_exchanged_bodies_are_drawn_by_column_beside_table_9():
    mae, _ = axes_of("representation", REPRESENTATION)
    ours, papers = ours_of(mae), papers_of(mae)
    assert list(ours)[:3] == ["l2 [Default]", "HL-Gauss [Default]", "l2 [Fixed]"]
    assert ours["l2 [Fixed]"] == pytest.approx(4.2)
    assert papers["l2 [Fixed]"] == 4.396
    assert ours["l2+Softmax+Mean [Random]"] == 18.5
    assert set(ours) - set(papers) == {
        "l2+Softmax+Mean [Fixed]",
        "l2+Softmax+Mean [Random]",
        "l1+Softmax+Mean [Random]",
    }
    assert mae.get_xscale() == "log"
    assert len(mae.texts) == 0  # nothing is a failure to be left out
