"""Where the bins of a histogram lie."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from histreg import spacings
from histreg._checks import check_choice, check_count, check_positive
from histreg._growth import Growth
from histreg._names import SPACINGS
from histreg._tensors import as_float64, float64_on, n_below, take
from histreg.errors import InputError
from histreg.tails import Tail, checked_kinds, tails_of


class Preset(NamedTuple):
    """A choice of bins and smoothing that the paper uses under one name."""

    n_bins: int
    sigma_in_bins: float
    padding_in_sigmas: float


PRESETS = MappingProxyType(
    {
        # The paper's rule of thumb, also used for time series.
        "recommended": Preset(100, 2.0, 3.0),
        # All tables and figures of the tabular study: ten padding bins a side.
        "tabular": Preset(100, 1.0, 10.0),
        "atari": Preset(100, 2.0, 4.0),
        # The sine experiment gives the support itself, [-1.5, 1.5] or [-1.5, 11.5].
        "synthetic": Preset(100, 2.0, 0.0),
        # Ours: enough padding for the bias at the ends to vanish in float32.
        "negligible": Preset(100, 2.0, 6.0),
    }
)


SMALLEST_SPREAD = 1e-290  # of y; below it, reciprocals of widths leave float64


@dataclass(frozen=True, init=False, repr=False)
class Bins:
    """Bins of a histogram, given by their borders: strictly increasing and finite.

    Bins are half-open, ``[border_i, border_{i+1})``, and the last one is closed. The
    object is immutable, hashable and holds no tensor: `borders`, `centers` and
    `widths` are new float64 tensors on the CPU, so no dtype or device goes stale.

    Parameters
    ----------
    borders : array-like of shape (k + 1,)
        At least three (two bins).

    Examples
    --------
    >>> Bins([0.0, 1.0, 3.0]).centers
    tensor([0.5000, 2.0000], dtype=torch.float64)
    >>> Bins.around(0.0, 88.0)
    Bins(n_bins=100, low=-6, high=94, width=1)
    """

    _borders: tuple[float, ...]
    is_uniform: bool = field(compare=False)
    """Whether all bins have the same width, up to 1e-4 of it or, far from zero, up to
    the rounding of the borders; never with a tail, which has none."""
    narrowest: float = field(compare=False)
    """The width of the narrowest bin."""
    lower_tail: Tail | None
    """How mass lies in the first bin if it has no end, see `with_tails`."""
    upper_tail: Tail | None
    """The same for the last bin."""

    def __init__(self, borders: ArrayLike | Tensor) -> None:
        values = as_float64(borders).numpy()
        if values.ndim != 1 or len(values) < 3:
            raise InputError(
                "borders must be a vector of at least 3 numbers (two bins), "
                f"got shape {values.shape}"
            )
        if not np.isfinite(values).all():
            raise InputError(f"borders must be finite, got {values[0]}..{values[-1]}")
        falls = np.flatnonzero(values[1:] <= values[:-1])
        if len(falls):
            i = falls[0]
            raise InputError(
                f"borders must be strictly increasing, got borders[{i}]={values[i]} "
                f"and borders[{i + 1}]={values[i + 1]}"
            )
        if not math.isfinite(float(values[-1]) - float(values[0])):
            raise InputError(
                "borders must span a finite range in float64, "
                f"got {values[0]}..{values[-1]}"
            )
        narrowest = np.diff(values).min().item()
        width = (values[-1] - values[0]) / (len(values) - 1)
        even = _even_borders(values[0], values[-1], len(values) - 1)
        # Even borders far from zero are rounded to a few units in the last place, and
        # those of a float32 linspace to the 1e-7th part of their range.
        rounding = 4 * np.finfo(np.float64).eps * np.abs(values[[0, -1]]).max()
        allowed = max(1e-4 * width, min(rounding, 0.1 * narrowest))
        facts = {
            "_borders": tuple(values.tolist()),
            "is_uniform": bool(np.abs(even - values).max() <= allowed),
            "narrowest": narrowest,
            "lower_tail": None,
            "upper_tail": None,
        }
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    @classmethod
    def uniform(cls, low: float, high: float, n_bins: int) -> Bins:
        """Return ``n_bins`` bins of equal width from ``low`` to ``high``."""
        check_count("n_bins", n_bins, at_least=2)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InputError(
                f"low must be below high and both finite, got low={low}, high={high}"
            )
        return cls(_even_borders(low, high, n_bins))

    @classmethod
    def around(
        cls,
        y_min: float,
        y_max: float,
        *,
        n_bins: int = 100,
        sigma_in_bins: float = 2.0,
        padding_in_sigmas: float = 3.0,
    ) -> Bins:
        r"""Return equal bins over a known range of y, padded on both sides.

        The paper's rule (Appendix C). The bins count the padding, and the padding is
        in units of the smoothing's standard deviation, so the width solves

        .. math:: w = \frac{y_{max} - y_{min}}{k - 2 \sigma_w \psi_\sigma}

        with k = ``n_bins``, σ_w = ``sigma_in_bins``, ψ_σ = ``padding_in_sigmas``.

        Parameters
        ----------
        y_min, y_max : float
            The range. Values that float64 cannot tell apart well enough to put bins
            between them (``y_min == y_max``, or fewer than 16 units in the last place
            to a bin) get a range as wide as their magnitude (1 around zero),
            centred, so that a constant y is still predicted exactly.
        n_bins : int
            All bins, padding included.
        sigma_in_bins : float
            Standard deviation of the Gaussian target, in bin widths.
        padding_in_sigmas : float
            Padding on each side, in standard deviations; may be 0.
        """
        padding = _checked_padding(n_bins, sigma_in_bins, padding_in_sigmas)
        y_min, y_max = _distinguishable(float(y_min), float(y_max), n_bins)
        width = (y_max - y_min) / (n_bins - 2 * padding)
        low, high = y_min - padding * width, y_max + padding * width
        if not math.isfinite(high - low):
            raise InputError(
                "y_min and y_max must leave room for padding in float64, got a range "
                f"of {y_min}..{y_max}"
            )
        return cls.uniform(low, high, n_bins)

    @classmethod
    def of(
        cls,
        y: ArrayLike | Tensor,
        *,
        n_bins: int = 100,
        sigma_in_bins: float = 2.0,
        padding_in_sigmas: float = 3.0,
        spacing: str = "uniform",
        tails: str | tuple[str, str] = "clip",
    ) -> Bins:
        """Return `around` the smallest and the largest of the training targets ``y``.

        ``y`` may be any non-empty array of finite numbers, constant ones included. All
        its entries share the bins; for columns of different scales make one each:
        ``[Bins.of(column) for column in y.T]``.

        ``spacing`` names the coordinate in which the bins are even, see
        `histreg.spacings`: ``"uniform"``, ``"sqrt"``, ``"log"``, ``"symlog"``,
        ``"quantile"``, or ``"auto"``, which takes the first that resolves the targets.
        Padding is in that coordinate too. Of a constant y all are uniform.

        ``tails`` says what lies beyond: nothing (``"clip"``), or from the outermost
        fiftieth of the targets on a tail that is fitted to it, ``"exponential"`` or
        ``"gpd"`` (generalised Pareto), in an end bin without an end; a pair has the
        lower and the upper one. It takes at least 100 targets, and is fitted to 25 of
        them or more. There is none on the side of zero for targets of one sign, nor
        where fewer than ten different values lie. There is no padding beyond a tail.
        See `histreg.tails`.

        Examples
        --------
        >>> Bins.of([0.0, 50.0, 88.0])
        Bins(n_bins=100, low=-6, high=94, width=1)
        """
        values = as_float64(y)
        if values.numel() == 0:
            raise InputError(
                f"y must hold at least one value, got shape {tuple(values.shape)}"
            )
        check_choice("spacing", spacing, SPACINGS)
        kinds = checked_kinds(tails)
        y_min, y_max = _finite_extremes(values)
        padding = _checked_padding(n_bins, sigma_in_bins, padding_in_sigmas)
        if (y_min, y_max) != _distinguishable(y_min, y_max, n_bins):
            return cls.around(
                y_min,
                y_max,
                n_bins=n_bins,
                sigma_in_bins=sigma_in_bins,
                padding_in_sigmas=padding_in_sigmas,
            )
        array = values.flatten().numpy()
        lower, upper = tails_of(array, kinds)
        low, low_padding = (y_min, padding) if lower is None else (lower[0], 0)
        high, high_padding = (y_max, padding) if upper is None else (upper[0], 0)
        n_inner = n_bins - (lower is not None) - (upper is not None)
        if n_inner <= low_padding + high_padding:
            raise InputError(
                f"n_bins must leave bins between the tails, got n_bins={n_bins}"
            )

        def borders_of(name: str) -> NDArray[np.float64]:
            to, back = spacings.spacing_of(name, array)
            start, end = to(np.array([low, high]))
            width = (end - start) / (n_inner - low_padding - high_padding)
            start, end = start - low_padding * width, end + high_padding * width
            return back(_even_borders(start, end, n_inner))

        with np.errstate(over="ignore", invalid="ignore"):  # not taken, or refused
            if spacing == "auto":
                inner = spacings.resolving(array, borders_of)
            else:
                inner = borders_of(spacing)
        if not np.isfinite(inner).all():
            raise InputError(
                f"y must leave room for padding in float64, got a range of "
                f"{y_min}..{y_max}"
            )
        borders = np.concatenate(
            [
                [] if lower is None else [inner[0] - 2 * lower[1].mean],
                inner,
                [] if upper is None else [inner[-1] + 2 * upper[1].mean],
            ]
        )
        return cls(borders).with_tails(lower and lower[1], upper and upper[1])

    @classmethod
    def preset(cls, name: str, y_min: float, y_max: float) -> Bins:
        """Return `around` the range with the settings of ``PRESETS[name]``.

        ``"synthetic"`` has no padding: give it the support itself. The smoothing
        that belongs to the bins is ``PRESETS[name].sigma_in_bins``.
        """
        check_choice("name", name, PRESETS)
        return cls.around(y_min, y_max, **PRESETS[name]._asdict())

    def grown(
        self,
        y: ArrayLike | Tensor,
        *,
        padding_in_bins: float = 6.0,
        min_padding_in_bins: float | None = None,
    ) -> Bins:
        """Return as many bins that reach around ``y`` too: neighbours become one.

        For targets whose range is not known beforehand. Each new bin merges 2, 4, 8,
        ... of these, so that a trained head can follow (`HistogramHead.rebin`). As few
        are merged as leave room for y: even bins reach at most about twice as far as
        needed, and grow seldom. Spare room is shared between the ends that move, in
        proportion to how far they have to.

        Bins of one width stay so. Others are merged in pairs and go on beyond the ends
        by the ratio of the last two widths, no steeper than is usual between
        neighbours, so that bins that are even in a logarithm reach twice as many powers
        of ten, but no further than a hundred times what is needed, or than the padding
        takes; where that does not reach y, by the ratio that reaches twice as far.

        Parameters
        ----------
        y : array-like of shape (...)
            Finite. None at all, or all well within, returns these bins.
        padding_in_bins : float
            Room to keep beyond y on each side, in bins, rounded up to whole ones: as
            much as a smoothed target reaches. At most a quarter of the bins.
        min_padding_in_bins : float, optional
            While this much is left, the bins stay as they are; ``padding_in_bins`` if
            not given. Less makes bins grow less often.

        Examples
        --------
        >>> Bins.uniform(0.0, 10.0, 50).grown(35.0)
        Bins(n_bins=50, low=0, high=40, width=0.8)
        >>> Bins([1.0, 10.0, 100.0]).grown(5000.0, padding_in_bins=0).borders
        tensor([1.0000e+00, 1.0000e+02, 1.0000e+04], dtype=torch.float64)
        """
        if self.has_tails:
            raise InputError(f"grown needs bins without tails, got {self}")
        # More than a quarter on a side, and each doubling would call for another.
        if not 0 <= padding_in_bins <= self.n_bins // 4:
            raise InputError(
                "padding_in_bins must lie between 0 and a quarter of the "
                f"{self.n_bins} bins, got {padding_in_bins=}"
            )
        if min_padding_in_bins is None:
            min_padding_in_bins = padding_in_bins
        if not 0 <= min_padding_in_bins <= padding_in_bins:
            raise InputError(
                f"min_padding_in_bins must lie between 0 and {padding_in_bins=}, got "
                f"{min_padding_in_bins=}"
            )
        values = as_float64(y)
        if values.numel() == 0:
            return self
        y_min, y_max = _finite_extremes(values)
        # Whole ones end at a border, whatever the widths; parts would depend on them.
        n_padding = math.ceil(padding_in_bins)
        if self._has_room(y_min, y_max, math.ceil(min_padding_in_bins)):
            return self
        coordinates = self.bin_coordinate(as_float64([y_min, y_max])).tolist()
        growth = Growth(
            self.borders,
            self.width if self.is_uniform else None,
            (y_min, y_max),
            (coordinates[0], coordinates[1]),
            n_padding,
        )
        for borders in growth.candidates():
            bins = Bins(borders)
            if bins._has_room(y_min, y_max, n_padding):
                return bins
        raise InputError(
            "y must leave room for bins around it in float64, got a range of "
            f"{y_min}..{y_max}"
        )

    def _has_room(self, y_min: float, y_max: float, n_padding: int) -> bool:
        """Whether both lie within, by that many bins up to rounding."""
        first, last = self.bin_coordinate(as_float64([y_min, y_max])).tolist()
        least = n_padding - 1e-9
        return least <= first and last <= self.n_bins - least

    def with_tails(self, lower: Tail | None = None, upper: Tail | None = None) -> Bins:
        """Return bins whose first and last reach to infinity, by these tails.

        A tail begins at the inner border of its bin, the threshold. The outer border
        then only serves sums over centers: it lies twice the tail's mean from the
        threshold, so that the center of the bin is its mean. A target cannot
        distinguish the y within such a bin: all are taken at that mean.

        Examples
        --------
        >>> bins = Bins.uniform(0.0, 10.0, 10).with_tails(upper=Tail(scale=3.0))
        >>> bins.centers[-1], bins.highest
        (tensor(12., dtype=torch.float64), inf)
        """
        borders = list(self._borders)
        if lower is not None:
            borders[0] = borders[1] - 2 * lower.mean
        if upper is not None:
            borders[-1] = borders[-2] + 2 * upper.mean
        bins = Bins(borders)
        object.__setattr__(bins, "lower_tail", lower)
        object.__setattr__(bins, "upper_tail", upper)
        if bins.has_tails:
            object.__setattr__(bins, "is_uniform", False)
        return bins

    def standardised(self, center: float, scale: float) -> Bins:
        """Return the bins of (y - center) / scale."""
        lower, upper = (
            None if tail is None else tail.in_units_of(scale)
            for tail in (self.lower_tail, self.upper_tail)
        )
        return Bins((self.borders - center) / scale).with_tails(lower, upper)

    def divided(self, n: int) -> Bins:
        """Return bins of which n equal ones take the place of each.

        An end bin with a tail cannot be divided, so bins with tails raise if n > 1.

        >>> Bins([0.0, 1.0, 3.0]).divided(2).borders.tolist()
        [0.0, 0.5, 1.0, 2.0, 3.0]
        """
        check_count("n", n, at_least=1)
        if n == 1:
            return self
        if self.has_tails:
            raise InputError(f"bins with tails cannot be divided, got n={n}")
        start, width = self.borders[:-1, None], self.widths[:, None]
        within = (start + width * (torch.arange(n) / n)).flatten()
        return Bins(torch.cat([within, self.borders[-1:]]))

    @property
    def has_tails(self) -> bool:
        """Whether an end bin reaches to infinity."""
        return self.lower_tail is not None or self.upper_tail is not None

    @property
    def lowest(self) -> float:
        """The least y that the bins hold, ``low`` or minus infinity with a tail."""
        return self.low if self.lower_tail is None else -math.inf

    @property
    def highest(self) -> float:
        """The greatest y that the bins hold, ``high`` or infinity with a tail."""
        return self.high if self.upper_tail is None else math.inf

    @property
    def n_bins(self) -> int:
        """The number of bins, k."""
        return len(self._borders) - 1

    @property
    def low(self) -> float:
        """The first border."""
        return self._borders[0]

    @property
    def high(self) -> float:
        """The last border."""
        return self._borders[-1]

    @property
    def borders(self) -> Tensor:  # (k + 1,)
        """The borders, float64."""
        return torch.tensor(self._borders, dtype=torch.float64, device="cpu")

    @property
    def widths(self) -> Tensor:  # (k,)
        """The widths, float64."""
        return self.borders.diff()

    @property
    def centers(self) -> Tensor:  # (k,)
        """The centers, float64."""
        return self.borders[:-1] + self.widths / 2

    @property
    def width(self) -> float:
        """The common width of uniform bins; an error for others."""
        if not self.is_uniform:
            raise InputError("width needs bins of equal width; use widths")
        return (self.high - self.low) / self.n_bins

    def averaging_over(self, other: Bins) -> Tensor:  # (k of other, k)
        """Return the matrix that averages piecewise constant functions of these bins.

        Row i averages over bin i of ``other``, by the lengths it shares with these;
        beyond the ends the end bins go on.

        Examples
        --------
        >>> Bins([0.0, 1.0, 2.0]).averaging_over(Bins([0.0, 2.0, 4.0]))
        tensor([[0.5000, 0.5000],
                [0.0000, 1.0000]], dtype=torch.float64)
        """
        check_bins(other)
        lower, upper = self.borders[:-1].clone(), self.borders[1:].clone()
        lower[0], upper[-1] = -torch.inf, torch.inf
        start, end = other.borders[:-1, None], other.borders[1:, None]
        shared = torch.minimum(end, upper) - torch.maximum(start, lower)
        return shared.clamp(min=0) / other.widths[:, None]

    def index_of(self, y: Tensor) -> Tensor:
        """Return the bin of each y, the end bins for y beyond the ends.

        Parameters
        ----------
        y : Tensor of shape (...)
            Compared in float64. A y on a border belongs to the bin above it, except
            ``y == high``, which belongs to the last bin.

        Returns
        -------
        Tensor of shape (...), int64
        """
        # Arithmetic, floor((y - low) / width), puts every tenth border in the wrong
        # bin; comparing with the borders themselves cannot.
        inner = self.borders[1:-1].to(y.device, float64_on(y.device))
        return n_below(inner, y.to(inner.dtype), inclusive=True)

    def state(self) -> Tensor:  # (k + 5,)
        """Return the bins as float64 numbers.

        Borders, then scale and shape of the lower and of the upper tail, zeros for
        none.
        """
        lower, upper = (
            (0.0, 0.0) if tail is None else (tail.scale, tail.shape)
            for tail in (self.lower_tail, self.upper_tail)
        )
        return as_float64([*self._borders, *lower, *upper])

    @classmethod
    def from_state(cls, state: Tensor) -> Bins:
        """Return the bins of a `state`, exactly."""
        *borders, scale_0, shape_0, scale_1, shape_1 = as_float64(state).tolist()
        return cls(borders).with_tails(
            Tail(scale_0, shape_0) if scale_0 else None,
            Tail(scale_1, shape_1) if scale_1 else None,
        )

    def bin_coordinate(self, y: Tensor) -> Tensor:
        """Return where each y lies, counted in bins from the first border: 0 to k.

        Parameters
        ----------
        y : Tensor of shape (...)
            In float64. Beyond the ends the end bins' widths go on.

        Returns
        -------
        Tensor of shape (...), float64

        Examples
        --------
        >>> Bins([0.0, 1.0, 3.0]).bin_coordinate(torch.tensor([0.5, 2.0, 7.0]))
        tensor([0.5000, 1.5000, 4.0000], dtype=torch.float64)
        """
        index = self.index_of(y)
        borders = self.borders.to(y.device, float64_on(y.device))
        within = (y.to(borders.dtype) - take(borders, index)) / take(
            borders.diff(), index
        )
        return index + within

    def place_of(self, y: Tensor) -> Tensor:
        """Return `bin_coordinate`, the name of this method from now on."""
        warnings.warn(
            "Bins.place_of is deprecated; use Bins.bin_coordinate",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.bin_coordinate(y)

    def __repr__(self) -> str:
        width = f"{self.width:g}" if self.is_uniform else "uneven"
        return (
            f"Bins(n_bins={self.n_bins}, low={self.low:g}, high={self.high:g}, "
            f"width={width}"
            + (f", lower_tail={self.lower_tail}" if self.lower_tail else "")
            + (f", upper_tail={self.upper_tail}" if self.upper_tail else "")
            + ")"
        )


def check_bins(bins: object) -> None:
    """Raise unless it is a Bins."""
    if not isinstance(bins, Bins):
        raise TypeError(
            "bins must be a Bins (Bins.of(y) and Bins(borders) make one), "
            f"got {type(bins).__name__}"
        )


def checked_bins(bins: Bins | Sequence[Bins]) -> Bins | tuple[Bins, ...]:
    """Return one Bins unchanged, or several with equal ``n_bins`` as a tuple."""
    if isinstance(bins, Bins):
        return bins
    bins = tuple(bins) if isinstance(bins, Iterable) else (bins,)
    if not bins or not all(isinstance(item, Bins) for item in bins):
        raise TypeError(
            "bins must be a Bins or a sequence of Bins (Bins.of(y) makes one), "
            f"got {bins!r}"
        )
    counts = {item.n_bins for item in bins}
    if len(counts) > 1:
        raise InputError(
            f"bins of several targets must agree in n_bins, got {sorted(counts)}"
        )
    return bins


def replacing_bins(
    current: Bins | tuple[Bins, ...], new: Bins | Sequence[Bins]
) -> Bins | tuple[Bins, ...]:
    """Return new bins if they have the form and the number of those they replace."""
    new = checked_bins(new)
    old_bins, new_bins = (
        (item,) if isinstance(item, Bins) else item for item in (current, new)
    )
    if isinstance(new, Bins) != isinstance(current, Bins) or (
        (len(new_bins), new_bins[0].n_bins) != (len(old_bins), old_bins[0].n_bins)
    ):
        raise InputError(
            f"bins must be as many as those they replace, {current}, got {new}"
        )
    return new


def restored_bins(
    current: Bins | tuple[Bins, ...], states: Tensor
) -> Bins | tuple[Bins, ...]:
    """Return saved states (m, k + 5) in the form of the bins they replace."""
    current_bins = (current,) if isinstance(current, Bins) else current
    expected = (len(current_bins), len(current_bins[0].state()))
    if states.shape != expected:
        n_bins = current_bins[0].n_bins
        n_more = expected[1] - n_bins  # numbers of a state besides the bins
        is_matrix = states.ndim == 2
        got = (
            f"{len(states)} x {states.shape[1] - n_more} bins" if is_matrix else states
        )
        raise InputError(
            f"the saved state must hold {len(current_bins)} x {n_bins} bins, as many "
            f"as the module it is loaded into, got {got}"
        )
    saved = tuple(Bins.from_state(row) for row in states)
    return saved[0] if isinstance(current, Bins) else saved


def _finite_extremes(y: Tensor) -> tuple[float, float]:
    y_min, y_max = (extreme.item() for extreme in y.aminmax())
    if not (math.isfinite(y_min) and math.isfinite(y_max)):
        raise InputError(f"y must be finite, got a range of {y_min}..{y_max}")
    return y_min, y_max


def _checked_padding(
    n_bins: int, sigma_in_bins: float, padding_in_sigmas: float
) -> float:
    """Return the padding on each side in bins."""
    check_count("n_bins", n_bins, at_least=2)
    check_positive("sigma_in_bins", sigma_in_bins)
    if not (math.isfinite(padding_in_sigmas) and padding_in_sigmas >= 0):
        raise InputError(
            "padding_in_sigmas must be finite and not negative, "
            f"got {padding_in_sigmas=}"
        )
    padding = sigma_in_bins * padding_in_sigmas
    if n_bins <= 2 * padding:
        raise InputError(
            f"n_bins must exceed the {2 * padding:g} padding bins, got {n_bins=}"
        )
    return padding


def _even_borders(low: float, high: float, n_bins: int) -> np.ndarray:
    return np.linspace(low, high, int(n_bins) + 1)


def least_spread(magnitude: float, n_bins: int) -> float:
    """Return the spread that y must exceed for bins to fit between its float64 values.

    Below 16 units in the last place per bin, the place within a bin is rounding noise.
    """
    by_rounding = n_bins * 16 * np.finfo(np.float64).eps * magnitude
    return max(float(by_rounding), SMALLEST_SPREAD)


def _distinguishable(y_min: float, y_max: float, n_bins: int) -> tuple[float, float]:
    """Return a range that float64 can divide into bins: this one, or a wider one."""
    spread = y_max - y_min
    if not math.isfinite(spread) or spread < 0:
        raise InputError(
            "y_min must not exceed y_max and their distance must be finite, "
            f"got {y_min=}, {y_max=}"
        )
    magnitude = max(abs(y_min), abs(y_max))
    if spread > least_spread(magnitude, n_bins):
        return y_min, y_max
    half = (magnitude if magnitude > SMALLEST_SPREAD else 1.0) / 2
    middle = y_min + spread / 2
    return middle - half, middle + half
