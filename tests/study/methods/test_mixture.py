import pytest
import torch
from scipy import stats

from histreg.study.methods import MDN


def test_one_component_is_a_normal_distribution():
    outputs = torch.tensor([[0.7, 0.4, 0.0]], dtype=torch.float64)
    sigma = torch.nn.functional.softplus(torch.zeros(1)).item() + 1e-2
    y = torch.tensor([0.5], dtype=torch.float64)
    expected = -stats.norm.logpdf(0.5, loc=0.4, scale=sigma)
    assert MDN(1).loss(outputs, y).item() == pytest.approx(expected, rel=1e-7)
    assert MDN(1).predict(outputs).item() == pytest.approx(0.4)


def test_outputs_are_weights_means_and_spreads():
    assert MDN(4).n_outputs == 12
    # Equal weights: the mean of the means.
    outputs = torch.tensor([[1.0, 1.0, 0.2, 0.6, 3.0, -3.0]], dtype=torch.float64)
    assert MDN(2).predict(outputs).item() == pytest.approx(0.4)
