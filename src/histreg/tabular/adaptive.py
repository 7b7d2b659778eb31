r"""Adaptive intervals: coverage over time, whatever the series does.

Calibrated intervals promise coverage for rows that are exchangeable with the
calibration rows. The rows of a time series are not: they drift. Adaptive conformal
inference (Gibbs and Candès 2021, "Adaptive conformal inference under distribution
shift") asks at each step for a miscoverage :math:`\alpha_t` that follows the errors,

.. math:: \alpha_{t+1} = \alpha_t + \gamma (\alpha - \mathrm{err}_t)

with :math:`\mathrm{err}_t = 1` if y was outside its interval. For every sequence of y,
even one chosen by an opponent, the share of errors in T steps differs from
:math:`\alpha = 1 - \mathrm{coverage}` by at most
:math:`(\max(\alpha, 1 - \alpha) + \gamma) / (\gamma T)` (their Proposition 4.1).
This is a promise about the average over time, not about the next step.
"""

from __future__ import annotations

import bisect
import math
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from histreg._checks import check_count, check_fraction, check_positive
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.tabular.column_groups import check_one_target

if TYPE_CHECKING:
    from histreg.tabular.regressor import HistogramRegressor

Array = NDArray[np.float64]


class AdaptiveInterval:
    r"""Intervals for rows that come one after the other, whose width adapts.

    An interval ends at the quantiles (1 - s) / 2 and (1 + s) / 2 of the predicted
    distribution; s is the quantile at :math:`1 - \alpha_t` of :math:`|2 F(y) - 1|` over
    calibration rows and the rows that were seen since.

    Parameters
    ----------
    model : HistogramRegressor
        Calibrated, without groups, with one target.
    coverage : float in (0, 1)
    rate : float
        :math:`\gamma`. A larger one follows faster, and its widths vary more.
    window : int, optional
        Use only so many of the latest rows for s; by default all.

    Attributes
    ----------
    miscoverage : float
        :math:`\alpha_t`, which starts at 1 - coverage.
    n_seen, n_missed : int
        Rows that were seen, and those whose y was outside.

    Examples
    --------
    >>> import numpy as np
    >>> from histreg import HistogramRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = X[:, 0]
    >>> model = HistogramRegressor(max_iter=5, random_state=0).fit(X[:200], y[:200])
    >>> intervals = AdaptiveInterval(model.calibrate(X[200:250], y[200:250]))
    >>> lower, upper = intervals.run(X[250:], y[250:])
    >>> intervals.n_seen
    50
    """

    def __init__(
        self,
        model: HistogramRegressor,
        coverage: float = 0.9,
        *,
        rate: float = 0.005,
        window: int | None = None,
    ) -> None:
        check_fraction("coverage", coverage)
        check_positive("rate", rate)
        if window is not None:
            check_count("window", window, at_least=1)
        check_one_target(model)
        calibration = model.model_.calibration
        if calibration is None or calibration.groups is not None:
            raise InputError(
                "adaptive intervals need a model that is calibrated without groups; "
                "use calibrate(X, y) with rows that were not trained on"
            )
        self.model = model
        self.coverage = coverage
        self.rate = rate
        self.window = window
        self.miscoverage = 1 - coverage
        self.n_seen = self.n_missed = 0
        known = _scores(calibration.distribution(0), calibration.y[:, 0])
        self._latest = deque[float]()
        self._sorted: list[float] = []
        for score in known.tolist():
            self._add(score)

    @property
    def bound(self) -> float:
        """How far the share of errors so far can be from 1 - coverage, at most."""
        if not self.n_seen:
            return math.inf
        largest = max(self.coverage, 1 - self.coverage)
        return (largest + self.rate) / (self.rate * self.n_seen)

    def predict(self, X: Any) -> tuple[Array, Array]:
        """Return intervals of the present width for the next rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)

        Returns
        -------
        lower, upper : ndarrays of shape (n,)
        """
        return self._ends(self._distribution(X))

    def update(self, X: Any, y: ArrayLike) -> None:
        """Take the y of rows that have become known, in their order.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
        y : array-like of shape (n,)
            NaN where it is still not known: such rows change nothing.
        """
        self.run(X, y)

    def run(self, X: Any, y: ArrayLike) -> tuple[Array, Array]:
        """Return the interval of each row, from the y of the rows before it.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            In the order of time.
        y : array-like of shape (n,)
            NaN where it is not known: such rows change nothing.

        Returns
        -------
        lower, upper : ndarrays of shape (n,)
        """
        predicted = self._distribution(X)
        truth = np.asarray(y, dtype=np.float64)
        n = len(predicted.logits)
        if truth.shape != (n,):
            raise InputError(f"y must have shape ({n},) like X, got {truth.shape}")
        if np.isinf(truth).any():
            raise InputError("y must hold finite numbers, or NaN where it is not known")
        atoms, known = self.model.model_.atoms, torch.tensor(truth)
        # As those of calibration rows: half of the mass at a value lies below it.
        scores = _scores(predicted, known if atoms is None else atoms.centered(known))
        lower, upper = np.empty(n), np.empty(n)
        for i in range(n):
            one = Histogram(predicted.bins, logits=predicted.logits[i : i + 1])
            lower[i : i + 1], upper[i : i + 1] = self._ends(one)
            if not np.isnan(truth[i]):
                inside = lower[i] <= truth[i] <= upper[i]
                # From one on the interval is empty, up to its middle.
                self._learn(scores[i].item(), inside and self.miscoverage < 1)
        return lower, upper

    def state(self) -> dict[str, Any]:
        """Return what was learnt as JSON values, for `from_state`."""
        return {
            "coverage": self.coverage,
            "rate": self.rate,
            "window": self.window,
            "miscoverage": self.miscoverage,
            "n_seen": self.n_seen,
            "n_missed": self.n_missed,
            # JSON has no infinity: y beyond the bins.
            "scores": [s if math.isfinite(s) else None for s in self._latest],
        }

    @classmethod
    def from_state(
        cls, model: HistogramRegressor, state: dict[str, Any]
    ) -> AdaptiveInterval:
        """Return intervals that continue from a `state`."""
        try:
            scores = [math.inf if s is None else float(s) for s in state["scores"]]
            intervals = cls(
                model, state["coverage"], rate=state["rate"], window=state["window"]
            )
            intervals.miscoverage = float(state["miscoverage"])
            intervals.n_seen = int(state["n_seen"])
            intervals.n_missed = int(state["n_missed"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"state must come from state(), got one without {error}"
            ) from error
        intervals._latest.clear()
        intervals._sorted.clear()
        for score in scores:
            intervals._add(score)
        return intervals

    def _distribution(self, X: Any) -> Histogram:
        (distribution,) = self.model.predict_all(X).distributions
        return distribution

    def _ends(self, predicted: Histogram) -> tuple[Array, Array]:
        n = len(predicted.logits)
        s = self._size()
        if math.isinf(s):
            return np.full(n, -np.inf), np.full(n, np.inf)
        # As for other calibrated intervals: wider by rounding, never cut off by it.
        level = torch.full((n,), (1 - s) / 2, dtype=torch.float64)
        rounding = 4 * torch.finfo(torch.float64).eps
        lower = predicted.icdf((level * (1 - 1e-12)).clamp(min=0))
        upper = predicted.icdf((1 - level + rounding).clamp(max=1))
        if (atoms := self.model.model_.atoms) is not None:
            lower, upper = atoms.rounded(lower), atoms.rounded(upper)
        return lower.numpy(), upper.numpy()

    def _size(self) -> float:
        """Return s: infinite for no miscoverage, 0 for all of it."""
        if self.miscoverage <= 0:
            return math.inf
        if self.miscoverage >= 1:
            return 0.0
        rank = math.ceil((len(self._sorted) + 1) * (1 - self.miscoverage) - 1e-9)
        return math.inf if rank > len(self._sorted) else self._sorted[max(rank, 1) - 1]

    def _learn(self, score: float, is_inside: bool) -> None:
        self.n_seen += 1
        self.n_missed += not is_inside
        error = 0.0 if is_inside else 1.0
        self.miscoverage += self.rate * (1 - self.coverage - error)
        self._add(score)

    def _add(self, score: float) -> None:
        bisect.insort(self._sorted, score)
        self._latest.append(score)
        if self.window is not None and len(self._latest) > self.window:
            self._sorted.pop(bisect.bisect_left(self._sorted, self._latest.popleft()))


def _scores(predicted: Histogram, y: torch.Tensor) -> torch.Tensor:  # (n,)
    """Return |2 F(y) - 1|, infinite outside the bins and NaN for NaN."""
    known = y.nan_to_num()
    scores = (2 * predicted.cdf(known) - 1).abs()
    outside = (y < predicted.bins.lowest) | (y > predicted.bins.highest)
    return scores.masked_fill(outside, math.inf).masked_fill(y.isnan(), math.nan)
