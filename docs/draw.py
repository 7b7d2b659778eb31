"""Draw the pictures of the README and the guides.

    python docs/draw.py                # all; `make pictures`
    python docs/draw.py sigma table    # some, by the names of their files

Figures of the study come from the committed records, as ``histreg study figure`` draws
them. The others show the results of the code beside them, blocks of the README,
docs/shapes.md and docs/forecasting.md, and of two examples. report.png is a photograph
of the page that ``histreg report`` writes, and is not drawn here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from PIL import Image

from histreg import targets
from histreg.cli.study.selection import Selection
from histreg.report.experiment_figures import figure_of
from histreg.study.engine.store import Store

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
RECORDS = ROOT / "results" / "study"
BLUE, ORANGE = "#0068a8", "#c75a00"
DPI = 100  # a column of the pages is 740 pixels wide, and some have ten pictures
N_COLOURS = 64  # of a palette; drawings have few

OF_STUDY = {
    **{
        name: (name, Selection())
        for name in (
            *("architectures", "bias", "bound", "columns", "forecast-readings"),
            *("label-bias", "replays", "shapes", "targets", "theorems", "values"),
        )
    },
    **{  # the data sets of which all was run
        name: (name, Selection(datasets="pole,bike"))
        for name in (
            *("annealing", "auxiliary", "bins", "corruption", "overall", "rates"),
            *("representation", "sensitivity", "sigma", "training", "uniform"),
        )
    },
    "overall_bike": ("overall", Selection(datasets="bike")),
    "tables": ("tables-last", Selection()),
    "forecasts": ("forecasts", Selection(datasets="ETTh2", models="Linear")),
    "forecasts_networks": (
        "forecasts-direct",
        Selection(datasets="ETTh1", models="LSTM,GRU,Transformer"),
    ),
}
"""Experiments and options of ``histreg study figure``, by the names of pictures."""


def draw_of_study(name: str) -> None:
    """Draw a figure of the study from the committed records."""
    experiment, selection = OF_STUDY[name]
    records = Store(RECORDS).records(selection.runs([experiment]))
    figure_of(experiment, records).savefig(IMAGES / f"{name}.png", dpi=DPI)


def with_palette(path: Path) -> None:
    """Reduce the colours of a picture, which makes its file a third of the size."""
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(N_COLOURS)
    few.save(path, optimize=True)


def block(page: str, n: int = 0) -> dict[str, Any]:
    """Run a block of Python of a page; return what it has defined."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S
    )
    torch.manual_seed(0)
    known: dict[str, Any] = {}
    exec(compile(blocks[n], page, "exec"), known)
    return known


def draw_table() -> None:
    """Draw the intervals of the test rows and three distributions."""
    known = block("README.md", 1)
    y = np.asarray(known["y_test"])
    lower, upper, d = known["lower"], known["upper"], known["distribution"]
    order = np.argsort(d.mean.numpy())
    inside = ((lower <= y) & (y <= upper))[order]
    figure, axes = plt.subplot_mosaic(
        "AAB;AAC;AAD", figsize=(10, 4.2), layout="constrained"
    )
    left, places = axes["A"], np.arange(len(y))
    left.vlines(places, lower[order], upper[order], color=BLUE, alpha=0.35, lw=3)
    left.plot(places, d.mean.numpy()[order], color=BLUE, label="mean")
    for held, marker, label in ((True, "o", "truth"), (False, "x", "truth, outside")):
        which = inside == held
        left.plot(
            places[which], y[order][which], marker, color=ORANGE, ms=4, label=label
        )
    left.set(
        xlabel="test rows, by predicted mean",
        ylabel="disease progression",
        title=f"90 % intervals hold {100 * inside.mean():.0f} % of {len(y)} test rows",
    )
    left.legend(loc="upper left")
    bins = d.bins
    for name, share in zip("BCD", (0.1, 0.5, 0.9), strict=True):
        i = order[int(share * len(y))]
        ax = axes[name]
        ax.stairs(d.probs[i] / bins.widths, bins.borders, fill=True, alpha=0.45)
        ax.axvline(d.mean[i].item(), color=BLUE, ls="--")
        ax.axvline(y[i], color=ORANGE)
        above = d.prob(200.0, float("inf"))[i].item()
        ax.set(yticks=[], xlim=(bins.low, bins.high))
        ax.set_title(f"P(y > 200) = {above:.2f}", fontsize=9)
    axes["D"].set_xlabel("y: density, mean (dashed), truth")
    figure.savefig(IMAGES / "table.png", dpi=DPI)


