r"""Critics with the squared error, C51, two-hot and HL-Gauss, in DQN and TD3.

DQN plays CartPole, Acrobot, LunarLander and the games of MinAtar; TD3 plays Pendulum.
Everything but the critic's head and loss is the same for all methods, at one learning
rate. The body, the exploration and the batches have the same seed for all methods.

The seeds of a game and a method learn side by side: their networks are stacked along a
first dimension, each with its own game, memory and random numbers. A step of ten seeds
takes two to three times as long as one of a single seed.

Each run (game, method, seed) is a line of the results file: the mean return of the
episodes that ended in each twentieth of the steps, exploration included. Runs that are
in the file are skipped, so the script can be stopped and started again. Variants, which
are there to find out why bins that grow begin late, are compared over 5,000 steps.

    python benchmarks/critics.py --out results/critics.jsonl --games CartPole
    python benchmarks/critics.py --out results/critics.jsonl --steps 5000 \
        --games CartPole --methods "HL-Gauss, from 0"
    python benchmarks/critics.py --out results/critics.jsonl --table
    python benchmarks/critics.py --out results/critics.jsonl --figure critics.png

LunarLander needs Box2D and pygame, the games of MinAtar need MinAtar: `make
bench-critics` has an environment with both.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from histreg import Bins, Histogram, HistogramHead, HistogramLoss, losses, rl
from histreg.study.engine.environment import environment

N_POINTS = 20  # of a learning curve
GAMMA, BATCH, N_BINS, WIDTH = 0.99, 64, 51, 64


class Game(NamedTuple):
    """A game, the range of its returns, and how long it is played."""

    name: str
    make: Callable[[], Any]
    low: float
    high: float
    steps: int
    exploring: int  # steps until the share of random actions has fallen to 5 %
    rate: float = 5e-4
    learn_every: int = 2
    copy_every: int = 250


def _gymnasium(name: str) -> Callable[[], Any]:
    return lambda: gymnasium.make(name, disable_env_checker=True)


def _minatar(name: str) -> Any:
    name = f"MinAtar/{name}-v1"
    if name not in gymnasium.registry:
        import minatar.gym

        minatar.gym.register_envs()
    game = gymnasium.make(name, disable_env_checker=True)
    return gymnasium.wrappers.FlattenObservation(game)


GAMES = {
    game.name: game
    for game in (
        Game("CartPole", _gymnasium("CartPole-v1"), 0, 100, 20_000, 4_000),
        Game("Acrobot", _gymnasium("Acrobot-v1"), -100, 0, 20_000, 4_000),
        Game(
            "Pendulum",
            _gymnasium("Pendulum-v1"),
            -1000,
            0,
            12_000,
            1_000,
            1e-3,
            learn_every=1,
        ),
        Game(
            "LunarLander",
            _gymnasium("LunarLander-v3"),
            -200,
            250,
            60_000,
            20_000,
        ),
        *(
            Game(
                name, lambda name=name: _minatar(name), -1, 30, 100_000, 30_000, 2.5e-4
            )
            for name in ("Breakout", "Freeway", "Asterix", "SpaceInvaders", "Seaquest")
        ),
    )
}


# ---- methods


def _known(game: Game) -> Bins:
    """Return bins over the known returns, padded by three sigmas of two bins."""
    return Bins.around(game.low, game.high, n_bins=N_BINS)


def _narrow(_: Game) -> Bins:
    return Bins.uniform(-1.0, 1.0, N_BINS)


def _from_0(game: Game) -> Bins:
    """Return as many of the known bins on both sides of 0: starts at 0, as MSE."""
    most = max(-game.low, game.high)
    return Bins.around(-most, most, n_bins=2 * N_BINS)


class Method(NamedTuple):
    """A head and a loss; the squared error if there are no bins."""

    bins: Callable[[Game], Bins] | None = None
    target: str = "gaussian"
    sigma_in_bins: float | None = None
    distributional: bool = False
    grows: bool = False
    padding_in_bins: float = 6.0
    forgets: bool = False  # clears the optimiser's averages of the head after growth
    rate: float = 1.0  # times that of the game


METHODS = {
    "MSE": Method(),
    "C51": Method(_known, "projected", distributional=True),
    "two-hot": Method(_known, "projected"),
    "HL-Gauss": Method(_known),
    # The range is not known: bins start at [-1, 1].
    "HL-Gauss, growing": Method(_narrow, grows=True, sigma_in_bins=4.0),
}

VARIANTS = {
    # Why growing bins learn more slowly: one thing changed at a time.
    "HL-Gauss, growing, sigma 2": Method(_narrow, grows=True),
    "HL-Gauss, growing, sigma 2, rate x 4": Method(_narrow, grows=True, rate=4.0),
    "HL-Gauss, growing, sigma 2, moments cleared": Method(
        _narrow, grows=True, forgets=True
    ),
    "HL-Gauss, growing, padding 12": Method(
        _narrow, grows=True, sigma_in_bins=4.0, padding_in_bins=12.0
    ),
    "HL-Gauss, growing, padding 12, sigma 8": Method(
        _narrow, grows=True, sigma_in_bins=8.0, padding_in_bins=12.0
    ),
    # Bins that start at the bound on the returns, reward / (1 - gamma), and may grow.
    "HL-Gauss, growing from the range": Method(_known, grows=True),
    "HL-Gauss, from 0": Method(_from_0),
    # Wide bins that do not grow, with the narrow sigma (in y) that growing ones have.
    "HL-Gauss, from 0, sigma 0.5": Method(_from_0, sigma_in_bins=0.5),
    "MSE, rate x 4": Method(rate=4.0),
    "HL-Gauss, rate x 4": Method(_known, rate=4.0),
}


# ---- critics: stacks of networks, one for each seed


class Batch(NamedTuple):
    """Transitions from the memories of s seeds."""

    x: Tensor  # (s, b, d)
    actions: Tensor  # (s, b) or (s, b, a)
    rewards: Tensor  # (s, b)
    x_next: Tensor  # (s, b, d)
    discounts: Tensor  # (s, b)


class StackedLinear(nn.Module):
    """A linear layer for each of s networks: (s, b, d) -> (s, b, e)."""

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([each.weight.data for each in layers]))
        self.bias = nn.Parameter(torch.stack([each.bias.data for each in layers]))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs of each network for its own inputs."""
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight.mT)


