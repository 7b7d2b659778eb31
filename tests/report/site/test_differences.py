"""Explained differences: each is about numbers of the paper, and says where to look."""

import re

import pytest

from histreg.report.site.differences import (
    UNEXPLAINED,
    Difference,
    differences,
    explanation_of,
)
from histreg.report.site.inconsistencies import inconsistencies
from histreg.study.analysis.paper import paper_cells
from histreg.study.claims import Evidence
from tests.pages import ROOT


@pytest.mark.parametrize("entry", differences(), ids=lambda entry: entry.explanation)
def test_an_explanation_is_about_cells_of_the_paper(entry):
    cells = [cell for cell in paper_cells() if entry.explains(cell)]
    assert {cell.dataset for cell in cells} == set(entry.datasets)
    assert {cell.row[2] for cell in cells} == set(entry.methods)
    assert set(entry.metrics) <= {cell.metric for cell in cells}
    assert {cell.architecture for cell in cells} == set(entry.models or ("",))


@pytest.mark.parametrize("entry", differences(), ids=lambda entry: entry.explanation)
def test_an_explanation_leads_to_what_shows_it(entry):
    names = {known.name for known in inconsistencies(Evidence([]))}
    for place in entry.see.split(", "):
        is_known = place in names if re.fullmatch(r"I\d+", place) else False
        assert is_known or (ROOT / place).is_file(), place


def test_no_cell_has_two_explanations():
    for cell in paper_cells():
        assert sum(entry.explains(cell) for entry in differences()) <= 1, cell


def test_what_has_no_entry_is_unexplained():
    explained = [cell for cell in paper_cells() if explanation_of(cell) != UNEXPLAINED]
    entries = differences()
    assert all(any(e.explains(cell) for e in entries) for cell in explained)
    assert 0 < len(explained) < len(paper_cells())


def test_conditions_hold_together():
    models, metrics = ("Linear",), ("test MSE",)
    entry = Difference(("ETTm2",), ("l2",), "Because.", "I32", models, metrics)
    (found,) = [cell for cell in paper_cells() if entry.explains(cell)]
    assert (found.table, found.row) == (4, ("ETTm2", "Linear", "l2"))
