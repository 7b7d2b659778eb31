"""
A forecaster with a HistogramHead
=================================

A GRU reads a day of a noisy wave and predicts the next twelve hours. Its intervals are
wider where the wave is noisier.

Run it with ``python examples/forecaster.py [figure.png]``.
"""

import sys

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

from histreg import Bins, Histogram, HistogramHead, HistogramLoss, metrics


class Forecaster(nn.Module):
    """A GRU that reads a day, and a head for the next twelve hours."""

    def __init__(self, bins: Bins) -> None:
        super().__init__()
        self.gru = nn.GRU(1, 32, batch_first=True)
        self.head = HistogramHead(32, bins, n_targets=12)  # was nn.Linear(32, 12)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits: (b, 24) -> (b, 12, k)."""
        return self.head(self.gru(x.unsqueeze(-1))[0][:, -1])


torch.manual_seed(0)
wave = (torch.arange(4000) * torch.pi / 12).sin()  # once a day
series = wave + (0.4 + 0.2 * wave) * torch.randn(4000)  # noisier at high values
x, y = series.unfold(0, 24 + 12, 1).split([24, 12], dim=-1)
train, test = slice(3000), slice(3012, None)  # no overlap of forecast hours

bins = Bins.of(y[train])
network, loss = Forecaster(bins), HistogramLoss(bins)  # was nn.MSELoss()
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
for batch in torch.cat([torch.randperm(3000) for _ in range(3)]).split(50):
    optimizer.zero_grad()
    loss(network(x[batch]), y[batch]).backward()
    optimizer.step()

d = Histogram(bins, logits=network(x[test]).detach())
print(f"error of the mean     {(d.mean - y[test]).abs().mean():.2f}")
print(f"  of the last value   {(x[test, -1:] - y[test]).abs().mean():.2f}")
print(f"90 % intervals cover  {metrics.covered(*d.interval(0.9), y[test]).mean():.2f}")

# %%
# Two windows of the test hours with their forecasts.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True, layout="constrained")
for ax, i in zip(axes, (100, 112), strict=True):
    hours = torch.arange(1, 13)
    for coverage, alpha in ((0.9, 0.25), (0.5, 0.35)):
        lower, upper = d[i].interval(coverage)
        label = f"{100 * coverage:.0f} % interval"
        style = {"color": "#0068a8", "alpha": alpha, "lw": 0, "label": label}
        ax.fill_between(hours, lower, upper, **style)
    ax.plot(hours, d[i].median, color="#0068a8", label="median")
    ax.plot(torch.arange(-23, 1), x[test][i], color="black", lw=1, label="seen")
    ax.plot(hours, y[test][i], "o", color="#c75a00", ms=4, label="truth")
    ax.set(xlabel="hours from now")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=100)
else:
    plt.show()
