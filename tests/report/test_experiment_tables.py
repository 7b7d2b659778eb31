"""The study's tables, whichever they are, of records made by hand."""

import pytest

from histreg.report.experiment_tables import tables_of
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.methods import (
    L1,
    L2,
)
from tests.report.reading import (
    one,
    rows,
)
from tests.study.made_up import tabular_records

MAE = ("test MAE",)


def test_each_data_set_has_one_table_in_whichever_order_records_come():
    records = [
        *tabular_records("pole", L2(), [1.0]),
        *tabular_records("bike", L2(), [30.0]),
        *tabular_records("pole", L1(), [2.0]),
        *tabular_records("bike", L1(), [31.0]),
    ]
    pole, bike = tables_of("overall", records, MAE)
    assert pole.title == "Overall results: Pole"
    assert bike.title == "Overall results: Bike Sharing"
    assert [list(rows(each)) for each in (pole, bike)] == [["l2", "l1"]] * 2
    assert rows(bike)["l1"][0] == "31.000"


def test_the_number_of_seeds_is_told_with_its_spread():
    records = [
        *tabular_records("diabetes", L2(), [1.0, 2.0, 3.0]),
        *tabular_records("diabetes", L1(), [1.0]),
    ]
    assert one("overall", records).notes[0].endswith("over 1 to 3 seeds.")
    assert one("overall", records[:3]).notes[0].endswith("over 3 seeds.")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_without_records_there_are_no_rows(name):
    assert all(len(table.rows) == 0 for table in tables_of(name, []))


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_tables_without_records_can_be_shown(name, form):
    for table in tables_of(name, []):
        assert table.title in table.shown(form)


def test_a_table_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="table must be one of 'sines', "):
        tables_of("overal", [])
