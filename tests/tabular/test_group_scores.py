"""Scores of groups of rows: which rows they are, and what chance allows."""

import numpy as np
import pytest

from histreg.tabular.group_scores import OTHER, scores_by_group
from histreg.tabular.scores import RowScores


def rows_with(covered):
    n = len(covered)
    zeros = np.zeros(n)
    covered = np.asarray(covered, dtype=float)
    return RowScores(np.arange(n) * 1.0, zeros, zeros, np.ones(n), covered, zeros)


def test_the_scores_of_a_group_are_those_of_its_rows():
    labels = np.array(["a", "b"] * 30, dtype=object)
    covered = np.where(labels == "a", 1.0, np.arange(60) < 30)
    by = scores_by_group(rows_with(covered), "kind", "label", labels)
    assert by.column == "kind"
    assert [(group.name, group.n_rows) for group in by.groups] == [("a", 30), ("b", 30)]
    assert [group.scores.coverage for group in by.groups] == [1.0, 0.5]
    assert [group.name for group in by.off] == ["b"]


def test_rare_labels_are_taken_together_and_few_rows_left_out():
    labels = np.array(["a"] * 25 + ["b"] * 12 + ["c"] * 8 + [None] * 20, dtype=object)
    by = scores_by_group(rows_with(np.ones(65)), "kind", "label", labels)
    found = [(group.name, group.n_rows) for group in by.groups]
    assert found == [("a", 25), ("missing", 20), (OTHER, 20)]
    few = scores_by_group(rows_with(np.ones(19)), "kind", "label", labels[:19])
    assert few.groups == ()


def test_numbers_are_cut_into_quarters_unless_they_have_few_values():
    values = np.arange(100.0)
    values[90:] = np.nan
    by = scores_by_group(rows_with(np.ones(100)), "x", "number", values)
    names = [group.name for group in by.groups]
    assert names == ["0 to 22", "23 to 44", "45 to 67", "68 to 89"]
    assert sum(group.n_rows for group in by.groups) == 90  # ten missing: too few
    years = np.repeat([2011.0, 2012.0], 50)
    by = scores_by_group(rows_with(np.ones(100)), "year", "number", years)
    assert [group.name for group in by.groups] == ["2,011", "2,012"]


def test_times_are_named_by_their_days():
    seconds = 86_400.0 * np.arange(100) + 3600
    by = scores_by_group(rows_with(np.ones(100)), "day", "time", seconds)
    assert by.groups[0].name == "1970-01-01 to 1970-01-25"


@pytest.mark.parametrize("n_groups", [1, 10])
def test_one_group_of_a_calibrated_model_is_off_in_at_most_5_percent_of_tables(
    n_groups,
):
    """Of 400 tables, 20 are expected; more than 50 have a probability of 1e-9."""
    rng = np.random.default_rng(0)
    labels = np.repeat([f"g{i}" for i in range(n_groups)], 200).astype(object)
    n_off = 0
    for _ in range(400):
        covered = rng.random(len(labels)) < 0.9
        n_off += bool(scores_by_group(rows_with(covered), "g", "label", labels).off)
    assert n_off <= 50
