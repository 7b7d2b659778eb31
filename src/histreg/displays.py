"""Displays: plots of how well distributions predict, in scikit-learn's manner.

Each display computes numbers by ``from_estimator(estimator, X, y)`` or
``from_predictions(distribution, y)``, keeps them, and draws them by ``plot(ax)``. They
need the extra ``plot``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from histreg import metrics
from histreg._axes import BLUE, GREY, ORANGE, axes_or_new
from histreg._checks import check_count
from histreg.distribution import Histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CoverageDisplay", "FanDisplay", "PITDisplay"]

Array = NDArray[np.float64]
COVERAGES = tuple(round(0.1 * i, 1) for i in range(1, 10))


class _Display(ABC):
    """What displays share: they are drawn as soon as they are computed."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw it, on the axes of a new figure by default."""

    @classmethod
    def from_predictions(
        cls, distribution: Histogram, y: ArrayLike | Tensor, *, ax: Axes | None = None
    ) -> Self:
        """Return the display of distributions (n,) and what came (n,), drawn."""
        display = cls._of(distribution, y)
        display.plot(ax)
        return display

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike | Tensor, *, ax: Axes | None = None
    ) -> Self:
        """Return the display of an estimator on rows that it was not trained on."""
        distribution = metrics.predicted_distribution(estimator, X)
        return cls.from_predictions(distribution, y, ax=ax)

    @classmethod
    @abstractmethod
    def _of(cls, distribution: Histogram, y: ArrayLike | Tensor) -> Self:
        """Return the display, not drawn yet."""


class CoverageDisplay(_Display):
    """How often central intervals contain y, over the coverage asked for.

    Parameters
    ----------
    coverages : sequence of q floats
    shares : ndarray of shape (q,)
        Of the rows whose y lies in the interval.
    n_rows : int
    """

    def __init__(self, coverages: Sequence[float], shares: Array, n_rows: int) -> None:
        self.coverages, self.shares, self.n_rows = coverages, shares, n_rows

    @classmethod
    def _of(cls, distribution: Histogram, y: ArrayLike | Tensor) -> Self:
        shares = [
            metrics.covered(*distribution.interval(coverage), y).mean().item()
            for coverage in COVERAGES
        ]
        return cls(COVERAGES, np.array(shares), len(distribution.logits))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the shares, and where 95 % of them lie if the intervals are right."""
        ax = axes_or_new(ax)
        level = np.linspace(0, 1, 101)
        room = 1.96 * np.sqrt(level * (1 - level) / self.n_rows)
        ax.fill_between(level, level - room, level + room, color=GREY, alpha=0.2, lw=0)
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
        ax.plot(self.coverages, self.shares, color=BLUE, marker="o", ms=4)
        ax.set(xlabel="coverage asked for", ylabel="coverage found")
        ax.set(xlim=(0, 1), ylim=(0, 1))
        return ax


class PITDisplay(_Display):
    """The histogram of F(y), which is flat if the predictions are calibrated.

    If y has a probability of its own, such as that of zero, F(y) is drawn from the
    range over which F jumps there.

    Parameters
    ----------
    pit : ndarray of shape (n,)
    n_bars : int
    """

    def __init__(self, pit: Array, n_bars: int = 20) -> None:
        check_count("n_bars", n_bars, at_least=1)
        self.pit, self.n_bars = pit, n_bars

    @classmethod
    def _of(cls, distribution: Histogram, y: ArrayLike | Tensor) -> Self:
        generator = torch.Generator().manual_seed(0)
        return cls(metrics.pit(distribution, y, generator=generator).numpy())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the shares, and where 95 % of them lie if predictions are right."""
        ax = axes_or_new(ax)
        counts, edges = np.histogram(self.pit, bins=self.n_bars, range=(0, 1))
        share, n = 1 / self.n_bars, len(self.pit)
        room = 1.96 * np.sqrt(share * (1 - share) / n)
        ax.stairs(counts / n, edges, fill=True, color=BLUE, alpha=0.6)
        ax.axhspan(share - room, share + room, color=GREY, alpha=0.2, lw=0)
        ax.axhline(share, color=GREY, lw=1, ls="--")
        ax.set(xlabel="predicted probability of less than y", ylabel="share of rows")
        ax.set_xlim(0, 1)
        return ax


class FanDisplay(_Display):
    """Bands between quantiles of each row with what came, rows by their median.

    Parameters
    ----------
    quantiles : ndarray of shape (q, n)
        At ``LEVELS``, rising, of rows in the order of their medians.
    y : ndarray of shape (n,)
    """

    LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)

    def __init__(self, quantiles: Array, y: Array) -> None:
        self.quantiles, self.y = quantiles, y

    @classmethod
    def _of(cls, distribution: Histogram, y: ArrayLike | Tensor) -> Self:
        metrics.pit(distribution, y)  # checks y
        quantiles = distribution.quantiles(cls.LEVELS).numpy()
        order = np.argsort(quantiles[len(cls.LEVELS) // 2], kind="stable")
        return cls(quantiles[:, order], np.asarray(y, dtype=np.float64)[order])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw bands of 90 % and 50 %, the median, and y as dots."""
        ax = axes_or_new(ax)
        rows = np.arange(len(self.y))
        low, lower, median, upper, high = self.quantiles
        ax.fill_between(rows, low, high, color=BLUE, alpha=0.2, lw=0, label="90 %")
        ax.fill_between(rows, lower, upper, color=BLUE, alpha=0.35, lw=0, label="50 %")
        ax.plot(rows, median, color=BLUE, lw=1, label="median")
        ax.scatter(rows, self.y, s=6, color=ORANGE, lw=0, label="y", zorder=3)
        ax.set(xlabel="rows by their predicted median", ylabel="y")
        ax.legend(frameon=False, ncols=2)
        return ax
