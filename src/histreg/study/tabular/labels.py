"""Labels of the tables: their distribution, and the bias of targets made from them."""

from __future__ import annotations

import torch

from histreg import theory
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Outcome, RunContext
from histreg.study.methods import HLGauss, HLOneBin

SIGMAS_IN_BINS = tuple(2.0**power for power in range(-6, 5))
N_BARS = 30


def label_bias(name: str, context: RunContext) -> Outcome:
    """Return the distance of an exact fit's mean from the label, over sigma.

    HL-Gauss with the bins of the tabular study; sigma 0 is HL-OneBin.
    """
    data = dataset(name)
    y = torch.tensor(data.load(context.data_dir).y)
    low, high = data.y_range

    def mean_bias(method: HLGauss | HLOneBin) -> float:
        bins = method.bins(low, high)
        # Once per distinct label: a table of all labels and 100 bins is large.
        distinct, counts = y.unique(return_counts=True)
        bias = [
            theory.label_bias(some, bins, method.target_probs(some, bins)).abs()
            for some in distinct.split(65536)
        ]
        return ((torch.cat(bias) * counts).sum() / len(y)).item()

    biases = [mean_bias(HLOneBin())]
    biases += [mean_bias(HLGauss(sigma_in_bins=sigma)) for sigma in SIGMAS_IN_BINS]
    width = HLGauss().bins(low, high).width
    return Outcome(
        {"width": width},
        {"sigma_in_bins": [0.0, *SIGMAS_IN_BINS], "label bias": biases},
    )


def target_histogram(name: str, context: RunContext) -> Outcome:
    """Return the density of the targets in 30 bars, and the facts of a data set."""
    data = dataset(name)
    table = data.load(context.data_dir)
    y = torch.tensor(table.y)
    density, borders = torch.histogram(y, bins=N_BARS, density=True)
    n_test = len(y) // 5
    facts = {
        "train rows": len(y) - n_test,
        "test rows": n_test,
        "features": table.X.shape[1],
        "low": data.y_range[0],
        "high": data.y_range[1],
        "smallest": y.min().item(),
        "largest": y.max().item(),
        "distinct": len(y.unique()),
    }
    curves = {"density": density.tolist(), "borders": borders.tolist()}
    return Outcome({k: float(v) for k, v in facts.items()}, curves)
