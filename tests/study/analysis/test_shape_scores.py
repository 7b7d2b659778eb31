"""Shape scores, of records made by hand."""

import math

import pytest

from histreg.study.analysis.shape_scores import CRPS, ShapeScores
from histreg.study.shapes.tables import UNIFORM_BINS
from tests.study.made_up import shape_records

AUTO = "auto bins"


def of(*records):
    return ShapeScores.of([each for some in records for each in some])


def test_a_ratio_is_the_geometric_mean_over_the_seeds_that_both_have():
    scores = of(
        shape_records("pareto", UNIFORM_BINS, [1.0, 2.0]),
        shape_records("pareto", AUTO, [4.0, 2.0, 100.0]),
    )
    assert scores.ratio("pareto", AUTO, CRPS) == pytest.approx(2.0)  # of 4 and 1
    assert scores.ratio("pareto", UNIFORM_BINS, CRPS, AUTO) == pytest.approx(0.5)
    assert math.isnan(scores.ratio("pareto", "CatBoost", CRPS))
    assert math.isnan(scores.ratio("bike", AUTO, CRPS))


def test_a_mean_over_tables_is_geometric_and_needs_them_all():
    scores = of(
        shape_records("pareto", UNIFORM_BINS, [1.0]),
        shape_records("pareto", AUTO, [4.0]),
        shape_records("bike", UNIFORM_BINS, [4.0]),
        shape_records("bike", AUTO, [4.0]),
    )
    assert scores.mean_ratio(["pareto", "bike"], AUTO, CRPS) == pytest.approx(2.0)
    assert math.isnan(scores.mean_ratio(["pareto", "pole"], AUTO, CRPS))


def test_heavy_tails_come_first_and_predictors_in_the_order_they_are_known():
    scores = of(
        shape_records("diabetes", "NGBoost", [1.0]),
        shape_records("bike", AUTO, [1.0]),
        shape_records("pareto", UNIFORM_BINS, [1.0]),
    )
    assert scores.tables == ["pareto", "bike", "diabetes"]
    assert scores.methods == [UNIFORM_BINS, AUTO, "NGBoost"]
    assert [each.label for each in scores.of_table("bike")] == [AUTO]


def test_nobody_is_best_before_all_have_all_seeds():
    some = of(
        shape_records("bike", "CatBoost", [1.0, 5.0, 1.0]),
        shape_records("bike", "NGBoost", [3.0, 3.0]),
    )
    assert some.best("bike", ["CatBoost", "NGBoost"]) is None
    whole = of(
        shape_records("bike", "CatBoost", [1.0, 5.0, 1.0]),
        shape_records("bike", "NGBoost", [3.0, 3.0, 3.0]),
    )
    assert whole.best("bike", ["CatBoost", "NGBoost"]) == "CatBoost"
