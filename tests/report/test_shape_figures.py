"""Figures of targets of any shape, of records made by hand."""

import pytest

from histreg.report.experiment_figures import figure_of
from tests.report.examples import RECORDS
from tests.report.reading import axes_of, data_of, lines_of
from tests.study.made_up import shape_records


def test_marks_are_ratios_in_the_row_of_their_table():
    heavy, light = axes_of("shapes", RECORDS["shapes"])
    labels = [text.get_text() for text in heavy.get_yticklabels()]
    assert labels == ["Pareto", "Bike Sharing"]
    assert list(heavy.get_yticks()) == [2, 1]
    (ratios, heights) = data_of(lines_of(heavy)["CatBoost"])
    assert ratios.tolist() == [pytest.approx(0.5), 1.25]
    assert heights.round().tolist() == [2, 1] and (heights < [2, 1]).all()
    (ratios, heights) = data_of(lines_of(heavy)["auto bins"])
    assert ratios.tolist() == [pytest.approx(8**-0.5)]
    assert heights.round().tolist() == [2] and (heights > 2).all()  # ours lie above
    assert "other spacings" in lines_of(heavy)
    assert [text.get_text() for text in light.get_yticklabels()] == ["Diabetes"]
    assert heavy.get_xscale() == "log"


def test_uniform_bins_are_the_line_and_no_mark():
    heavy, _ = axes_of("shapes", RECORDS["shapes"])
    assert "uniform bins" not in lines_of(heavy)
    assert any(list(line.get_xdata()) == [1.0, 1.0] for line in heavy.lines)


def test_what_is_far_behind_is_told_and_not_drawn():
    heavy, _ = axes_of("shapes", RECORDS["shapes"])
    assert [text.get_text() for text in heavy.texts] == ["NGBoost 10 →"]
    assert data_of(lines_of(heavy)["NGBoost"])[0].size == 0


def test_without_uniform_bins_there_is_nothing_to_compare_with():
    with pytest.raises(ValueError, match="must have a table with uniform bins"):
        figure_of("shapes", shape_records("pareto", "CatBoost", [1.0]))
