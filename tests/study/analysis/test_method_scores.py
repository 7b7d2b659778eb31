"""Method scores, of records made by hand."""

import math
from dataclasses import dataclass

import pytest

from histreg.study.analysis.method_scores import MethodScores
from histreg.study.analysis.statistics import settings_over_seeds
from histreg.study.tables.runs import TableRun
from tests.study.made_up import table_records

CRPS = "test CRPS by quantiles"


@dataclass(frozen=True, eq=False)
class Scores(MethodScores):
    table_order = ("wage", "yacht")
    method_order = ("XGBoost", "CatBoost")


@pytest.fixture(scope="module")
def scores():
    records = [
        *table_records("yacht", "CatBoost", [1.0, 8.0]),
        *table_records("yacht", "XGBoost", [2.0, 4.0, 100.0]),
        *table_records("slid", "constant", [1.0]),
        *table_records("wage", "CatBoost", [1.0]),
    ]
    return Scores(settings_over_seeds(records, TableRun))


def test_known_names_come_in_their_order_and_then_the_others(scores):
    assert scores.tables == ["wage", "yacht", "slid"]
    assert scores.methods == ["XGBoost", "CatBoost", "constant"]
    assert [each.label for each in scores.of_table("yacht")] == ["XGBoost", "CatBoost"]


def test_a_ratio_is_the_geometric_mean_over_the_folds_that_both_have(scores):
    # 2 / 1 and 4 / 8.
    assert scores.ratio("yacht", "XGBoost", CRPS, "CatBoost") == pytest.approx(1.0)
    assert math.isnan(scores.ratio("wage", "XGBoost", CRPS, "CatBoost"))
    assert scores.values("slid", "CatBoost", CRPS) == {}
