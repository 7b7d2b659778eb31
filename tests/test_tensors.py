"""Tensors: what may be read when, and their dtypes."""

import numpy as np
import pytest
import torch
from torch.func import vmap

from histreg import Bins, Histogram, _tensors


def test_values_are_there_to_read_unless_compiling_or_mapping():
    seen = []

    def look(y):
        seen.append((_tensors.is_concrete(y), _tensors.is_free_to_read(y)))
        return y + 1

    look(torch.zeros(2))
    vmap(look)(torch.zeros(2))
    assert seen == [(True, True), (False, False)]


def test_reading_waits_for_no_device():
    assert not _tensors.is_free_to_read(torch.zeros(2, device="meta"))


def test_a_compiled_function_is_not_looked_into():
    torch.compiler.reset()

    @torch.compile(backend="eager", fullgraph=True)
    def look(y):
        return y + (1.0 if _tensors.is_concrete(y) else 2.0)

    assert look(torch.zeros(())).item() == 2.0


@pytest.mark.parametrize(
    "values",
    [[1.0, 2.5], np.float32([1.0, 2.5]), torch.tensor([1.0, 2.5])],
    ids=["list", "array", "tensor"],
)
def test_numbers_of_any_kind_become_a_new_float64_tensor(values):
    converted = _tensors.as_float64(values)
    assert converted.dtype == torch.float64 and converted.tolist() == [1.0, 2.5]
    converted[0] = 7.0
    assert float(values[0]) == 1.0


def test_numbers_in_a_list_may_be_tensors():
    values = [torch.tensor(1.0), 2.5]
    assert _tensors.as_float64(values).tolist() == [1.0, 2.5]


def test_read_only_arrays_are_copied_and_nothing_else():
    array = np.arange(3.0)
    assert _tensors.writable(array) is array and _tensors.writable(1.5) == 1.5
    array.flags.writeable = False
    assert _tensors.writable(array).flags.writeable
    one = Histogram(Bins.uniform(0, 4, 4), probs=torch.full((4,), 0.25))
    one.cdf(array)  # PyTorch would warn, which is an error here


@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (0,)])
def test_take_is_indexing_by_brackets(shape, generator):
    table = torch.randn(5, 2, generator=generator)
    index = torch.randint(5, shape, generator=generator)
    assert torch.equal(_tensors.take(table, index), table[index])


def test_half_precision_is_widened_and_integers_are_refused():
    assert _tensors.at_least_float32(torch.zeros(1).bfloat16()).dtype == torch.float32
    assert _tensors.at_least_float32(torch.zeros(1).double()).dtype == torch.float64
    with pytest.raises(TypeError, match=r"logits must be floating point, got torch\."):
        _tensors.at_least_float32(torch.zeros(1, dtype=torch.int64))


@pytest.mark.parametrize("inclusive", [False, True])
def test_entries_below_are_counted_by_search_and_while_exporting(inclusive):
    rows = torch.tensor([[0.0, 1.0, 1.0, 3.0], [-2.0, 0.0, 0.5, 9.0]])
    values = torch.tensor([[-1.0, 1.0, 99.0], [-2.0, 0.25, 9.0]])
    n = 3 if inclusive else 1
    expected = torch.tensor([[0, n, 4], [int(inclusive), 2, 3 + inclusive]])

    class Counting(torch.nn.Module):
        def forward(self, rows, values):
            each = _tensors.n_below(rows, values, inclusive=inclusive)
            one = _tensors.n_below(rows[0], values[0, 1], inclusive=inclusive)
            return each, one

    program = torch.export.export(Counting(), (rows, values))
    for count in (Counting(), program.module()):
        each, one = count(rows, values)
        assert torch.equal(each, expected) and one.shape == () and one == n


@pytest.mark.parametrize(
    "shapes", [[()], [(2, 1), (3,)], [(4, 1, 3), (2, 1), ()], [(0,), (1,)]]
)
def test_shapes_broadcast_as_in_torch(shapes):
    sizes = [torch.Size(shape) for shape in shapes]
    assert _tensors.broadcast_shapes(*sizes) == torch.broadcast_shapes(*sizes)


def test_shapes_that_do_not_broadcast_are_refused_as_in_torch():
    with pytest.raises(RuntimeError, match="broadcast"):
        _tensors.broadcast_shapes(torch.Size([2]), torch.Size([3]))