def draw_fan() -> None:
    """Draw the end of a series, the forecast after it and what came."""
    known = block("docs/forecasting.md")
    y, d, start = known["y"], known["d"], 400
    past, ahead = np.arange(start - 56, start), np.arange(start, start + len(d.mean))
    figure, ax = plt.subplots(figsize=(10, 3.4), layout="constrained")
    # The fan begins at the last value, which is certain.
    days = np.concatenate([past[-1:], ahead])
    for coverage, alpha in ((0.9, 0.25), (0.5, 0.35)):
        ends = [np.concatenate([y[past[-1:]], end]) for end in d.interval(coverage)]
        label = f"{100 * coverage:.0f} % interval"
        ax.fill_between(days, *ends, color=BLUE, alpha=alpha, lw=0, label=label)
    median = np.concatenate([y[past[-1:]], d.median])
    ax.plot(days, median, color=BLUE, label="median")
    ax.plot(past, y[past], color="black", lw=1, label="seen")
    ax.plot(ahead, y[ahead], "o", color=ORANGE, ms=4, label="truth")
    ax.set(xlabel="day", ylabel="y", xlim=(past[0], ahead[-1] + 0.5))
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=5)
    figure.savefig(IMAGES / "forecasting.png", dpi=DPI)


def draw_shapes() -> None:
    """Draw the borders of two kinds of bins, and a typical target on both."""
    known = block("docs/shapes.md")
    y, typical = known["y"], known["typical"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
    left.hist(y, np.geomspace(y.min(), y.max(), 60), color="0.8")
    left.set(xscale="log", yticks=[], xlabel="y, and the borders of 100 bins")
    top = left.get_ylim()[1]
    left.set_ylim(0, 1.5 * top)
    kinds = (("even", BLUE, known["even"]), ('"auto"', ORANGE, known["fitting"]))
    for place, (name, colour, bins) in zip((1.3, 1.08), kinds, strict=True):
        shown = bins.borders[bins.borders > 0]
        ends = (place * top, (place + 0.12) * top)
        left.vlines(shown, *ends, color=colour, lw=0.6, label=name)
        probs = targets.gaussian(typical, bins, sigma_in_bins=2.0, keeps_mean=True)
        density = probs / bins.widths
        right.stairs(density / density.max(), bins.borders, color=colour, label=name)
    right.axvline(typical, color="black", lw=1, ls="--", label="y")
    right.set(
        xlim=(-30 * typical, 40 * typical),
        yticks=[],
        xlabel="target histogram of the median y, peaks made equal",
    )
    left.legend(loc="center left", fontsize=8)
    right.legend(fontsize=8)
    figure.savefig(IMAGES / "shapes_problem.png", dpi=DPI)


def draw_example(name: str, script: str) -> None:
    """Draw the picture of an example."""
    command = [sys.executable, ROOT / "examples" / script, IMAGES / f"{name}.png"]
    subprocess.run(command, check=True)


def draw_critics() -> None:
    """Draw the learning curves of critics from the committed records."""
    script, records = ROOT / "benchmarks" / "critics.py", ROOT / "results/critics.jsonl"
    picture = IMAGES / "critics.png"
    command = [sys.executable, script, "--out", records, "--figure", picture]
    subprocess.run(command, check=True)


PICTURES: dict[str, Callable[[], None]] = {
    **{name: lambda name=name: draw_of_study(name) for name in OF_STUDY},
    "table": draw_table,
    "shapes_problem": draw_shapes,
    "forecasting": draw_fan,
    "critics": draw_critics,
    "forecaster": lambda: draw_example("forecaster", "forecaster.py"),
    "demo": lambda: draw_example("demo", "network.py"),
}
"""What draws a picture, by its name."""


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
        with_palette(IMAGES / f"{name}.png")
        print(f"docs/images/{name}.png")