def bodies(seeds: Sequence[int], n_inputs: int) -> nn.Sequential:
    """Return two hidden layers for each seed; the same for all methods."""
    layers = []
    for seed in seeds:
        torch.manual_seed(seed)
        layers.append([nn.Linear(n_inputs, WIDTH), nn.Linear(WIDTH, WIDTH)])
    first, second = (StackedLinear(each) for each in zip(*layers, strict=True))
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU())


class Critics(nn.Module):
    """Networks that predict returns, for ``n_outputs`` actions at once."""

    def __init__(
        self,
        method: Method,
        game: Game,
        seeds: Sequence[int],
        n_inputs: int,
        n_outputs: int,
    ) -> None:
        super().__init__()
        self.method, self.n_outputs = method, n_outputs
        self.body = bodies(seeds, n_inputs)
        heads: list[nn.Linear] = []
        self.own_bins: list[Bins] = []  # of each seed
        for seed in seeds:
            torch.manual_seed(seed + 1000)
            if method.bins is None:
                heads.append(nn.Linear(WIDTH, n_outputs))
            else:
                bins = method.bins(game)
                head = HistogramHead(WIDTH, bins, n_targets=n_outputs)
                heads.append(head.linear)
                self.own_bins.append(bins)
        self.head = StackedLinear(heads)
        if method.bins is not None:
            # Bins that grow differ between seeds. They are even, so that the loss over
            # y is the loss over y in units of a bin, where all seeds have the same.
            n_bins = bins.n_bins
            self.bins = Bins.uniform(0.0, n_bins, n_bins) if method.grows else bins
            self.criterion = HistogramLoss(
                self.bins, method.target, sigma_in_bins=method.sigma_in_bins
            )
            self.register_buffer("low", torch.zeros(len(seeds), 1))
            self.register_buffer("width", torch.ones(len(seeds), 1))
            if method.grows:
                self._read_bins()

    def forward(self, x: Tensor) -> Tensor:
        """Return logits, or values of one number: (s, b, d) -> (s, b, a, k or 1)."""
        return self.head(self.body(x)).unflatten(-1, (self.n_outputs, -1))

    def means(self, outputs: Tensor) -> Tensor:
        """Return the values of logits: (s, b, ..., k or 1) -> (s, b, ...)."""
        if self.method.bins is None:
            return outputs.squeeze(-1)
        mean = Histogram(self.bins, logits=outputs).mean
        shape = (-1, *(1 for _ in mean.shape[1:]))
        return self.low.view(shape) + self.width.view(shape) * mean

    def loss(self, batch: Batch, following: Tensor, past: Critics) -> Tensor:
        """Return the sum over seeds; ``following`` is of the next state: (s, b, k)."""
        y = rl.bootstrapped(batch.rewards, past.means(following), batch.discounts)
        features = self.body(batch.x)
        if self.method.grows:
            self._grow(y, features, past, batch)
        outputs = self.head(features).unflatten(-1, (self.n_outputs, -1))
        taken = rl.taken(outputs, batch.actions)  # (s, b, k or 1)
        n_seeds = len(y)
        if self.method.bins is None:
            return n_seeds * losses.l2(taken.squeeze(-1), y).mean()
        if self.method.distributional:
            z = Histogram(self.bins, logits=following)
            probs = rl.backup(z, batch.rewards, batch.discounts)
            return n_seeds * losses.histogram_loss(taken, probs).mean()
        return n_seeds * self.criterion(taken, (y - self.low) / self.width)

    def _grow(self, y: Tensor, features: Tensor, past: Critics, batch: Batch) -> None:
        units = (y - self.low) / self.width
        room = math.ceil(self.method.padding_in_bins)
        inside = (units >= room) & (units <= self.bins.n_bins - room)
        for i in (~inside.all(dim=1)).nonzero()[:, 0].tolist():
            with torch.no_grad():
                both = [features[i], past.body(batch.x)[i]]
            heads = [net.head_of(i) for net in (self, past)]
            padding = self.method.padding_in_bins
            rl.grow(y[i], heads, features=both, padding_in_bins=padding)
            for net, head in zip((self, past), heads, strict=True):
                net.own_bins[i] = head.bins
                net._read_bins()
            self.grown.append(i)

    grown: list[int]  # seeds whose bins have changed in this step

    def head_of(self, i: int) -> HistogramHead:
        """Return the head of a seed; it shares its parameters with the stack."""
        head = HistogramHead(WIDTH, self.own_bins[i], n_targets=self.n_outputs)
        head.linear.weight = nn.Parameter(self.head.weight.data[i])
        head.linear.bias = nn.Parameter(self.head.bias.data[i])
        return head

    def _read_bins(self) -> None:
        for i, bins in enumerate(self.own_bins):
            self.low[i], self.width[i] = bins.low, bins.width

    def copy_from(self, other: Critics) -> None:
        """Take over the parameters and the bins."""
        self.load_state_dict(other.state_dict())
        self.own_bins = list(other.own_bins)


