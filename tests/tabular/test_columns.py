"""Columns of a table become a network's inputs."""

from datetime import date, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy.stats import norm, rankdata

from histreg.errors import InputError
from histreg.tabular.columns import (
    CALENDAR,
    INSTANT,
    NUMBER_OR_TIME,
    UNKNOWN,
    LabelCodes,
    NumberScaling,
    calendar,
    described_kinds,
    is_derived,
    kinds_of,
    n_numbers,
    read_frame,
)

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
    assert kinds == (*["number"] * 4, "time", *["label"] * 3)
    table = read_frame(frame, kinds)
    nan = np.nan
    expected = [[1, 0.5, 1, 1, DAY_S], [2, nan, nan, 0, nan], [3, 2.5, 3, 1, 2 * DAY_S]]
    np.testing.assert_array_equal(table.numbers[:, :5], expected)
    assert table.numbers.shape[1] == n_numbers(kinds) == 4 + len(CALENDAR)
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
    assert scaled.mean().abs() < 1e-4 and (scaled.std() - 1).abs() < 1e-3
    # Linear between 64 knots: quantiles within the spacing of the knots. Near 1e9
    # float64 rounds to 1.2e-7, which leaves 121 values of the smallest scale and ties.
    allowed = 0.06 if len(x.unique()) > 1000 else 0.25
    for level in (0.1, 0.5, 0.9):
        assert abs(scaled.quantile(level).item() - norm.ppf(level)) < allowed


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
    assert kinds_of(frame) == ("label", "number")
    table = read_frame(frame, ("label", "number"))
    assert table.labels[:, 0].tolist() == ["a", None, "b"]
    np.testing.assert_array_equal(table.numbers[:, 0], [1.5, np.nan, np.nan])


def test_times_of_any_zone_are_instants():
    times = pd.to_datetime(["1970-01-01 02:00", None]).tz_localize("Europe/Berlin")
    table = read_frame(pd.DataFrame({"t": times}), ("time",))
    np.testing.assert_array_equal(table.numbers[:, 0], [3600.0, np.nan])
    length = pd.DataFrame({"t": pd.to_timedelta(["1 min", None])})
    np.testing.assert_array_equal(
        read_frame(length, ("duration",)).numbers[:, 0], [60.0, np.nan]
    )


def test_the_calendar_is_that_of_pandas():
    times = pd.Series(pd.date_range("1899-12-30 01:00", "2101-03-01", freq="997h"))
    seconds = torch.tensor(((times - pd.Timestamp(0)).dt.total_seconds()).to_numpy())
    numbers = dict(zip(CALENDAR, calendar(seconds).numpy().T, strict=True))
    np.testing.assert_array_equal(numbers["time"], seconds)
    clock = times.dt.hour * 60 + times.dt.minute
    np.testing.assert_allclose(numbers["time of day"] * 24 * 60, clock, atol=1e-6)
    np.testing.assert_allclose(numbers["weekday"] * 7, times.dt.day_of_week, atol=1e-9)
    # Leap years shift the phase of a date, by less than two days of the year.
    off = numbers["day of year"] * 365.2425 - (times.dt.day_of_year - 1)
    off = np.minimum(off.abs(), 365.2425 - off.abs())
    assert off.max() < 2
    for name in ("time of day", "weekday", "day of year"):
        angle = 2 * np.pi * numbers[name]
        # Rounded to 2**-30, about 1e-9.
        np.testing.assert_allclose(numbers[f"sine of {name}"], np.sin(angle), atol=1e-9)
        np.testing.assert_allclose(
            numbers[f"cosine of {name}"], np.cos(angle), atol=1e-9
        )
    assert calendar(torch.tensor(float("nan"))).isnan().all()


