"""Windows by hand, and which are held out together."""

import pytest
import torch

from histreg import InputError
from histreg.forecasting.windows import WindowShape, check_length, held_out_blocks


def test_a_window_is_what_precedes_its_origin_minus_the_last_value():
    y = torch.tensor([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0], [7.0, 70.0]])
    shape = WindowShape(window=3, horizon=1)
    assert shape.origins(4).tolist() == [3]
    inputs = shape.inputs(y, torch.empty(4, 0), torch.tensor([3]))
    assert inputs.last.tolist() == [[4.0, 40.0]]
    assert inputs.changes.tolist() == [[[-3.0, -2.0], [-30.0, -20.0]]]
    assert shape.targets(y, torch.tensor([3])).tolist() == [[[7.0], [70.0]]]
    rows = inputs.rows(torch.tensor([1.0, 10.0]))
    assert rows.tolist() == [[-3.0, -2.0], [-3.0, -2.0]]


def test_known_columns_are_seen_ahead_and_others_are_not():
    X = torch.arange(12.0).view(6, 2)  # rows (0, 1), (2, 3), ...
    shape = WindowShape(window=2, horizon=2, n_columns=2, known=(1,))
    inputs = shape.inputs(torch.zeros(6, 1), X, torch.tensor([2, 3]))
    assert inputs.columns.tolist() == [
        [0.0, 1.0, 2.0, 3.0, 5.0, 7.0],
        [2.0, 3.0, 4.0, 5.0, 7.0, 9.0],
    ]
    assert inputs.rows(torch.ones(1)).shape == (2, shape.n_inputs)


@pytest.mark.parametrize("horizon", [1, 4])
def test_no_window_is_judged_by_values_that_another_was_trained_on(horizon):
    origins = torch.arange(7, 90)
    block, held_out = held_out_blocks(origins, 3, horizon)
    assert block.tolist() == sorted(block.tolist()) and set(block.tolist()) == {0, 1, 2}
    steps = torch.arange(horizon)
    for i in range(3):
        judged = set((origins[block == i, None] + steps).flatten().tolist())
        trained = set((origins[~held_out[i], None] + steps).flatten().tolist())
        assert trained and not judged & trained
        assert bool(held_out[i][block == i].all())


def test_the_shortest_series_leaves_windows_to_train_on():
    for window, horizon, n_blocks in [(2, 1, 2), (24, 12, 5), (5, 40, 3)]:
        shape = WindowShape(window, horizon)
        with pytest.raises(InputError, match="y must have at least") as refused:
            check_length(1, shape, n_blocks)
        least = int(str(refused.value).split("at least ")[1].split()[0])
        check_length(least, shape, n_blocks)
        held_out = held_out_blocks(shape.origins(least), n_blocks, horizon)[1]
        assert int((~held_out).sum(dim=1).min()) >= 5
