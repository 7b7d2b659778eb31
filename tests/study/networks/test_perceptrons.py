"""Stacked networks against ``nn.Linear`` and autograd."""

import math

import pytest
import torch
from torch import nn

from histreg.study.networks import perceptrons
from histreg.study.networks.perceptrons import (
    ALIGNMENT,
    FusedAdam,
    Perceptrons,
    Shape,
    Weights,
    authors_head,
    lecun_uniform,
    torch_default,
)
from histreg.study.networks.products import ByNumpy, ByTorch

SHAPES = {
    "one group": Shape(3, (4, 4), ((2, 5),)),
    "several groups": Shape(3, (4, 4, 4), ((2, 5), (1, 1), (3, 2))),
    "as many outputs": Shape(3, (4, 4), ((2, 5), (1, 5), (3, 2), (1, 2))),
    "one hidden layer": Shape(3, (4,), ((2, 1), (1, 6))),
    "leaky": Shape(1, (6, 6), ((3, 2),), slope=0.01),
}


@pytest.fixture(params=[ByTorch, ByNumpy])
def _products(request, monkeypatch):
    monkeypatch.setattr(perceptrons, "fastest", lambda _: request.param())


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def network(request, generator, _products):
    network = Perceptrons(request.param, torch.float64)
    torch_default(network, [generator] * request.param.n_models)
    return network


def plain(network: Perceptrons, i: int) -> nn.Sequential:
    """Return the i-th model as anybody would write it."""
    layers = []
    for weight, bias in network.weights.of_model(i):
        linear = nn.Linear(*weight.shape, dtype=weight.dtype)
        with torch.no_grad():
            linear.weight.copy_(weight.T)
            linear.bias.copy_(bias[0])
        layers += [linear, nn.LeakyReLU(network.shape.slope)]
    return nn.Sequential(*layers[:-1])


def x_of(network, generator, n=7):
    return torch.randn(
        n, network.shape.n_inputs, dtype=torch.float64, generator=generator
    )


def test_outputs_are_those_of_the_models_one_by_one(network, generator):
    x = x_of(network, generator)
    outputs = [each for group in network.forward(x) for each in group]
    for i, out in enumerate(outputs):
        torch.testing.assert_close(out, plain(network, i)(x).detach())


def test_gradients_are_those_of_autograd(network, generator):
    x = x_of(network, generator)
    network.forward(x)
    slopes = network.output_slopes(x)
    for slope in slopes:
        slope.copy_(torch.randn(slope.shape, dtype=slope.dtype, generator=generator))
    network.backward(x)
    each = [slope for group in slopes for slope in group]
    for i, slope in enumerate(each):
        model = plain(network, i)
        expected = torch.autograd.grad((model(x) * slope).sum(), model.parameters())
        found = [part for w, b in network.gradients.of_model(i) for part in (w.T, b[0])]
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b)


def test_batches_of_other_sizes_do_not_disturb_each_other(network, generator):
    x = x_of(network, generator)
    first = [out.clone() for out in network.forward(x)]
    network.forward(x[:3])
    for a, b in zip(network.forward(x), first, strict=True):
        assert torch.equal(a, b)


def test_the_gradient_of_a_model_is_clipped_as_one_and_others_are_left(
    network, generator
):
    network.gradients.flat.normal_(generator=generator)
    before = [
        torch.cat(
            [
                part.flatten()
                for layer in network.gradients.of_model(i)
                for part in layer
            ]
        )
        for i in range(network.shape.n_models)
    ]
    network.clip(1, 0.5)
    network.clip(0, 1e9)
    for i, gradient in enumerate(before):
        now = torch.cat(
            [
                part.flatten()
                for layer in network.gradients.of_model(i)
                for part in layer
            ]
        )
        expected = gradient * 0.5 / gradient.norm() if i == 1 else gradient
        torch.testing.assert_close(now, expected)


@pytest.mark.parametrize("share", [0.9, 0.996, 0.9999])
def test_a_gradient_hardly_above_the_largest_norm_is_clipped(share, network, generator):
    network.gradients.flat.normal_(generator=generator)
    norm = network.gradients.vector_of(1).norm().item()
    network.clip(1, share * norm)
    now = network.gradients.vector_of(1).norm().item()
    assert now == pytest.approx(share * norm, rel=1e-6)


def test_a_gradient_that_is_not_finite_stays_visible(network):
    network.gradients.flat.fill_(1.0)
    network.gradients.of_model(1)[0][0][0, 0] = torch.nan
    network.clip(1, 0.5)
    assert network.gradients.vector_of(1).isnan().all()


def test_all_weights_lie_in_one_vector_each_layer_aligned():
    shape = SHAPES["several groups"]
    weights = Weights(shape)
    n = 0
    for i in range(shape.n_models):
        for weight, bias in weights.of_model(i):
            weight += 1  # every entry is reached once
            bias += 1
            n += weight.numel() + bias.numel()
    assert weights.flat.sum() == n
    assert weights.flat.max() == 1
    for weight, bias in [weights.first, *weights.hidden, *weights.heads]:
        assert weight.storage_offset() % ALIGNMENT == 0
        assert bias.storage_offset() % ALIGNMENT == 0


