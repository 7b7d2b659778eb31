"""Laws that hold for the criterion of every method."""

import pytest
import torch

from histreg.study.methods.criteria.criterion import (
    ByAutograd,
    Targets,
    divide_by_rows,
    noise,
)
from tests.study.methods.registry import METHODS

LOW, HIGH = -5.0, 15.0


each_method = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.label)


@pytest.fixture
def targets(generator):
    y = torch.rand(40, dtype=torch.float64, generator=generator) * (HIGH - LOW) + LOW
    return Targets(y, LOW, HIGH, seed=1, dtype=torch.float64)


def outputs_of(method, n, generator):
    shape = (2, n, method.n_outputs)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


@each_method
def test_the_gradient_is_that_of_the_loss(method, targets, generator):
    criterion = method.criterion([method, method], targets)
    by_autograd = ByAutograd([method, method], targets)
    order = torch.randperm(40, generator=generator)
    batch = slice(8, 24)
    outputs = outputs_of(method, 16, generator)
    found, expected = torch.empty_like(outputs), torch.empty_like(outputs)
    for each, out in ((criterion, found), (by_autograd, expected)):
        each.start_epoch(0, order)  # so that there is no noise
        each.gradient(outputs, batch, out)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        criterion.loss(outputs, batch), by_autograd.loss(outputs, batch)
    )


@each_method
def test_predictions_are_those_of_the_method_in_original_units(
    method, targets, generator
):
    outputs = outputs_of(method, 16, generator)
    criterion = method.criterion([method, method], targets)
    expected = LOW + method.predict(outputs) * (HIGH - LOW)
    torch.testing.assert_close(criterion.predict(outputs), expected)


def test_noise_is_standard_and_fresh_in_each_epoch():
    targets = Targets(torch.zeros(20_000, dtype=torch.float64), 0.0, 1.0, seed=1)
    first, second = noise(targets, 1), noise(targets, 2)
    # Standard errors 0.007 and 0.005: five of them, so 1 in a million fails.
    assert first.mean().item() == pytest.approx(0, abs=0.035)
    assert first.std().item() == pytest.approx(1, abs=0.025)
    assert not torch.equal(first, second)
    assert torch.equal(first, noise(targets, 1))


def test_targets_are_scaled_by_their_declared_range():
    y = torch.tensor([LOW, 5.0, HIGH], dtype=torch.float64)
    assert Targets(y, LOW, HIGH, seed=1).scaled.tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("n", [1, 3, 224, 256])
def test_division_by_the_number_of_rows_rounds_as_division(n, generator):
    slopes = torch.randn(2, n, 5, generator=generator)
    expected = slopes / n
    divide_by_rows(slopes)
    assert torch.equal(slopes, expected)
