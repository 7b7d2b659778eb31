"""Tables of our regressor beside its peers, of records made by hand."""

import pytest

from histreg.report.experiment_tables import tables_of
from tests.report.examples import RECORDS
from tests.report.reading import rows

BEHIND = "CRPS nowhere more than 3% above the best peer's"


@pytest.fixture(scope="module")
def printed():
    return {
        table.title.split(": ")[1]: table
        for table in tables_of("tables", RECORDS["tables"])
    }


def test_peers_have_geometric_means_over_the_tables_that_both_have(printed):
    found = rows(printed["ours over each peer"])
    # 1 / 2 and 4 / 2; fits take 3 and 8 times as long.
    assert found["CatBoost"][:2] == ("2", "1.000")
    assert found["CatBoost"][-4:] == ("1", "2.000 wage", "5.5", "1")
    assert found["RealMLP"][:2] == ("1", "0.800")
    assert found["RealMLP"][-2] == "0.25"
    assert list(found) == ["CatBoost", "RealMLP", "constant"]


def test_ratios_are_by_table_beside_the_best_peer(printed):
    table = printed["CRPS of ours over each peer"]
    assert table.header == (
        *("table", "best peer", "rows", "CatBoost", "RealMLP", "constant", "best"),
    )
    found = rows(table)
    assert found["yacht"] == ("CatBoost", "308", "0.500", "", "0.100", "0.500")
    assert found["wage"] == ("CatBoost", "3,000", "2.000", "0.800", "0.400", "2.000")
    assert found["geometric mean"][2:] == ("1.000", "0.800", "0.200", "1.000")
    assert "slid" not in found  # it has no record of ours


def test_methods_are_counted_where_they_are_best(printed):
    found = rows(printed["methods"])
    assert found["HistogramRegressor"][:3] == ("2", "1", "0.200")
    assert found["CatBoost"][:2] == ("2", "1")
    assert found["constant"][:3] == ("3", "1", "1.000")
    assert found["constant"][5] == "0.90 to 0.90"


def test_the_lowest_crps_is_marked(printed):
    found = rows(printed["CRPS"])
    assert found["yacht"] == ("1*", "2", "", "10")
    assert found["slid"] == ("", "", "", "3*")


def test_goals_that_need_other_runs_are_not_judged(printed):
    found = rows(printed["the goals"])
    # Ours has twice the CRPS of a peer on a table, whatever other peers would have.
    assert found.pop(BEHIND)[1] == "missed"
    assert {verdict for _, verdict in found.values()} == {"not judged"}


def test_without_ours_there_are_the_methods_and_their_crps():
    others = [r for r in RECORDS["tables"] if r.run.method != "HistogramRegressor"]
    titles = [table.title.split(": ")[1] for table in tables_of("tables", others)]
    assert titles == ["methods", "CRPS"]
    assert tables_of("tables", []) == []


def test_the_last_fold_has_the_same_tables():
    last = tables_of("tables-last", RECORDS["tables-last"])
    assert rows(last[0])["CatBoost"][1] == "1.000"
    assert last[0].title.startswith("Public tables, last fold")
