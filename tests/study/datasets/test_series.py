"""Parts of a series, by the custom of months of thirty days."""

from itertools import pairwise

import pytest

from histreg.study.datasets import SERIES
from histreg.study.datasets.series import MONTHS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ETTh1", [(0, 8640), (8640, 11520), (11520, 14400)]),
        ("ETTm1", [(0, 34560), (34560, 46080), (46080, 57600)]),
    ],
)
def test_the_parts_are_those_of_the_specification(name, expected):
    rows = [SERIES[name].rows(part) for part in MONTHS]
    assert [(each.start, each.stop) for each in rows] == expected


def test_later_parts_look_back_and_the_first_does_not():
    rows = [SERIES["ETTh1"].rows(part, n_before=96) for part in MONTHS]
    assert [each.start for each in rows] == [0, 8640 - 96, 11520 - 96]


@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_the_parts_follow_one_another_within_the_series(series):
    rows = [series.rows(part) for part in MONTHS]
    assert all(a.stop == b.start for a, b in pairwise(rows))
    assert rows[-1].stop <= series.n_rows
