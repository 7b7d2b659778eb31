"""Histogram: the predicted distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.distributions import Distribution, constraints
from torch.distributions.kl import register_kl
from torch.distributions.utils import lazy_property

from histreg._axes import BLUE, GREY, ORANGE, axes_or_new, draw_histogram
from histreg._checks import check_choice, check_fraction, check_tensor
from histreg._names import INTERVALS
from histreg._tensors import (
    as_float64,
    broadcast_shapes,
    float64_on,
    is_concrete,
    is_free_to_read,
    n_below,
    take,
    writable,
)
from histreg.bins import Bins, check_bins
from histreg.errors import InputError
from histreg.tails import Tail

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_DRAWN = 12  # histograms in one plot; more are a blot
# Many rows are evaluated in blocks of this many probabilities: their intermediates, in
# float64, stay in the cache, and their memory is used again.
_BLOCK = 2**17


class Histogram(Distribution):
    r"""A distribution whose density is constant within each bin.

    Its density in bin i is :math:`h_i / w_i`, with probabilities h and widths w, and
    its mean is :math:`\sum_i h_i c_i` over the centers (Section 2.1). An end bin with a
    tail (`Bins.with_tails`) has the tail's density instead, and is unbounded. The
    interface is that of ``torch.distributions``: a batch of histograms has
    ``batch_shape`` (...), and ``y`` arguments broadcast against it, so that leading
    dimensions are sample dimensions.

    Results have the dtype of the parameters (float32 for half precision). Positions,
    cumulative probabilities and differences are computed in float64 to avoid
    cancellation. With float32 parameters and bins far from zero, a *location* (mean,
    quantile) has the precision of float32; a *length* (stddev, crps) is not affected.
    NaN parameters give NaN in their own row only.

    Parameters
    ----------
    bins : Bins
    logits : Tensor of shape (..., k)
        Unnormalised log-probabilities. Exactly one of ``logits`` and ``probs``.
    probs : Tensor of shape (..., k)
        Non-negative, summing to one in the last dimension; they are normalised.
    validate_args : bool, optional
        If False, the values of ``probs`` are not checked; shapes always are. The global
        default of ``torch.distributions`` is ignored, because compiling any function
        with ``torch.compile`` sets it to False for the whole process.

    Examples
    --------
    >>> d = Histogram(Bins([0.0, 1.0, 3.0]), probs=torch.tensor([0.5, 0.5]))
    >>> d.mean, d.icdf(torch.tensor(0.75)), d.prob(0.5, 2.0)
    (tensor(1.2500), tensor(2.), tensor(0.5000))
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012  # checked in __init__, with messages of our own
    support = constraints.real  # the density is zero outside the bins, not an error
    has_rsample = True

    def __init__(
        self,
        bins: Bins,
        *,
        logits: Tensor | None = None,
        probs: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        check_bins(bins)
        if (logits is None) == (probs is None):
            raise InputError(
                "give either logits or probs, got "
                + ("neither" if logits is None else "both")
            )
        if logits is not None:
            self.logits = _parameter("logits", logits, bins).log_softmax(dim=-1)
        else:
            assert probs is not None
            self.probs = _checked_probs(
                _parameter("probs", probs, bins), validate=validate_args is not False
            )
        self.bins = bins
        super().__init__(self._parameter.shape[:-1], validate_args=validate_args)

    @property
    def _parameter(self) -> Tensor:  # (..., k), the one passed to the constructor
        name = "logits" if "logits" in self.__dict__ else "probs"
        parameter: Tensor = self.__dict__[name]
        return parameter

    @property
    def _dtype(self) -> torch.dtype:
        return self._parameter.dtype

    @lazy_property
    def logits(self) -> Tensor:  # (..., k)
        """Log-probabilities of the bins; -inf where the probability is zero."""
        return self.probs.log()

    @lazy_property
    def probs(self) -> Tensor:  # (..., k)
        """Probabilities of the bins."""
        return self.logits.exp()

    @lazy_property
    def _wide_probs(self) -> Tensor:  # (..., k), float64
        # Normalised again: the sum of a float32 softmax is off by 1e-7, which shifts
        # the mean of bins far from zero.
        probs = self.probs.to(self._wide)
        return probs / probs.sum(dim=-1, keepdim=True)

    @property
    def _wide(self) -> torch.dtype:
        return float64_on(self._parameter.device)

    @lazy_property
    def _cdf_at_borders(self) -> Tensor:  # (..., k + 1), from exactly 0 to exactly 1
        return _cumulated(self.probs, self._wide)

    @lazy_property
    def _tail_at_borders(self) -> Tensor:  # (..., k + 1), from exactly 1 to exactly 0
        """1 - CDF, summed from the other end: a small upper tail keeps its digits."""
        return _cumulated(self.probs.flip(-1), self._wide).flip(-1)

    def _in_blocks(
        self, evaluate: Callable[..., Tensor], *values: Tensor
    ) -> Tensor:  # (..., batch)
        """Return ``evaluate(self, *values)``, computed for a block of rows at a time.

        Parameters
        ----------
        evaluate : callable, (Histogram, *values) -> Tensor
            Whose last dimensions are those of the batch, and which treats each
            histogram by itself.
        values : Tensors that broadcast with the batch shape
        """
        k, batch = self.bins.n_bins, self.batch_shape
        tensors = self._parameter, *values
        shape = broadcast_shapes(batch, *(value.shape for value in values))
        n_leading = len(shape) - len(batch)
        if (
            # The number of rows is not known while a model is exported or compiled.
            torch.compiler.is_compiling()
            or self._parameter.numel() <= _BLOCK
            or shape[n_leading:] != batch
            # A graph would keep the intermediates of all blocks.
            or any(tensor.requires_grad for tensor in tensors)
            or not all(is_free_to_read(tensor) for tensor in tensors)
        ):
            return evaluate(self, *values)
        flat = self._reshaped(
            lambda parameter: parameter.reshape(-1, k), Histogram.__new__(Histogram)
        )
        columns = [value.expand(shape).reshape(-1, batch.numel()) for value in values]
        size = max(1, _BLOCK // k)
        rows = [slice(at, at + size) for at in range(0, batch.numel(), size)]
        whole = torch.cat(
            [evaluate(flat[part], *(c[:, part] for c in columns)) for part in rows],
            dim=-1,
        )
        leading = shape[:n_leading] if values else whole.shape[:-1]
        return whole.reshape(*leading, *batch)

    def _geometry(self) -> tuple[Tensor, Tensor]:
        """Return borders (k + 1,) and widths (k,) in float64 on the right device."""
        device = self._parameter.device
        borders = self.bins.borders.to(device, float64_on(device))
        return borders, borders.diff()

    @property
    def mean(self) -> Tensor:  # (...)
        """The mean, which the paper uses as the prediction."""
        return self._in_blocks(Histogram._mean)

    def _mean(self) -> Tensor:  # (...)
        middle, centers = self._centered()
        # In place: with one more array, glibc may return the memory of each block to
        # the system and get it again, which takes longer than all that is computed.
        probs = self.probs.to(self._wide, copy=True)
        total = probs.sum(dim=-1)
        mean = probs.mul_(centers).sum(dim=-1) / total + middle
        return mean.to(self._dtype)

    @property
    def variance(self) -> Tensor:  # (...)
        """The variance, including that within the bins (w² / 12).

        Infinite with a tail whose shape is one half or more.
        """
        variance = self._in_blocks(Histogram._variance_in_spans)
        return (variance * self._span * self._span).to(self._dtype)

    @property
    def stddev(self) -> Tensor:  # (...)
        """The standard deviation, also where the variance over- or underflows."""
        variance = self._in_blocks(Histogram._variance_in_spans)
        return (variance.sqrt() * self._span).to(self._dtype)

    def _variance_in_spans(self) -> Tensor:  # (...)
        """Return the variance in units of the squared span of the bins."""
        _, widths = self._geometry()
        within = (widths / self._span) ** 2 / 12
        for end, tail in self._tails():
            within[end] = tail.in_units_of(self._span).variance
        _, centers = self._centered()
        centers = centers / self._span
        mean = (self._wide_probs * centers).sum(dim=-1, keepdim=True)
        return (self._wide_probs * ((centers - mean) ** 2 + within)).sum(dim=-1)

    @property
    def _span(self) -> float:
        return self.bins.high - self.bins.low

    def _tails(self) -> list[tuple[int, Tail]]:
        """Return (index, tail) of the end bins with a tail; the index is 0 or -1."""
        tails = (0, self.bins.lower_tail), (-1, self.bins.upper_tail)
        return [(end, tail) for end, tail in tails if tail is not None]

    def _thresholds(self) -> tuple[float, float]:
        """Return the positions where a lower and an upper tail begin."""
        borders = self.bins.borders
        return borders[1].item(), borders[-2].item()

    def _centered(self) -> tuple[float, Tensor]:
        """Return the middle of the bins and the centers relative to it, float64."""
        borders, widths = self._geometry()
        middle = self.bins.low + self._span / 2
        return middle, (borders[:-1] - middle) + widths / 2

    @property
    def median(self) -> Tensor:  # (...)
        """The quantile at one half."""
        return self.icdf(0.5)

    @property
    def mode(self) -> Tensor:  # (...)
        """The center of the bin with the highest density (the first of equals).

        For a tail, it is the position where the tail begins.
        """
        return self._in_blocks(Histogram._mode)

    def _mode(self) -> Tensor:  # (...)
        borders, widths = self._geometry()
        modes = borders[:-1] + widths / 2
        for end, tail in self._tails():
            widths[end], modes[end] = tail.scale, self._thresholds()[end]
        density = self.logits - widths.log().to(self.logits.dtype)
        highest, index = density.max(dim=-1)  # NaN if one is NaN
        mode = take(modes, index).masked_fill(highest.isnan(), torch.nan)
        return mode.to(self._dtype)

    def entropy(self) -> Tensor:  # (...)
        """Return the differential entropy, in nats."""
        return self._in_blocks(Histogram._entropy)

    def _entropy(self) -> Tensor:  # (...)
        _, widths = self._geometry()
        within = widths.log()  # entropy
        for end, tail in self._tails():
            within[end] = tail.entropy
        log_widths = within.to(self._dtype)
        return (torch.special.entr(self.probs) + self.probs * log_widths).sum(dim=-1)

    def cdf(self, value: Tensor | float) -> Tensor:
        """Return P(Y <= y): 0 below the bins, 1 above, linear within a bin."""
        return self._in_blocks(Histogram._cdf, self._as_values("value", value))

    def _cdf(self, y: Tensor) -> Tensor:
        return self._at(self._cdf_at_borders, y).to(self._dtype)

    def prob(self, lower: Tensor | float, upper: Tensor | float) -> Tensor:
        """Return P(lower < Y <= upper); either may be infinite.

        Examples
        --------
        >>> d = Histogram(Bins([0.0, 1.0, 2.0]), probs=torch.tensor([0.25, 0.75]))
        >>> d.prob(1.0, float("inf"))
        tensor(0.7500)
        """
        low, high = self._as_values("lower", lower), self._as_values("upper", upper)
        if is_free_to_read(low) and not bool((low <= high).all()):
            excess = (low - high).max().item()
            raise InputError(f"lower must not exceed upper, got it {excess:g} larger")
        return self._in_blocks(Histogram._prob, low, high)

    def _prob(self, low: Tensor, high: Tensor) -> Tensor:
        below, tail = self._cdf_at_borders, self._tail_at_borders
        from_below = self._at(below, high) - self._at(below, low)
        from_above = self._at(tail, low) - self._at(tail, high)
        # In the upper half, subtract small tail masses, not numbers close to one.
        upper_half = self._at(below, low) > 0.5
        return torch.where(upper_half, from_above, from_below).to(self._dtype)

    def log_prob(self, value: Tensor | float) -> Tensor:
        """Return the log density at y: log(h_i / w_i) in its bin, -inf outside.

        The ends of the bins count as inside, also after rounding to the float type of
        y.
        """
        y = self._as_values("value", value)
        _, widths = self._geometry()
        index, _ = self._located(y)
        log_widths = widths.log().to(self._dtype)
        log_density = self._gather(self.logits, index) - take(log_widths, index)
        ends = as_float64([self.bins.lowest, self.bins.highest]).to(y)
        if isinstance(value, Tensor) and value.is_floating_point():
            ends = ends.to(value.dtype).to(y.dtype)
        inside = (y >= ends[0]) & (y <= ends[1]) & y.isfinite()
        for end, tail in self._tails():
            z = (y - self._thresholds()[end]).abs()
            in_tail = (index == end % self.bins.n_bins).expand_as(log_density)
            within = tail.log_density(z) + take(widths, index).log()
            within = within.to(log_density.dtype)
            log_density = torch.where(in_tail, log_density + within, log_density)
        return log_density.masked_fill(~inside, -torch.inf)

    def pdf(self, value: Tensor | float) -> Tensor:
        """Return the density at y, probability per unit of y."""
        return self.log_prob(value).exp()

    def icdf(self, value: Tensor | float) -> Tensor:
        """Return quantiles: the smallest y with cdf(y) >= q.

        For q = 0 this is the lower end of the first bin with mass, which need not be
        ``bins.low``.

        Parameters
        ----------
        value : Tensor that broadcasts with (...), or float
            Levels in [0, 1], one per histogram. For several levels per histogram, use
            `quantiles`.
        """
        q = self._as_values("value", value)
        if is_concrete(q) and not bool(((q >= 0) & (q <= 1)).all()):
            raise InputError(
                "value must be probability levels in [0, 1], "
                f"got {q.min().item():g}..{q.max().item():g}"
            )
        return self._in_blocks(Histogram._icdf, q)

    def _icdf(self, q: Tensor) -> Tensor:
        shape = broadcast_shapes(q.shape, self.batch_shape)
        n_sample_dims = len(shape) - len(self.batch_shape)
        batch = shape[n_sample_dims:]
        n_levels = math.prod(shape[:n_sample_dims])
        q = q.expand(shape).reshape(n_levels, *batch).movedim(0, -1)  # (..., m)
        y = self._quantiles(q, self._cdf_at_borders.expand(*batch, -1))
        return y.movedim(-1, 0).reshape(shape).to(self._dtype)

    def quantiles(self, levels: Sequence[float] | Tensor) -> Tensor:
        """Return several quantiles of every histogram, for any batch shape.

        Parameters
        ----------
        levels : sequence of m floats in [0, 1]

        Returns
        -------
        Tensor of shape (m, ...)

        Examples
        --------
        >>> d = Histogram(Bins([0.0, 1.0, 3.0]), probs=torch.tensor([[0.5, 0.5]] * 2))
        >>> d.quantiles([0.25, 0.75])
        tensor([[0.5000, 0.5000],
                [2.0000, 2.0000]])
        """
        # In float64, because rounding a level to float32 would shift quantiles far out.
        levels = as_float64(levels)
        return self.icdf(levels.view(-1, *[1] * len(self.batch_shape)))

    def _quantiles(self, q: Tensor, cdf: Tensor) -> Tensor:
        """Return quantiles of each histogram: q (..., m), cdf (..., k + 1) -> (..., m).

        All levels of a histogram share one search of its row.
        """
        borders, widths = self._geometry()
        smallest = torch.finfo(cdf.dtype).tiny
        # Level 0 is searched as the smallest one above it: the first bin with mass.
        sought = q.detach().clamp(min=smallest)
        index = n_below(cdf.detach(), sought) - 1  # (..., m)
        # The index is no bin only for NaN, which stays NaN.
        index = index.clamp(0, self.bins.n_bins - 1)
        below, above = cdf.gather(-1, index), cdf.gather(-1, index + 1)
        # The bin has mass; the lower bound only keeps gradients finite.
        share = ((q - below) / (above - below).clamp(min=smallest)).clamp(0, 1)
        y = take(borders, index) + take(widths, index) * share
        for end, tail in self._tails():
            in_tail = index == end % self.bins.n_bins
            beyond = share if end == 0 else 1 - share
            # Entries outside the tail get 0.5, which keeps their gradients finite.
            z = tail.distance(beyond.where(in_tail, 0.5))
            threshold = self._thresholds()[end]
            y = torch.where(in_tail, threshold + (z if end else -z), y)
        return y

    def interval(
        self, coverage: float, method: str = "central"
    ) -> tuple[Tensor, Tensor]:
        """Return the ends of an interval with the given probability.

        Parameters
        ----------
        coverage : float in (0, 1)
        method : {"central", "shortest"}
            ``"central"`` leaves equal probability on both sides; ``"shortest"`` is the
            shortest single interval, exactly. With tails it is the shortest interval
            that begins or ends on a border or at one of 201 evenly spaced levels.

        Returns
        -------
        lower, upper : Tensors of shape (...)

        Examples
        --------
        >>> d = Histogram(Bins([0.0, 1.0, 9.0]), probs=torch.tensor([0.5, 0.5]))
        >>> d.interval(0.5), d.interval(0.5, "shortest")
        ((tensor(0.5000), tensor(5.)), (tensor(0.), tensor(1.)))
        """
        check_fraction("coverage", coverage)
        check_choice("method", method, INTERVALS)
        if method == "central":
            tail = (1 - coverage) / 2
            lower, upper = self.quantiles([tail, 1 - tail])
            return lower, upper
        lower, upper = self._in_blocks(lambda part: part._shortest(coverage))
        return lower, upper

    def _shortest(self, coverage: float) -> Tensor:  # (2, ...)
        # Between borders the length is linear in the position, so the shortest
        # interval begins or ends on a border: at most 2 (k + 1) candidates.
        borders, _ = self._geometry()
        cdf = levels = self._cdf_at_borders  # (..., k + 1)
        borders = borders.expand_as(cdf)
        # Tolerance for the rounding of cdf + coverage, a few units in the last place.
        slack = 1e-12 if cdf.dtype == torch.float64 else 1e-6
        first, last = slice(None), slice(None)
        if self.bins.has_tails:
            even = torch.linspace(
                0, 1 - coverage, 201, dtype=cdf.dtype, device=cdf.device
            )
            levels = torch.cat([cdf, even.expand(*cdf.shape[:-1], -1)], dim=-1)
            borders = self._quantiles(levels, cdf)
        elif is_free_to_read(cdf) and cdf.numel():
            # Only borders that have, in some row, the coverage above or below them.
            bounds = as_float64([1 - coverage + slack, coverage - slack]).to(cdf)
            bounds = bounds.expand(*cdf.shape[:-1], 2).contiguous()
            n_below = torch.searchsorted(cdf, bounds)  # (..., 2)
            first = slice(int(n_below[..., 0].max()) + 1)
            last = slice(int(n_below[..., 1].min()), None)
        starts, ends = levels[..., first], levels[..., last]
        lower = torch.cat(
            [borders[..., first], self._quantiles((ends - coverage).clamp(min=0), cdf)],
            dim=-1,
        )
        upper = torch.cat(
            [
                self._quantiles((starts + coverage).clamp(max=1), cdf),
                borders[..., last],
            ],
            dim=-1,
        )
        possible = torch.cat(
            [starts + coverage <= 1 + slack, ends - coverage >= -slack], dim=-1
        )
        length = (upper - lower).masked_fill(~possible, torch.inf)
        best = length.argmin(dim=-1, keepdim=True)
        interval = torch.stack([lower.gather(-1, best), upper.gather(-1, best)])
        interval = interval.squeeze(-1).masked_fill(cdf[..., 0].isnan(), torch.nan)
        return interval.to(self._dtype)

    def rsample(
        self,
        sample_shape: Sequence[int] = (),
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Draw samples by inverting the CDF, differentiable in the parameters."""
        shape = torch.Size(sample_shape) + self.batch_shape
        device = self._parameter.device
        u = torch.rand(
            shape, generator=generator, dtype=float64_on(device), device=device
        )
        return self.icdf(u)

    def sample(
        self,
        sample_shape: Sequence[int] = (),
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Draw samples: ``sample_shape + batch_shape``."""
        with torch.no_grad():
            return self.rsample(sample_shape, generator=generator)

    def crps(self, y: Tensor | float) -> Tensor:
        r"""Return the continuous ranked probability score of each y, exactly.

        .. math:: \int (F(z) - 1\{z \ge y\})^2 \, dz

        F is linear within a bin, so the integral over a bin of width w is
        :math:`w (F_0^2 + F_0 F_1 + F_1^2) / 3` to the left of y, the same in 1 - F to
        the right, and the bin of y is split at y. Outside the bins the score grows by
        the distance. Smaller is better; for a point mass it is the absolute error. For
        a tail, the integrals of S and S² have closed forms too.

        Parameters
        ----------
        y : Tensor that broadcasts with (...), or float
        """
        return self._in_blocks(Histogram._crps, self._as_values("y", y))

    def _crps(self, y: Tensor) -> Tensor:
        _, widths = self._geometry()
        cdf = self._cdf_at_borders  # (..., k + 1)
        rest = 1 - cdf
        left = _thirds(cdf[..., :-1], cdf[..., 1:]) * widths  # (..., k)
        right = _thirds(rest[..., :-1], rest[..., 1:]) * widths
        for end, tail in self._tails():
            in_tail = self._wide_probs[..., end] ** 2 * tail.squared_survival
            side = torch.zeros_like(widths)
            side[end] = 1.0
            if end == 0:
                left = torch.lerp(left, in_tail.unsqueeze(-1), side)
            else:
                right = torch.lerp(right, in_tail.unsqueeze(-1), side)
        # (..., k + 1), entry i is the sum of the bins left or right of border i
        left = F.pad(left, (1, 0)).cumsum(dim=-1)
        right = F.pad(right.flip(-1), (1, 0)).cumsum(dim=-1).flip(-1)

        index, share = self._located(y)
        shape = broadcast_shapes(index.shape, self.batch_shape)
        index = index.expand(shape)
        below, above = self._gather(cdf, index), self._gather(cdf, index + 1)
        at_y = torch.lerp(below, above, share)
        width = take(widths, index)
        own_bin = width * (
            share * _thirds(below, at_y) + (1 - share) * _thirds(1 - at_y, 1 - above)
        )
        for end, tail in self._tails():
            in_tail = index == end % self.bins.n_bins
            z = (y - self._thresholds()[end]).abs().where(in_tail, 0.0)
            mass = self._wide_probs[..., end]
            own_tail = (
                z - 2 * mass * tail.survival_within(z) + mass**2 * tail.squared_survival
            )
            own_bin = torch.where(in_tail, own_tail, own_bin)
        total = (
            self._gather(left, index)
            + self._gather(right, index + 1)
            + own_bin
            + (self.bins.lowest - y).clamp(min=0)
            + (y - self.bins.highest).clamp(min=0)
        )
        return total.to(self._dtype)

    @staticmethod
    def mixture(
        histograms: Sequence[Histogram], weights: Sequence[float] | None = None
    ) -> Histogram:
        """Return the mixture of several histograms on the same bins, as an ensemble.

        Parameters
        ----------
        histograms : sequence of Histogram, with equal bins and batch shapes
        weights : sequence of float, optional
            Non-negative, one per histogram; equal by default.

        Examples
        --------
        >>> bins = Bins([0.0, 1.0, 2.0])
        >>> parts = [Histogram(bins, probs=torch.eye(2)[i]) for i in (0, 1)]
        >>> Histogram.mixture(parts, weights=[1, 3]).probs
        tensor([0.2500, 0.7500])
        """
        if len(histograms) == 0:
            raise InputError("histograms must contain at least one histogram, got none")
        first = histograms[0]
        for other in histograms[1:]:
            if other.bins != first.bins:
                raise InputError(
                    f"histograms must share their bins, got {first.bins} "
                    f"and {other.bins}"
                )
            if other.batch_shape != first.batch_shape:
                raise InputError(
                    "histograms must share their batch shape, got "
                    f"{tuple(first.batch_shape)} and {tuple(other.batch_shape)}"
                )
        stacked = torch.stack([h.probs for h in histograms], dim=-1)  # (..., k, m)
        if weights is None:
            probs = stacked.mean(dim=-1)
            return Histogram(first.bins, probs=probs, validate_args=False)
        shares = torch.as_tensor(weights, dtype=stacked.dtype, device=stacked.device)
        if shares.shape != (len(histograms),) or not bool((shares >= 0).all()):
            raise InputError(
                "weights must be one non-negative number per histogram, "
                f"got {len(histograms)} histograms and weights={list(weights)}"
            )
        if not bool(shares.sum() > 0):
            raise InputError(f"weights must not all be zero, got {list(weights)}")
        probs = (stacked * (shares / shares.sum())).sum(dim=-1)
        return Histogram(first.bins, probs=probs, validate_args=False)

    @staticmethod
    def concatenated(histograms: Sequence[Histogram]) -> Histogram:
        """Return several batches on the same bins as one, along the first dimension.

        Parameters
        ----------
        histograms : sequence of Histogram
            With equal bins, either all built from logits or all from probs. They are
            not normalised again.

        Examples
        --------
        >>> d = Histogram(Bins([0.0, 1.0, 2.0]), probs=torch.tensor([[0.25, 0.75]]))
        >>> Histogram.concatenated([d, d, d]).mean
        tensor([1.2500, 1.2500, 1.2500])
        """
        if len(histograms) == 0:
            raise InputError("histograms must contain at least one histogram, got none")
        first = histograms[0]
        if any(other.bins != first.bins for other in histograms):
            raise InputError("histograms must share their bins, got different bins")
        new = Histogram.__new__(Histogram)
        new.bins = first.bins
        name = "logits" if "logits" in first.__dict__ else "probs"
        setattr(new, name, torch.cat([getattr(part, name) for part in histograms]))
        super(Histogram, new).__init__(new._parameter.shape[:-1], validate_args=False)
        new._validate_args = first._validate_args
        return new

    def rebinned(self, bins: Bins) -> Histogram:
        """Return the distribution on other bins, from differences of the CDF.

        Parameters
        ----------
        bins : Bins
            Any number of bins. Mass beyond them goes to their end bins.

        Returns
        -------
        Histogram
            With the same batch shape. The density is averaged over each new bin, so it
            is unchanged in a new bin that contains no border of the old ones.

        Examples
        --------
        >>> d = Histogram(Bins([0.0, 1.0, 2.0]), probs=torch.tensor([0.25, 0.75]))
        >>> d.rebinned(Bins([0.0, 0.5, 2.0])).probs
        tensor([0.1250, 0.8750])
        """
        check_bins(bins)
        inner = bins.borders[1:-1].to(self._parameter.device)
        inner = inner.view(-1, *[1] * len(self.batch_shape))
        below = self._at(self._cdf_at_borders, self._as_values("bins", inner))
        below = below.movedim(0, -1)  # (..., m - 1)
        ends = torch.zeros_like(below[..., :1]), torch.ones_like(below[..., :1])
        probs = torch.cat([ends[0], below, ends[1]], dim=-1).diff(dim=-1)
        return Histogram(bins, probs=probs.to(self._dtype), validate_args=False)

    def expand(
        self, batch_shape: Sequence[int], _instance: Histogram | None = None
    ) -> Histogram:
        """Return the same distribution with a larger batch shape, without copying."""
        new = self._get_checked_instance(Histogram, _instance)
        return self._reshaped(lambda parameter: parameter.expand(*batch_shape, -1), new)

    def detach(self) -> Histogram:
        """Return the same distribution without gradients."""
        return self._reshaped(Tensor.detach, Histogram.__new__(Histogram))

    def to(self, *args: Any, **kwargs: Any) -> Histogram:
        """Return the same distribution on another device or in another float type."""
        return self._reshaped(
            lambda parameter: _parameter(
                "dtype", parameter.to(*args, **kwargs), self.bins
            ),
            Histogram.__new__(Histogram),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        y: Tensor | float | None = None,
        coverage: float | None = 0.9,
        color: str = BLUE,
    ) -> Axes:
        """Draw the density, the mean, an interval, and y if it is known.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure. Needs the extra ``plot``.
        y : float or Tensor of shape (...), optional
            What came, drawn as a line.
        coverage : float in (0, 1), optional
            Of the central interval that is shaded; None for none. Several histograms
            are drawn as lines, without it.
        color : str

        Returns
        -------
        Axes
            Of a tail only the part within the bins is drawn. Bins that are nearly
            points, as those of a target that takes few values, are drawn as lines of
            their probability.
        """
        n = math.prod(self.batch_shape)
        if not 1 <= n <= MAX_DRAWN:
            raise InputError(
                f"plot draws from 1 to {MAX_DRAWN} histograms, got batch shape "
                f"{tuple(self.batch_shape)}; choose some, as in d[:{MAX_DRAWN}].plot()"
            )
        ax = axes_or_new(ax)
        with torch.no_grad():
            probs = self._wide_probs.reshape(n, -1).cpu().numpy()
            edges = self._geometry()[0].cpu().numpy()
            low, high = self.quantiles([0.001, 0.999]).reshape(2, n).cpu()
            means = self.mean.reshape(n).tolist()
        shows = "density"
        for one, mean in zip(probs, means, strict=True):
            alpha = 0.45 if n == 1 else 0.8
            shows = draw_histogram(
                ax, one, edges, color=color, alpha=alpha, fill=n == 1
            )
            ax.axvline(mean, color=color, lw=1.2, ls="--")
        if coverage is not None and n == 1:
            ends = (end.item() for end in self.interval(coverage))
            ax.axvspan(*ends, color=GREY, alpha=0.15, lw=0)
        shown = [low.min().item(), high.max().item()]
        if y is not None:
            given = torch.as_tensor(writable(y)).expand(self.batch_shape)
            values = given.reshape(n).tolist()
            for value in values:
                ax.axvline(value, color=ORANGE, lw=1.6)
            shown += values
        room = 0.05 * (max(shown) - min(shown))
        ax.set_xlim(min(shown) - room, max(shown) + room)
        ax.set(xlabel="y", ylabel=shows, ylim=(0, None))
        return ax

    def __getitem__(self, index: Any) -> Histogram:
        """Index the batch: ``d[0]``, ``d[:, 3]``, ``d[mask]``."""
        index = index if isinstance(index, tuple) else (index,)
        has_ellipsis = any(part is Ellipsis for part in index)
        index += (slice(None),) if has_ellipsis else (Ellipsis, slice(None))
        return self._reshaped(
            lambda parameter: parameter[index], Histogram.__new__(Histogram)
        )

    def _reshaped(
        self, change: Callable[[Tensor], Tensor], new: Histogram
    ) -> Histogram:
        """Fill ``new`` with changed parameters, without normalising them again."""
        new.bins = self.bins
        for name in ("logits", "probs"):
            if name in self.__dict__:
                setattr(new, name, change(self.__dict__[name]))
        super(Histogram, new).__init__(new._parameter.shape[:-1], validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self) -> str:
        return f"Histogram(batch_shape={tuple(self.batch_shape)}, bins={self.bins})"

    def _as_values(self, name: str, value: Tensor | float) -> Tensor:
        """Return y in float64 on the right device; NaN raises an InputError."""
        device = self._parameter.device
        value = torch.as_tensor(
            writable(value), dtype=float64_on(device), device=device
        )
        if is_free_to_read(value) and bool(value.isnan().any()):
            n_nan = int(value.isnan().sum())
            raise InputError(f"{name} must not be NaN, got {n_nan} of {value.numel()}")
        # Not by zip of unequal lengths, which PyTorch 2.6 cannot export.
        n = min(value.ndim, len(self.batch_shape))
        sizes = zip(
            value.shape[value.ndim - n :],
            self.batch_shape[len(self.batch_shape) - n :],
            strict=True,
        )
        if not all(a == b or 1 in (a, b) for a, b in sizes):
            raise InputError(
                f"{name} must broadcast with the batch shape "
                f"{tuple(self.batch_shape)}, got shape {tuple(value.shape)}"
            )
        return value

    def _located(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the bin of each y (an end bin if outside) and its fraction below y."""
        borders, widths = self._geometry()
        index = self.bins.index_of(y)
        inside = y.clamp(self.bins.low, self.bins.high)
        share = (inside - take(borders, index)) / take(widths, index)
        for end, tail in self._tails():
            in_tail = index == end % self.bins.n_bins
            z = (y - self._thresholds()[end]).abs().where(in_tail, 0.0)
            beyond = tail.log_survival(z).exp()
            share = torch.where(in_tail, beyond if end == 0 else 1 - beyond, share)
        return index, share

    def _at(self, at_borders: Tensor, y: Tensor) -> Tensor:
        """Return a function at y that is linear between its values at the borders."""
        index, share = self._located(y)
        below = self._gather(at_borders, index)
        above = self._gather(at_borders, index + 1)
        value = torch.lerp(below, above, share)
        tail = self.bins.upper_tail
        if tail is not None:
            # From the mass beyond y: 1 minus it loses all digits far out.
            in_tail = index == self.bins.n_bins - 1
            z = (y - self._thresholds()[-1]).where(in_tail, 0.0)
            far = torch.lerp(above, below, tail.log_survival(z).exp())
            value = torch.where(in_tail, far, value)
        return value

    def _gather(self, values: Tensor, index: Tensor) -> Tensor:
        """Return one entry of each histogram's row (..., m), with broadcasting."""
        shape = broadcast_shapes(index.shape, self.batch_shape)
        index = index.expand(shape).unsqueeze(-1)
        return values.expand(*shape, -1).gather(-1, index).squeeze(-1)


def _cumulated(probs: Tensor, dtype: torch.dtype) -> Tensor:
    """Return 0, p_1, p_1 + p_2, ..., exactly 1: (..., k) -> (..., k + 1)."""
    sums = F.pad(probs, (1, 0)).cumsum(dim=-1, dtype=dtype)
    return sums / sums[..., -1:]


def _thirds(start: Tensor, end: Tensor) -> Tensor:
    """Return the integral over 0..1 of the square of a line between two values."""
    total = start + end
    return torch.addcmul(total * total, start, end, value=-1) / 3


def _parameter(name: str, values: Tensor, bins: Bins) -> Tensor:
    check_tensor(name, values)
    if values.dim() == 0 or values.shape[-1] != bins.n_bins:
        raise InputError(
            f"{name} must have one entry per bin in the last dimension, "
            f"{bins.n_bins}, got shape {tuple(values.shape)}"
        )
    if not values.is_floating_point():
        raise TypeError(f"{name} must be floating point, got {values.dtype}")
    # Half precision cannot hold probabilities that sum to one.
    return values.float() if values.dtype.itemsize < 4 else values


def _checked_probs(probs: Tensor, *, validate: bool) -> Tensor:
    total = probs.sum(dim=-1, keepdim=True)
    if validate and is_free_to_read(probs):
        if not bool((probs >= 0).all()):
            raise InputError(
                "probs must be non-negative and not NaN, "
                f"got a minimum of {probs.min().item():g}"
            )
        # A sum of half-precision numbers may be off by 1e-3; mistakes are larger.
        if not bool(((total - 1).abs() <= 1e-2).all()):
            worst = total.flatten()[(total - 1).abs().argmax()].item()
            raise InputError(
                f"probs must sum to one in the last dimension, got a sum of {worst:g}"
            )
    return probs / total


@register_kl(Histogram, Histogram)  # type: ignore[untyped-decorator]
def _kl_of_histograms(p: Histogram, q: Histogram) -> Tensor:
    """Return KL(p || q) on the same bins; the widths cancel."""
    if p.bins != q.bins:
        raise InputError(
            f"both histograms must have the same bins, got {p.bins} and {q.bins}"
        )
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(p.probs == 0, 0).sum(dim=-1)  # 0 log 0 = 0
