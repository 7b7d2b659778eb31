"""Critics with the squared error, C51, two-hot and HL-Gauss, in DQN and TD3.

DQN plays CartPole, Acrobot and LunarLander and the games of MinAtar; TD3 plays
Pendulum. Everything but the critic's head and loss is the same for all methods, at one
learning rate. The body and the exploration have the same seed for all methods.

Each run (game, method, seed) is a line of the results file: the mean return of the
episodes that ended in each twentieth of the steps, exploration included. Runs that are
in the file are skipped, so the script can be stopped and started again.

    python benchmarks/critics.py --out results/critics.jsonl --games CartPole
    python benchmarks/critics.py --out results/critics.jsonl --table

LunarLander needs Box2D and pygame, the games of MinAtar need MinAtar: `make
bench-critics` has an environment with both.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from histreg import Bins, Histogram, HistogramHead, HistogramLoss, losses, rl

N_POINTS = 20  # of a learning curve
GAMMA, BATCH, N_BINS = 0.99, 64, 51


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


def _minatar(name: str) -> Any:
    import minatar.gym

    minatar.gym.register_envs()
    game = gymnasium.make(f"MinAtar/{name}-v1")
    return gymnasium.wrappers.FlattenObservation(game)


GAMES = {
    game.name: game
    for game in (
        Game("CartPole", lambda: gymnasium.make("CartPole-v1"), 0, 100, 20_000, 4_000),
        Game("Acrobot", lambda: gymnasium.make("Acrobot-v1"), -100, 0, 20_000, 4_000),
        Game(
            "LunarLander",
            lambda: gymnasium.make("LunarLander-v3"),
            -200,
            250,
            60_000,
            20_000,
        ),
        *(
            Game(
                name, lambda name=name: _minatar(name), -1, 30, 200_000, 50_000, 2.5e-4
            )
            for name in ("Breakout", "Freeway", "Asterix", "SpaceInvaders", "Seaquest")
        ),
        Game(
            "Pendulum",
            lambda: gymnasium.make("Pendulum-v1"),
            -1000,
            0,
            12_000,
            1_000,
            1e-3,
            learn_every=1,
        ),
    )
}


# ---- critics: the methods that are compared


class Batch(NamedTuple):
    """Transitions from the memory."""

    x: Tensor
    actions: Tensor
    rewards: Tensor
    x_next: Tensor
    discounts: Tensor


class Critic(nn.Module):
    """A network that predicts the return, for ``n_outputs`` actions at once."""

    def __init__(self, n_inputs: int, n_outputs: int, width: int = 128) -> None:
        super().__init__()
        layers = [nn.Linear(n_inputs, width), nn.ReLU()]
        layers += [nn.Linear(width, width), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.width, self.n_outputs = width, n_outputs

    def values(self, x: Tensor) -> Tensor:
        """Return predicted returns: (b, d) -> (b, n_outputs)."""
        raise NotImplementedError


class MSE(Critic):
    """One output per action and the squared error."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.head = nn.Linear(self.width, self.n_outputs)

    def values(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        return self.head(self.body(x))

    def logits_of_next(self, x: Tensor) -> Tensor:
        """Return what the target of the next state is made of: (b, a, 1)."""
        return self.values(x).unsqueeze(-1)

    def next_mean(self, logits: Tensor) -> Tensor:
        """Return the values of logits of one action each."""
        return logits.squeeze(-1)

    def target_loss(self, batch: Batch, logits: Tensor, _: MSE) -> Tensor:
        """Return the loss against the value of the next state."""
        y = rl.bootstrapped(batch.rewards, logits.squeeze(-1), batch.discounts)
        taken = rl.taken(self.values(batch.x).unsqueeze(-1), batch.actions)
        return losses.l2(taken.squeeze(-1), y).mean()


class HistogramCritic(Critic):
    """A histogram per action; scalar targets, or the distribution of the next state."""

    def __init__(
        self,
        *args: Any,
        bins: Bins,
        target: str = "gaussian",
        sigma_in_bins: float | None = None,
        distributional: bool = False,
        grows: bool = False,
        padding_in_bins: float = 6.0,
    ) -> None:
        super().__init__(*args)
        self.head = HistogramHead(self.width, bins, n_targets=self.n_outputs)
        self.criterion = HistogramLoss(bins, target, sigma_in_bins=sigma_in_bins)
        self.distributional, self.grows = distributional, grows
        self.padding = padding_in_bins

    def values(self, x: Tensor) -> Tensor:
        """Return the means."""
        return self.head.distribution(self.body(x)).mean

    def logits_of_next(self, x: Tensor) -> Tensor:
        """Return the logits: (b, a, k)."""
        return self.head(self.body(x))

    def next_mean(self, logits: Tensor) -> Tensor:
        """Return the values of logits of one action each."""
        return Histogram(self.head.bins, logits=logits).mean

    def target_loss(
        self, batch: Batch, logits: Tensor, past: HistogramCritic
    ) -> Tensor:
        """Return the loss against the next state; ``past`` moves with growing bins."""
        z = Histogram(past.head.bins, logits=logits)
        y = rl.bootstrapped(batch.rewards, z.mean, batch.discounts)
        features = self.body(batch.x)
        if self.grows:
            with torch.no_grad():
                both = [features, past.body(batch.x)]
            heads = [self.head, past.head]
            criteria = [self.criterion, past.criterion]
            rl.grow(y, heads, criteria, features=both, padding_in_bins=self.padding)
        taken = rl.taken(self.head(features), batch.actions)
        if self.distributional:
            probs = rl.backup(z, batch.rewards, batch.discounts, bins=self.head.bins)
            return losses.histogram_loss(taken, probs).mean()
        return self.criterion(taken, y)


def _known(game: Game) -> Bins:
    """Return bins over the known returns, padded by three sigmas of two bins."""
    return Bins.around(game.low, game.high, n_bins=N_BINS)


def _narrow(_: Game) -> Bins:
    return Bins.uniform(-1.0, 1.0, N_BINS)


def _histogram(bins: Callable[[Game], Bins], **options: Any) -> Callable[..., Critic]:
    return lambda game, *args: HistogramCritic(*args, bins=bins(game), **options)


METHODS: dict[str, Callable[..., Critic]] = {
    "MSE": lambda _, *args: MSE(*args),
    "C51": _histogram(_known, distributional=True, target="projected"),
    "two-hot": _histogram(_known, target="projected"),
    "HL-Gauss": _histogram(_known),
    # The range is not known: bins start at [-1, 1].
    "HL-Gauss, growing": _histogram(_narrow, grows=True, sigma_in_bins=4.0),
    "HL-Gauss, growing, padding 12": _histogram(
        _narrow, grows=True, sigma_in_bins=4.0, padding_in_bins=12.0
    ),
    # Why growing bins used to learn slowly: sigma of 2 bins is narrow beside the y.
    "HL-Gauss, growing, sigma 2": _histogram(_narrow, grows=True),
    # As many of the same bins on both sides of zero: starts at the value 0, as MSE.
    "HL-Gauss, from 0": _histogram(
        lambda game: Bins.around(
            -max(-game.low, game.high), max(-game.low, game.high), n_bins=2 * N_BINS
        )
    ),
}


# ---- agents


class Memory:
    """The latest transitions, in tensors that are written in a circle."""

    def __init__(self, size: int, n_inputs: int, action: Tensor) -> None:
        self.size, self.n = size, 0
        self.x, self.x_next = torch.zeros(2, size, n_inputs).unbind()
        self.actions = torch.zeros(size, *action.shape, dtype=action.dtype)
        self.rewards, self.discounts = torch.zeros(2, size).unbind()

    def add(self, x: Any, action: Any, reward: Any, x_next: Any, ended: bool) -> None:
        """Keep a transition."""
        i = self.n % self.size
        self.x[i], self.x_next[i] = torch.as_tensor(x), torch.as_tensor(x_next)
        self.actions[i] = torch.as_tensor(action)
        self.rewards[i], self.discounts[i] = float(reward), 0.0 if ended else GAMMA
        self.n += 1

    def sample(self) -> Batch:
        """Return a batch, with replacement."""
        i = torch.randint(0, min(self.n, self.size), (BATCH,))
        parts = self.x, self.actions, self.rewards, self.x_next, self.discounts
        return Batch(*(part[i] for part in parts))


class DQN:
    """Double Q-learning is left out: the plain target, the same for all methods."""

    def __init__(self, game: Game, env: Any, make: Callable[..., Critic]) -> None:
        n_inputs, n_actions = env.observation_space.shape[0], int(env.action_space.n)
        self.game, self.n_actions = game, n_actions
        self.critic = make(game, n_inputs, n_actions)
        self.past = deepcopy(self.critic)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), game.rate)
        self.memory = Memory(50_000, n_inputs, torch.zeros((), dtype=torch.int64))

    def act(self, x: Any, step: int) -> int:
        """Return an action, at random with falling probability."""
        if random.random() < max(0.05, 1 - step / self.game.exploring):
            return random.randrange(self.n_actions)
        with torch.no_grad():
            x = torch.as_tensor(x, dtype=torch.float32)
            return int(self.critic.values(x.unsqueeze(0)).argmax())

    def learn(self, step: int) -> None:
        """Take a step of the optimiser."""
        if step % self.game.copy_every == 0:
            self.past.load_state_dict(self.critic.state_dict())
        batch = self.memory.sample()
        with torch.no_grad():
            logits = self.past.logits_of_next(batch.x_next)
            best = self.past.next_mean(logits).argmax(dim=-1)
            logits = rl.taken(logits, best)
        self.optimizer.zero_grad()
        self.critic.target_loss(batch, logits, self.past).backward()
        self.optimizer.step()


