"""Windows of a series, moment by moment."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from histreg.study.datasets import SERIES, Table
from histreg.study.series.windows import SeriesWindows, windows_of


def counted(n, n_inputs=4, n_steps=2):
    """Return windows of a series whose values tell moment and channel."""
    moments = torch.arange(float(n))
    return SeriesWindows(
        torch.stack([moments, 100 + moments], dim=1), 100 + moments, n_inputs, n_steps
    )


def test_each_window_is_followed_by_what_comes():
    rows = counted(10)
    assert len(rows) == 5
    index = torch.tensor([0, 4])
    assert rows.inputs(index).tolist() == [
        [[t, 100 + t] for t in range(0, 4)],
        [[t, 100 + t] for t in range(4, 8)],
    ]
    assert rows.targets(index).tolist() == [[104, 105], [108, 109]]
    assert rows.last(index).tolist() == [[103], [107]]


def test_all_windows_at_once_are_as_many_as_there_are():
    rows = counted(10)
    everything = slice(None)
    for each in (rows.inputs, rows.targets, rows.last):
        assert len(each(everything)) == len(rows) == 5
    assert torch.equal(rows.last(everything), rows.inputs(everything)[:, -1, 1:])


def made(n):
    generator = np.random.default_rng(0)
    x = generator.normal(3.0, 2.0, (n, 7))
    return Table(x, x[:, -1].copy(), tuple("abcdefg"), "")


def test_the_numbers_of_windows_are_those_of_the_specification():
    found = windows_of(SERIES["ETTh1"], made(17_420), 96, 96)
    assert [len(each) for each in found.values()] == [8449, 2785, 2785]
    found = windows_of(SERIES["ETTm1"], made(69_680), 96, 96)
    assert [len(each) for each in found.values()] == [34369, 11425, 11425]


def test_columns_are_standardised_by_the_rows_of_train():
    small = replace(SERIES["ETTh1"], rows_a_month=10)
    table = made(210)
    found = windows_of(small, table, 4, 2)
    train = found["train"]
    assert torch.allclose(train.values.mean(dim=0), torch.zeros(7), atol=1e-6)
    assert torch.allclose(
        train.values.std(dim=0, correction=0), torch.ones(7), atol=1e-6
    )
    known = table.y[:120]
    expected = (table.y[160 - 4 : 200] - known.mean()) / known.std()
    np.testing.assert_allclose(found["test"].y, expected, rtol=1e-5)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_the_first_window_of_a_part_forecasts_its_first_moment(part):
    small = replace(SERIES["ETTh1"], rows_a_month=10)
    rows = windows_of(small, made(210), 4, 2)[part]
    first = rows.targets(torch.tensor([0]))[0]
    assert torch.equal(first, rows.y[4:6])
    assert len(rows) == 40 - 2 + 1