def test_lecun_uniform_has_variance_one_over_inputs_and_no_bias(generator):
    network = Perceptrons(Shape(200, (300, 300), ((1, 250),)))
    lecun_uniform(network, [(generator, generator)])
    for weight, bias in network.weights.of_model(0):
        n_inputs = weight.shape[0]
        # 60,000 draws: their variance has a relative error of 0.4 %; five of them.
        assert weight.var().item() == pytest.approx(1 / n_inputs, rel=0.02)
        assert weight.abs().max().item() <= math.sqrt(3 / n_inputs)
        assert not bias.any()


def test_models_that_share_a_stream_start_alike_but_for_their_heads():
    def generator_for():
        return torch.Generator().manual_seed(3)

    network = Perceptrons(Shape(3, (4, 4), ((2, 5), (1, 2))))
    heads = [torch.Generator().manual_seed(i) for i in range(3)]
    lecun_uniform(network, [(generator_for(), head) for head in heads])
    one, two, other = (network.weights.of_model(i) for i in range(3))
    for layer in range(2):
        assert torch.equal(one[layer][0], two[layer][0])
        assert torch.equal(one[layer][0], other[layer][0])
    assert not torch.equal(one[2][0], two[2][0])


def test_torch_default_draws_within_the_bounds_of_nn_linear(generator):
    network = Perceptrons(Shape(4, (300, 300), ((1, 2),)))
    torch_default(network, [generator])
    for weight, bias in network.weights.of_model(0):
        bound = 1 / math.sqrt(weight.shape[0])
        assert weight.abs().max().item() == pytest.approx(bound, rel=0.05)
        assert 0 < bias.abs().max().item() <= bound


def test_the_authors_head_has_biases_of_their_own_fan_in():
    network = Perceptrons(Shape(4, (50, 50), ((4000, 1), (1, 100))))
    network.weights.flat.fill_(7.0)
    generator = torch.Generator().manual_seed(1)
    authors_head(network, [generator] * 4001)
    (weight, bias), (weight_100, bias_100) = network.weights.heads
    # 4,000 biases: their sd has a relative error of 1 %; 100 of them 7 %.
    assert bias.std().item() == pytest.approx(1.0, rel=0.05)
    assert weight.std().item() == pytest.approx(1 / math.sqrt(50), rel=0.01)
    assert bias_100.std().item() == pytest.approx(0.1, rel=0.35)
    assert weight_100.std().item() == pytest.approx(1 / math.sqrt(50), rel=0.05)
    assert bool((network.weights.first[0] == 7.0).all())  # bodies are left


# --- The optimizer

SMALL = Shape(3, (4, 4), ((2, 5),))


@pytest.mark.parametrize("epsilon", [1e-7, 1e-8])
def test_steps_are_those_of_adam_without_its_fused_kernel(generator, dtype, epsilon):
    network = Perceptrons(SMALL, dtype)
    torch_default(network, [generator] * 2)
    expected = nn.Parameter(network.weights.flat.clone())
    plain = torch.optim.Adam([expected], lr=0.1, eps=epsilon, fused=False)
    fused = FusedAdam(network, learning_rate=0.1, epsilon=epsilon)
    for _ in range(20):
        network.gradients.flat.normal_(generator=generator)
        network.gradients.flat[:5] = 0  # units that are switched off
        expected.grad = network.gradients.flat.clone()
        plain.step()
        fused.step()
    torch.testing.assert_close(network.weights.flat, expected.detach())


def test_steps_have_the_bits_of_torchs_fused_adam(generator):
    network = Perceptrons(SMALL)
    torch_default(network, [generator] * 2)
    expected = nn.Parameter(network.weights.flat.clone())
    whole = torch.optim.Adam([expected], lr=1e-3, eps=1e-7, fused=True)
    fused = FusedAdam(network, learning_rate=1e-3, epsilon=1e-7)
    for _ in range(20):
        network.gradients.flat.normal_(generator=generator)
        expected.grad = network.gradients.flat.clone()
        whole.step()
        fused.step()
    assert torch.equal(network.weights.flat, expected.detach())


def test_groups_with_as_many_outputs_are_parts_of_one_head():
    network = Perceptrons(Shape(3, (4,), ((2, 5), (1, 5), (3, 2))))
    assert [len(weight) for weight, _ in network.weights.heads] == [3, 3]
    x = torch.zeros(6, 3)
    one, two, three = network.output_slopes(x)
    assert [out.shape for out in network.forward(x)] == [
        (2, 6, 5),
        (1, 6, 5),
        (3, 6, 2),
    ]
    assert two.data_ptr() == one.data_ptr() + one.numel() * one.element_size()
    assert three.shape == (3, 6, 2)


def test_an_optimizer_continues_from_a_state_that_is_put_back(generator):
    gradients = torch.randn(2, Weights(SMALL).flat.numel(), generator=generator)

    def optimizer_of(network):
        return FusedAdam(network, learning_rate=0.1, epsilon=1e-8)

    def step(network, optimizer, gradient):
        network.gradients.flat.copy_(gradient)
        optimizer.step()

    whole, second = Perceptrons(SMALL), Perceptrons(SMALL)
    optimizer = optimizer_of(whole)
    step(whole, optimizer, gradients[0])
    second.weights.flat.copy_(whole.weights.flat)
    resumed = optimizer_of(second)
    for name, value in optimizer.moments.items():
        resumed.moments[name].copy_(value)
    step(whole, optimizer, gradients[1])
    step(second, resumed, gradients[1])
    assert torch.equal(whole.weights.flat, second.weights.flat)
