"""Bodies and heads of forecasters: shapes, what they may see, and first weights."""

import math

import pytest
import torch
from torch import nn

from histreg.study.series.forecasters import (
    BODIES,
    HEADS_AFTER_PROJECTION,
    Dense,
    OverTime,
    PerStep,
    Shared,
    Transformer,
    projected_head,
    start_as_keras,
)
from histreg.study.series.runs import ARCHITECTURES, DIRECT, LINEAR_HEADS

EACH = pytest.mark.parametrize("name", BODIES)
EACH_HEAD = pytest.mark.parametrize("kind", HEADS_AFTER_PROJECTION)


def test_runs_know_bodies_and_heads_by_their_names():
    assert tuple(BODIES) == ARCHITECTURES
    assert (DIRECT, *HEADS_AFTER_PROJECTION) == LINEAR_HEADS


@EACH
def test_a_body_makes_features_of_windows(name):
    body = BODIES[name](7, 12).eval()
    features = body(torch.randn(5, 12, 7))
    assert features.shape == (5, body.n_features)
    assert features.isfinite().all()


@EACH
def test_windows_do_not_see_one_another(name):
    torch.manual_seed(0)
    body = BODIES[name](7, 12).eval()
    x = torch.randn(5, 12, 7)
    changed = x.clone()
    changed[1:] += 1
    torch.testing.assert_close(body(x)[0], body(changed)[0])


def test_the_linear_body_sees_the_target_alone():
    x = torch.randn(5, 12, 7)
    assert torch.equal(BODIES["Linear"](7, 12)(x), x[..., -1])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # 2 layers: 4 (or 3) gates of 256 x (7 + 256) and 256 x 512, two biases each;
        # 2 x 512 of layer norms.
        ("LSTM", 4 * 256 * (7 + 256 + 2) + 4 * 256 * (256 + 256 + 2) + 1024),
        ("GRU", 3 * 256 * (7 + 256 + 2) + 3 * 256 * (256 + 256 + 2) + 1024),
        # 7 to 128; 3 blocks of attention, two layers of 512 and two norms.
        (
            "Transformer",
            8 * 128
            + 3 * (4 * (128 * 128 + 128) + 128 * 512 + 512 + 512 * 128 + 128 + 4 * 128),
        ),
        ("Linear", 0),
    ],
)
def test_the_numbers_of_weights_are_those_of_the_paper_s_sizes(name, expected):
    assert sum(each.numel() for each in BODIES[name](7, 96).parameters()) == expected


def test_the_order_of_moments_matters_to_the_transformer():
    torch.manual_seed(0)
    body = Transformer(7, 12).eval()
    x = torch.randn(1, 12, 7)
    assert not torch.allclose(body(x), body(x.flip(1)))


def test_places_are_sines_and_cosines_of_falling_frequency():
    places = Transformer(7, 5).places
    assert places[3, 0].item() == pytest.approx(math.sin(3))
    assert places[3, 1].item() == pytest.approx(math.cos(3))
    slow = 10_000 ** (-126 / 128)
    assert places[3, 126].item() == pytest.approx(math.sin(3 * slow), rel=1e-5)


@EACH_HEAD
def test_a_head_makes_outputs_of_each_step(kind):
    outputs = HEADS_AFTER_PROJECTION[kind](4, 3)(torch.randn(5, 4))
    assert outputs.shape == (5, 4, 3)


def test_a_per_step_head_is_a_map_of_its_own_for_each_step(generator):
    head = PerStep(4, 3)
    maps = [nn.Linear(1, 3) for _ in range(4)]
    for step, each in enumerate(maps):
        each.weight.data = head.weight.data[step, :, None]
        each.bias.data = head.bias.data[step]
    projected = torch.randn(5, 4, generator=generator)
    expected = [each(projected[:, i : i + 1]) for i, each in enumerate(maps)]
    torch.testing.assert_close(head(projected), torch.stack(expected, dim=1))


def test_a_per_step_head_by_hand():
    head = PerStep(2, 2)
    head.weight.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    head.bias.data = torch.tensor([[0.0, 1.0], [-1.0, 0.5]])
    # 10 * 1 + 0, 10 * 2 + 1 of the first step; 2 * 3 - 1, 2 * 4 + 0.5 of the second.
    outputs = head(torch.tensor([[10.0, 2.0]]))
    assert outputs.tolist() == [[[10.0, 21.0], [5.0, 8.5]]]


def test_a_per_step_head_begins_as_linear_maps_of_one_number_do():
    torch.manual_seed(0)
    head = PerStep(96, 100)
    like = nn.Linear(1, 9600)
    for ours, theirs in ((head.weight, like.weight), (head.bias, like.bias)):
        # Both uniform on (-1, 1): of 9,600 numbers the largest is above 0.99 but for
        # one in exp(96), and the deviation is the root of 1/3 to within 0.01.
        for drawn in (ours, theirs):
            assert 0.99 < drawn.abs().max() <= 1
            assert drawn.std().item() == pytest.approx(3**-0.5, abs=0.015)


def test_a_shared_head_is_one_map_for_all_steps(generator):
    head = Shared(4, 3)
    assert [tuple(each.shape) for each in head.parameters()] == [(3, 1), (3,)]
    projected = torch.randn(5, 4, generator=generator)
    one = nn.Linear(1, 3)
    one.load_state_dict(head.linear.state_dict())
    expected = torch.stack([one(projected[:, i : i + 1]) for i in range(4)], dim=1)
    torch.testing.assert_close(head(projected), expected)


def test_a_dense_head_is_one_layer_from_all_steps_to_all_outputs(generator):
    head = Dense(4, 3)
    projected = torch.randn(5, 4, generator=generator)
    one = nn.Linear(4, 12)
    one.load_state_dict(head.linear.state_dict())
    torch.testing.assert_close(head(projected), one(projected).reshape(5, 4, 3))


