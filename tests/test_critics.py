"""The benchmark of critics: networks in a stack learn as they would by themselves."""

from copy import deepcopy

import pytest
import torch
from torch.testing import assert_close

from histreg import HistogramLoss, rl
from tests.pages import script

pytest.importorskip("gymnasium")
critics = script("critics.py", "benchmarks")
GAME = critics.GAMES["CartPole"]
ALL = critics.METHODS | critics.VARIANTS
SEEDS = [1, 2, 3]


def made(method, seeds):
    """Return critics of four numbers and two actions, and a batch of a seed each."""
    net = critics.Critics(ALL[method], GAME, seeds, 4, 2)
    net.grown = []
    parts = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        x, x_next = torch.randn(2, 8, 4, generator=generator)
        actions = torch.randint(2, (8,), generator=generator)
        rewards = 3.0**seed * torch.rand(8, generator=generator)
        parts.append((x, actions, rewards, x_next, torch.full((8,), 0.9)))
    return net, critics.Batch(*map(torch.stack, zip(*parts, strict=True)))


def loss_of(net, past, batch):
    with torch.no_grad():
        following = past(batch.x_next)
        following = rl.taken(following, past.means(following).argmax(dim=-1))
    return net.loss(batch, following, past)


@pytest.mark.parametrize("method", ALL)
def test_a_network_in_a_stack_has_the_values_and_gradients_it_has_alone(method):
    results = []
    for seeds in (SEEDS, [2]):
        net, batch = made(method, seeds)
        loss_of(net, deepcopy(net), batch).backward()
        i = seeds.index(2)
        values = net.means(net(batch.x))[i]
        results.append([values, *(p.grad[i] for p in net.parameters())])
    for stacked, alone in zip(*results, strict=True):
        assert_close(stacked, alone, rtol=1e-4, atol=1e-5)


def test_bins_grow_for_each_seed_and_the_loss_is_that_over_its_own_bins():
    net, batch = made("HL-Gauss, growing", SEEDS)
    past = deepcopy(net)
    total = loss_of(net, past, batch)
    assert net.own_bins == past.own_bins
    highest = [bins.high for bins in net.own_bins]
    assert highest == sorted(highest) and highest[0] < 10 < highest[-1]
    expected = torch.zeros(())
    features = net.body(batch.x)
    # The means of the next states, of the bins before growth: those of a new critic.
    new, _ = made("HL-Gauss, growing", SEEDS)
    values = new.means(new(batch.x_next)).amax(dim=-1)
    for i, bins in enumerate(net.own_bins):
        y = rl.bootstrapped(batch.rewards[i], values[i], batch.discounts[i])
        logits = rl.taken(net.head_of(i)(features[i]), batch.actions[i])
        expected = expected + HistogramLoss(bins, sigma_in_bins=4.0)(logits, y)
    assert_close(total, expected, rtol=1e-4, atol=1e-4)


# Pygame, which LunarLander imports, warns of what it imports.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("game", "package"),
    [
        ("CartPole", "gymnasium"),
        ("Pendulum", "gymnasium"),  # TD3
        ("LunarLander", "Box2D"),
        ("Breakout", "minatar"),
    ],
)
def test_a_short_run_has_a_record_for_each_seed_that_names_its_commit(game, package):
    pytest.importorskip(package, reason="see `make test-frameworks`")
    game = critics.GAMES[game]
    records = critics.run(game, "HL-Gauss, growing", [3, 5], steps=540)
    assert [r["seed"] for r in records] == [3, 5]
    assert all(len(r["returns"]) == critics.N_POINTS for r in records)
    assert {"commit", "torch", "gymnasium"} <= records[0]["environment"].keys()


def test_runs_that_are_in_the_file_are_not_repeated(tmp_path, monkeypatch):
    out = tmp_path / "critics.jsonl"

    def run(seeds):
        options = ["--games", "CartPole", "--methods", "MSE", "--steps", "540"]
        command = ["critics.py", "--out", str(out), "--seeds", seeds, *options]
        monkeypatch.setattr("sys.argv", command)
        critics.main()
        return critics.read(out)

    first = run("1-2")
    assert [record["seed"] for record in first] == [1, 2]
    assert run("1-2") == first
    more = run("1-4")
    assert more[:2] == first and [record["seed"] for record in more[2:]] == [3, 4]


def test_returns_are_compared_in_standard_errors_of_their_difference():
    def records(method, levels):
        return [
            {
                "game": GAME.name,
                "method": method,
                "steps": GAME.steps,
                "returns": [level] * 15 + [late] * 5,
            }
            for level, late in levels
        ]

    some = records("MSE", [(1, 1), (3, 3)])
    for method in critics.METHODS:
        if method != "MSE":
            some += records(method, [(3, 1), (5, 3)])
    # Over all steps 1.5 apart, with variances of 2 in both; in the last quarter equal.
    row = critics.differences(some).splitlines()[-1]
    assert row == f"| {GAME.name} |" + " +1.1 and +0.0 |" * 4
