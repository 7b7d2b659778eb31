import numpy as np

from histreg.study.datasets.california import FEATURES, parse

# The first row of the file, by eye.
ROW = "8.3252\t41.0\t880.0\t129.0\t322.0\t126.0\t37.88\t-122.23\t452600.0"
CONTENT = ("\t".join((*FEATURES, "target")) + f"\n{ROW}\n").encode()


def test_a_row_is_read_as_it_stands():
    table = parse(CONTENT)
    np.testing.assert_array_equal(
        table.X, [[8.3252, 41, 880, 129, 322, 126, 37.88, -122.23]]
    )
    np.testing.assert_array_equal(table.y, [452_600])


def test_the_real_file_is_as_told(real):
    table = real("california")
    assert table.X.shape == (20_640, 8)
    assert (table.y.min(), table.y.max()) == (14_999, 500_001)
    # Those at the cut, and those just below it that were not.
    assert np.mean(table.y >= 500_000) == 992 / 20_640
