r"""Calibrated distributions: a cdf, quantiles and probabilities with a promise.

The predicted cdf F of a row is corrected by one increasing function G for all rows. Of
n calibration rows with the values :math:`u_{(1)} \le \dots \le u_{(n)}` of F(y), G is
linear between the points :math:`(u_{(i)}, i / (n + 1))`, and (0, 0) and (1, 1). This is
a split conformal predictive distribution with the conformity measure F(y), made
continuous within its band of width 1 / (n + 1) (Vovk, Petej, Nouretdinov, Manokhin and
Gammerman 2020, "Computationally efficient versions of conformal predictive
distributions", Neurocomputing 397).

If the rows to come are exchangeable with the calibration rows and no values of F(y)
are tied, then for every level q the y of a new row is at most its calibrated q-quantile
with a probability between floor((n + 1) q) / (n + 1) and ceil((n + 1) q) / (n + 1):
within 1 / (n + 1) of q, however wrong F is. Like all such promises it holds on average
over the rows; with groups it holds in each group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from histreg._tensors import as_float64
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.tabular.atoms import Atoms
from histreg.tabular.conformal import Calibration


@dataclass(frozen=True, eq=False)
class Correction:
    """The increasing function G from predicted to calibrated levels.

    Parameters
    ----------
    levels : Tensor of shape (c,), float64
        F(y) of the calibration rows whose y lies within the bins, sorted.
    n_below, n_above : int
        How many of the others lie below and above the bins. Their share of probability
        stays beyond the bins.
    """

    levels: Tensor
    n_below: int = 0
    n_above: int = 0

    @classmethod
    def of(cls, distribution: Histogram, y: Tensor) -> Correction:
        """Return the correction by rows with known y, (n,)."""
        below = y < distribution.bins.lowest
        above = y > distribution.bins.highest
        inside = distribution.cdf(y)[~(below | above)]
        return cls(inside.sort().values, int(below.sum()), int(above.sum()))

    @property
    def n(self) -> int:
        """The number of calibration rows."""
        return len(self.levels) + self.n_below + self.n_above

    def _points(self) -> tuple[Tensor, Tensor]:
        """Return predicted levels, from 0 to 1, and the calibrated ones."""
        ends = self.levels.new_tensor([0.0, 1.0])
        predicted = torch.cat([ends[:1], self.levels, ends[1:]])
        steps = torch.arange(len(predicted), dtype=torch.float64) + self.n_below
        return predicted, steps / (self.n + 1)

    def __call__(self, level: Tensor) -> Tensor:
        """Return G(level), of any shape."""
        return _interpolated(level, *self._points())

    def inverse(self, level: Tensor) -> Tensor:
        """Return the predicted level of a calibrated one.

        -inf and inf where it lies beyond the bins, with the rows that do.
        """
        predicted, calibrated = self._points()
        found = _interpolated(level, calibrated, predicted)
        found = found.masked_fill(level < calibrated[0], -math.inf)
        return found.masked_fill(level > calibrated[-1], math.inf)

    def band(self, level: Tensor) -> tuple[Tensor, Tensor]:
        """Return the least and the greatest value of the conformal distribution."""
        fewer = torch.searchsorted(self.levels, level.contiguous())
        upto = torch.searchsorted(self.levels, level.contiguous(), right=True)
        least, most = fewer + self.n_below, upto + self.n_below + 1
        return least.double() / (self.n + 1), most.double() / (self.n + 1)


class CalibratedDistribution:
    """Predicted distributions of n rows, corrected by calibration rows.

    Parameters
    ----------
    predicted : Histogram of batch shape (n,)
    corrections : sequence of Corrections
        One per group of rows.
    codes : Tensor of shape (n,), optional
        The number of each row's correction; the first by default.
    atoms : Atoms, optional
        The values of a target that takes few, to which quantiles are rounded.

    Notes
    -----
    The mean and other moments have no promise; read them from `histogram`.
    """

    def __init__(
        self,
        predicted: Histogram,
        corrections: Sequence[Correction],
        codes: Tensor | None = None,
        atoms: Atoms | None = None,
    ) -> None:
        self.predicted = predicted
        self._corrections = corrections
        self._codes = codes
        self._atoms = atoms

    @classmethod
    def of(
        cls,
        predicted: Histogram,
        calibration: Calibration,
        i: int,
        codes: Tensor | None,
        atoms: Atoms | None = None,
    ) -> CalibratedDistribution:
        """Return the distributions of the i-th target, with codes if by groups."""
        if calibration.groups is not None:
            codes = calibration.groups.checked(codes)
        return cls(predicted, corrections_of(calibration, i), codes, atoms)

    def cdf(self, y: Tensor | float) -> Tensor:
        """Return P(Y <= y), calibrated: y of shape (n,) or a number -> (n,)."""
        values = as_float64(y).expand(self.predicted.batch_shape)
        calibrated = self._by_group(self.predicted.cdf(values), lambda g, u: g(u))
        calibrated = calibrated.masked_fill(values == -math.inf, 0.0)
        return calibrated.masked_fill(values == math.inf, 1.0)

    def prob_above(self, threshold: Tensor | float) -> Tensor:
        """Return P(Y > threshold), calibrated: (n,) or a number -> (n,)."""
        return 1 - self.cdf(threshold)

    def bounds(self, y: Tensor | float) -> tuple[Tensor, Tensor]:
        """Return the band of P(Y <= y), (n,) each.

        A y drawn like the calibration rows makes a number drawn uniformly from its
        band uniform on [0, 1], exactly.
        """
        levels = self.predicted.cdf(as_float64(y).expand(self.predicted.batch_shape))
        return (
            self._by_group(levels, lambda g, u: g.band(u)[0]),
            self._by_group(levels, lambda g, u: g.band(u)[1]),
        )

    def quantiles(self, levels: Sequence[float] | Tensor) -> Tensor:
        """Return calibrated quantiles, (q, n); infinite where y beyond the bins is.

        Parameters
        ----------
        levels : sequence of q floats in [0, 1]
        """
        wanted = as_float64(levels)
        if wanted.ndim != 1 or not bool(((wanted >= 0) & (wanted <= 1)).all()):
            raise InputError(f"levels must be a list of levels in [0, 1], got {levels}")
        found = []
        for level in wanted:
            rows = level.expand(self.predicted.batch_shape)
            inner = self._by_group(rows, lambda g, q: g.inverse(q))
            y = self.predicted.icdf(inner.clamp(0, 1))
            if self._atoms is not None:
                y = self._atoms.rounded(y)
            y = torch.where(inner == -math.inf, -math.inf, y)
            found.append(torch.where(inner == math.inf, math.inf, y))
        return torch.stack(found)

    def histogram(self) -> Histogram:
        """Return histograms with the calibrated probability of each bin.

        At the borders of the bins its cdf is the calibrated one; within a bin it is
        linear. Probability beyond the bins is added to the end bins.
        """
        bins = self.predicted.bins
        inner = torch.stack([self.cdf(b) for b in bins.borders[1:-1]], dim=-1)
        cdf = torch.nn.functional.pad(inner, (1, 0))
        cdf = torch.nn.functional.pad(cdf, (0, 1), value=1.0)
        return Histogram(bins, probs=cdf.diff(dim=-1).clamp(min=0))

    def _by_group(
        self, values: Tensor, function: Callable[[Correction, Tensor], Tensor]
    ) -> Tensor:
        """Return function(correction, values) with each row's own correction, (n,)."""
        if self._codes is None:
            return function(self._corrections[0], values)
        result = torch.empty_like(values)
        for code, correction in enumerate(self._corrections):
            rows = self._codes == code
            result[rows] = function(correction, values[rows])
        return result


