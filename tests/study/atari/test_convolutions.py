"""The value network: its sizes, its first weights, what it sees."""

import math

import torch

from histreg.study.atari.convolutions import Convolutions
from histreg.study.engine.seeding import generator_for


def made(n_outputs=1, seed=1):
    return Convolutions(
        n_outputs, generator_for(seed, "body"), generator_for(seed, "head")
    )


def frames(n=2):
    draw = torch.Generator().manual_seed(0)
    return torch.randint(256, (n, 4, 84, 84), generator=draw, dtype=torch.uint8)


def test_the_number_of_weights_is_that_of_the_usual_network():
    sizes = [each.numel() for each in made(100).parameters()]
    # 84 -> 20 -> 9 -> 7 pixels a side.
    convolutions = 32 * (4 * 64 + 1) + 64 * (32 * 16 + 1) + 64 * (64 * 9 + 1)
    dense = 512 * (64 * 49 + 1)
    assert sum(sizes) == convolutions + dense + 100 * 513


def test_layers_start_by_the_rules_of_glorot_and_lecun():
    network = made(100)
    first = network.body[0].weight
    limit = math.sqrt(6 / (4 * 64 + 32 * 64))
    assert 0.95 * limit < first.abs().max() <= limit
    head = network.head.weight
    sd = math.sqrt(1 / 512)
    assert abs(head.std() / sd - 1) < 0.02  # of 51,200 draws: fails once in 1e9
    assert head.abs().max() <= 2 * sd / 0.879 + 1e-6
    for name, weights in network.named_parameters():
        if name.endswith("bias"):
            assert not weights.any()


def test_bodies_do_not_depend_on_the_head():
    one, many = made(1), made(100)
    for a, b in zip(one.body.parameters(), many.body.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(made(1, seed=2).head.weight, one.head.weight)


def test_it_is_the_plain_network_of_frames_over_255():
    network, x = made(5), frames()
    plain = x.double() / 255
    for i in (0, 2, 4):
        layer = network.body[i]
        plain = torch.nn.functional.conv2d(
            plain, layer.weight.double(), layer.bias.double(), layer.stride
        ).relu()
    dense = network.body[7]
    plain = (plain.flatten(1) @ dense.weight.double().T + dense.bias.double()).relu()
    expected = plain @ network.head.weight.double().T
    # Sums of 3,136 float32 products.
    torch.testing.assert_close(network(x).double(), expected, rtol=1e-4, atol=1e-5)


def test_what_it_is_given_is_not_changed():
    x = frames()
    before = x.clone()
    made()(x)
    assert torch.equal(x, before)
