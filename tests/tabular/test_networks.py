"""Stacked networks: M models in one tensor are M models."""

import math

import pytest
import torch
from torch import nn

from histreg import Bins, HistogramHead
from histreg.tabular.networks import (
    CopiedBody,
    LabelEmbedding,
    PeriodicEmbedding,
    Stack,
    StackedLinear,
    TabularBody,
    Waves,
    dropout,
)


def test_a_stacked_linear_is_many_linears(generator):
    stacked = StackedLinear(3, 4, 5)
    x = torch.randn(3, 7, 4, generator=generator)
    for i, out in enumerate(stacked(x)):
        one = nn.Linear(4, 5)
        one.weight.data, one.bias.data = stacked.weight[i].T, stacked.bias[i, 0]
        torch.testing.assert_close(out, one(x[i]))


def test_waves_follow_their_formula(generator):
    x = torch.randn(6, 3, dtype=torch.float64, generator=generator)
    out = Waves(4)(x)
    assert out.shape == (6, 27)
    row, column = 4, 2
    expected = [x[row, column].item()]
    for wave in (math.sin, math.cos):
        for frequency in (0.1, 0.25, 0.625, 1.5625):
            angle = 2 * math.pi * frequency * expected[0]
            expected.append(0.1 / frequency * wave(angle))
    torch.testing.assert_close(out[row, 18:].tolist(), expected)
    torch.testing.assert_close(Waves(0)(x), x)


def test_a_periodic_embedding_follows_its_formula(generator):
    embedding = PeriodicEmbedding(2, 3, width=4, n_frequencies=5)
    x = torch.randn(6, 3, generator=generator)
    out = embedding(x)
    assert out.shape == (2, 6, 12)
    m, row, column = 1, 4, 2
    angle = 2 * math.pi * embedding.frequencies[m, column, 0] * x[row, column]
    waves = torch.cat([angle.sin(), angle.cos()])
    expected = waves @ embedding.weight[m, column] + embedding.bias[m, column, 0]
    leaky = torch.where(expected > 0, expected, expected / 100)
    torch.testing.assert_close(out[m, row, 8:12], leaky)


def test_a_column_whose_units_are_all_off_is_still_in_use(generator):
    embedding = PeriodicEmbedding(1, 1, width=4)
    embedding.bias.data.fill_(-100.0)
    x = torch.randn(6, 1, generator=generator)
    out = embedding(x)
    assert (out < 0).all()
    assert (out.std(dim=1) > 0).all()
    out.sum().backward()
    assert (embedding.weight.grad != 0).all()


def test_unknown_labels_start_at_zero_and_others_apart():
    embedding = LabelEmbedding(2, [3, 40])
    out = embedding(torch.tensor([[0, 0], [1, 39], [1, 38]]))
    assert out.shape == (2, 3, 3 + 16)
    assert (out[:, 0] == 0).all()
    torch.testing.assert_close(out[:, 1, :3], out[:, 2, :3])
    assert not torch.equal(out[:, 1, 3:], out[:, 2, 3:])


@pytest.mark.parametrize("n_numbers, n_codes", [(3, ()), (0, (4, 5)), (3, (4,))])
@pytest.mark.parametrize("hidden", [(), (6,), (6, 5)])
@pytest.mark.parametrize("embedding_width, n_waves", [(0, 0), (0, 3), (2, 3)])
def test_bodies_of_any_shape_give_their_features(
    n_numbers, n_codes, hidden, embedding_width, n_waves
):
    body = TabularBody(
        2,
        n_numbers,
        n_codes,
        hidden_layer_sizes=hidden,
        embedding_width=embedding_width,
        n_waves=n_waves,
    )
    numbers = torch.randn(7, n_numbers)
    codes = torch.zeros(7, len(n_codes), dtype=torch.int64)
    assert body(numbers, codes).shape == (2, 7, body.n_features)


def test_the_models_of_a_stack_do_not_know_each_other():
    stack = Stack(TabularBody(3, 4, hidden_layer_sizes=(8,)), 1, 5).eval()
    numbers, codes = torch.randn(6, 4), torch.zeros(6, 0, dtype=torch.int64)
    outputs = stack(numbers, codes)
    gradients = torch.autograd.grad(outputs[1].sum(), list(stack.parameters()))
    for gradient in gradients:
        assert (gradient[0] == 0).all() and (gradient[2] == 0).all()
    with torch.no_grad():
        for parameter in stack.parameters():
            parameter[1] = 0
    changed = stack(numbers, codes)
    torch.testing.assert_close(changed[[0, 2]], outputs[[0, 2]])
    assert (changed[1] == 0).all()


