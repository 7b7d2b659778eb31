"""Table runs: what identifies them, and how long they take."""

from histreg.study.tables.peers import PEERS
from histreg.study.tables.runs import EXPECTED_S, TableRun
from histreg.study.tables.splits import LAST
from tests.study.descriptions import run_of


def test_a_description_gives_the_run_again():
    run = TableRun("yacht", "CatBoost", 1)
    assert run_of(run.to_json()) == run
    assert run.moved_to("wage") == TableRun("wage", "CatBoost", 1)
    assert run.label == "yacht, CatBoost, fold 1"


def test_records_of_the_last_fold_are_apart():
    assert TableRun("yacht", "CatBoost", 3).folder == ("yacht", "CatBoost")
    last = TableRun("yacht", "CatBoost", LAST)
    assert last.folder == ("last fold", "yacht", "CatBoost")
    assert last.label == "yacht, CatBoost, last fold"


def test_larger_tables_are_expected_to_take_longer():
    names = ("yacht", "wage", "flchain", "cpssw8")  # of 4 to 8 columns
    expected = [TableRun(name, "CatBoost", 0).expected_s for name in names]
    assert expected == sorted(expected)


def test_every_method_has_an_expected_time():
    assert EXPECTED_S.keys() == PEERS.keys()
