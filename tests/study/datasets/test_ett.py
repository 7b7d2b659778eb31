"""The four series as they are on disk."""

import numpy as np
import pytest

from histreg.study.datasets import SERIES, series, source
from histreg.study.datasets.ett import CHANNELS, parse


def test_the_oil_temperature_is_a_feature_and_the_target():
    lines = ["date," + ",".join(CHANNELS), "2016-07-01 00:00:00,1,2,3,4,5,6,7"]
    table = parse("\n".join([*lines, ""]).encode())
    np.testing.assert_array_equal(table.X, [[1, 2, 3, 4, 5, 6, 7]])
    np.testing.assert_array_equal(table.y, [7])


@pytest.mark.parametrize("name", SERIES)
def test_real_series_are_as_told(name, real):
    table = real(name)
    assert table.X.shape == (series(name).n_rows, 7)
    known = series(name).rows("train")
    standard = (table.y - table.y[known].mean()) / table.y[known].std()
    # The specification's range of the standardised training targets.
    low, high = {
        "ETTh1": (-2.311, 3.147),
        "ETTh2": (-2.320, 2.725),
        "ETTm1": (-2.327, 3.149),
        "ETTm2": (-2.320, 2.726),
    }[name]
    assert standard[known].min() == pytest.approx(low, abs=6e-4)
    assert standard[known].max() == pytest.approx(high, abs=6e-4)


def test_data_sets_and_series_are_found_by_one_name():
    assert source("ETTh1") is SERIES["ETTh1"]
    assert source("pole").title == "Pole"
    with pytest.raises(ValueError, match="data set must be one of 'ct'"):
        source("moon")
    with pytest.raises(ValueError, match="series must be one of 'ETTh1'"):
        series("pole")