class Learner:
    """Critics, their target networks and their optimiser."""

    def __init__(self, critics: Critics, rate: float) -> None:
        self.critics, self.past = critics, deepcopy(critics)
        rate *= critics.method.rate
        self.optimizer = torch.optim.Adam(critics.parameters(), rate, fused=True)

    def step(self, batch: Batch, following: Tensor) -> None:
        """Take a step towards the rewards and the values of the next states."""
        self.critics.grown = []
        self.optimizer.zero_grad()
        self.critics.loss(batch, following, self.past).backward()
        if self.critics.method.forgets:
            for part in self.critics.head.parameters():
                for name in ("exp_avg", "exp_avg_sq"):
                    if name in self.optimizer.state[part]:
                        self.optimizer.state[part][name][self.critics.grown] = 0
        self.optimizer.step()


# ---- agents


class Memory:
    """The latest transitions of each seed, in tensors that are written in a circle."""

    def __init__(
        self, seeds: Sequence[int], size: int, n_inputs: int, action: Tensor
    ) -> None:
        n_seeds = len(seeds)
        self.size, self.n = size, 0
        self.x = torch.zeros(n_seeds, size, n_inputs)
        self.x_next = torch.zeros(n_seeds, size, n_inputs)
        self.actions = torch.zeros(n_seeds, size, *action.shape, dtype=action.dtype)
        self.rewards = torch.zeros(n_seeds, size)
        self.discounts = torch.zeros(n_seeds, size)
        self.first = size * torch.arange(n_seeds).unsqueeze(-1)
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def add(
        self, x: Tensor, action: Tensor, reward: Tensor, x_next: Tensor, ended: Tensor
    ) -> None:
        """Keep a transition of each seed."""
        i = self.n % self.size
        self.x[:, i], self.x_next[:, i], self.actions[:, i] = x, x_next, action
        self.rewards[:, i], self.discounts[:, i] = reward, GAMMA * ~ended
        self.n += 1

    def sample(self) -> Batch:
        """Return a batch for each seed, with replacement."""
        stop = min(self.n, self.size)
        rows = [torch.randint(stop, (BATCH,), generator=g) for g in self.generators]
        i = (torch.stack(rows) + self.first).flatten()
        parts = self.x, self.actions, self.rewards, self.x_next, self.discounts
        n = len(self.generators)
        return Batch(
            *(
                part.flatten(0, 1).index_select(0, i).unflatten(0, (n, BATCH))
                for part in parts
            )
        )