def test_gaps_of_a_time_are_flagged_once_and_dates_have_no_time_of_day():
    days = pd.date_range("2020-01-01", periods=60, freq="D").to_series()
    days.iloc[::7] = pd.NaT
    kinds = ("time",)
    table = read_frame(pd.DataFrame({"day": days}), kinds)
    scaling = NumberScaling.of(table.numbers, is_derived=is_derived(kinds))
    kept = [CALENDAR[i] for i in scaling.kept]
    assert [name for name in CALENDAR if "time of day" not in name] == kept
    assert scaling.flagged.tolist() == [0]


DATES = [date(1970, 1, 2), None]
SPANS = [timedelta(minutes=1), None]
CLOCKS = [time(1, 0, 0, 500_000), None]
TEMPORAL_COLUMNS = {
    "pandas datetime": (pd.Series(pd.to_datetime(DATES)), "time", DAY_S),
    "pandas dates": (pd.Series(DATES, dtype=object), "time", DAY_S),
    "pandas zone": (pd.Series(pd.to_datetime(DATES, utc=True)), "time", DAY_S),
    "pandas timedelta": (pd.Series(pd.to_timedelta(SPANS)), "duration", 60.0),
    "pandas times of day": (pd.Series(CLOCKS, dtype=object), "duration", 3600.5),
    "pandas spans": (pd.Series(SPANS, dtype=object), "duration", 60.0),
    "arrow date": (pd.Series(DATES, dtype="date32[pyarrow]"), "time", DAY_S),
    "arrow zone": (
        pd.Series(pd.to_datetime(DATES, utc=True)).astype(
            "timestamp[ns, UTC][pyarrow]"
        ),
        "time",
        DAY_S,
    ),
    "arrow time": (pd.Series(CLOCKS, dtype="time64[us][pyarrow]"), "duration", 3600.5),
    "arrow duration": (pd.Series(SPANS, dtype="duration[ms][pyarrow]"), "duration", 60),
    "polars date": (pl.Series(DATES), "time", DAY_S),
    "polars datetime": (pl.Series(DATES).cast(pl.Datetime("ns")), "time", DAY_S),
    "polars time": (pl.Series(CLOCKS), "duration", 3600.5),
    "polars duration": (pl.Series(SPANS), "duration", 60.0),
}


def frame_of(column):
    kind = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    return kind({"a": column})


@pytest.mark.parametrize("name", TEMPORAL_COLUMNS)
def test_times_and_durations_are_kinds_of_their_own_in_seconds(name):
    column, kind, seconds = TEMPORAL_COLUMNS[name]
    frame = frame_of(column)
    assert kinds_of(frame) == (kind,)
    numbers = read_frame(frame, (kind,)).numbers[:, 0]
    np.testing.assert_array_equal(numbers, [seconds, np.nan])
    # Older models know them as numbers, and times without a calendar.
    for older in (NUMBER_OR_TIME, *((INSTANT,) if kind == "time" else ())):
        again = read_frame(frame, (older,)).numbers
        np.testing.assert_array_equal(again, numbers[:, None])


@pytest.mark.parametrize("name", TEMPORAL_COLUMNS)
def test_times_durations_and_numbers_do_not_stand_for_each_other(name):
    column, kind, _ = TEMPORAL_COLUMNS[name]
    others = {"number", "time", "duration"} - {kind}
    for other in others:
        sentence = f"column 'a' must hold {other}s, as it did in fit, got '"
        with pytest.raises(InputError, match=sentence):
            read_frame(frame_of(column), (other,))
    for numbers in ([1.5, None], ["2", "3"], [True, False]):
        for make in (pd.DataFrame, pl.DataFrame):
            with pytest.raises(InputError, match=f"column 'a' must hold {kind}s"):
                read_frame(make({"a": numbers}), (kind,))


@pytest.mark.parametrize(
    "kind", ["number", "time", "duration", NUMBER_OR_TIME, INSTANT]
)
def test_a_column_of_gaps_is_of_any_kind(kind):
    for column in (
        pd.Series([np.nan, np.nan]),
        pd.Series([None, None], dtype=object),
        pd.Series(pd.to_datetime([None, None])),
        pl.Series([None, None]),
        pl.Series([None, None], dtype=pl.Date),
    ):
        assert np.isnan(read_frame(frame_of(column), (kind,)).numbers).all()


