"""Value learning: backups, steps, several critics, and bins that grow for two heads."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from histreg import Bins, Histogram, HistogramHead, HistogramLoss, losses, rl, targets
from tests import references
from tests.conftest import TOLERANCE
from tests.registries import BINS

BACKUPS = {
    "projected": {},
    "gaussian": {"target": "gaussian", "sigma_in_bins": 0.75},
    "gaussian, mean kept": {
        "target": "gaussian",
        "sigma_in_bins": 0.75,
        "keeps_mean": True,
    },
    "one_bin": {"target": "one_bin"},
}


def some_transitions(bins: Bins, generator, *shape, dtype=torch.float64):
    """Return next values, rewards of the size of the bins, and discounts, some 0."""
    logits = 2 * torch.randn(*shape, bins.n_bins, generator=generator, dtype=dtype)
    span = bins.high - bins.low
    rewards = span * torch.randn(shape, generator=generator, dtype=dtype)
    discounts = torch.rand(shape, generator=generator, dtype=dtype)
    discounts[..., ::3] = 0
    return Histogram(bins, logits=logits), rewards, discounts


# ---- the backup


@pytest.mark.parametrize("bins", BINS.values(), ids=BINS)
def test_the_projected_backup_is_the_sum_of_two_hot_targets(bins, generator):
    z, rewards, discounts = some_transitions(bins, generator, 9)
    centers = bins.centers.numpy()
    expected = [
        references.bellman_backup(
            probs, centers, r, g, lambda y: references.two_hot(y, centers)
        )
        for probs, r, g in zip(
            z.probs.numpy(), rewards.tolist(), discounts.tolist(), strict=True
        )
    ]
    actual = rl.backup(z, rewards, discounts)
    # 1e-9: bins around 1e6 have centers rounded to 1e-10 of their width.
    assert_close(actual, torch.tensor(np.array(expected)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("target", ["even", "uneven"])
def test_the_gaussian_backup_is_the_sum_of_truncated_normals(target, generator):
    bins, sigma = BINS[target], 0.4
    z, rewards, discounts = some_transitions(bins, generator, 6)
    borders = bins.borders.numpy()

    def normal(y):
        y = float(np.clip(y, bins.low, bins.high))
        return references.gaussian_target(y, borders, sigma)

    expected = [
        references.bellman_backup(probs, bins.centers.numpy(), r, g, normal)
        for probs, r, g in zip(
            z.probs.numpy(), rewards.tolist(), discounts.tolist(), strict=True
        )
    ]
    actual = rl.backup(
        z, rewards, discounts, target="gaussian", sigma=sigma, keeps_mean=False
    )
    assert_close(actual, torch.tensor(np.array(expected)), **TOLERANCE[torch.float64])


@pytest.mark.parametrize("options", BACKUPS.values(), ids=BACKUPS)
@pytest.mark.parametrize("bins", BINS.values(), ids=BINS)
def test_a_backup_is_a_probability_vector(bins, options, generator, dtype, close):
    z, rewards, discounts = some_transitions(bins, generator, 3, 4, dtype=dtype)
    probs = rl.backup(z, 100 * rewards, discounts, **options)
    assert probs.shape == (3, 4, bins.n_bins) and probs.dtype == dtype
    assert (probs >= 0).all()
    close(probs.sum(dim=-1), torch.ones(3, 4))


@pytest.mark.parametrize("bins", BINS.values(), ids=BINS)
def test_the_projected_backup_keeps_the_mean_between_the_outer_centers(bins, generator):
    z, _, discounts = some_transitions(bins, generator, 50)
    first, last = bins.centers[0], bins.centers[-1]
    share = torch.rand(50, generator=generator, dtype=torch.float64)
    # Rewards that leave every center within: r + g c lies between both for all c.
    rewards = first + share * (last - first) * (1 - discounts) - discounts * first
    mean = Histogram(bins, probs=rl.backup(z, rewards, discounts)).mean
    expected = rewards + discounts * z.mean
    span = bins.high - bins.low
    # Twice the rounding of numbers as far from zero as the bins are.
    assert_close(mean / span, expected / span, rtol=4e-16, atol=1e-12)


@pytest.mark.parametrize("name", ["even", "uneven", "geometric"])
def test_the_gaussian_backup_that_keeps_the_mean_does_up_to_the_ends(name, generator):
    bins = BINS[name]
    z, _, discounts = some_transitions(bins, generator, 50)
    first, last = bins.centers[0], bins.centers[-1]
    rewards = (first + last) / 2 * (1 - discounts)
    probs = rl.backup(z, rewards, discounts, **BACKUPS["gaussian, mean kept"])
    assert_close(
        Histogram(bins, probs=probs).mean,
        rewards + discounts * z.mean,
        rtol=0,
        atol=1e-9 * (bins.high - bins.low),
    )


@pytest.mark.parametrize("options", BACKUPS.values(), ids=BACKUPS)
def test_after_the_end_of_an_episode_the_backup_is_the_target_of_the_reward(
    options, generator
):
    bins = BINS["even"]
    z, rewards, _ = some_transitions(bins, generator, 20)
    actual = rl.backup(z, rewards, torch.zeros(20), **options)
    target = targets.target_of(
        **{"target": "projected", **options}  # the default, unless it is given
    )
    assert_close(actual, target.probs(rewards, bins), **TOLERANCE[torch.float64])


def test_a_full_discount_without_reward_changes_nothing(generator):
    z, rewards, _ = some_transitions(BINS["uneven"], generator, 7)
    same = rl.backup(z, torch.zeros_like(rewards), torch.ones(7))
    assert_close(same, z.probs, **TOLERANCE[torch.float64])


def test_a_backup_onto_other_bins_keeps_the_mean(generator):
    z, rewards, discounts = some_transitions(BINS["even"], generator, 30)
    wide = Bins.uniform(-60.0, 60.0, 64)
    probs = rl.backup(z, rewards, discounts, bins=wide)
    expected = rewards + discounts * z.mean
    assert_close(Histogram(wide, probs=probs).mean, expected, rtol=0, atol=1e-11)
    uneven = Bins([-50.0, -1.0, 0.0, 3.0, 70.0])
    probs = rl.backup(z, rewards, discounts, bins=uneven)
    assert probs.shape == (30, 4)
    assert_close(Histogram(uneven, probs=probs).mean, expected, rtol=0, atol=1e-11)


ODD_BINS = {
    "two": Bins([0.0, 1.0, 3.0]),
    "three": Bins([-7.0, -6.5, 0.0, 100.0]),
    "symexp": rl.symexp_bins(31),
    "tiny": Bins.uniform(-1e-20, 1e-20, 5),
}


@pytest.mark.parametrize("onto", ODD_BINS.values(), ids=ODD_BINS)
@pytest.mark.parametrize("bins", ODD_BINS.values(), ids=ODD_BINS)
@pytest.mark.parametrize("target", ["projected", "gaussian"])
def test_backups_onto_any_bins_of_any_reward_and_discount(
    target, bins, onto, generator, dtype
):
    rewards = [0.0, 1e30, -1e30, onto.low, onto.high, onto.centers[-1].item(), -5.0]
    discounts = [0.0, 1.0, 0.99, 1e-30, 1.5]
    pairs = torch.cartesian_prod(torch.tensor(rewards), torch.tensor(discounts))
    r, g = pairs.to(dtype).unflatten(0, (7, 5)).unbind(-1)  # (7, 5) each
    logits = 3 * torch.randn(7, 5, bins.n_bins, generator=generator, dtype=dtype)
    z = Histogram(bins, logits=logits)
    sigma = 0.3 * (onto.high - onto.low) / onto.n_bins
    centers, borders = onto.centers.numpy(), onto.borders.numpy()

    def slow(y):
        if target == "projected":
            return references.two_hot(y, centers)
        return references.gaussian_target(np.clip(y, *borders[[0, -1]]), borders, sigma)

    options = {} if target == "projected" else {"sigma": sigma, "keeps_mean": False}
    actual = rl.backup(z, r, g, bins=onto, target=target, **options)
    flat = (part.flatten(0, 1).double().numpy() for part in (z.probs, r, g))
    expected = [
        references.bellman_backup(p, bins.centers.numpy(), *each, slow)
        for p, *each in zip(*flat, strict=True)
    ]
    expected = torch.tensor(np.array(expected)).unflatten(0, (7, 5))
    assert actual.dtype == dtype
    assert_close(actual.double(), expected, **TOLERANCE[dtype])
    empty = rl.backup(z[:0], r[:0], g[:0], bins=onto, target=target, **options)
    assert empty.shape == (0, 5, onto.n_bins)


@pytest.mark.parametrize("options", BACKUPS.values(), ids=BACKUPS)
def test_a_prediction_after_the_end_of_an_episode_is_not_used(options, generator):
    z, rewards, discounts = some_transitions(BINS["even"], generator, 2, 6)
    spoilt = z.logits.masked_fill((discounts == 0).unsqueeze(-1), math.nan)
    with_nan = Histogram(z.bins, logits=spoilt)
    actual = rl.backup(with_nan, rewards, discounts, **options)
    expected = rl.backup(z, rewards, discounts, **options)
    assert_close(actual, expected, **TOLERANCE[torch.float64])
    one = rl.backup(with_nan[0, 0], rewards[0, 0], discounts[0, 0], **options)
    assert one.shape == (16,) and torch.equal(one, actual[0, 0])


def test_smoothing_adds_up_over_backups():
    """One state that leads to itself: the variance converges to sigma² / (1 - γ²)."""
    bins, gamma, sigma = Bins.uniform(-200.0, 200.0, 400), 0.9, 2.0
    probs = targets.projected(torch.tensor([0.0], dtype=torch.float64), bins)
    zero, discount = torch.zeros(1), torch.tensor([gamma], dtype=torch.float64)
    for _ in range(200):
        z = Histogram(bins, probs=probs)
        probs = rl.backup(z, zero, discount, target="gaussian", sigma=sigma)
    variance = (probs * bins.centers**2).sum()
    # The mass within a bin is moved to its center, which adds w² / 12 = 1 / 12 each
    # time: Sheppard's correction.
    expected = (sigma**2 + 1 / 12) / (1 - gamma**2)
    assert variance.item() == pytest.approx(expected, rel=1e-12)


def test_a_target_carries_no_gradient(generator):
    bins = BINS["even"]
    logits = torch.randn(4, 16, generator=generator, requires_grad=True)
    z = Histogram(bins, logits=logits)
    assert not rl.backup(z, torch.ones(4), torch.ones(4)).requires_grad
    assert not rl.bootstrapped(torch.ones(4), z.mean, torch.ones(4)).requires_grad


def test_the_backup_of_the_loss_is_that_of_any_leading_shape(generator):
    bins = BINS["even"]
    z, rewards, discounts = some_transitions(bins, generator, 2, 3)
    whole = rl.backup(z, rewards, discounts)
    for i in range(2):
        part = rl.backup(z[i], rewards[i], discounts[i])
        assert_close(whole[i], part)
    single = rl.backup(z[0, 0], rewards[0, 0], discounts[0, 0])
    assert_close(whole[0, 0], single)
    assert losses.histogram_loss(z.logits, whole).shape == (2, 3)


# ---- several steps


def test_n_steps_are_those_that_are_walked_one_by_one(generator):
    shape = 40, 5
    rewards = torch.randn(shape, generator=generator, dtype=torch.float64)
    discounts = torch.rand(shape, generator=generator, dtype=torch.float64)
    terminated = torch.rand(shape, generator=generator) < 0.2
    truncated = torch.rand(shape, generator=generator) < 0.2
    steps = rl.n_step(rewards, discounts, terminated=terminated, truncated=truncated)
    parts = (rewards, discounts, terminated, truncated)
    for i in range(40):
        total, discount, last = references.n_step(*(part[i].numpy() for part in parts))
        assert steps.rewards[i].item() == pytest.approx(total, abs=1e-14)
        assert steps.discounts[i].item() == pytest.approx(discount, abs=1e-15)
        assert steps.last[i].item() == last


def test_a_truncated_episode_bootstraps_and_a_terminated_one_does_not():
    ended = torch.tensor([False, True, False])
    gamma = torch.full((3,), 0.5)
    cut = rl.n_step(torch.ones(3), gamma, terminated=~ended & False, truncated=ended)
    assert (cut.rewards, cut.discounts, cut.last) == (1.5, 0.25, 1)
    over = rl.n_step(torch.ones(3), gamma, terminated=ended)
    assert (over.rewards, over.discounts, over.last) == (1.5, 0.0, 1)
    # A step that does both has no value after it.
    both = rl.n_step(torch.ones(3), gamma, terminated=ended, truncated=ended)
    assert both.discounts == 0


def test_integers_are_not_rounded_to_integers():
    never, gamma = torch.zeros(3, dtype=torch.bool), torch.full((3,), 0.5)
    steps = rl.n_step(torch.tensor([1, 1, 1]), gamma, terminated=never)
    assert (steps.rewards, steps.discounts) == (1.75, 0.125)
    y = rl.bootstrapped(torch.tensor([1, 2, 3]), torch.tensor([5, 6, 7]), gamma)
    assert_close(y, torch.tensor([3.5, 5.0, 6.5]))


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_returns_of_half_precision_are_float32(half):
    rewards, gamma = torch.tensor([70_000.0, 1.25]), torch.tensor([0.5, 0.999])
    y = rl.bootstrapped(rewards, torch.tensor([2.0, 1024.0], dtype=half), gamma)
    assert_close(y, torch.tensor([70_001.0, 1024.226]))
    never = torch.zeros(2, dtype=torch.bool)
    steps = rl.n_step(torch.tensor([1024.0, 1.0], dtype=half), gamma, terminated=never)
    assert_close(steps.rewards, torch.tensor(1024.5))
    assert steps.discounts.dtype == torch.float32


def test_a_value_after_the_end_is_not_used():
    values = torch.tensor([math.nan, math.inf, 2.0])
    y = rl.bootstrapped(torch.ones(3), values, torch.tensor([0.0, 0.0, 0.5]))
    assert_close(y, torch.tensor([1.0, 1.0, 2.0]))


# ---- several critics and several actions


def test_the_minimum_is_the_critic_of_the_smallest_mean_in_each_row(generator):
    bins = BINS["uneven"]
    critics = [
        Histogram(bins, logits=torch.randn(5, 3, 6, generator=generator))
        for _ in range(4)
    ]
    least = rl.minimum(critics)
    for i in range(5):
        for j in range(3):
            best = min(critics, key=lambda c: c.mean[i, j])
            assert_close(least.probs[i, j], best.probs[i, j])


def test_the_logits_of_the_actions_taken(generator):
    logits = torch.randn(4, 2, 3, 5, generator=generator)
    actions = torch.randint(0, 3, (4, 2), generator=generator)
    chosen = rl.taken(logits, actions)
    for dtype in (torch.int32, torch.uint8):  # as memories of transitions have them
        assert torch.equal(chosen, rl.taken(logits, actions.to(dtype)))
    for i in range(4):
        for j in range(2):
            assert torch.equal(chosen[i, j], logits[i, j, actions[i, j]])


# ---- bins that grow under a target network


class Critic(nn.Module):
    def __init__(self, bins: Bins) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.BatchNorm1d(16))
        self.head = HistogramHead(16, bins, n_targets=2)


def test_all_heads_and_losses_grow_to_the_same_bins_and_keep_their_means(generator):
    bins = Bins.uniform(-1.0, 1.0, 51)
    heads = [HistogramHead(8, bins, n_targets=2).double() for _ in range(3)]
    criterion = HistogramLoss(bins)
    features = torch.randn(64, 8, generator=generator, dtype=torch.float64)
    before = [head.distribution(features).mean for head in heads]
    y = torch.tensor([0.0, 3.0])
    assert rl.grow(y, heads, [criterion], features=[features] * 3)
    assert {criterion.bins} == {head.bins for head in heads}
    assert criterion.bins.high >= 3
    for head, mean in zip(heads, before, strict=True):
        # Within one new width: rebin itself is tested where it is.
        change = (head.distribution(features).mean - mean).abs().max()
        assert change < head.bins.width
    assert not rl.grow(y, heads, [criterion])


def test_an_optimizer_continues_after_growth(generator):
    head = HistogramHead(8, Bins.uniform(-1.0, 1.0, 51))
    criterion = HistogramLoss(head.bins)
    optimizer = torch.optim.Adam(head.parameters(), 1e-3)
    features = torch.randn(64, 8, generator=generator)
    y = torch.randn(64, generator=generator)
    parameters = list(head.parameters())
    for scale in (0.1, 30.0, 30.0):
        rl.grow(scale * y, [head], [criterion], features=[features])
        optimizer.zero_grad()
        criterion(head(features), scale * y).backward()
        optimizer.step()
    assert all(a is b for a, b in zip(parameters, head.parameters(), strict=True))
    assert {state["step"].item() for state in optimizer.state.values()} == {3.0}
    assert criterion.n_clipped == 0


def test_a_soft_update_averages_parameters_and_copies_buffers(generator):
    source, target = Critic(BINS["even"]), Critic(BINS["even"])
    source.body(torch.randn(9, 3, generator=generator))  # moves the running mean
    before = copy.deepcopy(target)
    rl.soft_update(target, source, 0.25)
    triples = zip(
        target.parameters(), before.parameters(), source.parameters(), strict=True
    )
    for new, old, other in triples:
        assert_close(new, 0.75 * old + 0.25 * other)
    assert torch.equal(target.body[2].running_mean, source.body[2].running_mean)
    assert not torch.equal(target.body[2].running_mean, before.body[2].running_mean)


def test_a_soft_update_refuses_critics_with_different_bins():
    source, target = Critic(BINS["even"]), Critic(BINS["even"])
    rl.grow(torch.tensor([40.0]), [source.head], padding_in_bins=3)
    with pytest.raises(ValueError, match="target and source must have the same bins"):
        rl.soft_update(target, source, 0.1)
    target.load_state_dict(source.state_dict())  # a full copy brings the bins
    rl.soft_update(target, source, 0.1)


def test_networks_of_other_shapes_are_refused_before_anything_moves():
    bins = BINS["even"]
    source = nn.Sequential(nn.Linear(3, 3), HistogramHead(3, bins))
    target = copy.deepcopy(source)
    source[1].linear.bias = nn.Parameter(torch.zeros(1))  # would be broadcast
    before = copy.deepcopy(target.state_dict())
    with pytest.raises(ValueError, match="of the same shapes"):
        rl.soft_update(target, source, 0.5)
    assert all(torch.equal(v, before[k]) for k, v in target.state_dict().items())


def test_no_head_grows_if_one_cannot():
    bins = Bins.uniform(0.0, 1.0, 51)
    heads = [HistogramHead(3, bins), HistogramHead(3, bins, bias=False)]
    with pytest.raises(ValueError, match="bias=True"):
        rl.grow(torch.tensor([30.0]), heads)
    assert {head.bins for head in heads} == {bins}


# ---- symlog and symexp


def test_symexp_inverts_symlog(dtype, close):
    y = torch.tensor([-1e6, -3.0, -1e-4, 0.0, 0.5, 2e4], dtype=dtype)
    close(rl.symexp(rl.symlog(y)), y, rtol=1e-5 if dtype == torch.float32 else 1e-12)
    assert rl.symlog(torch.tensor(math.e - 1)).item() == pytest.approx(1.0)


def test_symexp_bins_are_even_in_symlog_and_symmetric():
    bins = rl.symexp_bins(255)
    steps = rl.symlog(bins.borders).diff()
    assert_close(steps, torch.full_like(steps, 40 / 255), rtol=1e-9, atol=0)
    assert torch.equal(bins.centers, -bins.centers.flip(0))
    assert bins.centers[127] == 0


@pytest.mark.parametrize("y", [-3e5, -40.0, -0.3, 0.0, 0.01, 7.0, 1e4, 1e8])
def test_symexp_two_hot_has_the_mean_y(y, dtype):
    bins = rl.symexp_bins()
    y = torch.tensor(y, dtype=dtype)
    two_hot = targets.projected(y, bins)
    mean = Histogram(bins, probs=two_hot).mean
    # The weight of a neighbour is rounded, which moves the mean by parts of a width.
    eps = torch.finfo(dtype).eps
    assert mean.item() == pytest.approx(y.item(), rel=4 * eps, abs=4 * eps)


def test_the_mean_of_0_and_100_is_50_and_not_symexp_of_the_mean_of_symlog():
    bins = rl.symexp_bins()
    halves = targets.projected(torch.tensor([0.0, 100.0]), bins).mean(0)
    assert Histogram(bins, probs=halves).mean.item() == pytest.approx(50.0, rel=1e-6)
    wrong = rl.symexp(rl.symlog(torch.tensor([0.0, 100.0])).mean())
    assert wrong.item() == pytest.approx(9.05, abs=0.005)


# ---- invalid input


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda z: rl.backup(z, torch.ones(3, 1), torch.ones(3)),
            r"rewards must have shape \(3,\) like the batch of next_values",
        ),
        (
            lambda z: rl.backup(z, torch.ones(3), torch.ones(3, 3)),
            r"discounts must have shape \(3,\)",
        ),
        (
            lambda z: rl.backup(z, torch.ones(3), -torch.ones(3)),
            "discounts must not be negative, got a minimum of -1",
        ),
        (
            lambda z: rl.backup(z, torch.tensor([1.0, math.nan, 0]), torch.ones(3)),
            "rewards must be finite",
        ),
        (
            lambda z: rl.backup(z, torch.ones(3), torch.ones(3), target="nope"),
            "target must be one of",
        ),
        (
            lambda z: rl.bootstrapped(torch.ones(3), torch.ones(3, 1), torch.ones(3)),
            r"rewards must have shape \(3, 1\) like the values, got shape \(3,\)",
        ),
        (
            lambda z: rl.n_step(
                torch.ones(()), torch.ones(()), terminated=torch.tensor(False)
            ),
            "rewards must have at least one step",
        ),
        (
            lambda z: rl.taken(torch.ones(3, 2, 5), torch.zeros(2, dtype=torch.int64)),
            r"actions must have shape \(3,\) for these logits",
        ),
        (lambda z: rl.taken(torch.ones(3), torch.zeros(3)), "logits must have shape"),
        (lambda z: rl.symexp_bins(limit=0.0), "limit must be finite and positive"),
        (lambda z: rl.symexp_bins(limit=1e3), "limit must be at most 700"),
        (lambda z: rl.minimum([]), "histograms must contain at least one"),
        (lambda z: rl.grow(torch.ones(1), []), "heads must hold at least one"),
        (
            lambda z: rl.grow(
                torch.ones(1), [HistogramHead(2, BINS["two"])], features=[]
            ),
            "features must hold one Tensor for each of the 1 heads, got 0",
        ),
        (
            lambda z: rl.grow(
                torch.ones(1),
                [HistogramHead(2, BINS["two"]), HistogramHead(2, BINS["even"])],
            ),
            "heads and criteria must have the same bins",
        ),
        (
            lambda z: rl.grow(torch.ones(1), [HistogramHead(2, [BINS["two"]] * 2)]),
            "grow needs heads with a single Bins",
        ),
        (
            lambda z: rl.soft_update(nn.Linear(1, 1), nn.Linear(1, 1), 2.0),
            r"rate must lie in \[0, 1\], got rate=2.0",
        ),
    ],
)
def test_invalid_input_gets_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(Histogram(BINS["two"], logits=torch.zeros(3, 2)))


def test_flags_are_bool_and_values_are_histograms():
    with pytest.raises(TypeError, match="terminated must hold bool"):
        rl.n_step(torch.ones(3), torch.ones(3), terminated=torch.ones(3))
    with pytest.raises(TypeError, match="actions must hold integers, got"):
        rl.taken(torch.ones(3, 2, 5), torch.zeros(3))
    with pytest.raises(TypeError, match="terminated must be a Tensor, got None"):
        rl.n_step(torch.ones(3), torch.ones(3), terminated=None)
    with pytest.raises(TypeError, match="next_values must be a Histogram"):
        rl.backup(torch.ones(3, 5), torch.ones(3), torch.ones(3))
