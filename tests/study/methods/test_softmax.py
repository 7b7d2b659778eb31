import pytest
import torch

from histreg.study.methods import Brier, HLGauss, L2SoftmaxPerBin


@pytest.mark.parametrize(("y", "mean"), [(0.1, 0.94), (0.5, 1.04)])
def test_the_literal_softmax_loss_is_lowest_at_the_wrong_mean(y, mean):
    """The numbers are those of the specification, I3, by another route."""
    method = L2SoftmaxPerBin()
    logits = torch.zeros(1, 100, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([logits], max_iter=500, line_search_fn="strong_wolfe")
    target = torch.tensor([y], dtype=torch.float64)

    def closure():
        optimizer.zero_grad()
        loss = method.loss(logits, target).sum()
        loss.backward()
        return loss

    for _ in range(20):
        optimizer.step(closure)
    assert method.predict(logits.detach()).item() == pytest.approx(mean, abs=0.005)


def test_brier_is_zero_where_the_target_is_met():
    y = torch.tensor([0.3], dtype=torch.float64)
    probs = HLGauss().target_probs(y, HLGauss().bins(0.0, 1.0))
    assert Brier().loss(probs.log().clamp(min=-1e3), y).item() == pytest.approx(0)
    assert Brier().loss(torch.zeros(1, 100, dtype=torch.float64), y).item() > 0.1
