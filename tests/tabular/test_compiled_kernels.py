"""The compiled sum over landmarks agrees with the formula."""

import pytest
import torch

from histreg.tabular.compiled_kernels import kernel_sums
from histreg.tabular.kernel_model import covariance

pytest.importorskip("numba")


@pytest.mark.parametrize("n_landmarks", [1, 8, 21])
def test_sums_are_those_of_the_covariance(n_landmarks, generator):
    u = torch.randn(50, 6, generator=generator, dtype=torch.float64)
    v = torch.randn(n_landmarks, 6, generator=generator, dtype=torch.float64)
    u[0], u[1], u[2] = v[0], 300 * u[1], 1e6 * u[2]  # from no distance to very far
    weight = torch.randn(n_landmarks, generator=generator, dtype=torch.float64)
    amplitude, slope = torch.tensor([1.5, 0.25], dtype=torch.float64)
    squares = [x.square().sum(dim=1).numpy() for x in (u, v)]
    sums = torch.empty(50, dtype=torch.float64)
    loop, sizes = kernel_sums(), (amplitude.item(), slope.item())
    loop((u @ v.T).numpy(), *squares, weight.numpy(), *sizes, sums.numpy())
    terms = covariance(u, v, amplitude, slope) * weight
    # Beside the largest term: large ones may cancel.
    apart = (sums - terms.sum(dim=1)).abs() / (1 + terms.abs().sum(dim=1))
    assert apart.max() < 1e-13
