"""Figures of our regressor beside its peers, of records made by hand."""

import pytest

from histreg.report.experiment_figures import figure_of
from tests.report.examples import RECORDS
from tests.report.reading import axes_of, data_of, lines_of
from tests.study.made_up import table_records


def test_each_table_is_a_dot_in_the_row_of_the_peer():
    crps, rmse = axes_of("tables", RECORDS["tables"])
    assert [text.get_text() for text in crps.get_yticklabels()] == [
        *("CatBoost", "RealMLP", "constant"),
    ]
    assert list(crps.get_yticks()) == [3, 2, 1]
    for ax in (crps, rmse):  # errors are twice the CRPS in all of them
        ratios, heights = data_of(lines_of(ax)["below 1,000 rows"])  # yacht
        assert ratios.tolist() == [0.5, 0.4]  # 0.1 lies beyond the edge
        assert heights.round().tolist() == [3, 1]
        ratios, heights = data_of(lines_of(ax)["1,000 rows and more"])  # wage
        assert ratios.tolist() == [1.6, 0.8, pytest.approx(0.4)]  # 2 lies beyond
        assert heights.round().tolist() == [3, 2, 1]
        assert ax.get_xscale() == "log"


def test_bars_are_geometric_means():
    crps, _ = axes_of("tables", RECORDS["tables"])
    bars = [line for line in crps.lines if line.get_label() == "geometric mean"]
    means = [line.get_xdata()[0] for line in bars]
    assert means == pytest.approx([1.0, 0.8, 0.4])  # the last on the edge, of 0.2


def test_without_ours_there_is_nothing_to_compare_with():
    with pytest.raises(ValueError, match="must have a table with HistogramRegressor"):
        figure_of("tables", table_records("wage", "CatBoost", [1.0]))
