"""A DQN in one file that learns the distribution of returns from several games at once.

    pip install gymnasium
    python examples/vector_value_learning.py [steps]

In the manner of CleanRL: everything is in this file, from top to bottom. Gymnasium's
vector environments reset a game in the step after its end: that step is no transition.
"""

from __future__ import annotations

import copy
import sys

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from histreg import Bins, Histogram, HistogramHead, losses, rl

STEPS, WARM_UP, COPY_EVERY, N_GAMES = 5_000, 125, 125, 4
GAMMA, BATCH, LEARNING_RATE, EXPLORING, MEMORY = 0.99, 64, 5e-4, 1_000, 50_000


class Critic(nn.Module):
    """A network that predicts the distribution of returns after each action."""

    def __init__(self, n_inputs: int, n_actions: int, bins: Bins) -> None:
        super().__init__()
        layers = [nn.Linear(n_inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.head = HistogramHead(128, bins, n_targets=n_actions)

    def forward(self, x: Tensor) -> Tensor:  # (b, d) -> logits (b, a, k)
        """Return logits."""
        return self.head(self.body(x))

    def best(self, x: Tensor) -> Tensor:  # (b,)
        """Return the actions with the largest mean."""
        return self.head.distribution(self.body(x)).mean.argmax(dim=-1)


def main(steps: int = STEPS, seed: int = 1) -> list[float]:
    """Play and learn; return the return of each episode."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    games = gymnasium.make_vec("CartPole-v1", N_GAMES, vectorization_mode="sync")
    critic = Critic(4, 2, Bins.around(0.0, 100.0, n_bins=51))
    target = copy.deepcopy(critic)
    optimizer = torch.optim.Adam(critic.parameters(), LEARNING_RATE)
    x, x_next = np.zeros((2, MEMORY, 4), dtype=np.float32)
    actions = np.zeros(MEMORY, dtype=np.int64)
    rewards, discounts = np.zeros((2, MEMORY), dtype=np.float32)

    n, returns, running = 0, [], np.zeros(N_GAMES)
    seen, _ = games.reset(seed=seed)
    is_reset = np.zeros(N_GAMES, dtype=bool)
    for step in range(steps):
        chosen = rng.integers(0, 2, N_GAMES)
        greedy = rng.random(N_GAMES) >= max(0.05, 1 - step / EXPLORING)
        if greedy.any():
            with torch.no_grad():
                chosen = np.where(greedy, critic.best(torch.tensor(seen)), chosen)
        after, reward, terminated, truncated, _ = games.step(chosen)
        for i in np.flatnonzero(~is_reset):  # the others were only reset
            j = n % MEMORY
            x[j], actions[j], rewards[j], x_next[j] = (
                seen[i],
                chosen[i],
                reward[i],
                after[i],
            )
            discounts[j] = 0.0 if terminated[i] else GAMMA  # truncated keeps its value
            n += 1
        running += np.where(is_reset, 0.0, reward)
        is_reset = terminated | truncated
        returns += running[is_reset].tolist()
        running[is_reset] = 0.0
        seen = after
        if step >= WARM_UP:
            if step % COPY_EVERY == 0:
                target.load_state_dict(critic.state_dict())
            rows = rng.integers(0, min(n, MEMORY), BATCH)
            later = torch.from_numpy(x_next[rows])
            with torch.no_grad():  # double DQN: chosen by one, evaluated by the other
                logits = rl.taken(target(later), critic.best(later))
                z = Histogram(target.head.bins, logits=logits)
                reward_, discount_ = map(
                    torch.from_numpy, (rewards[rows], discounts[rows])
                )
                target_probs = rl.backup(z, reward_, discount_)
            taken = rl.taken(
                critic(torch.from_numpy(x[rows])), torch.from_numpy(actions[rows])
            )
            optimizer.zero_grad()
            losses.histogram_loss(taken, target_probs).mean().backward()
            optimizer.step()
        if (step + 1) % (steps // 5) == 0:
            recent = np.mean(returns[-20:]) if returns else float("nan")
            print(
                f"{step + 1:6} steps, {len(returns):4} episodes, lasted {recent:5.1f}"
            )
    games.close()
    return returns


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
