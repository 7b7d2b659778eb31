"""Columns of a table become a network's inputs."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy.stats import norm, rankdata

from histreg.columns import UNKNOWN, LabelCodes, NumberScaling, kinds_of, read_frame

DAY_S = 86400.0


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "real": [0.5, np.nan, 2.5],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "truth": [True, False, True],
            "day": pd.to_datetime(["1970-01-02", None, "1970-01-03"]),
            "text": ["a", None, "b"],
            "category": pd.Categorical([10, 20, 10]),
            "mixed": np.array(["x", 1, None], dtype=object),
        }
    )


def polars_frame() -> pl.DataFrame:
    day = pl.Series(["1970-01-02", None, "1970-01-03"]).str.to_date()
    return pl.DataFrame(
        {
            "whole": [1, 2, 3],
            "real": [0.5, None, 2.5],
            "nullable": [1, None, 3],
            "truth": [True, False, True],
            "day": day,
            "text": ["a", None, "b"],
            "category": pl.Series(["10", "20", "10"], dtype=pl.Categorical),
            "mixed": ["x", "1", None],
        }
    )


@pytest.mark.parametrize("frame", [pandas_frame(), polars_frame()], ids=["pd", "pl"])
def test_frames_of_both_libraries_read_the_same(frame):
    kinds = kinds_of(frame)
    assert kinds == ("number",) * 5 + ("label",) * 3
    table = read_frame(frame, kinds)
    nan = np.nan
    expected = [[1, 0.5, 1, 1, DAY_S], [2, nan, nan, 0, nan], [3, 2.5, 3, 1, 2 * DAY_S]]
    np.testing.assert_array_equal(table.numbers, expected)
    assert table.labels.tolist() == [
        ["a", "10", "x"],
        [None, "20", "1"],
        ["b", "10", None],
    ]


def test_a_label_is_the_same_in_any_type():
    for column in ([3, 4], [3.0, 4.0], ["3", "4"], pd.Categorical([3, 4])):
        table = read_frame(pd.DataFrame({"a": column}), ("label",))
        assert table.labels[:, 0].tolist() == ["3", "4"]


def test_text_where_numbers_were_is_refused_by_name():
    frame = pd.DataFrame({"size": ["12", "large"]})
    with pytest.raises(ValueError, match=r"column 'size' must hold numbers.*'large'"):
        read_frame(frame, ("number",))
    readable = pd.DataFrame({"size": ["12", "13"]})
    assert read_frame(readable, ("number",)).numbers[:, 0].tolist() == [12.0, 13.0]


def test_few_values_become_the_normal_scores_of_their_middle_ranks():
    column = np.array([5.0, 1.0, 1.0, 9.0, 5.0, 5.0])
    scaled = NumberScaling.of(column[:, None])(torch.tensor(column[:, None]))
    # rankdata gives the average of tied ranks, from 1.
    scores = norm.ppf((rankdata(column) - 0.5) / len(column))
    expected = (scores - scores.mean()) / scores.std()
    np.testing.assert_allclose(scaled[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_many_values_of_any_scale_come_out_standard_normal(offset, scale, generator):
    x = torch.randn(5000, 1, generator=generator, dtype=torch.float64).exp()
    x = offset + scale * x
    scaled = NumberScaling.of(x.numpy())(x)[:, 0].double()
    if offset / scale > 1e14:
        return  # float64 cannot tell the values apart
    assert scaled.mean().abs() < 1e-4 and (scaled.std() - 1).abs() < 1e-3
    # Linear between 64 knots: quantiles within the spacing of the knots.
    for level in (0.1, 0.5, 0.9):
        assert abs(scaled.quantile(level).item() - norm.ppf(level)) < 0.06


def test_scaling_is_monotone_and_constant_beyond_the_ends():
    x = np.random.default_rng(0).gamma(0.5, size=(300, 1))
    scaling = NumberScaling.of(x)
    grid = torch.linspace(-10, 100, 5001, dtype=torch.float64)[:, None]
    scaled = scaling(grid)[:, 0]
    assert (scaled.diff() >= 0).all()
    lowest, highest = scaling(torch.tensor([[x.min()], [x.max()]]))[:, 0]
    assert scaled[0] == lowest and scaled[-1] == highest


def test_missing_values_become_zero_and_are_flagged():
    x = np.array([[1.0, 5.0], [2.0, np.nan], [4.0, 6.0]])
    scaling = NumberScaling.of(x)
    assert scaling.n_outputs == 3
    scaled = scaling(torch.tensor(x))
    assert scaled[1, 1] == 0
    assert scaled[:, 2].tolist() == [0, 1, 0]
    # A gap in a column that had none: the value of the middle, and no flag for it.
    later = scaling(torch.tensor([[np.nan, 5.5]]))
    assert later[0].tolist()[0] == 0 and later.isfinite().all()


def test_columns_without_information_are_dropped():
    x = np.array([[1.0, np.nan, 3.0], [1.0, np.nan, 4.0]])
    scaling = NumberScaling.of(x)
    assert scaling(torch.tensor(x)).shape == (2, 1)
    assert NumberScaling.of(x[:, :2])(torch.tensor(x[:, :2])).shape == (2, 0)


def test_comparing_finds_the_same_knots_as_searching(generator):
    x = torch.randn(400, 3, generator=generator, dtype=torch.float64)
    x[::7, 1] = torch.nan
    scaling = NumberScaling.of(x.numpy())
    probe = torch.cat([x, 3 * x, scaling.knots[:, :50].T])
    torch.testing.assert_close(
        scaling(probe, by_search=False), scaling(probe), rtol=0, atol=0
    )


def test_labels_are_counted_off_by_frequency_and_others_are_unknown():
    labels = np.array([["b"], ["a"], ["b"], ["a"], ["b"], ["once"], [None]], object)
    codes = LabelCodes.of(labels)
    assert codes.levels == (("b", "a"),) and codes.n_codes == (3,)
    seen = codes(np.array([["a"], ["b"], ["once"], ["new"], [None]], object))
    assert seen[:, 0].tolist() == [2, 1, UNKNOWN, UNKNOWN, UNKNOWN]
    assert LabelCodes(codes.levels)(labels).tolist() == codes(labels).tolist()


def test_every_way_to_say_missing_is_understood():
    frame = pd.DataFrame(
        {
            "text": pd.array(["a", pd.NA, "b"], dtype="string"),
            "object": pd.Series([1.5, pd.NA, None], dtype=object),
        }
    )
    assert kinds_of(frame) == ("label", "label")
    table = read_frame(frame, ("label", "number"))
    assert table.labels[:, 0].tolist() == ["a", None, "b"]
    np.testing.assert_array_equal(table.numbers[:, 0], [1.5, np.nan, np.nan])


def test_times_of_any_zone_are_instants():
    times = pd.to_datetime(["1970-01-01 02:00", None]).tz_localize("Europe/Berlin")
    table = read_frame(pd.DataFrame({"t": times}), ("number",))
    np.testing.assert_array_equal(table.numbers[:, 0], [3600.0, np.nan])
    length = pd.DataFrame({"t": pd.to_timedelta(["1 min", None])})
    np.testing.assert_array_equal(
        read_frame(length, ("number",)).numbers[:, 0], [60.0, np.nan]
    )
