"""What all tests share: one source of randomness and one table of tolerances."""

import pytest
import torch

# One process per core, one thread each: two threads each would wait for one another.
torch.set_num_threads(1)

# Absolute and relative, for numbers of order one. float32 carries 1.2e-7 and sums of
# a hundred terms; float64 carries 2.2e-16.
TOLERANCE = {
    torch.float32: {"rtol": 1e-5, "atol": 1e-6},
    torch.float64: {"rtol": 1e-11, "atol": 1e-12},
}


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(20260101)


@pytest.fixture(autouse=True)
def _same_global_seed():
    torch.manual_seed(7)


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request) -> torch.dtype:
    return request.param


@pytest.fixture
def close(dtype):
    """Compare in the tolerance of the dtype under test."""

    def compare(actual, expected, **tolerance) -> None:
        if not isinstance(expected, torch.Tensor):
            expected = torch.as_tensor(expected, dtype=torch.float64)
        torch.testing.assert_close(
            actual.double(), expected.double(), **{**TOLERANCE[dtype], **tolerance}
        )

    return compare