@EACH_HEAD
def test_before_a_head_the_features_are_projected_to_the_steps(kind, generator):
    network = projected_head(kind, 7, 4, 3)
    projection, head = network
    assert isinstance(projection, nn.Linear)
    assert tuple(projection.weight.shape) == (4, 7)
    features = torch.randn(5, 7, generator=generator)
    by_hand = features @ projection.weight.T + projection.bias
    torch.testing.assert_close(network(features), head(by_hand))


@EACH_HEAD
def test_the_projection_does_not_depend_on_the_head(kind):
    drawn = []
    for n_outputs in (1, 100):
        torch.manual_seed(3)
        drawn.append(projected_head(kind, 7, 4, n_outputs))
        torch.manual_seed(3)
        start_as_keras(drawn[-1])
    assert torch.equal(drawn[0][0].weight, drawn[1][0].weight)


def is_glorot(kernel, fan_in, fan_out):
    """Return whether a kernel fills the interval of Glorot and Bengio, and no more.

    Of n uniform numbers none is in the outer hundredth with probability 0.99^n, which
    for the 1,000 and more here is below 1 in 20,000.
    """
    assert kernel.numel() >= 1000
    bound = math.sqrt(6 / (fan_in + fan_out))
    return 0.99 * bound < kernel.abs().max().item() <= bound * (1 + 1e-6)


def test_dense_kernels_of_keras_are_those_of_glorot():
    torch.manual_seed(0)
    layer, head = nn.Linear(20, 100), PerStep(30, 99)
    start_as_keras(nn.Sequential(layer, nn.Sequential(head)))
    assert is_glorot(layer.weight, 20, 100)
    # A kernel of its own for each step, (1, 99).
    assert is_glorot(head.weight, 1, 99)
    assert not layer.bias.any() and not head.bias.any()


@pytest.mark.parametrize(("layer", "n_gates"), [(nn.LSTM, 4), (nn.GRU, 3)])
def test_recurrent_kernels_of_keras_are_orthogonal_within_and_of_glorot_before(
    layer, n_gates
):
    torch.manual_seed(0)
    network = layer(9, 40)
    start_as_keras(network)
    assert is_glorot(network.weight_ih_l0, 9, n_gates * 40)
    # Keras has it transposed: (40, gates * 40) with orthonormal rows.
    product = network.weight_hh_l0.T @ network.weight_hh_l0
    torch.testing.assert_close(product, torch.eye(40), atol=1e-5, rtol=0)


def test_forget_gates_of_keras_begin_open():
    network = nn.LSTM(9, 40)
    start_as_keras(network)
    bias = (network.bias_ih_l0 + network.bias_hh_l0).unflatten(0, (4, 40))
    assert (bias[1] == 1).all()  # in, forget, cell, out
    assert not bias[[0, 2, 3]].any()
    gru = nn.GRU(9, 40)
    start_as_keras(gru)
    assert not gru.bias_ih_l0.any() and not gru.bias_hh_l0.any()


def test_attention_of_keras_multiplies_both_fans_by_the_first_axis():
    torch.manual_seed(0)
    body = Transformer(7, 12)
    start_as_keras(body)
    for block in body.blocks.layers:
        attention = block.self_attn
        # Kernels (128, 8, 16), thrice, and (8, 16, 128).
        assert is_glorot(attention.in_proj_weight, 128 * 8, 128 * 16)
        assert is_glorot(attention.out_proj.weight, 8 * 16, 8 * 128)
        assert not attention.in_proj_bias.any() and not attention.out_proj.bias.any()
        assert is_glorot(block.linear1.weight, 128, 512)
        assert is_glorot(block.linear2.weight, 512, 128)
        assert (block.norm1.weight == 1).all() and not block.norm1.bias.any()


@EACH
def test_every_kernel_of_a_body_is_drawn_anew_for_keras(name):
    torch.manual_seed(0)
    body = BODIES[name](7, 12)
    before = {name: each.clone() for name, each in body.named_parameters()}
    start_as_keras(body)
    for which, weights in body.named_parameters():
        if "norm" in which:  # ones and zeros with either
            assert torch.equal(weights, before[which])
        elif weights.ndim > 1:
            assert not torch.equal(weights, before[which])


def test_states_are_projected_along_time_before_one_head_reads_them():
    head = OverTime(n_inputs=8, n_states=3, n_steps=4, n_outputs=5)
    states = torch.randn(2, 8, 3)
    along, read = head.projection, head.linear
    projected = torch.einsum("bis,ti->bts", states, along.weight)
    projected = projected + along.bias[:, None]
    expected = torch.einsum("bts,os->bto", projected, read.weight) + read.bias
    torch.testing.assert_close(head(states), expected)


def test_of_a_linear_model_the_head_over_time_is_the_shared_one():
    body, x = BODIES["Linear"](7, 8), torch.randn(2, 8, 7)
    shared = projected_head("shared", body.n_features, 4, 5)
    over_time = OverTime(8, body.n_states, 4, 5)
    over_time.projection.load_state_dict(shared[0].state_dict())
    over_time.linear.load_state_dict(shared[1].linear.state_dict())
    torch.testing.assert_close(over_time(body.states(x)), shared(body(x)))


@pytest.mark.parametrize("name", ["LSTM", "GRU", "Transformer"])
def test_features_of_networks_are_of_their_states(name):
    torch.manual_seed(0)
    body, x = BODIES[name](7, 8).eval(), torch.randn(2, 8, 7)
    states = body.states(x)
    assert states.shape == (2, 8, body.n_states)
    pooled = states.mean(dim=1) if name == "Transformer" else states[:, -1]
    torch.testing.assert_close(body(x), pooled)
