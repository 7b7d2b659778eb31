"""Targets: each y becomes a probability vector over the bins.

A target is a pure function of y and the bins, ``(...) -> (..., k)``. Every vector is
finite, non-negative and sums to one, for every finite y. What happens to a y outside
the bins is the choice ``out_of_range``:

``"clip"`` (default)
    y is moved to the nearest end of the bins, for the target only.
``"truncate"``
    the distribution around the true y is restricted to the bins, however little of it
    lies there (evaluated relative to the nearest end, so it never underflows). For
    targets without a tail this is their limit, the same as clipping.
``"error"``
    one sentence that says how many y lie outside.

Distances between y and the borders are taken in float64, so an offset of the bins costs
nothing; the result has the dtype of y (float32 for half precision and integers). It is
accurate to a few units in the last place of that dtype, times the span of the window
in sigmas: to 1e-6 in float32 and 1e-13 in float64 for a sigma of a bin or more, to 1e-5
and 1e-12 for a hundredth of a bin.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from histreg._checks import (
    check_choice,
    check_finite,
    check_positive,
    check_shape,
    check_tensor,
)
from histreg._tensors import (
    broadcast_shapes,
    float64_on,
    is_concrete,
    is_free_to_read,
)
from histreg._tilting import tilted_to_zero_mean
from histreg._windows import (
    USEFUL_SIGMAS,
    OneBinWindows,
    ProjectedWindows,
    Window,
    gaussian_windows,
)
from histreg.bins import Bins, check_bins
from histreg.errors import InputError

__all__ = ["from_cdf", "gaussian", "one_bin", "projected", "uniform", "with_mean"]

TargetFunction = Callable[[Tensor, Bins], Tensor]
"""(y (...), bins) -> target probabilities (..., k)."""
Windows = Callable[[Tensor], Window]
"""(y (...) within the bins) -> Window of shape (..., m)."""

OUT_OF_RANGE = ("clip", "truncate", "error")
DEFAULT_SIGMA_IN_BINS = 2.0  # the paper's rule of thumb


def gaussian(
    y: Tensor,
    bins: Bins,
    *,
    sigma: float | Tensor | None = None,
    sigma_in_bins: float | Tensor | None = None,
    keeps_mean: bool = False,
    out_of_range: str = "clip",
) -> Tensor:
    r"""Return the truncated Gaussian around each y: the target of HL-Gauss (Section 2).

    .. math::
        p_i = \frac{\Phi((l_{i+1} - y) / \sigma) - \Phi((l_i - y) / \sigma)}
                   {\Phi((b - y) / \sigma) - \Phi((a - y) / \sigma)}

    with borders :math:`l_i`, ends a = ``bins.low`` and b = ``bins.high``.

    Parameters
    ----------
    y : Tensor of shape (...)
    bins : Bins
        Of any widths.
    sigma : float or Tensor that broadcasts to (...)
        Standard deviation in units of y. As it goes to 0 the target becomes `one_bin`,
        but a y on a border is split in halves; to infinity, ``widths / (high - low)``.
    sigma_in_bins : float or Tensor that broadcasts to (...)
        Instead of ``sigma``: the Gaussian is over bin coordinates, as if all bins were
        equally wide, so it is wide in y where the bins are.
    keeps_mean : bool
        Whether the target is tilted to have the mean y, see `with_mean`. On bins of
        unequal width its mean would be far from y otherwise.
    out_of_range : {"clip", "truncate", "error"}

    Returns
    -------
    Tensor of shape (..., k)

    Examples
    --------
    >>> bins = Bins.uniform(0.0, 4.0, 4)
    >>> gaussian(torch.tensor(2.0), bins, sigma=1.0)
    tensor([0.1424, 0.3576, 0.3576, 0.1424])
    """
    check_choice("out_of_range", out_of_range, OUT_OF_RANGE)
    if sigma is not None and sigma_in_bins is None:
        size, name = sigma, "sigma"
    elif sigma_in_bins is not None and sigma is None:
        size, name = sigma_in_bins, "sigma_in_bins"
    else:
        raise InputError(
            f"give either sigma or sigma_in_bins, got {sigma=} and {sigma_in_bins=}"
        )
    if isinstance(size, Tensor):
        _check_positive_everywhere(name, size)
        if broadcast_shapes(size.shape, y.shape) != y.shape:
            raise InputError(
                f"{name} must broadcast to the shape of y, {tuple(y.shape)}, "
                f"got shape {tuple(size.shape)}"
            )
    else:
        check_positive(name, size)
    dtype, y = _result_dtype(y), _checked(y, bins, out_of_range)
    # A compiler fuses the plain formula; the tables of the window would stop it.
    compiling = torch.compiler.is_compiling()
    if not (isinstance(size, Tensor) or out_of_range == "truncate" or compiling):
        windows = gaussian_windows(
            bins, float(size), sigma is None, keeps_mean, dtype, y.device
        )
        return windows(y).dense(bins.n_bins)
    wide = float64_on(y.device)
    if sigma is None and not bins.is_uniform:
        borders = torch.arange(bins.n_bins + 1, dtype=wide, device=y.device)
        probs = _truncated_gaussian(bins.bin_coordinate(y), borders, size)
    else:
        borders = bins.borders.to(y.device, wide)
        size = size * bins.width if sigma is None else size
        probs = _truncated_gaussian(y, borders, size)
    return (with_mean(probs, y, bins) if keeps_mean else probs).to(dtype)


def one_bin(y: Tensor, bins: Bins, *, out_of_range: str = "clip") -> Tensor:
    """Return the bin of each y as a one-hot vector: the target of HL-OneBin.

    Parameters
    ----------
    y : Tensor of shape (...)
        On a border: the bin above; ``y == high``: the last bin.
    bins : Bins
    out_of_range : {"clip", "truncate", "error"}

    Returns
    -------
    Tensor of shape (..., k)

    Examples
    --------
    >>> one_bin(torch.tensor([0.0, 1.0, 2.0]), Bins([0.0, 1.0, 2.0]))
    tensor([[1., 0.],
            [0., 1.],
            [0., 1.]])
    """
    dtype, y = _result_dtype(y), _checked(y, bins, out_of_range)
    return OneBinWindows(bins, dtype, y.device)(y).dense(bins.n_bins)


def uniform(
    y: Tensor,
    bins: Bins,
    *,
    epsilon: float | None = None,
    epsilon_per_bin: float | None = None,
    out_of_range: str = "clip",
) -> Tensor:
    r"""Return the bin of each y mixed with equal bins: the target of HL-Uniform.

    .. math:: p = (1 - \epsilon) \, \text{onehot} + \epsilon / k

    Parameters
    ----------
    y : Tensor of shape (...)
    bins : Bins
    epsilon : float in [0, 1]
        The weight of the uniform part. 0 is `one_bin`, 1 is ``1 / k`` everywhere.
    epsilon_per_bin : float in [0, 1 / (k - 1)]
        Instead of ``epsilon``: the probability of each other bin, as the paper's
        formula has it; equal to ``epsilon / k``.
    out_of_range : {"clip", "truncate", "error"}

    Returns
    -------
    Tensor of shape (..., k)

    Examples
    --------
    >>> uniform(torch.tensor(0.5), Bins([0.0, 1.0, 2.0]), epsilon=0.5)
    tensor([0.7500, 0.2500])
    """
    epsilon = _mixture_weight(bins, epsilon, epsilon_per_bin)
    return one_bin(y, bins, out_of_range=out_of_range) * (1 - epsilon) + (
        epsilon / bins.n_bins
    )


def projected(y: Tensor, bins: Bins, *, out_of_range: str = "clip") -> Tensor:
    """Split the mass of each y between its two nearest centers: HL-Projected, two-hot.

    The mean over centers is exactly y.

    Parameters
    ----------
    y : Tensor of shape (...)
        Beyond the first or the last center (also inside the bins) y is moved onto it.
    bins : Bins
    out_of_range : {"clip", "truncate", "error"}

    Returns
    -------
    Tensor of shape (..., k)

    Examples
    --------
    >>> projected(torch.tensor(1.25), Bins([0.0, 1.0, 2.0, 3.0]))
    tensor([0.2500, 0.7500, 0.0000])
    """
    dtype, y = _result_dtype(y), _checked(y, bins, out_of_range)
    return ProjectedWindows(bins, dtype, y.device)(y).dense(bins.n_bins)


def with_mean(probs: Tensor, y: Tensor, bins: Bins) -> Tensor:
    r"""Tilt target vectors so that their means over the centers are exactly y.

    The nearest vector with that mean, in relative entropy:
    :math:`p_i e^{\lambda c_i}`, normalised.

    Parameters
    ----------
    probs : Tensor of shape (..., k)
        Any targets over more than one bin each: a `one_bin` target cannot be tilted
        (use `projected`, which keeps the mean).
    y : Tensor of shape (...)
        A y beyond the outermost centers that have mass is moved onto them.
    bins : Bins

    Returns
    -------
    Tensor of shape (..., k)
        Without gradients in y. Their means are y up to the rounding of its dtype (in
        float64, to 1e-12 of the spread of a target).

    Examples
    --------
    >>> bins = Bins([0.0, 1.0, 2.0, 4.0])
    >>> p = with_mean(torch.tensor([0.2, 0.6, 0.2]), torch.tensor(1.5), bins)
    >>> (p * bins.centers).sum()
    tensor(1.5000, dtype=torch.float64)
    """
    check_bins(bins)
    check_shape("probs", probs, (*y.shape, bins.n_bins), because="for y and the bins")
    wide = float64_on(y.device)
    centers = bins.centers.to(y.device, wide)
    distances = centers - y.detach().to(wide).unsqueeze(-1)  # (..., k)
    return tilted_to_zero_mean(probs.detach().to(wide), distances)[0].to(probs.dtype)


def from_cdf(cdf: Callable[[Tensor], Tensor], bins: Bins, *, like: Tensor) -> Tensor:
    """Return the bin probabilities of any distribution, restricted to the bins.

    Parameters
    ----------
    cdf : callable, Tensor of shape (k + 1,) -> Tensor of shape (..., k + 1)
        A distribution function, evaluated at the borders (float64), for example
        ``Laplace(y.double().unsqueeze(-1), scale).cdf``.
    bins : Bins
    like : Tensor
        Dtype and device of the result, usually y.

    Returns
    -------
    Tensor of shape (..., k)
        If no mass lies within the bins, all of it goes to the nearest end bin.

    Examples
    --------
    >>> from torch.distributions import Laplace
    >>> y = torch.tensor([1.0, 2.5])
    >>> from_cdf(Laplace(y.unsqueeze(-1), 0.5).cdf, Bins([0.0, 1.0, 2.0, 3.0]), like=y)
    tensor([[0.4683, 0.4683, 0.0634],
            [0.0265, 0.1957, 0.7778]])
    """
    check_bins(bins)
    borders = bins.borders.to(like.device, float64_on(like.device))
    at_borders = cdf(borders)  # (..., k + 1)
    if at_borders.shape[-1] != bins.n_bins + 1:
        raise InputError(
            f"cdf must return one value per border, {bins.n_bins + 1} in the last "
            f"dimension, got shape {tuple(at_borders.shape)}"
        )
    at_borders = at_borders.to(borders.dtype)
    if is_free_to_read(at_borders) and not bool((at_borders.diff(dim=-1) >= 0).all()):
        worst = at_borders.diff(dim=-1).min().item()
        raise InputError(
            f"cdf must not decrease between borders, got a step of {worst}"
        )
    mass = at_borders[..., -1:] - at_borders[..., :1]  # (..., 1)
    beyond = torch.where(at_borders[..., :1] > 0.5, 0, bins.n_bins - 1)  # (..., 1)
    end = F.one_hot(beyond.squeeze(-1), bins.n_bins).to(borders.dtype)  # (..., k)
    inside = at_borders.diff(dim=-1) / mass.where(mass > 0, torch.ones_like(mass))
    return torch.where(mass > 0, inside, end).to(_result_dtype(like))


@dataclass(frozen=True, kw_only=True)
class Target(ABC):
    """How y becomes a probability vector: one small object per kind of target.

    `target_of` makes one from its name and options. The loss uses `windows` where
    there are any, and `probs` where there are none.

    Parameters
    ----------
    out_of_range : {"clip", "truncate", "error"}
        What becomes of a y outside the bins.
    """

    out_of_range: str = "clip"

    @abstractmethod
    def probs(self, y: Tensor, bins: Bins) -> Tensor:
        """Return target probabilities: (...) -> (..., k)."""

    def windows(
        self,
        bins: Bins,  # noqa: ARG002
        dtype: torch.dtype,  # noqa: ARG002
        device: torch.device,  # noqa: ARG002
    ) -> Windows | None:
        """Return the windows of y within the bins, or None if there are none.

        Parameters
        ----------
        bins : Bins
        dtype, device
            Of the probabilities; tables are prepared for them.
        """
        return None


@dataclass(frozen=True)
class GaussianTarget(Target):
    """The truncated Gaussian around y, see `gaussian`.

    Parameters
    ----------
    sigma, sigma_in_bins : float, optional
        One of them. With neither, sigma is 2 bins.
    keeps_mean : bool, optional
        If None, the target is tilted to the mean y on bins of unequal width only,
        where it would be far from it.
    """

    sigma: float | None = None
    sigma_in_bins: float | None = None
    keeps_mean: bool | None = None

    def __post_init__(self) -> None:
        if self.sigma is None and self.sigma_in_bins is None:
            object.__setattr__(self, "sigma_in_bins", DEFAULT_SIGMA_IN_BINS)
        check_positive(self.unit, self.size)

    @property
    def unit(self) -> str:
        """The name of the option that was given."""
        return "sigma" if self.sigma_in_bins is None else "sigma_in_bins"

    @property
    def size(self) -> float:
        """The standard deviation in the unit that it was given in."""
        return getattr(self, self.unit)

    def sigma_on(self, bins: Bins) -> float:
        """Return the standard deviation in units of y.

        An error if it was given in bins and these differ in width.
        """
        return self.size if self.unit == "sigma" else self.size * bins.width

    def tilts(self, bins: Bins) -> bool:
        """Whether targets over these bins are tilted to have the mean y."""
        return not bins.is_uniform if self.keeps_mean is None else self.keeps_mean

    def probs(self, y: Tensor, bins: Bins) -> Tensor:
        """Return the mass of the Gaussian in each bin."""
        return gaussian(
            y,
            bins,
            sigma=self.sigma,
            sigma_in_bins=self.sigma_in_bins,
            keeps_mean=self.tilts(bins),
            out_of_range=self.out_of_range,
        )

    def windows(
        self, bins: Bins, dtype: torch.dtype, device: torch.device
    ) -> Windows | None:
        """Return the bins within reach of y.

        None if y may lie far outside, and while compiling: a compiler cannot make the
        tables.
        """
        if self.out_of_range == "truncate" or torch.compiler.is_compiling():
            return None
        is_in_bins = self.unit == "sigma_in_bins"
        return gaussian_windows(
            bins, float(self.size), is_in_bins, self.tilts(bins), dtype, device
        )


@dataclass(frozen=True)
class OneBinTarget(Target):
    """The bin of y, see `one_bin`."""

    def probs(self, y: Tensor, bins: Bins) -> Tensor:
        """Return one-hot vectors."""
        return one_bin(y, bins, out_of_range=self.out_of_range)

    def windows(
        self, bins: Bins, dtype: torch.dtype, device: torch.device
    ) -> Windows | None:
        """Return windows of one bin."""
        return OneBinWindows(bins, dtype, device)


@dataclass(frozen=True)
class UniformTarget(Target):
    """The bin of y mixed with equal bins, see `uniform`; it has mass in all bins.

    Parameters
    ----------
    epsilon : float
        The weight of the uniform part.
    keeps_mean : bool, optional
        Whether the target is tilted to have the mean y.
    """

    epsilon: float
    keeps_mean: bool | None = None

    def __post_init__(self) -> None:
        _check_mixture_weight(self.epsilon)

    def probs(self, y: Tensor, bins: Bins) -> Tensor:
        """Return the mixtures."""
        probs = uniform(y, bins, epsilon=self.epsilon, out_of_range=self.out_of_range)
        return with_mean(probs, y, bins) if self.keeps_mean else probs


@dataclass(frozen=True)
class ProjectedTarget(Target):
    """y split between its two nearest centers, see `projected`."""

    def probs(self, y: Tensor, bins: Bins) -> Tensor:
        """Return two-hot vectors."""
        return projected(y, bins, out_of_range=self.out_of_range)

    def windows(
        self, bins: Bins, dtype: torch.dtype, device: torch.device
    ) -> Windows | None:
        """Return windows of two bins."""
        return ProjectedWindows(bins, dtype, device)


@dataclass(frozen=True)
class FunctionTarget(Target):
    """The target that a function of the user returns.

    Parameters
    ----------
    function : callable, (y, bins) -> Tensor of shape (..., k)
        It gets y in float64, clipped to the bins unless ``out_of_range="truncate"``.
    keeps_mean : bool, optional
        Whether the target is tilted to have the mean y.
    """

    function: TargetFunction
    keeps_mean: bool | None = None

    def probs(self, y: Tensor, bins: Bins) -> Tensor:
        """Return the probabilities that the function returns."""
        y = clip_to_bins(y, bins, self.out_of_range)
        probs = self.function(y, bins)
        return with_mean(probs, y, bins) if self.keeps_mean else probs


TARGETS: Mapping[str, Callable[..., Target]] = MappingProxyType(
    {
        "gaussian": GaussianTarget,
        "one_bin": OneBinTarget,
        "uniform": UniformTarget,
        "projected": ProjectedTarget,
    }
)


def target_of(
    target: str | TargetFunction,
    *,
    sigma: float | None = None,
    sigma_in_bins: float | None = None,
    keeps_mean: bool | None = None,
    epsilon: float | None = None,
    out_of_range: str = "clip",
) -> Target:
    """Return the target of a name and its options: the one place that knows them all.

    Parameters
    ----------
    target : {"gaussian", "one_bin", "uniform", "projected"} or callable
    sigma, sigma_in_bins : float, optional
        For ``"gaussian"``: one of them, or none for 2 bins.
    keeps_mean : bool, optional
        For ``"gaussian"``, ``"uniform"`` and callables.
    epsilon : float, optional
        For ``"uniform"``, which needs it.
    out_of_range : {"clip", "truncate", "error"}

    Returns
    -------
    Target
    """
    if not callable(target):
        check_choice("target", target, TARGETS)
    check_choice("out_of_range", out_of_range, OUT_OF_RANGE)
    if (epsilon is not None) != (target == "uniform"):
        raise InputError(
            'epsilon must be given with target="uniform" and with no other, '
            f"got {target=} and {epsilon=}"
        )
    if keeps_mean is not None and target in ("one_bin", "projected"):
        raise InputError(
            'keeps_mean needs a target over several bins ("projected" keeps the mean '
            f"without it), got {target=}, {keeps_mean=}"
        )
    if (sigma is not None) + (sigma_in_bins is not None) > (target == "gaussian"):
        raise InputError(
            'give either sigma or sigma_in_bins with target="gaussian", and neither '
            f"with others, got {target=}, {sigma=}, {sigma_in_bins=}"
        )
    options = {
        "sigma": sigma,
        "sigma_in_bins": sigma_in_bins,
        "keeps_mean": keeps_mean,
        "epsilon": epsilon,
    }
    given: dict[str, Any] = {
        name: value for name, value in options.items() if value is not None
    }
    if callable(target):
        return FunctionTarget(target, **given, out_of_range=out_of_range)
    return TARGETS[target](**given, out_of_range=out_of_range)


def _mixture_weight(
    bins: Bins, epsilon: float | None, epsilon_per_bin: float | None
) -> float:
    """Return the weight of the uniform part from either way of giving it."""
    if epsilon is not None and epsilon_per_bin is None:
        _check_mixture_weight(epsilon)
        return epsilon
    if epsilon_per_bin is not None and epsilon is None:
        most = 1 / (bins.n_bins - 1)
        if not 0 <= epsilon_per_bin <= most:
            raise InputError(
                f"epsilon_per_bin must lie in [0, {most:.6g}], 1 over the other bins "
                f"(beyond it a probability is negative), got {epsilon_per_bin=}"
            )
        # p_on = 1 - (k - 1) e and p_off = e are the mixture of weight k e.
        return epsilon_per_bin * bins.n_bins
    raise InputError(
        f"give either epsilon or epsilon_per_bin, got {epsilon=} and {epsilon_per_bin=}"
    )


def _check_mixture_weight(epsilon: float) -> None:
    if not 0 <= epsilon <= 1:
        raise InputError(f"epsilon must lie in [0, 1], got {epsilon=}")


def _truncated_gaussian(y: Tensor, borders: Tensor, sigma: float | Tensor) -> Tensor:
    """Return the truncated Gaussian over all bins, for any y and any sigma each.

    Inside the bins: differences of the normal CDF. Outside, at distance d sigma from
    the nearest end: with Δ the distance of a border from that end, in sigmas, the mass
    beyond the border is, relative to the mass beyond the end,

        S(Δ) = exp(-Δ (d + Δ / 2)) erfcx((d + Δ) / √2) / erfcx(d / √2),

    which is between 0 and 1 at any distance, where Φ itself would underflow.
    """
    low, high = borders[0], borders[-1]
    y = y.to(borders.dtype).unsqueeze(-1)  # (..., 1)
    sigma = torch.as_tensor(sigma, dtype=borders.dtype, device=y.device)
    smallest, largest = ((high - low) * sigma for sigma in USEFUL_SIGMAS)
    sigma = sigma.clamp(smallest, largest).unsqueeze(-1)  # (..., 1)

    nearest = y.clamp(low, high)
    z = (borders - nearest) / sigma  # (..., k + 1)
    inside = normal_mass(z[..., :-1], z[..., 1:])  # (..., k)

    # Bounded so that its square is finite; long before, all is in the end bin.
    farthest = math.sqrt(torch.finfo(borders.dtype).max)
    distance = ((y - nearest).abs() / sigma).clamp(max=farthest)  # (..., 1)
    from_end = torch.where(y < low, borders - low, high - borders)
    from_end = from_end / sigma  # (..., k + 1)
    root2 = math.sqrt(2)
    survival = (
        torch.exp(-from_end * (distance + from_end / 2))
        * torch.special.erfcx((distance + from_end) / root2)
        / torch.special.erfcx(distance / root2)
    )  # (..., k + 1)
    outside = survival.diff(dim=-1).abs()  # (..., k)

    mass = torch.where(distance > 0, outside, inside)
    return mass / mass.sum(dim=-1, keepdim=True)


def normal_mass(lower: Tensor, upper: Tensor) -> Tensor:
    """Return Φ(upper) - Φ(lower) with all its digits, for lower <= upper.

    In the tails from erfc, mirrored so that it is small; around zero from erf, which
    is small there. (``torch.special.ndtr`` has the digits of neither.)
    """
    lower, upper = lower / math.sqrt(2), upper / math.sqrt(2)
    mirrored = upper <= 0
    tails = torch.erfc(torch.where(mirrored, -upper, lower)) - (
        torch.erfc(torch.where(mirrored, -lower, upper))
    )
    central = (lower.abs() < 0.5) & (upper.abs() < 0.5)
    return torch.where(central, torch.erf(upper) - torch.erf(lower), tails) / 2


def _result_dtype(y: Tensor) -> torch.dtype:
    check_tensor("y", y)
    return torch.float64 if y.dtype == torch.float64 else torch.float32


def _check_positive_everywhere(name: str, values: Tensor) -> None:
    check_finite(name, values)
    if is_free_to_read(values) and not bool((values > 0).all()):
        raise InputError(
            f"{name} must be positive everywhere, got a minimum of "
            f"{values.min().item()}"
        )


def _checked(y: Tensor, bins: Bins, out_of_range: str) -> Tensor:
    """Return y after all checks, clipped to the bins if that was chosen."""
    check_choice("out_of_range", out_of_range, OUT_OF_RANGE)
    check_bins(bins)
    check_finite("y", y)
    return clip_to_bins(y, bins, out_of_range)


def clip_to_bins(y: Tensor, bins: Bins, out_of_range: str) -> Tensor:
    """Return y clipped to the bins or unchanged, or raise an InputError.

    Clipping is in float64: the ends may not be representable in the dtype of y. A y in
    a tail is moved to the mean of its bin, whatever the choice.
    """
    if not y.is_floating_point():  # torch would compare integers in float32
        y = y.to(float64_on(y.device))
    if out_of_range == "error" and is_concrete(y):
        outside = (y < bins.lowest) | (y > bins.highest)
        if outside.any():
            raise InputError(
                f"y must lie within the bins [{bins.lowest:g}, {bins.highest:g}], got "
                f"{int(outside.sum())} of {y.numel()} outside, "
                f"the first {y[outside].flatten()[0].item():g}"
            )
    if bins.has_tails:
        y = y.to(float64_on(y.device))
        centers, borders = bins.centers.tolist(), bins.borders.tolist()
        if bins.lower_tail is not None:
            y = torch.where(y < borders[1], centers[0], y)
        if bins.upper_tail is not None:
            y = torch.where(y >= borders[-2], centers[-1], y)
    if out_of_range == "truncate":
        return y
    return y.to(float64_on(y.device)).clamp(bins.low, bins.high)
