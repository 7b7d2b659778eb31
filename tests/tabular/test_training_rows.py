"""Training rows: copies for weights, and an order of their own."""

import numpy as np
import pytest
import torch

from histreg.tabular.columns import Table
from histreg.tabular.training_rows import batch_of, interval_of, rows_of


def table_of(numbers, labels=None):
    numbers = np.asarray(numbers, dtype=float)
    if labels is None:
        labels = np.empty((len(numbers), 0), dtype=object)
    kinds = ("number",) * numbers.shape[1] + ("label",) * np.shape(labels)[1]
    return Table(numbers, np.asarray(labels, dtype=object), kinds)


def assert_same_rows(one, other):
    for some, others in zip(one.inputs, other.inputs, strict=True):
        np.testing.assert_array_equal(some, others)
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.weight, other.weight)


def weighted_and_copied(numbers, y, weight):
    numbers, y = np.array(numbers), np.array(y)[:, None]
    copies = np.repeat(np.arange(len(y)), weight)[::-1]
    copied = rows_of(table_of(numbers[copies]), y[copies], np.ones(len(copies)))
    return rows_of(table_of(numbers), y, np.array(weight, dtype=float)), copied


def test_copies_of_measured_rows_are_one_row_of_their_weight():
    numbers = [[0.13, np.nan], [0.17, 3.0], [-4.9, -0.0]]
    weighted, copied = weighted_and_copied(numbers, [5.0, 6.0, 7.0], [2, 3, 1])
    assert_same_rows(weighted, copied)
    found = zip(weighted.y[:, 0].tolist(), weighted.weight.tolist(), strict=True)
    assert dict(found) == pytest.approx({5.0: 1.0, 6.0: 1.5, 7.0: 0.5})


def test_a_measured_target_tells_rows_apart_unless_it_follows_from_the_columns():
    weight = [2, 1, 3, 1, 2]
    numbers = [[1.0], [2.0], [2.0], [3.0], [4.0]]
    measured = [0.13, 0.17, -4.9, 8.2, 3.3]
    weighted, copied = weighted_and_copied(numbers, measured, weight)
    assert_same_rows(weighted, copied)
    assert len(weighted) == 5
    known = [[1.0], [2.0], [5.0], [3.0], [4.0]]
    weighted, copied = weighted_and_copied(known, measured, weight)
    assert_same_rows(weighted, copied)
    assert weighted.weight.tolist() == [1.0] * 9


def test_whole_weights_are_copies_where_rows_repeat_by_chance():
    numbers = [[1.0, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]]
    weighted, copied = weighted_and_copied(numbers, [0.0, 1.0, 0.0, 0.0], [2, 3, 1, 1])
    assert_same_rows(weighted, copied)
    assert weighted.weight.tolist() == [1.0] * 7


