"""A forecaster with a HistogramHead. Run: python examples/forecaster.py."""

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
