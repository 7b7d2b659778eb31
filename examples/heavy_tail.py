"""
Bins for a heavy tail
=====================

Even bins are wasted on a heavy tail: most targets fall into one of them. Bins that are
even in another coordinate resolve all targets; ``spacing="auto"`` chooses it.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from histreg import Bins, theory

generator = torch.Generator().manual_seed(0)
y = 100 * (1.5 * torch.randn(5000, generator=generator)).exp()  # lognormal
kinds = {"even": Bins.of(y), 'spacing="auto"': Bins.of(y, spacing="auto")}

figure, axes = plt.subplots(2, sharex=True, figsize=(8, 5), layout="constrained")
for ax, (name, bins) in zip(axes, kinds.items(), strict=True):
    ax.hist(y, np.geomspace(y.min(), y.max(), 80), color="0.75")
    ax.vlines(bins.borders[bins.borders > 0], 0, 40, color="#0068a8", lw=0.8)
    fullest = torch.bincount(bins.index_of(y)).max().item() / len(y)
    ax.set(xscale="log", ylabel="targets")
    ax.set_title(f"{name}: the fullest of 100 bins holds {fullest:.0%} of the targets")
axes[-1].set_xlabel("y, and the borders of the bins")
plt.show()

# %%
# The same in numbers, before any training:

print(theory.explain(kinds["even"], None, y, sigma_in_bins=2.0))
