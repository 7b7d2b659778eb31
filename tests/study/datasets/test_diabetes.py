import numpy as np

from histreg.study.datasets.diabetes import DIABETES


def test_it_needs_no_file(tmp_path):
    assert DIABETES.is_embedded
    assert DIABETES.find(tmp_path) is None
    assert DIABETES.load().X.shape == (442, 10)


def test_the_units_are_its_own():
    table = DIABETES.load()
    # The first patient in the table of Efron et al. (2004): age 59, sex 2, bmi 32.1,
    # bp 101; y 151.
    np.testing.assert_array_equal(table.X[0, :4], [59, 2, 32.1, 101])
    assert table.y[0] == 151
    assert table.columns[:4] == ("age", "sex", "bmi", "bp")
    assert (table.y.min(), table.y.max()) == (25, 346)