class TD3:
    """Two critics of state and action, of which the smaller is the target; a policy."""

    def __init__(self, game: Game, env: Any, make: Callable[..., Critic]) -> None:
        n_inputs, n_actions = env.observation_space.shape[0], env.action_space.shape[0]
        self.game, self.high = game, float(env.action_space.high[0])
        self.policy = nn.Sequential(
            *(nn.Linear(n_inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()),
            *(nn.Linear(128, n_actions), nn.Tanh()),
        )
        self.past_policy = deepcopy(self.policy)
        self.critics = nn.ModuleList(
            make(game, n_inputs + n_actions, 1) for _ in range(2)
        )
        self.past_critics = deepcopy(self.critics)
        self.optimizer = torch.optim.Adam(self.critics.parameters(), game.rate)
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), game.rate)
        self.memory = Memory(50_000, n_inputs, torch.zeros(n_actions))

    def act(self, x: Any, step: int) -> np.ndarray:
        """Return an action of the policy with noise; at random at first."""
        if step < self.game.exploring:
            return self.high * (2 * torch.rand(1) - 1).numpy()
        with torch.no_grad():
            action = self.policy(torch.as_tensor(x)) + 0.1 * torch.randn(1)
        return self.high * action.clamp(-1, 1).numpy()

    def learn(self, step: int) -> None:
        """Take a step of the optimisers."""
        batch = self.memory.sample()
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(batch.actions)).clamp(-0.5, 0.5)
            actions = (self.past_policy(batch.x_next) + noise).clamp(-1, 1)
            joined = torch.cat([batch.x_next, actions], dim=-1)
            logits = [past.logits_of_next(joined) for past in self.past_critics]
            logits = [part.squeeze(-2) for part in logits]  # (b, k) each
            pairs = zip(self.past_critics, logits, strict=True)
            means = torch.stack([past.next_mean(part) for past, part in pairs])
            smaller = means.argmin(dim=0)  # (b,), of two critics
            least = torch.stack(logits, dim=-2)  # (b, 2, k)
            least = rl.taken(least, smaller)
        joined = torch.cat([batch.x, batch.actions / self.high], dim=-1)
        first = torch.zeros(BATCH, dtype=torch.int64)  # the only output
        seen = batch._replace(x=joined, actions=first)
        total = torch.zeros(())
        for critic, past in zip(self.critics, self.past_critics, strict=True):
            total = total + critic.target_loss(seen, least, past)
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        if step % 2 == 0:
            joined = torch.cat([batch.x, self.policy(batch.x)], dim=-1)
            self.policy_optimizer.zero_grad()
            (-self.critics[0].values(joined).mean()).backward()
            self.policy_optimizer.step()
            rl.soft_update(self.past_policy, self.policy, 0.01)
            for critic, past in zip(self.critics, self.past_critics, strict=True):
                rl.soft_update(past, critic, 0.01)