class DQN:
    """Double Q-learning is left out: the plain target, the same for all methods."""

    def __init__(
        self, game: Game, method: Method, seeds: Sequence[int], env: Any
    ) -> None:
        n_inputs, n_actions = env.observation_space.shape[0], int(env.action_space.n)
        self.game, self.n_actions = game, n_actions
        self.critics = Critics(method, game, seeds, n_inputs, n_actions)
        self.learner = Learner(self.critics, game.rate)
        nothing = torch.zeros((), dtype=torch.int64)
        self.memory = Memory(seeds, min(50_000, game.steps), n_inputs, nothing)
        self.random = [random.Random(seed) for seed in seeds]

    def act(self, x: Tensor, step: int) -> Tensor:  # (s, d) -> (s,)
        """Return actions, at random with falling probability."""
        share = max(0.05, 1 - step / self.game.exploring)
        chance = [r.randrange(self.n_actions) for r in self.random]
        explores = torch.tensor([r.random() < share for r in self.random])
        with torch.no_grad():
            best = self.critics.means(self.critics(x.unsqueeze(1)))[:, 0].argmax(-1)
        return torch.where(explores, torch.tensor(chance), best)

    def for_game(self, actions: Tensor) -> list[Any]:
        """Return the actions as the games take them."""
        return actions.tolist()

    def learn(self, step: int) -> None:
        """Take a step of the optimiser."""
        past = self.learner.past
        if step % self.game.copy_every == 0:
            past.copy_from(self.critics)
        batch = self.memory.sample()
        with torch.no_grad():
            following = past(batch.x_next)  # (s, b, a, k)
            following = rl.taken(following, past.means(following).argmax(-1))
        self.learner.step(batch, following)


