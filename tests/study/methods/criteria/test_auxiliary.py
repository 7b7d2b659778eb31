import pytest
import torch

from histreg.study.methods import L2, HLGauss, L2Moments, L2MultiTask
from histreg.study.methods.criteria.criterion import Targets

SMALL = {"n_bins": 20, "padding_in_bins": 2.0}


BATCH = slice(5, 21)


@pytest.fixture
def targets(generator):
    y = torch.rand(30, dtype=torch.float64, generator=generator) * 20 - 5
    return Targets(y, -5.0, 15.0, seed=1, dtype=torch.float64)


@pytest.fixture
def started(targets, generator):
    """Criteria of methods, that have begun with the same order."""
    order = torch.randperm(30, generator=generator)

    def start(*methods):
        criterion = methods[0].criterion(methods, targets)
        criterion.start_epoch(1, order)
        return criterion

    return start


def drawn(n_models, n_outputs, generator):
    shape = (n_models, 16, n_outputs)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def gradient(criterion, outputs):
    out = torch.empty_like(outputs)
    criterion.gradient(outputs, BATCH, out)
    return out


def test_both_losses_are_l2_on_the_number_and_hl_gauss_on_the_rest(started, generator):
    weights = (0.0, 0.3, 10.0)
    both = started(*(L2MultiTask(weight, **SMALL) for weight in weights))
    l2, gauss = started(*[L2()] * 3), started(*[HLGauss(**SMALL)] * 3)
    outputs = drawn(3, 21, generator)
    number, logits = outputs[..., :1], outputs[..., 1:].contiguous()
    found = gradient(both, outputs)
    weight = torch.tensor(weights, dtype=torch.float64)
    assert torch.equal(found[..., :1], gradient(l2, number))
    torch.testing.assert_close(
        found[..., 1:], weight[:, None, None] * gradient(gauss, logits)
    )
    assert not found[0, :, 1:].any()  # without weight
    torch.testing.assert_close(
        both.loss(outputs, BATCH),
        l2.loss(number, BATCH) + weight * gauss.loss(logits, BATCH),
    )
    torch.testing.assert_close(both.floor(BATCH), weight * gauss.floor(BATCH))
    assert torch.equal(both.predict(outputs), l2.predict(number))


def test_one_moment_is_l2(started, generator):
    outputs = drawn(2, 1, generator)
    moments, l2 = started(L2Moments(1), L2Moments(1)), started(L2(), L2())
    assert torch.equal(gradient(moments, outputs), gradient(l2, outputs))
    assert torch.equal(moments.loss(outputs, BATCH), l2.loss(outputs, BATCH))
    assert torch.equal(moments.predict(outputs), l2.predict(outputs))


def test_moments_are_fitted_by_the_powers_of_the_scaled_target(targets):
    criterion = L2Moments.criterion([L2Moments(3)], targets)
    criterion.start_epoch(1, torch.arange(30))
    y = targets.scaled[BATCH]
    outputs = torch.stack([y, y**2, y**3], dim=-1)[None]
    assert criterion.loss(outputs, BATCH).item() == pytest.approx(
        criterion.floor(BATCH).item(), abs=1e-30
    )
    outputs[..., 2] += 0.5  # of one of three, so that the sum is not a mean
    assert criterion.loss(outputs, BATCH).item() == pytest.approx(0.25)
    torch.testing.assert_close(criterion.predict(outputs)[0], targets.y[BATCH])
