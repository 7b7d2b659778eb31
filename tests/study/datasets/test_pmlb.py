import pytest

from histreg.study.datasets.pmlb import table_of


def test_the_last_column_is_the_target_and_no_feature():
    table = table_of(b"a\tb\ttarget\n1\t2\t3\n4\t5\t6.5\n", ("a", "b"))
    assert table.X.tolist() == [[1, 2], [4, 5]]
    assert table.y.tolist() == [3, 6.5]
    assert table.columns == ("a", "b")


def test_a_file_without_the_target_is_refused():
    with pytest.raises(ValueError, match="must have a column 'target', got 'c'"):
        table_of(b"a\tb\tc\n1\t2\t3\n", ("a", "b"))
