"""Laws that hold for every method."""

import json

import pytest
import torch

from histreg.study import methods
from histreg.study.methods import Targets, method_of
from histreg.study.methods.method import ByAutograd, noise
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


def test_every_method_of_the_study_is_tested():
    trained = {
        name
        for name, each in methods.METHODS.items()
        if issubclass(each, methods.NetworkMethod)
    }
    assert trained == {method.name for method in METHODS}


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


@each_method
def test_a_method_survives_json(method):
    assert method_of(json.loads(json.dumps(method.to_json()))) == method


@each_method
def test_a_label_tells_settings_apart(method):
    assert method.label.startswith(method.name)
    others = [other.label for other in METHODS if other != method]
    assert method.label not in others


def test_a_name_that_is_no_method_is_refused():
    with pytest.raises(
        ValueError, match=r"method must be one of .*'l2', .*got method='l3'"
    ):
        method_of({"name": "l3"})


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
