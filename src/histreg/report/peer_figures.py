"""Figures of our regressor beside its peers: a dot for each table and peer."""

from __future__ import annotations

import math
import statistics

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from histreg.errors import InputError
from histreg.report.colours import BLACK, BLUE, ORANGE
from histreg.report.panels import add_legend, panels, set_log
from histreg.report.results import Results
from histreg.study.analysis.peer_scores import PeerScores
from histreg.study.claims.goals import ENOUGH_ROWS
from histreg.study.datasets import FRAMES
from histreg.study.tables.metrics import CRPS, RMSE
from histreg.study.tables.peers import OURS

PANELS = {CRPS: "CRPS", RMSE: "RMSE of the mean"}
TICKS = (0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0)
NARROWEST, WIDEST = 0.4, 1.6  # ratios beyond which a dot lies on the edge
SPREAD = 0.28  # rows, by which the dots of a peer lie above and below its line
DOTS = {
    "below 1,000 rows": (ORANGE, lambda n: n < ENOUGH_ROWS),
    "1,000 rows and more": (BLUE, lambda n: n >= ENOUGH_ROWS),
}


def tables(results: Results) -> Figure:
    """Return our CRPS and RMSE over those of each peer, a dot for each table."""
    scores = PeerScores.of(results.records)
    peers = [peer for peer in scores.peers if scores.ratios(peer, CRPS)]
    if not peers:
        raise InputError(
            f"a figure of tables must have a table with {OURS} and a peer, got none yet"
        )
    height = 1.0 + 0.42 * len(peers)
    figure, axes = panels(len(PANELS), len(PANELS), width=4.8, height=height)
    for ax, (metric, title) in zip(axes, PANELS.items(), strict=True):
        _draw(ax, {peer: scores.ratios(peer, metric) for peer in peers})
        ax.set_title(title, fontsize=10)
    axes[1].set_yticklabels([])
    add_legend(figure)
    return figure


def _draw(ax: Axes, by_peer: dict[str, dict[str, float]]) -> None:
    heights = dict(zip(by_peer, range(len(by_peer), 0, -1), strict=True))
    for label, (colour, is_in) in DOTS.items():
        points = [
            (_placed(ratio), height + apart)
            for peer, height in heights.items()
            for (table, ratio), apart in zip(
                by_peer[peer].items(), _spread(len(by_peer[peer])), strict=True
            )
            if is_in(FRAMES[table].n_rows)
        ]
        x, y = zip(*points, strict=True) if points else ((), ())
        ax.plot(x, y, "o", ms=3.5, mec="none", alpha=0.8, color=colour, label=label)
    for peer, height in heights.items():
        mean = _placed(statistics.geometric_mean(by_peer[peer].values()))
        ends = [height - 0.35, height + 0.35]
        ax.plot([mean, mean], ends, color=BLACK, lw=2, label="geometric mean")
    ax.axvline(1.0, color=BLACK, lw=0.8)
    set_log(ax.xaxis)
    ax.xaxis.set_major_locator(FixedLocator(TICKS))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlim(NARROWEST / 1.03, WIDEST * 1.03)
    ax.set_yticks(list(heights.values()), list(heights), fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    ax.set_ylim(0.4, len(heights) + 0.6)
    ax.set_xlabel("ours over the peer's (left of 1: ours is better)", fontsize=9)
    ax.grid(axis="x", alpha=0.3)


def _placed(ratio: float) -> float:
    """Return where a ratio is drawn: on the edge if it lies beyond."""
    return min(max(ratio, NARROWEST), WIDEST)


def _spread(n: int) -> list[float]:
    """Return n heights around 0, neighbours apart, so that dots do not cover others."""
    steps = [(i * (math.sqrt(5) - 1) / 2) % 1 for i in range(n)]
    return [SPREAD * (2 * step - 1) for step in steps]