def test_copies_of_a_module_differ_but_the_first():
    module = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.ReLU())
    body = CopiedBody(module, 3, n_numbers=2, n_codes=(3,))
    assert body.n_features == 4
    assert torch.equal(body.copies[0][0].weight, module[0].weight)
    assert not torch.equal(body.copies[1][0].weight, body.copies[2][0].weight)
    numbers, codes = torch.randn(6, 2), torch.tensor([[0], [1], [2]] * 2)
    body.eval()
    one_hot = torch.eye(3)[codes[:, 0]]
    expected = body.copies[2](torch.cat([numbers, one_hot], dim=1))
    torch.testing.assert_close(body(numbers, codes)[2], expected)


def test_a_backbone_of_another_shape_is_refused_before_training():
    with pytest.raises(ValueError, match=r"backbone must take rows of shape \(n, 3\)"):
        CopiedBody(nn.Linear(4, 2), 1, n_numbers=3)
    with pytest.raises(ValueError, match=r"backbone must return features.*\(2, 3, 1\)"):
        CopiedBody(nn.Unflatten(1, (3, 1)), 1, n_numbers=3)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_drops_its_share_and_keeps_the_mean(p):
    n = 400_001  # no multiple of four
    out = dropout(torch.ones(n), p)
    dropped = (out == 0).double().mean().item()
    # Five standard deviations: fails once in two million.
    assert abs(dropped - p) < 5 * math.sqrt(p * (1 - p) / n)
    torch.testing.assert_close(out.max(), torch.tensor(1 / (1 - p)))
    # No position is drawn differently: the four quarters of a word alike.
    words = (out[: n - 1] == 0).double().view(-1, 4).mean(dim=0)
    assert (words - p).abs().max() < 5 * math.sqrt(p * (1 - p) / (n / 4))


def test_the_models_of_a_stack_drop_the_same_units():
    out = dropout(torch.ones(3, 50, 20), 0.5)
    assert (out == out[0]).all()
    assert 0 < (out[0] == 0).sum() < 1000


def stack_on(bins, n_models=2, n_targets=2):
    """Return a stack whose outputs are logits, features of some rows, and Adam."""
    body = TabularBody(n_models, 3, hidden_layer_sizes=(8,), embedding_width=0)
    stack = Stack(body, n_targets, bins.n_bins)
    optimizer = torch.optim.AdamW(stack.parameters())
    numbers, codes = torch.randn(40, 3), torch.empty(40, 0, dtype=torch.int64)
    stack(numbers, codes).square().sum().backward()
    optimizer.step()
    return stack, body(numbers, codes).detach(), optimizer


def test_a_stack_is_rebinned_as_a_head_is():
    old = Bins.uniform(0.0, 10.0, 50)
    new = old.grown(30.0)
    stack, features, _ = stack_on(old)
    head = HistogramHead(8, old)
    with torch.no_grad():
        head.linear.weight.copy_(stack.readout.weight[1, :, :50].T)
        head.linear.bias.copy_(stack.readout.bias[1, 0, :50])
    before = stack.outputs(features)
    stack.rebin([old, old], [new, old], features)
    head.rebin(new, features[1])
    after = stack.outputs(features)
    # The models are fitted together, so not to the last digit as one alone.
    torch.testing.assert_close(
        after[1, :, 0].softmax(-1), head(features[1]).softmax(-1), rtol=0, atol=2e-3
    )
    assert torch.equal(after[:, :, 1], before[:, :, 1])  # whose bins are the same


def test_the_moments_of_merged_bins_are_sums():
    old = Bins.uniform(0.0, 10.0, 50)
    new = old.grown(12.0)  # pairs, and as many bins again above
    assert new.borders[:26].tolist() == old.borders[::2].tolist()
    stack, features, optimizer = stack_on(old)
    state = optimizer.state[stack.readout.weight]
    before = {name: state[name].clone() for name in ("exp_avg", "exp_avg_sq")}
    body = optimizer.state[stack.body.layers[0].weight]["exp_avg"].clone()
    stack.rebin([old, old], [new, old], features, [optimizer])
    for name, was in before.items():
        now = state[name]
        pairs = was[..., :50].unflatten(-1, (25, 2)).sum(-1)
        torch.testing.assert_close(now[..., :25], pairs)
        end = was[..., 49:50] if name == "exp_avg_sq" else torch.zeros(1)
        torch.testing.assert_close(now[..., 25:50], end.expand(2, 8, 25))
        assert torch.equal(now[..., 50:], was[..., 50:])  # of the other target
    assert torch.equal(optimizer.state[stack.body.layers[0].weight]["exp_avg"], body)
