import pytest
import torch

from histreg.study.networks import products
from histreg.study.networks.products import ByNumpy, ByTorch, fastest


def test_networks_of_128_and_wider_are_multiplied_by_numpy_where_it_is_faster(
    monkeypatch,
):
    monkeypatch.setattr(products, "numpy_is_faster", lambda: True)
    assert isinstance(fastest(128), ByNumpy)
    assert isinstance(fastest(127), ByTorch)
    monkeypatch.setattr(products, "numpy_is_faster", lambda: False)
    assert isinstance(fastest(128), ByTorch)


@pytest.mark.parametrize("by", [ByTorch(), ByNumpy()])
@pytest.mark.parametrize("stack", [(), (3,)], ids=["one", "three"])
def test_products_are_sums_over_the_shared_length(by, stack, generator):
    a, b, bias = (
        torch.randn(*stack, *shape, dtype=torch.float64, generator=generator)
        for shape in ((5, 4), (4, 2), (1, 2))
    )
    out, with_bias = torch.full((2, *stack, 5, 2), torch.nan, dtype=torch.float64)
    by.product(a, b, out=out)
    by.affine(bias, a, b, out=with_bias)
    expected = (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(dim=-2)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(with_bias, expected + bias)


def test_numpy_overflows_without_a_warning_as_pytorch_does():
    large = torch.full((2, 2), 1e300, dtype=torch.float64)
    out = torch.zeros_like(large)
    ByNumpy().product(large, large, out=out)
    assert out.isinf().all()
