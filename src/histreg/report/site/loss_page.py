"""The page on the loss: its picture, and the histograms of a network in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from matplotlib.axes import Axes

from histreg import targets
from histreg.bins import Bins
from histreg.report.colours import BLUE, ORANGE
from histreg.study.datasets import dataset
from histreg.study.engine.runs import Record
from histreg.study.methods.histograms import HistogramLossMethod
from histreg.study.tabular.runs import TabularRun

RANGE = (0.0, 100.0)  # of y on the sliders
DIGITS = 3  # of probabilities on the page, enough for a drawing


def draw_loss(ax: Axes) -> None:
    """Draw a target and a prediction over a few bins, with what is compared."""
    bins = Bins.uniform(0.0, 10.0, 20)
    y = torch.tensor(6.2, dtype=torch.float64)
    target_probs = targets.gaussian(y, bins, sigma=2 * bins.width)
    centers = bins.centers
    logits = -((centers - 5.4) ** 2) / 3.2 + 0.7 * torch.sin(2.1 * centers)
    probs = logits.softmax(dim=-1)
    borders = bins.borders.numpy()
    ax.stairs(
        probs.numpy(),
        borders,
        fill=True,
        color=BLUE,
        alpha=0.35,
        label="prediction h: a softmax over the bins",
    )
    ax.stairs(
        target_probs.numpy(),
        borders,
        color=ORANGE,
        lw=1.8,
        label="target p: a Gaussian around y, cut at the borders",
    )
    mean = float(probs @ centers)
    ax.axvline(float(y), color=ORANGE, lw=1.2, label="y")
    ax.axvline(mean, color=BLUE, lw=1.2, ls="--", label="prediction: the mean of h")
    ax.set(xlabel="y", ylabel="probability of a bin", xlim=(0, 10))
    ax.spines[["top", "right"]].set_visible(False)
    # Above the drawing, where no line crosses it.
    ax.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1))


def snapshots_of(records: Sequence[Record]) -> dict[str, Any] | None:
    """Return the histograms of a network in training; None without a record.

    Borders, epochs, and of each row y and its probabilities by epoch.
    """
    for record in records:
        run, curves = record.run, record.outcome.curves
        if "test snapshots" not in curves:
            continue
        assert isinstance(run, TabularRun)
        assert isinstance(run.method, HistogramLossMethod)
        data = dataset(run.dataset)
        bins = run.method.bins(*data.y_range)
        moments = curves["test snapshots"]
        return {
            "title": data.title,
            "method": run.method.label,
            "seed": run.seed,
            "borders": [round(border, 9) for border in bins.borders.tolist()],
            "epochs": [int(epoch) for epoch in curves["epoch"]],
            "rows": [
                {
                    "y": row["y"],
                    "probs": [
                        [float(f"{p:.{DIGITS}g}") for p in moment[i]["probs"]]
                        for moment in moments
                    ],
                }
                for i, row in enumerate(moments[0])
            ],
        }
    return None
