import numpy as np
import pytest

from histreg.study.datasets.ct import COLUMNS, parse

ROW = [7, *range(384), 42.5]
CONTENT = "\n".join([",".join(COLUMNS), ",".join(map(str, ROW)), ""]).encode()


def test_the_patient_is_a_group_and_no_feature():
    table = parse(CONTENT)
    np.testing.assert_array_equal(table.X, [np.arange(384.0)])
    np.testing.assert_array_equal(table.y, [42.5])
    np.testing.assert_array_equal(table.groups, [7])
    assert table.groups.dtype == np.int64
    assert table.columns[0] == "value0" and table.columns[-1] == "value383"


def test_a_file_without_the_patients_is_refused():
    first, _, rest = CONTENT.partition(b",")
    assert first == b"patientId"
    with pytest.raises(ValueError, match="must have 386 columns, got 385"):
        parse(rest)


# One test, so that the 81 MB are read once, whichever process gets it.
def test_the_real_file_is_as_told(real):
    table = real("ct")
    assert table.X.shape == (53_500, 384) and table.X.dtype == np.float64
    assert (table.y.min(), table.y.max()) == (1.738733, 97.489115)
    assert np.count_nonzero(np.ptp(table.X, axis=0) == 0) == 5
    assert len(np.unique(table.groups)) == 97
    # The nearest other slice is the same patient's for 99 of these 100, which is what
    # a random split gives away; 90 leaves room for another sample, by far.
    some = np.random.default_rng(0).choice(len(table.y), 100, replace=False)
    squares = np.square(table.X).sum(axis=1)  # (n,)
    distance = squares - 2 * table.X[some] @ table.X.T  # (100, n), less a constant
    distance[np.arange(100), some] = np.inf
    nearest = distance.argmin(axis=1)  # (100,)
    assert np.count_nonzero(table.groups[nearest] == table.groups[some]) > 90