def run(game: Game, method: str, seed: int, steps: int | None = None) -> dict[str, Any]:
    """Play and learn; return the record."""
    random.seed(seed)
    torch.manual_seed(seed)
    env = game.make()
    is_discrete = hasattr(env.action_space, "n")
    agent = (DQN if is_discrete else TD3)(game, env, METHODS[method])
    torch.manual_seed(seed)  # the same exploration and batches after any head
    steps = steps or game.steps
    returns: list[list[float]] = [[] for _ in range(N_POINTS)]
    total, start = 0.0, time.perf_counter()
    x, _ = env.reset(seed=seed)
    for step in range(steps):
        action = agent.act(x, step)
        x_next, reward, ended, stopped, _ = env.step(action)
        agent.memory.add(x, action, reward, x_next, ended)
        total += float(reward)
        x = x_next
        if ended or stopped:
            returns[step * N_POINTS // steps].append(total)
            total, (x, _) = 0.0, env.reset()
        if step >= 500 and step % game.learn_every == 0:
            agent.learn(step)
    record: dict[str, Any] = {"game": game.name, "method": method, "seed": seed}
    record |= {
        "steps": steps,
        "rate": game.rate,
        "seconds": time.perf_counter() - start,
    }
    record["returns"] = [float(np.mean(part)) if part else None for part in returns]
    critic = agent.critic if is_discrete else agent.critics[0]
    if isinstance(critic, HistogramCritic):
        record["bins"] = [critic.head.bins.low, critic.head.bins.high]
    packages = ("torch", "gymnasium", "numpy")
    record["versions"] = {name: version(name) for name in packages}
    return record


# ---- the results


def curve(record: dict[str, Any]) -> np.ndarray:
    """Return the learning curve, gaps (no episode ended) filled from before."""
    filled, latest = [], None
    for value in record["returns"]:
        latest = latest if value is None else value
        filled.append(latest)
    first = next(value for value in filled if value is not None)
    return np.array([first if value is None else value for value in filled])


def table(records: list[dict[str, Any]]) -> str:
    """Return means over seeds with their standard errors."""
    parts = {
        "mean return": slice(None),
        "15 to 20 % of steps": slice(3, 4),
        "last quarter": slice(-N_POINTS // 4, None),
    }
    lines = [f"| game | method | seeds | {' | '.join(parts)} |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    keys = {(r["game"], r["method"]): None for r in records}
    order = list(METHODS)
    for game, method in sorted(keys, key=lambda key: (key[0], order.index(key[1]))):
        of = (game, method)
        curves = [curve(r) for r in records if (r["game"], r["method"]) == of]
        cells = []
        for part in parts.values():
            means = np.array([c[part].mean() for c in curves])
            cell = f"{means.mean():.0f}"
            if len(means) > 1:
                cell += f" ± {means.std(ddof=1) / len(means) ** 0.5:.0f}"
            cells.append(cell)
        lines.append(f"| {game} | {method} | {len(curves)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, none if there is no file."""
    return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []


def _numbers(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main() -> None:
    """Run what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--games", nargs="+", default=list(GAMES), choices=GAMES)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--seeds", type=_numbers, default=_numbers("1-10"))
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    records = read(arguments.out)
    if arguments.table:
        print(table(records))
        return
    torch.set_num_threads(1)
    done = {(r["game"], r["method"], r["seed"]) for r in records}
    for seed in arguments.seeds:
        for name in arguments.games:
            for method in arguments.methods:
                if (name, method, seed) in done:
                    continue
                record = run(GAMES[name], method, seed)
                arguments.out.parent.mkdir(parents=True, exist_ok=True)
                with arguments.out.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(name, method, seed, f"{curve(record).mean():.1f}", flush=True)


if __name__ == "__main__":
    main()
