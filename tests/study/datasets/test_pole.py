import numpy as np
import pytest

from histreg.study.datasets.pole import FEATURES, parse


def test_tabs_separate_and_the_target_is_last():
    content = "\t".join([*FEATURES, "target"]) + "\n" + "\t".join(["2.0"] * 48 + ["10"])
    table = parse(content.encode())
    np.testing.assert_array_equal(table.X, np.full((1, 48), 2.0))
    np.testing.assert_array_equal(table.y, [10])


def test_a_file_with_26_features_is_refused():
    content = "\t".join([*FEATURES[:26], "target"]) + "\n"
    with pytest.raises(ValueError, match="must have 49 columns, got 27"):
        parse(content.encode())


def test_the_real_file_is_as_told(real):
    table = real("pole")
    assert table.X.shape == (15_000, 48)
    assert np.count_nonzero(np.ptp(table.X, axis=0) == 0) == 22
    values, counts = np.unique(table.y, return_counts=True)
    np.testing.assert_array_equal(values, np.arange(0, 101, 10))
    # Counted in another copy of the data.
    expected = [9342, 315, 302, 301, 252, 299, 254, 284, 283, 363, 3005]
    np.testing.assert_array_equal(counts, expected)


def test_least_squares_gives_the_papers_errors(real, least_squares_errors):
    found = least_squares_errors(real("pole"), n_splits=5)
    # The paper's Linear regression: train MAE, RMSE; test MAE, RMSE. One split has
    # sd 0.06 (train) and 0.23 (test), so the difference of two means of five 0.04 and
    # 0.15; three of these.
    np.testing.assert_allclose(found[:2], [26.52, 30.42], atol=0.12)
    np.testing.assert_allclose(found[2:], [26.66, 30.57], atol=0.45)
