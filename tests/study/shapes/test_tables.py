"""The tables of the experiment on shapes."""

from histreg.study.datasets import TABLES
from histreg.study.shapes.tables import HEAVY, LIGHT, NOT_POSITIVE


def test_every_table_is_known_and_has_one_kind_of_tail():
    assert not set(HEAVY) & set(LIGHT)
    assert {*HEAVY, *LIGHT} <= TABLES.keys()
    assert set(NOT_POSITIVE) <= {*HEAVY, *LIGHT}