class TD3:
    """Two critics of state and action, of which the smaller is the target; a policy."""

    def __init__(
        self, game: Game, method: Method, seeds: Sequence[int], env: Any
    ) -> None:
        n_inputs, n_actions = env.observation_space.shape[0], env.action_space.shape[0]
        self.game, self.high = game, float(env.action_space.high[0])
        self.n_seeds, self.n_actions = len(seeds), n_actions
        last = []
        for seed in seeds:
            torch.manual_seed(seed + 3000)
            last.append(nn.Linear(WIDTH, n_actions))
        body = bodies([seed + 4000 for seed in seeds], n_inputs)
        self.policy = nn.Sequential(*body, StackedLinear(last), nn.Tanh())
        self.past_policy = deepcopy(self.policy)
        twice = [*seeds, *(seed + 2000 for seed in seeds)]
        self.critics = Critics(method, game, twice, n_inputs + n_actions, 1)
        self.learner = Learner(self.critics, game.rate)
        self.policy_optimizer = torch.optim.Adam(
            self.policy.parameters(), game.rate, fused=True
        )
        nothing = torch.zeros(n_actions)
        self.memory = Memory(seeds, min(50_000, game.steps), n_inputs, nothing)
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def _noise(self, *shape: int) -> Tensor:  # (s, *shape)
        return torch.stack([torch.randn(shape, generator=g) for g in self.generators])

    def act(self, x: Tensor, step: int) -> Tensor:  # (s, d) -> (s, a), in [-1, 1]
        """Return actions of the policies with noise; at random at first."""
        noise = self._noise(self.n_actions)
        if step < self.game.exploring:
            return 2 * torch.special.ndtr(noise) - 1  # uniform
        with torch.no_grad():
            actions = self.policy(x.unsqueeze(1))[:, 0] + 0.1 * noise
        return actions.clamp(-1, 1)

    def for_game(self, actions: Tensor) -> list[Any]:
        """Return the actions as the games take them."""
        return list(self.high * actions.numpy())

    def learn(self, step: int) -> None:
        """Take a step of the optimisers."""
        batch, past = self.memory.sample(), self.learner.past
        with torch.no_grad():
            noise = (0.2 * self._noise(BATCH, self.n_actions)).clamp(-0.5, 0.5)
            actions = (self.past_policy(batch.x_next) + noise).clamp(-1, 1)
            joined = torch.cat([batch.x_next, actions], dim=-1)
            following = past(joined.repeat(2, 1, 1))[..., 0, :]  # (2 s, b, k)
            means = past.means(following).unflatten(0, (2, -1))  # (2, s, b)
            pairs = following.unflatten(0, (2, -1)).movedim(0, -2)  # (s, b, 2, k)
            least = rl.taken(pairs, means.argmin(dim=0))  # (s, b, k)
        joined = torch.cat([batch.x, batch.actions], dim=-1)
        only = torch.zeros(self.n_seeds, BATCH, dtype=torch.int64)
        seen = batch._replace(x=joined, actions=only)
        seen = Batch(*(torch.cat([part, part]) for part in seen))
        self.learner.step(seen, torch.cat([least, least]))
        if step % 2 == 0:
            joined = torch.cat([batch.x, self.policy(batch.x)], dim=-1)
            values = self.critics.means(self.critics(joined.repeat(2, 1, 1)))
            self.policy_optimizer.zero_grad()
            (-self.n_seeds * values[: self.n_seeds].mean()).backward()
            self.policy_optimizer.step()
            for target, source in (
                (self.past_policy, self.policy),
                (past, self.critics),
            ):
                rl.soft_update(target, source, 0.01)


