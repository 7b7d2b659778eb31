"""
What a target looks like
========================

A histogram loss compares the predicted histogram with one that is made of y. The same
y, between two centers, becomes five targets.
"""

import matplotlib.pyplot as plt
import torch

from histreg import Bins, targets

bins = Bins.uniform(0.0, 10.0, 20)
y = torch.tensor(5.1)
made = {
    "one bin (HL-OneBin)": targets.one_bin(y, bins),
    "projected: two bins, mean y": targets.projected(y, bins),
    "uniform share in every bin": targets.uniform(y, bins, epsilon=0.3),
    "Gaussian, sigma of 1 bin": targets.gaussian(y, bins, sigma_in_bins=1.0),
    "Gaussian, sigma of 2 bins (HL-Gauss)": targets.gaussian(
        y, bins, sigma_in_bins=2.0
    ),
}
figure, axes = plt.subplots(
    len(made), sharex=True, figsize=(7, 8), layout="constrained"
)
for ax, (name, probs) in zip(axes, made.items(), strict=True):
    mean = (probs * bins.centers).sum().item()
    ax.stairs(probs, bins.borders, fill=True, color="#0068a8", alpha=0.5)
    ax.axvline(y, color="#c75a00", lw=1.5)
    ax.axvline(mean, color="black", ls="--", lw=1)
    ax.set_title(f"{name}: mean {mean:.3f}", fontsize=10, loc="left")
axes[-1].set_xlabel("y = 5.1 (orange), mean of the target (dashed)")
plt.show()

# %%
# The mean of the prediction is the prediction, so a target whose mean is not y has a
# bias that no training removes. With the Gaussian it vanishes as sigma exceeds half a
# bin; what is left at two bins comes from the ends of the range.

for sigma in (0.25, 0.5, 1.0, 2.0):
    probs = targets.gaussian(y.double(), bins, sigma_in_bins=sigma)
    bias = (probs * bins.centers).sum() - y
    print(f"sigma of {sigma} bins: the mean is {bias.item():+.1e} from y")