@pytest.mark.parametrize("kind", ["labels", "whole numbers", "two labels"])
def test_rows_of_a_price_list_each_count(kind):
    """The target is a function of coarse columns, of which new rows repeat values."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 60, size=300)
    prices = rng.normal(size=60)
    numbers = place[:, None] * 2.0 if kind == "whole numbers" else np.empty((300, 0))
    parts = {"labels": [place], "two labels": [place // 12, place % 12]}.get(kind)
    labels = None if parts is None else np.stack(parts, axis=1).astype(str)
    rows = rows_of(table_of(numbers, labels), prices[place, None], np.ones(300))
    assert len(rows) == 300


def test_equal_rows_stay_what_they_are():
    rows = rows_of(table_of(np.full((8, 1), 0.3)), np.full((8, 1), 1.7), np.ones(8))
    assert len(rows) == 8


def test_few_rows_that_repeat_often_are_no_copies():
    """A table of two different rows is coarse, though its column tells them apart."""
    weighted, copied = weighted_and_copied([[1.0], [2.0]], [3.0, 4.0], [9, 8])
    assert len(copied) == 17 and copied.weight.tolist() == [1.0] * 17
    assert sorted(weighted.weight.tolist()) == pytest.approx([16 / 17, 18 / 17])


def test_a_weight_that_all_rows_have_makes_no_difference():
    numbers = np.random.default_rng(0).normal(size=(20, 2))
    plain = rows_of(table_of(numbers), numbers[:, :1], np.ones(20))
    heavy = rows_of(table_of(numbers), numbers[:, :1], np.full(20, 3.0))
    assert_same_rows(plain, heavy)


@pytest.mark.parametrize("unit", [1.0, 1e307, 1e-300, 4000.0])
def test_weights_of_copies_add_up_in_any_unit(unit):
    numbers = np.array([[0.1], [9.7], [0.2], [0.2]])
    one = rows_of(table_of(numbers), numbers, unit * np.array([1.5, 2.0, 0.5, 0.25]))
    kept = numbers[:3]
    merged = rows_of(table_of(kept), kept, np.array([1.5, 2.0, 0.75]))
    assert len(one) == 3
    for some, others in zip(one.inputs, merged.inputs, strict=True):
        np.testing.assert_array_equal(some, others)
    np.testing.assert_allclose(one.weight, merged.weight)


@pytest.mark.parametrize("weight", [[0.5, 1.5], [1e6, 3e6], [1e308, 1e308]])
def test_other_weights_stay_weights_of_mean_one(weight):
    rows = rows_of(table_of([[1.0], [2.0]]), np.zeros((2, 1)), np.array(weight))
    assert len(rows.y) == 2 and rows.weight.mean().item() == pytest.approx(1)
    share = dict(zip(rows.inputs.numbers[:, 0], rows.weight.tolist(), strict=True))
    assert share[2.0] / share[1.0] == pytest.approx(weight[1] / weight[0])


def test_the_order_of_rows_does_not_matter(generator):
    numbers = torch.randn(50, 3, generator=generator).numpy().astype(float)
    labels = np.where(numbers[:, :1] > 0, "up", None)
    y = numbers[:, :1] ** 2
    order = np.random.default_rng(0).permutation(50)
    one = rows_of(table_of(numbers, labels), y, np.ones(50))
    other = rows_of(table_of(numbers[order], labels[order]), y[order], np.ones(50))
    np.testing.assert_array_equal(one.inputs.numbers, other.inputs.numbers)
    np.testing.assert_array_equal(one.inputs.labels, other.inputs.labels)
    np.testing.assert_array_equal(one.y, other.y)


def test_other_ends_of_censored_targets_are_part_of_a_row():
    """Equal rows with different ends keep apart, in any order and as copies."""
    numbers = np.array([[1.0], [1.0], [2.0], [1.0]])
    y = np.array([[5.0], [5.0], [6.0], [5.0]])
    censored = np.array([[np.inf], [7.0], [-np.inf], [7.0]])
    one = rows_of(table_of(numbers), y, np.ones(4), censored)
    order = np.array([1, 2, 3, 0])
    other = rows_of(table_of(numbers[order]), y[order], np.ones(4), censored[order])
    kept = np.array([0, 1, 2])
    weighted = rows_of(
        table_of(numbers[kept]), y[kept], np.array([1.0, 2.0, 1.0]), censored[kept]
    )
    for rows in (other, weighted):
        np.testing.assert_array_equal(one.inputs.numbers, rows.inputs.numbers)
        np.testing.assert_array_equal(one.y, rows.y)
        np.testing.assert_array_equal(one.other_end, rows.other_end)
    found = zip(one.y[:, 0].tolist(), one.other_end[:, 0].tolist(), strict=True)
    assert sorted(found) == [(5.0, 7.0), (5.0, 7.0), (5.0, np.inf), (6.0, -np.inf)]
    assert one.finite_ends.flatten().unique().tolist() == [5.0, 6.0, 7.0]


def test_without_a_censored_target_there_are_no_flags():
    numbers = np.random.default_rng(0).normal(size=(20, 2))
    y = numbers[:, :1]
    plain = rows_of(table_of(numbers), y, np.ones(20))
    none = rows_of(table_of(numbers), y, np.ones(20), np.full((20, 1), np.nan))
    assert plain.other_end is None and none.other_end is None
    np.testing.assert_array_equal(plain.y, none.y)


def test_an_interval_has_its_ends_and_a_known_target_the_whole_line():
    inf = np.inf
    y = torch.tensor([1.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    other = torch.tensor([np.nan, inf, -inf, 3.0], dtype=torch.float64)
    lower, upper = interval_of(y, other)
    assert lower.tolist() == [-inf, 1.0, -inf, 1.0]
    assert upper.tolist() == [inf, inf, 1.0, 3.0]


def test_rows_of_no_weight_are_gone():
    rows = rows_of(
        table_of([[1.0], [2.0]]), np.array([[1.0], [2.0]]), np.array([0.0, 0.3])
    )
    assert rows.inputs.numbers.tolist() == [[2.0]] and rows.weight.tolist() == [1.0]


def test_a_batch_on_a_device_is_some_of_the_rows():
    numbers = np.arange(5.0)[:, None]
    censored = np.where(numbers > 2, np.inf, np.nan)
    rows = rows_of(table_of(numbers), 10 * numbers, np.ones(5), censored)
    inputs = (torch.from_numpy(rows.inputs.numbers),)
    batch = batch_of(
        rows.with_inputs(inputs, torch.device("cpu")), torch.tensor([3, 1])
    )
    assert len(batch) == 2 and batch.weight.dtype == torch.float32
    chosen = rows.inputs.numbers[[3, 1]]
    assert torch.equal(batch.inputs[0], torch.from_numpy(chosen))
    y, other_end = batch.targets
    assert torch.equal(y, torch.from_numpy(10 * chosen))
    assert torch.equal(other_end.isinf(), torch.from_numpy(chosen > 2))
