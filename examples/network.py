"""
A network that predicts a number with its uncertainty
=====================================================

Trains the same small network twice, on synthetic data whose noise grows and which then
splits into two branches: once with the squared error, once with a ``HistogramHead``
and a ``HistogramLoss``. Prints the errors of both on test data, and draws what the
second predicts.

Run it with ``python examples/network.py [figure.png]``.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from torch import Tensor, nn

from histreg import Bins, Histogram, HistogramHead, HistogramLoss, metrics, theory

EPOCHS, BATCH = 120, 128


def made_up(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return x in [-1, 1] and y: a wave whose noise grows, then two branches."""
    x = torch.rand(n, generator=generator) * 2 - 1
    noise = torch.randn(n, generator=generator)
    wave = 50 + 20 * torch.sin(3 * x)
    spread = 1.5 + 4 * (x + 1)
    branch = torch.where(torch.rand(n, generator=generator) < 0.7, 0.0, -45.0)
    return x, torch.where(x < 0.4, wave + spread * noise, wave + branch + 3 * noise)


def trunk() -> nn.Sequential:
    """Return the body; both networks have the same architecture."""
    return nn.Sequential(
        nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)
    ).append(nn.ReLU())


def train(
    network: nn.Module,
    loss: Callable[[Tensor, Tensor], Tensor],
    x: Tensor,
    y: Tensor,
    name: str,
) -> None:
    """Train with Adam and show the progress."""
    torch.manual_seed(0)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    start = time.perf_counter()
    for epoch in range(EPOCHS):
        for batch in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            value = loss(network(x[batch].unsqueeze(-1)), y[batch])
            value.backward()
            optimizer.step()
        done = (epoch + 1) / EPOCHS
        if sys.stdout.isatty() or done == 1:
            bar = "#" * round(30 * done)
            seconds = time.perf_counter() - start
            print(
                f"\r{name:<10} [{bar:<30}] {done:4.0%}  loss {value.item():8.3f}  "
                f"{seconds:4.1f} s",
                end="",
                flush=True,
            )
    print()


def draw_density(
    ax: Axes, x: Tensor, d: Histogram, data: tuple[Tensor, Tensor]
) -> None:
    """Draw the predicted density over x, its mean and its 90 % interval."""
    lower, upper = d.interval(0.9)
    grid = (x.numpy(), d.bins.borders.numpy(), d.probs.T[:, :-1].numpy())
    ax.pcolormesh(*grid, cmap="Blues", vmax=0.12, rasterized=True)
    ax.scatter(*data, s=2, color="black", alpha=0.25, label="test data")
    ax.plot(x, d.mean, color="tab:red", label="mean")
    ax.plot(x, lower, color="tab:red", ls=":", label="90 % interval")
    ax.plot(x, upper, color="tab:red", ls=":")
    ax.set(xlabel="x", ylabel="y", title="Predicted distribution of y given x")
    ax.legend(loc="lower left", framealpha=0.9)


def draw_histogram(ax: Axes, d: Histogram, l2: float, at: float) -> None:
    """Draw one predicted distribution, with both networks' point predictions."""
    ax.stairs(d.probs / d.bins.widths, d.bins.borders, fill=True, alpha=0.5)
    ax.axvline(d.mean.item(), color="tab:red", label=f"mean {d.mean.item():.1f}")
    ax.axvline(l2, color="black", ls="--", label=f"l2 {l2:.1f}")
    above = d.prob(60.0, math.inf).item()
    ax.set(title=f"x = {at:g}:  P(y > 60) = {above:.2f}", xlim=(-15, 100), yticks=[])
    ax.legend(fontsize=8)


def main() -> None:
    """Train, print, draw."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    x, y = made_up(4000, generator)
    x_test, y_test = made_up(4000, generator)
    bins = Bins.of(y)

    torch.manual_seed(0)
    l2 = trunk().append(nn.Linear(64, 1)).append(nn.Flatten(-2))
    torch.manual_seed(0)
    histogram = trunk().append(HistogramHead(64, bins))
    loss = HistogramLoss(bins)
    # The squared error needs a scaled y; the paper scales it to [0, 1].
    scale = (y.max() - y.min()).item()
    train(l2, lambda out, y: ((out - y / scale) ** 2).mean(), x, y, "l2")
    train(histogram, loss, x, y, "HL-Gauss")

    with torch.no_grad():
        point = l2(x_test.unsqueeze(-1)) * scale
        d = Histogram(bins, logits=histogram(x_test.unsqueeze(-1)))
        grid = torch.linspace(-1, 1, 201)
        on_grid = Histogram(bins, logits=histogram(grid.unsqueeze(-1)))
        chosen = torch.tensor([-0.8, 0.2, 0.8])
        at_chosen = Histogram(bins, logits=histogram(chosen.unsqueeze(-1)))
        l2_at_chosen = l2(chosen.unsqueeze(-1)) * scale

    print(f"\non {len(y_test)} test samples {'l2':>12}{'HL-Gauss':>12}")
    covered = metrics.covered(*d.interval(0.9), y_test).mean().item()
    rows = [
        ("mean absolute error", (point - y_test).abs(), (d.mean - y_test).abs()),
        ("MAE of the median", None, (d.median - y_test).abs()),
        # For a point forecast the score is the absolute error.
        ("CRPS", (point - y_test).abs(), metrics.crps(d, y_test)),
    ]
    for name, of_l2, of_histogram in rows:
        left = "none" if of_l2 is None else f"{of_l2.mean().item():.3f}"
        print(f"{name:<25}{left:>10}{of_histogram.mean().item():>12.3f}")
    print(f"{'90 % interval covers':<25}{'none':>10}{covered:>12.3f}")
    print("\ncosts of the bins and the smoothing:")
    print(theory.explain(bins, loss.sigma, y))

    figure, axes = plt.subplot_mosaic(
        "AAB;AAC;AAD", figsize=(11, 6.5), layout="constrained"
    )
    draw_density(axes["A"], grid, on_grid, (x_test[:1500], y_test[:1500]))
    for name, i in zip("BCD", range(3), strict=True):
        draw_histogram(
            axes[name], at_chosen[i], l2_at_chosen[i].item(), chosen[i].item()
        )
    axes["D"].set_xlabel("y")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=120)
    else:
        plt.show()


if __name__ == "__main__":
    main()
