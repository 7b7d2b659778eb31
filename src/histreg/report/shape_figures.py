"""Figures of targets of any shape: predictors beside uniform bins, by their CRPS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from histreg.errors import InputError
from histreg.report.colours import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE
from histreg.report.panels import add_legend, panels, set_log
from histreg.report.results import Results
from histreg.study.analysis.shape_scores import CRPS, ShapeScores
from histreg.study.datasets import source
from histreg.study.shapes.predictors import OTHERS
from histreg.study.shapes.tables import HEAVY, UNIFORM_BINS

LOOKS = {
    "auto bins": (BLUE, "o", BLUE),
    "auto bins and tails": (BLUE, "o", "none"),
    "auto bins, 4 networks": (BLUE, "*", BLUE),
    "l2 of logarithms": (ORANGE, "s", ORANGE),
    "HistGradientBoosting": (GREEN, "^", GREEN),
    "CatBoost": (PURPLE, "D", PURPLE),
    "NGBoost": (BLACK, "v", BLACK),
}
"""Colour, mark and filling; other spacings are small and grey."""
TICKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
WIDEST = 1.3  # a ratio beyond which a predictor is named instead of drawn
APART = 0.12  # rows, by which ours lie above the line of a table and others below


def shapes(results: Results) -> Figure:
    """Return the CRPS of predictors over that of uniform bins, table by table."""
    scores = ShapeScores.of(results.records)
    tables = [
        name for name in scores.tables if scores.values(name, UNIFORM_BINS, CRPS).keys()
    ]
    if not tables:
        raise InputError(
            f"a figure of shapes must have a table with {UNIFORM_BINS}, got none yet"
        )
    groups = {
        "heavy tails": [name for name in tables if name in HEAVY],
        "light tails": [name for name in tables if name not in HEAVY],
    }
    groups = {title: names for title, names in groups.items() if names}
    height = 1.1 + 0.5 * max(map(len, groups.values()))
    figure, axes = panels(len(groups), len(groups), width=5.0, height=height)
    for ax, (title, names) in zip(axes, groups.items(), strict=True):
        _draw(ax, scores, names)
        ax.set_title(title, fontsize=10)
    add_legend(figure)
    return figure


def _draw(ax: Axes, scores: ShapeScores, tables: Sequence[str]) -> None:
    heights = range(len(tables), 0, -1)
    # Grey ones first, so that they lie below.
    order = sorted(scores.methods, key=lambda predictor: predictor in LOOKS)
    beyond: dict[int, list[str]] = {}
    for predictor in order:
        if predictor == UNIFORM_BINS:
            continue
        ratios = [scores.ratio(table, predictor, CRPS) for table in tables]
        _draw_predictor(ax, predictor, dict(zip(heights, ratios, strict=True)))
        for height, ratio in zip(heights, ratios, strict=True):
            if ratio > WIDEST:
                beyond.setdefault(height, []).append(f"{predictor} {ratio:.3g}")
    ax.axvline(1.0, color=BLACK, lw=0.8)
    set_log(ax.xaxis)
    ax.xaxis.set_major_locator(FixedLocator(TICKS))  # a decade's would be 1 alone
    ax.xaxis.set_minor_locator(NullLocator())
    for height, names in beyond.items():
        ax.annotate(
            ", ".join(names) + " →",
            (1.0, height),
            (-2, -10),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=6,
        )
    ax.set_yticks(list(heights), [source(table).title for table in tables], fontsize=8)
    ax.set_ylim(0.4, len(tables) + 0.6)
    ax.set_xlabel("CRPS over that of uniform bins (left is better)")
    ax.set_xlim(right=WIDEST * 1.02)
    ax.grid(axis="x", alpha=0.3)


def _draw_predictor(ax: Axes, predictor: str, ratios: Mapping[int, float]) -> None:
    """Draw the ratios of a predictor by the heights of their tables."""
    colour, mark, filling = LOOKS.get(predictor, (GREY, "|", GREY))
    apart = -APART if predictor in OTHERS else APART
    shown = {height: ratio for height, ratio in ratios.items() if ratio <= WIDEST}
    ax.plot(
        list(shown.values()),
        [height + apart for height in shown],
        ls="",
        marker=mark,
        color=colour,
        mfc=filling,
        ms=6 if predictor in LOOKS else 9,
        label=predictor if predictor in LOOKS else "other spacings",
    )
