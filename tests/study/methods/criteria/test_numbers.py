import pytest
import torch

from histreg.study.methods import L1, L2, L2Noise
from histreg.study.methods.criteria.criterion import Targets, noise

Y = torch.tensor([0.0, 5.0, 10.0], dtype=torch.float64)


def gradient_of(method, outputs, epoch=1):
    criterion = method.criterion([method], Targets(Y, 0.0, 10.0, 1, torch.float64))
    criterion.start_epoch(epoch, torch.arange(3))
    out = torch.empty(1, 3, 1, dtype=torch.float64)
    criterion.gradient(outputs, slice(0, 3), out)
    return out[0, :, 0]


OUTPUTS = torch.tensor([0.5, 0.5, 0.5], dtype=torch.float64).view(1, 3, 1)


def test_l2_is_twice_the_error_and_l1_its_sign():
    # Errors of 0.5, 0 and -0.5 on the scale of [0, 1], over three samples.
    assert gradient_of(L2(), OUTPUTS).tolist() == pytest.approx([1 / 3, 0, -1 / 3])
    assert gradient_of(L1(), OUTPUTS).tolist() == pytest.approx([1 / 3, 0, -1 / 3])
    assert gradient_of(L1(), OUTPUTS / 2)[0].item() == pytest.approx(1 / 3)


def test_noise_is_added_to_the_targets_in_its_size():
    drawn = noise(Targets(Y, 0.0, 10.0, 1, torch.float64), 4)
    found = gradient_of(L2Noise(0.1), OUTPUTS, epoch=4)
    expected = gradient_of(L2(), OUTPUTS) - 2 * 0.1 * drawn / 3
    torch.testing.assert_close(found, expected)
