import pytest
import torch

from histreg.study.methods import (
    Brier,
    HLGauss,
    L1SoftmaxMean,
    L2SoftmaxMean,
    L2SoftmaxPerBin,
)
from histreg.study.methods.criteria.criterion import Targets

Y = torch.tensor([0.0, 25.0, 90.0], dtype=torch.float64)
BATCH = slice(0, 3)


def criterion_of(method):
    criterion = method.criterion([method], Targets(Y, 0.0, 100.0, 1, torch.float64))
    criterion.start_epoch(0, torch.arange(3))
    return criterion


@pytest.mark.parametrize(
    "method",
    [L2SoftmaxMean(), L1SoftmaxMean(), L2SoftmaxPerBin(), Brier()],
    ids=lambda method: method.name,
)
def test_a_gradient_through_the_softmax_sums_to_zero(method, generator):
    """A constant that is added to all logits changes no loss."""
    logits = torch.randn(1, 3, 100, dtype=torch.float64, generator=generator)
    gradient = torch.empty_like(logits)
    criterion_of(method).gradient(logits, BATCH, gradient)
    assert gradient.abs().max() > 1e-6
    assert gradient.sum(dim=-1).abs().max() < 1e-15


def test_the_smallest_brier_score_is_zero_and_that_of_the_target():
    criterion = criterion_of(Brier())
    probs = HLGauss().target_probs(Y, HLGauss().bins(0.0, 100.0))
    logits = probs.log().clamp(min=-1e3)[None]
    assert criterion.loss(logits, BATCH).item() == pytest.approx(0, abs=1e-20)
    assert criterion.floor(BATCH).item() == 0
