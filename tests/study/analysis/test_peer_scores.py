"""Peer scores, of records made by hand."""

import math

import pytest

from histreg.study.analysis.peer_scores import PeerScores, Standing
from histreg.study.tables.metrics import CRPS, FIT_S, RMSE
from histreg.study.tables.peers import OURS
from tests.study.made_up import table_records


@pytest.fixture(scope="module")
def scores():
    return PeerScores.of(
        [
            *table_records("wage", OURS, [2.0, 2.0], fit_seconds=6.0),
            *table_records("wage", "CatBoost", [4.0, 1.0], fit_seconds=2.0),
            *table_records("wage", "XGBoost", [1.0]),  # lower, on one fold
            *table_records("yacht", OURS, [3.0]),
            *table_records("yacht", "CatBoost", [4.0, 0.1]),
            *table_records("slid", "CatBoost", [1.0]),
        ]
    )


def test_tables_are_ordered_by_their_rows_and_ours_comes_first(scores):
    assert scores.tables == ["yacht", "wage", "slid"]
    assert scores.methods == [OURS, "CatBoost", "XGBoost"]
    assert scores.peers == ["CatBoost", "XGBoost"]


def test_ratios_are_those_of_tables_that_have_both(scores):
    ratios = scores.ratios("CatBoost", CRPS)
    # 2 / 4 and 2 / 1; of yacht the first fold alone.
    assert ratios == {"wage": pytest.approx(1.0), "yacht": pytest.approx(0.75)}
    assert scores.ratios("CatBoost", RMSE) == ratios
    assert scores.ratios("CatBoost", FIT_S)["wage"] == pytest.approx(3.0)
    assert scores.ratios("TabM", CRPS) == {}


def test_the_best_peer_is_chosen_on_the_folds_that_it_shares_with_ours(scores):
    assert scores.standings() == [
        Standing("yacht", "CatBoost", pytest.approx(0.75)),
        Standing("wage", "XGBoost", pytest.approx(2.0)),
    ]


def test_the_best_method_is_ahead_of_all_others(scores):
    assert scores.best("wage") == "XGBoost"
    assert scores.best("yacht") == OURS  # its CatBoost is lower on another fold
    assert scores.best("slid") == "CatBoost"
    assert scores.mean("wage", "CatBoost", CRPS) == 2.5
    assert math.isnan(scores.mean("slid", OURS, CRPS))
    assert scores.best("machine") is None


def test_folds_are_counted_where_there_are_any(scores):
    assert scores.n_folds() == {1, 2}