def test_decimals_and_whole_numbers_of_any_size_are_numbers():
    for column in (
        pd.Series([Decimal("1.50"), None], dtype=object),
        pl.Series([Decimal("1.50"), None]),
        pd.Series([Decimal("1.50"), None], dtype=pd.ArrowDtype(pa.decimal128(4, 2))),
    ):
        assert kinds_of(frame_of(column)) == ("number",)
        numbers = read_frame(frame_of(column), ("number",)).numbers[:, 0]
        np.testing.assert_array_equal(numbers, [1.5, np.nan])
    large = 2**64 - 1
    for column in (
        pd.Series([large, None], dtype="UInt64"),
        pd.Series([large, None], dtype="uint64[pyarrow]"),
        pl.Series([large, None], dtype=pl.UInt64),
    ):
        numbers = read_frame(frame_of(column), ("number",)).numbers[:, 0]
        np.testing.assert_array_equal(numbers, [2.0**64, np.nan])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 0.5, None], dtype=object),
        pd.Series([True, 0.5, np.nan], dtype=object),
        pd.Series([np.float32(1), Decimal("0.5"), pd.NA], dtype=object),
        pd.Series(pd.arrays.SparseArray([1.0, 0.5, np.nan])),
        pd.Series([1.0, 0.5, np.nan], dtype="longdouble"),
        pl.Series([1, 0.5, None], dtype=pl.Object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_numbers_are_numbers_in_columns_of_any_type(column):
    assert kinds_of(frame_of(column)) == ("number",)
    numbers = read_frame(frame_of(column), ("number",)).numbers[:, 0]
    np.testing.assert_array_equal(numbers, [1.0, 0.5, np.nan])


def test_sparse_labels_and_numbers_of_128_bits_are_read():
    labels = pd.Series(pd.arrays.SparseArray(["a", "b", "b"]))
    assert kinds_of(frame_of(labels)) == ("label",)
    whole = frame_of(pl.Series([1, 2**100], dtype=pl.Int128))
    assert kinds_of(whole) == ("number",)
    numbers = read_frame(whole, ("number",)).numbers[:, 0]
    np.testing.assert_array_equal(numbers, [1.0, 2.0**100])


def test_complex_numbers_are_refused_by_name():
    for values, dtype in (
        ([1j, None], complex),
        ([1j, None], object),
        ([1, 1j], object),
    ):
        column = pd.Series(values, dtype=dtype)
        with pytest.raises(InputError, match="must hold real numbers, got complex"):
            kinds_of(frame_of(column))


def test_numbers_beyond_float64_are_refused_by_column_and_row():
    for value in (np.inf, "1e999", 10**400):
        frame = pd.DataFrame({"a": pd.Series([1, value], dtype=object)})
        sentence = "column 'a' must hold finite numbers, got infinity in row 2"
        with pytest.raises(InputError, match=sentence):
            read_frame(frame, ("number",))


def test_lists_structures_and_bytes_are_refused_by_name():
    for column in (
        pl.Series([[1], [2]]),
        pl.Series([{"b": 1}, {"b": 2}]),
        pl.Series([b"x", b"y"]),
        pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
        pd.Series([b"x", b"y"], dtype="binary[pyarrow]"),
        pd.Series(
            [[("b", 1)], []], dtype=pd.ArrowDtype(pa.map_(pa.string(), pa.int64()))
        ),
    ):
        with pytest.raises(InputError, match=r"column 'a' holds .*; leave it out"):
            kinds_of(frame_of(column))


def test_kinds_are_counted_in_words():
    assert described_kinds(("number", "label")) == "1 of numbers, 1 of labels"
    kinds = ("number", "time", NUMBER_OR_TIME, "duration")
    assert described_kinds(kinds) == (
        "2 of numbers, 0 of labels, 1 of times, 1 of durations"
    )
