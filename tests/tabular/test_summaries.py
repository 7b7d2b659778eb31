"""Sketches of columns: exact for few rows, and as close as they say for many."""

import datasketches
import numpy as np
import pytest
import torch

from histreg import Bins
from histreg.tabular.columns import LabelCodes, NumberScaling, Table
from histreg.tabular.summaries import (
    COUNT_ERROR,
    LABELS_LOG2,
    N_VALUES,
    RANK_ERROR,
    TableSummary,
)

TIMES_THE_ERROR = 3  # it holds with 99 %, which are 2.6 standard deviations


def table_of(n, seed=0):
    rng = np.random.default_rng(seed)
    numbers = np.stack(
        [
            rng.normal(size=n),
            np.where(rng.random(n) < 0.3, np.nan, rng.exponential(size=n)),
            rng.integers(0, 5, n),
            np.full(n, 3.0),
            np.full(n, np.nan),
        ],
        axis=1,
    )
    labels = rng.choice(np.array(["a", "b", "c", None], dtype=object), (n, 1))
    return Table(numbers, labels, ("number",) * 5 + ("label",))


def summary_of(table, y, n_parts=3):
    summary = TableSummary(table.kinds)
    for part in np.array_split(np.arange(len(y)), n_parts):
        summary.add(table.at(part), y[part], np.full(len(part), 2.0))
    return summary


def test_few_rows_are_summarised_exactly():
    table, y = table_of(N_VALUES), np.random.default_rng(1).normal(size=N_VALUES)
    summary = summary_of(table, y)
    ours, exact = summary.scaling(), NumberScaling.of(table.numbers)
    for name, tensor in exact.state_dict().items():
        assert torch.equal(ours.state_dict()[name], tensor), name
    assert summary.codes().levels == LabelCodes.of(table.labels).levels
    assert Bins.of(summary.targets()) == Bins.of(y)
    assert (summary.n_rows, summary.mean_weight) == (N_VALUES, 2.0)


def test_many_rows_are_summarised_within_the_stated_error():
    n = 300_000
    table, y = table_of(n), np.random.default_rng(1).gamma(2, size=n)
    summary = summary_of(table, y, n_parts=20)
    values = summary.targets().flatten().numpy()
    assert len(values) == N_VALUES
    assert (values[0], values[-1]) == (y.min(), y.max())
    ranks = np.searchsorted(np.sort(y), values) / n
    wanted = (np.arange(N_VALUES) + 0.5) / N_VALUES
    assert np.abs(ranks - wanted).max() < TIMES_THE_ERROR * RANK_ERROR + 1 / N_VALUES
    numbers = torch.from_numpy(table.numbers)
    difference = summary.scaling()(numbers) - NumberScaling.of(table.numbers)(numbers)
    # Between knots 1/63 apart in rank, in the tails of a normal score.
    assert difference.abs().mean() < 0.01
    assert torch.equal(summary.scaling().kept, torch.tensor([0, 1, 2]))
    assert torch.equal(summary.scaling().flagged, torch.tensor([1]))


def test_the_stated_errors_are_those_of_the_library():
    kll = datasketches.kll_doubles_sketch(N_VALUES)
    assert kll.normalized_rank_error(False) <= RANK_ERROR
    labels = datasketches.frequent_strings_sketch
    assert labels.get_epsilon_for_lg_size(LABELS_LOG2) <= COUNT_ERROR


def test_frequent_labels_are_found_among_more_than_are_kept():
    rng = np.random.default_rng(0)
    rare = np.array([f"id{i}" for i in range(60_000)], dtype=object)
    frequent = np.array([f"town{i % 20}" for i in range(40_000)], dtype=object)
    labels = rng.permutation(np.concatenate([rare, frequent]))[:, None]
    n = len(labels)
    table = Table(np.empty((n, 0)), labels, ("label",))
    [levels] = summary_of(table, np.zeros(n)).codes().levels
    # And none of those that occur once.
    assert {f"town{i}" for i in range(20)} == set(levels)


@pytest.mark.parametrize("low, high", [(-1.0, 2.0), (0.0, 10.0), (-20.0, 20.0)])
def test_targets_outside_a_range_are_counted(low, high):
    y = np.random.default_rng(0).normal(size=100_000)
    summary = TableSummary(())
    summary.add(Table(np.empty((len(y), 0)), np.empty((len(y), 0)), ()), y, y * 0 + 1)
    exact = int(((y < low) | (y > high)).sum())
    allowed = 2 * TIMES_THE_ERROR * RANK_ERROR * len(y)
    assert abs(summary.n_outside(low, high) - exact) <= (allowed if exact else 0)


def test_a_column_that_varies_in_the_last_row_alone_is_kept():
    n = 100_000
    numbers = np.zeros((n, 1))
    numbers[-1] = 5.0
    summary = summary_of(Table(numbers, np.empty((n, 0)), ("number",)), np.zeros(n))
    scaled = summary.scaling()(torch.tensor([[0.0], [5.0]], dtype=torch.float64))
    assert scaled[1] > scaled[0]