def run(
    game: Game, method: str, seeds: Sequence[int], steps: int | None = None
) -> list[dict[str, Any]]:
    """Play and learn with all seeds at once; return a record for each."""
    envs = [game.make() for _ in seeds]
    is_discrete = hasattr(envs[0].action_space, "n")
    agent = (DQN if is_discrete else TD3)(
        game, {**METHODS, **VARIANTS}[method], seeds, envs[0]
    )
    steps = steps or game.steps
    returns: list[list[list[float]]] = [[[] for _ in range(N_POINTS)] for _ in seeds]
    totals, start = [0.0] * len(seeds), time.process_time()
    first = [env.reset(seed=seed)[0] for env, seed in zip(envs, seeds, strict=True)]
    x = torch.as_tensor(np.stack(first), dtype=torch.float32)
    for step in range(steps):
        actions = agent.act(x, step)
        nexts, rewards, ended, resumed = [], [], [], []
        for i, (env, action) in enumerate(
            zip(envs, agent.for_game(actions), strict=True)
        ):
            x_next, reward, terminated, truncated, _ = env.step(action)
            nexts.append(x_next)
            rewards.append(float(reward))
            ended.append(bool(terminated))
            totals[i] += rewards[-1]
            if terminated or truncated:
                returns[i][step * N_POINTS // steps].append(totals[i])
                totals[i], (x_next, _) = 0.0, env.reset()
            resumed.append(x_next)
        x_next = torch.as_tensor(np.stack(nexts), dtype=torch.float32)
        agent.memory.add(x, actions, torch.tensor(rewards), x_next, torch.tensor(ended))
        x = torch.as_tensor(np.stack(resumed), dtype=torch.float32)
        if step >= 500 and step % game.learn_every == 0:
            agent.learn(step)
    seconds = (time.process_time() - start) / len(seeds)
    used = {name: version(name) for name in ("gymnasium", *_package(game))}
    records = []
    for i, seed in enumerate(seeds):
        record = {
            "game": game.name,
            "method": method,
            "seed": seed,
            "steps": steps,
            "rate": game.rate * agent.critics.method.rate,
            "cpu_s": round(seconds, 2),
            "n_stacked": len(seeds),
            "returns": [
                round(float(np.mean(part)), 3) if part else None for part in returns[i]
            ],
        }
        if agent.critics.own_bins:
            bins = agent.critics.own_bins[i]
            record["bins"] = [round(bins.low, 3), round(bins.high, 3)]
        records.append(record | {"environment": environment() | used})
    return records


def _package(game: Game) -> tuple[str, ...]:
    """Return the packages that a game needs beside Gymnasium."""
    if game.name == "LunarLander":
        return ("Box2D",)
    games = ("CartPole", "Acrobot", "Pendulum")
    return () if game.name in games else ("MinAtar",)


# ---- the results


def curve(record: dict[str, Any]) -> np.ndarray:
    """Return the learning curve, gaps (no episode ended) filled from before."""
    filled, latest = [], None
    for value in record["returns"]:
        latest = latest if value is None else value
        filled.append(latest)
    first = next(value for value in filled if value is not None)
    return np.array([first if value is None else value for value in filled])


PARTS = {
    "mean return": slice(None),
    "15 to 20 % of steps": slice(3, 4),
    "last quarter": slice(-N_POINTS // 4, None),
}


def table(records: list[dict[str, Any]]) -> str:
    """Return means over the seeds of whole runs with their standard errors."""
    lines = [f"| game | method | seeds | {' | '.join(PARTS)} |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    for game in GAMES:
        for method in METHODS:
            of = (game, method, GAMES[game].steps)
            curves = [curve(r) for r in records if _key(r) == of]
            if not curves:
                continue
            cells = [
                _mean_se([c[part].mean() for c in curves]) for part in PARTS.values()
            ]
            lines.append(f"| {game} | {method} | {len(curves)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def differences(records: list[dict[str, Any]]) -> str:
    """Return returns minus those of the squared error, in standard errors of that.

    Of each pair, first over all steps, then over their last quarter.
    """
    others = [method for method in METHODS if method != "MSE"]
    lines = [f"| game | {' | '.join(others)} |", "|---" * (len(others) + 1) + "|"]
    for game in GAMES:
        curves = {
            method: [
                curve(r)
                for r in records
                if _key(r) == (game, method, GAMES[game].steps)
            ]
            for method in METHODS
        }
        if min(map(len, curves.values())) < 2:
            continue
        cells = [
            " and ".join(
                f"{_in_standard_errors(curves[other], curves['MSE'], PARTS[part]):+.1f}"
                for part in ("mean return", "last quarter")
            )
            for other in others
        ]
        lines.append(f"| {game} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _in_standard_errors(
    curves: Sequence[np.ndarray], others: Sequence[np.ndarray], part: slice
) -> float:
    a, b = (np.array([c[part].mean() for c in each]) for each in (curves, others))
    error = (a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)) ** 0.5
    return float((a.mean() - b.mean()) / error)


START = (3_000, 5_000)  # steps, of CartPole, where methods begin to learn


def starts(records: list[dict[str, Any]]) -> str:
    """Return the mean return of all methods and variants while they begin to learn.

    The first steps of a long run are those of a short one.
    """
    lines = ["| method | seeds | return at steps 3,000 to 5,000 |", "|---|---:|---:|"]
    for method in (*METHODS, *VARIANTS):
        means = {}  # of each seed, once
        for r in records:
            if (r["game"], r["method"]) == ("CartPole", method):
                first, last = (step * N_POINTS // r["steps"] for step in START)
                means[r["seed"]] = curve(r)[first:last].mean()
        if means:
            lines.append(
                f"| {method} | {len(means)} | {_mean_se(list(means.values()))} |"
            )
    return "\n".join(lines)


def _key(record: dict[str, Any]) -> tuple[str, str, int]:
    return record["game"], record["method"], record["steps"]


def _mean_se(values: Sequence[float]) -> str:
    means = np.array(values)
    digits = 1 if abs(means.mean()) < 30 else 0
    cell = f"{means.mean():.{digits}f}"
    if len(means) > 1:
        cell += f" ± {means.std(ddof=1) / len(means) ** 0.5:.{digits}f}"
    return cell


def draw(records: list[dict[str, Any]], path: Path) -> None:
    """Draw the learning curves: means over seeds with intervals of 95 %."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from scipy.stats import t

    from histreg.report.colours import looks_of

    games = [game for game in GAMES if any(r["game"] == game for r in records)]
    n_columns = min(3, len(games))
    n_rows = -(-len(games) // n_columns)
    size = (max(6.0, 3.5 * n_columns) + 1.7, 3.2 * n_rows)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
    )
    looks = looks_of(METHODS)
    for ax in axes.flat[len(games) :]:
        ax.axis("off")
    for ax, game in zip(axes.flat, games, strict=False):
        for method, (colour, mark) in looks.items():
            of = (game, method, GAMES[game].steps)
            own = [r for r in records if _key(r) == of]
            if len(own) < 2:
                continue
            curves = np.stack([curve(r) for r in own])  # (seeds, points)
            steps = own[0]["steps"] / 1000 * (np.arange(N_POINTS) + 0.5) / N_POINTS
            mean = curves.mean(axis=0)
            error = curves.std(axis=0, ddof=1) / len(own) ** 0.5
            error *= t.ppf(0.975, len(own) - 1)
            ax.fill_between(
                steps, mean - error, mean + error, color=colour, alpha=0.15, lw=0
            )
            ax.plot(steps, mean, mark, ls="-", color=colour, ms=3, lw=1, label=method)
        ax.set(title=game, xlabel="thousand steps", ylabel="return")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right upper", fontsize=9)
    figure.savefig(path, dpi=100)


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, none if there is no file."""
    return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []


def _numbers(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main() -> None:
    """Run what is missing, or print the table."""
    everything = [*METHODS, *VARIANTS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--games", nargs="+", default=list(GAMES), choices=GAMES)
    parser.add_argument(
        "--methods", nargs="+", default=list(METHODS), choices=everything
    )
    parser.add_argument("--seeds", type=_numbers, default=_numbers("1-10"))
    parser.add_argument("--steps", type=int, help="those of the game by default")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    records = read(arguments.out)
    if arguments.table:
        print(table(records), differences(records), starts(records), sep="\n\n")
        return
    if arguments.figure:
        draw(records, arguments.figure)
        return
    torch.set_num_threads(1)
    environment()  # the commit of the code that is running, not of later edits
    done = {(*_key(r), r["seed"]) for r in records}
    for name in arguments.games:
        steps = arguments.steps or GAMES[name].steps
        for method in arguments.methods:
            of = (name, method, steps)
            seeds = [s for s in arguments.seeds if (*of, s) not in done]
            if not seeds:
                continue
            new = run(GAMES[name], method, seeds, steps)
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            with arguments.out.open("a") as file:
                file.write("".join(json.dumps(record) + "\n" for record in new))
            mean = np.mean([curve(record).mean() for record in new])
            cost = sum(record["cpu_s"] for record in new)
            print(f"{name}, {method}: {mean:.1f}, {cost:.0f} s", flush=True)


if __name__ == "__main__":
    main()
