"""An agent that learns values as histograms: DQN on CartPole with the histogram loss.

    pip install gymnasium
    python examples/value_learning.py [steps]

The bins start with the range that returns can have: rewards of at most REWARD,
discounted, add up to REWARD / (1 - GAMMA). If rewards are larger than expected, the
bins grow with the returns of the agent; the head is adapted to them and keeps its
predictions. The bins are copied and saved with the weights. Four lines differ from a
DQN with the squared error; a comment on each shows the original.
"""

from __future__ import annotations

import random
import sys
from collections import deque

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from histreg import Bins, HistogramHead, HistogramLoss, rl

STEPS, WARM_UP, LEARN_EVERY, COPY_EVERY = 20_000, 500, 2, 250
GAMMA, BATCH, LEARNING_RATE, EXPLORING = 0.99, 64, 5e-4, 4_000
REWARD = 1.0  # the largest that is expected; far too small a number delays learning


class Values(nn.Module):
    """A network that predicts the return after each action."""

    def __init__(self, n_inputs: int, n_actions: int) -> None:
        super().__init__()
        layers = [nn.Linear(n_inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        # was nn.Linear(128, n_actions)
        self.head = HistogramHead(
            128, Bins.around(0, REWARD / (1 - GAMMA), n_bins=51), n_targets=n_actions
        )
        self.criterion = HistogramLoss(self.head.bins)  # was nn.MSELoss()

    def forward(self, x: Tensor) -> Tensor:  # (b, n_inputs) -> (b, n_actions)
        """Return the values of all actions."""
        return self.head.distribution(self.body(x)).mean  # was self.head(...)

    def loss(self, x: Tensor, actions: Tensor, y: Tensor) -> Tensor:
        """Return the loss of the values of the actions taken, compared with y."""
        features = self.body(x)
        # was not there
        rl.grow(y, [self.head], [self.criterion], features=[features])
        outputs = self.head(features)  # (b, n_actions, k), was (b, n_actions)
        return self.criterion(outputs[torch.arange(len(y)), actions], y)


def learn(
    values: Values, past: Values, memory: deque, optimizer: torch.optim.Adam
) -> None:
    """Take one step towards the reward plus the discounted value of the next state."""
    batch = zip(*random.sample(memory, BATCH), strict=True)
    x, actions, rewards, x_next, ended = (torch.from_numpy(np.array(c)) for c in batch)
    with torch.no_grad():
        y = rewards + GAMMA * past(x_next).amax(dim=-1) * ~ended
    optimizer.zero_grad()
    values.loss(x, actions, y.float()).backward()
    optimizer.step()


def main(steps: int = STEPS, seed: int = 1) -> list[float]:
    """Play and learn; return the return of each episode."""
    random.seed(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    game = gymnasium.make("CartPole-v1")
    values, past = Values(4, 2), Values(4, 2)
    optimizer = torch.optim.Adam(values.parameters(), LEARNING_RATE)
    memory: deque = deque(maxlen=20_000)
    returns = [0.0]
    x, _ = game.reset(seed=seed)
    for step in range(steps):
        if random.random() < max(0.05, 1 - step / EXPLORING):
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = int(values(torch.from_numpy(x)).argmax())
        x_next, reward, ended, stopped, _ = game.step(action)
        memory.append((x, action, float(reward), x_next, ended))
        returns[-1] += float(reward)
        x = x_next
        if ended or stopped:
            x, _ = game.reset()
            returns.append(0.0)
        if step >= WARM_UP and step % LEARN_EVERY == 0:
            if step % COPY_EVERY == 0:
                past.load_state_dict(values.state_dict())  # includes the bins
            learn(values, past, memory, optimizer)
        if (step + 1) % (steps // 10) == 0:
            recent = returns[-21:-1]
            print(
                f"{step + 1:6} steps, {len(returns) - 1:4} episodes, the last "
                f"{len(recent)} lasted {np.mean(recent):5.1f}; {values.head.bins}"
            )
    return returns[:-1]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