def corrections_of(calibration: Calibration, i: int) -> list[Correction]:
    """Return the correction of the i-th target, or that of each group and of others."""
    known, y = calibration.distribution(i), calibration.y[:, i]
    if calibration.groups is None:
        return [Correction.of(known, y)]
    own = calibration.groups.codes
    corrections = [
        Correction.of(Histogram(known.bins, logits=known.logits[own == g]), y[own == g])
        for g in range(calibration.groups.n)
    ]
    # A group without calibration rows keeps what was predicted, without a promise.
    return [*corrections, Correction(as_float64([]))]


def _interpolated(x: Tensor, points: Tensor, values: Tensor) -> Tensor:
    """Return the function that is linear between points, which rise or repeat.

    Where points repeat it is the middle of their values.
    """
    first = torch.searchsorted(points, x.contiguous())
    last = torch.searchsorted(points, x.contiguous(), right=True)
    end = len(points) - 1
    is_point = last > first
    left, right = (first - 1).clamp(0, end), first.clamp(0, end)
    span = points[right] - points[left]
    share = (x - points[left]) / span.where(span > 0, 1)
    between = values[left] + share.clamp(0, 1) * (values[right] - values[left])
    middle = (values[first.clamp(max=end)] + values[(last - 1).clamp(0, end)]) / 2
    return torch.where(is_point, middle, between)
