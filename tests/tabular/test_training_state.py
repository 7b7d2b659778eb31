"""Training states: what is described is what is restored."""

import json

import numpy as np
import pytest
import torch

from histreg.errors import InputError
from histreg.tabular import training_state
from histreg.tabular.networks import Stack, TabularBody
from histreg.tabular.training import Settings, optimizer_of
from histreg.tabular.training_state import TrainingState


def parts(seed=0):
    """Return a network and a second readout, as a model has them."""
    generator = torch.Generator().manual_seed(seed)
    body = TabularBody(
        2, 3, (4,), hidden_layer_sizes=(5,), dropout=0.0, generator=generator
    )
    network = Stack(body, 1, 6, generator=generator)
    return network, Stack(body, 1, 6, generator=generator).readout


def step(network, optimizer, scale):
    numbers = scale * torch.arange(12.0).view(4, 3)
    codes = torch.ones(4, 1, dtype=torch.int64)
    optimizer.zero_grad()
    network(numbers, codes).square().sum().backward()
    optimizer.step()


def stepped(n_steps=3):
    """Return parts, and optimizers of which the first has taken some steps."""
    network, readout = parts()
    settings = Settings(learning_rate=0.02, weight_decay=0.3)
    optimizers = [optimizer_of(each, settings) for each in (network, readout)]
    for i in range(n_steps):
        step(network, optimizers[0], i)
    return (network, readout), optimizers


def through_json(described):
    return json.loads(json.dumps(described, allow_nan=False))


def test_a_restored_optimizer_takes_the_same_steps():
    both, optimizers = stepped()
    described, tensors = training_state.describe(TrainingState(optimizers), both)
    others = parts(seed=1)
    with torch.no_grad():
        for one, other in zip(both, others, strict=True):
            other.load_state_dict(one.state_dict())
    restored = training_state.restore(through_json(described), tensors, others)
    for network, optimizer in (
        (both[0], optimizers[0]),
        (others[0], restored.optimizers[0]),
    ):
        for i in range(3):
            step(network, optimizer, 0.1 * i)
    for one, other in zip(both[0].parameters(), others[0].parameters(), strict=True):
        assert torch.equal(one, other)
    assert restored.optimizers[1].learning_rate == 0.02
    assert restored.optimizers[1].weight_decay == 0.3


@pytest.mark.parametrize("n_draws", [0, 1, 700])
def test_a_restored_generator_goes_on(n_draws):
    generator = np.random.RandomState(5)
    generator.randint(2**31, size=n_draws)
    state = training_state.describe(TrainingState(generator=generator), parts())
    restored = training_state.restore(through_json(state[0]), state[1], parts())
    expected = generator.randint(2**31, size=700)
    np.testing.assert_array_equal(restored.generator.randint(2**31, size=700), expected)
    assert restored.optimizers == []


@pytest.mark.parametrize("n_optimizers", [0, 1, 2])
@pytest.mark.parametrize("generator", [None, np.random.RandomState(0)])
def test_the_tensors_are_the_expected_ones(n_optimizers, generator):
    both, optimizers = stepped()
    state = TrainingState(optimizers[:n_optimizers], generator)
    described, tensors = training_state.describe(state, both)
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    assert shapes == training_state.expected_tensors(described, both)


def test_nothing_to_go_on_with_leaves_nothing_to_save():
    own = np.random.mtrand._rand  # numpy's, which belongs to everybody
    other = np.random.RandomState(np.random.PCG64(0))
    for generator in (None, own, other):
        state = TrainingState(generator=generator)
        assert training_state.describe(state, parts()) == ({}, {})
    assert training_state.restore({}, {}, parts()) == TrainingState()


def damaged(name, change):
    def damage(_, tensors):
        tensors[name] = change(tensors[name].clone())

    return damage


WRONG = {
    "a tensor is missing": lambda _, tensors: tensors.pop("generator"),
    "a tensor too many": lambda _, tensors: tensors.update(
        {"optimizer.2.weight.step": torch.zeros(())}
    ),
    "one optimizer of two": lambda described, _: described["training"][
        "optimizers"
    ].pop(),
    "no generator told": lambda described, _: described["training"].update(
        has_generator=False
    ),
    "words that are none": damaged("generator", lambda words: words - 1),
    "a position beyond the words": damaged("generator", lambda words: words + 700),
    "words as floats": damaged("generator", lambda words: words.double()),
    "a negative step": damaged("optimizer.1.weight.step", lambda step: step - 100),
    "moments of another shape": damaged(
        "optimizer.1.bias.exp_avg", lambda m: m[..., 1:]
    ),
    "moments that are no numbers": damaged(
        "optimizer.0.readout.bias.exp_avg", lambda m: m * torch.nan
    ),
    "negative squares": damaged("optimizer.0.readout.bias.exp_avg_sq", lambda m: m - 1),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_state_that_cannot_be_is_refused_in_one_sentence(what):
    both, optimizers = stepped()
    state = TrainingState(optimizers, np.random.RandomState(0))
    described, tensors = training_state.describe(state, both)
    described = through_json(described)
    training_state.restore(described, tensors, both)
    WRONG[what](described, tensors)
    with pytest.raises(InputError, match=r"must|missing|unexpected"):
        training_state.restore(described, tensors, both)
