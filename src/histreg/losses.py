"""Losses: one number per sample, in log space, never broadcasting.

The functions return a loss per sample, ``(...)``; the mean belongs to the training
loop, or to `HistogramLoss`, the module that turns ``(logits, y)`` into one number. A
loss has the dtype of the network's outputs, float32 for half precision.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from histreg._checks import (
    check_bool,
    check_choice,
    check_finite,
    check_positive,
    check_shape,
    check_tensor,
    check_weight,
)
from histreg._compiled import CompiledGaussian, compiled_gaussian
from histreg._cross_entropy import (
    cross_entropy,
    cross_entropy_with_gradient,
    evaluated_cross_entropy,
    reduced,
    window_cross_entropy,
    window_cross_entropy_with_gradient,
)
from histreg._tensors import as_float64, at_least_float32, float64_on, is_free_to_read
from histreg._windows import TabulatedWindows
from histreg.bins import Bins, checked_bins, replacing_bins, restored_bins
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.targets import (
    GaussianTarget,
    Target,
    TargetFunction,
    Windows,
    clip_to_bins,
    target_of,
)

__all__ = [
    "HistogramLoss",
    "brier",
    "crps",
    "histogram_loss",
    "interval_loss",
    "l1",
    "l2",
    "mdn",
    "mdn_mean",
    "softmax_mean_l1",
    "softmax_mean_l2",
    "softmax_per_bin_l2",
    "survival_loss",
]

REDUCTIONS = ("mean", "sum", "none")
MOST_TABULATED = 2**21  # entries of 12 bytes; windows have 24 at sigma = 2 bins


def histogram_loss(logits: Tensor, target_probs: Tensor) -> Tensor:
    r"""Return the cross-entropy of each sample, the histogram loss (Section 2.1).

    .. math:: HL(p, h) = -\sum_i p_i \log h_i, \quad h = \text{softmax}(\text{logits})

    Its minimum over h is the entropy of p, at h = p, and its gradient in the logits
    is h - p (for p that sums to one).

    Parameters
    ----------
    logits : Tensor of shape (..., k)
        Half precision is evaluated in float32.
    target_probs : Tensor of shape (..., k)

    Returns
    -------
    Tensor of shape (...)

    Examples
    --------
    >>> histogram_loss(torch.zeros(2), torch.tensor([0.25, 0.75]))
    tensor(0.6931)
    """
    check_shape("target_probs", target_probs, logits.shape, because="like the logits")
    return cross_entropy(logits, target_probs)


def survival_loss(logits: Tensor, y: Tensor, bins: Bins) -> Tensor:
    r"""Return minus the log-probability that each target exceeds y.

    .. math:: -\log P(Y > y) = -\log \sum_i a_i h_i

    with h the softmax of the logits and :math:`a_i` the share of bin i that lies above
    y. It is the loss of a target that is censored: known only to be greater than y.

    Parameters
    ----------
    logits : Tensor of shape (..., k)
        Half precision is evaluated in float32.
    y : Tensor of shape (...)
        Lower bounds. A bound within the last bin or above it is moved to the lower
        border of that bin, so that the loss is finite for every finite y and logits.
        Below the bins the loss is 0.
    bins : Bins

    Returns
    -------
    Tensor of shape (...)

    Examples
    --------
    >>> logits = torch.tensor([0.25, 0.25, 0.5]).log()
    >>> survival_loss(logits, torch.tensor(1.5), Bins([0.0, 1.0, 2.0, 3.0])).exp()
    tensor(1.6000)
    """
    endless = torch.full(
        y.shape, torch.inf, dtype=float64_on(y.device), device=y.device
    )
    return interval_loss(logits, y, endless, bins)


def interval_loss(logits: Tensor, lower: Tensor, upper: Tensor, bins: Bins) -> Tensor:
    r"""Return minus the log-probability that each target lies in an interval.

    .. math:: -\log P(l < Y \le u) = -\log \sum_i a_i h_i

    with h the softmax of the logits and :math:`a_i` the share of bin i within the
    interval. It is the loss of a target that is censored: on the right if u is
    infinite, on the left if l is, and otherwise in an interval.

    Parameters
    ----------
    logits : Tensor of shape (..., k)
        Half precision is evaluated in float32.
    lower, upper : Tensors of shape (...)
        The ends, of which lower may be -inf and upper inf; lower below upper. An
        interval that begins within the last bin or above it begins at the lower border
        of that bin, and one that ends in the first bin or below it ends at its upper
        border, so that the loss is finite. An interval of all bins has the loss 0.
    bins : Bins

    Returns
    -------
    Tensor of shape (...)

    Examples
    --------
    >>> logits = torch.tensor([0.25, 0.25, 0.5]).log()
    >>> bins = Bins([0.0, 1.0, 2.0, 3.0])
    >>> interval_loss(logits, torch.tensor(0.5), torch.tensor(2.0), bins).exp()
    tensor(2.6667)
    """
    _check_logits_and_y(logits, lower, bins)
    check_shape("upper", upper, lower.shape, because="like lower")
    if is_free_to_read(lower) and not bool((lower < upper).all()):
        raise InputError("lower must be below upper, got an interval where it is not")
    logits = at_least_float32(logits)
    share = _share_within(lower, upper, bins)  # (..., k)
    # A share of 0 is masked, so that neither its logarithm nor its gradient is taken.
    log_share = share.where(share != 0, 1).log().masked_fill(share == 0, -torch.inf)
    inside = logits + log_share.to(logits.dtype)
    return logits.logsumexp(dim=-1) - inside.logsumexp(dim=-1)


def l2(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the squared error of each sample: (...), (...) -> (...)."""
    check_shape("y", y, prediction.shape, because="like the prediction")
    return (prediction - y) ** 2


def l1(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the absolute error of each sample: (...), (...) -> (...)."""
    check_shape("y", y, prediction.shape, because="like the prediction")
    return (prediction - y).abs()


def softmax_mean_l2(logits: Tensor, y: Tensor, bins: Bins) -> Tensor:
    """Return the squared error of the histogram's mean: the paper's l2+Softmax+Mean.

    Parameters
    ----------
    logits : Tensor of shape (..., k)
    y : Tensor of shape (...)
    bins : Bins

    Returns
    -------
    Tensor of shape (...)
    """
    _check_logits_and_y(logits, y, bins)
    return _mean_error(logits, y, bins) ** 2


def softmax_mean_l1(logits: Tensor, y: Tensor, bins: Bins) -> Tensor:
    """Return the absolute error of the histogram's mean, the paper's suggestion.

    Parameters
    ----------
    logits : Tensor of shape (..., k)
    y : Tensor of shape (...)
    bins : Bins

    Returns
    -------
    Tensor of shape (...)
    """
    _check_logits_and_y(logits, y, bins)
    return _mean_error(logits, y, bins).abs()


def softmax_per_bin_l2(logits: Tensor, y: Tensor, bins: Bins) -> Tensor:
    r"""Return the paper's l2+Softmax as its formula literally reads.

    .. math:: \sum_i (h_i c_i - y)^2

    Kept for the record: its minimiser has the wrong mean (with centers on
    [-0.125, 1.125], y = 0.1 gives 0.94), and it changes when y is shifted. The loss on
    the mean, `softmax_mean_l2`, is what the paper's conclusion describes.

    Parameters
    ----------
    logits : Tensor of shape (..., k)
    y : Tensor of shape (...)
    bins : Bins

    Returns
    -------
    Tensor of shape (...)
    """
    _check_logits_and_y(logits, y, bins)
    probs = at_least_float32(logits).softmax(dim=-1)  # (..., k)
    centers = bins.centers.to(probs.device, probs.dtype)
    y = y.to(probs.dtype).unsqueeze(-1)  # (..., 1)
    return ((probs * centers - y) ** 2).sum(dim=-1)


def brier(logits: Tensor, target_probs: Tensor) -> Tensor:
    r"""Return the squared distance of the probabilities, :math:`\sum_i (h_i - p_i)^2`.

    Parameters
    ----------
    logits : Tensor of shape (..., k)
    target_probs : Tensor of shape (..., k)

    Returns
    -------
    Tensor of shape (...)
    """
    check_shape("target_probs", target_probs, logits.shape, because="like the logits")
    probs = at_least_float32(logits).softmax(dim=-1)  # (..., k)
    return ((probs - target_probs.to(probs.dtype)) ** 2).sum(dim=-1)


def crps(logits: Tensor, y: Tensor, bins: Bins) -> Tensor:
    """Return the continuous ranked probability score of the histogram, to train with.

    Parameters
    ----------
    logits : Tensor of shape (..., k)
    y : Tensor of shape (...)
        Outside the bins each unit of distance adds one.
    bins : Bins

    Returns
    -------
    Tensor of shape (...)
        In units of y; see `Histogram.crps`.
    """
    _check_logits_and_y(logits, y, bins)
    return Histogram(bins, logits=logits).crps(y)


def mdn(parameters: Tensor, y: Tensor, *, smallest_sigma: float = 1e-2) -> Tensor:
    """Return the negative log-likelihood of a mixture of Gaussians: the paper's MDN.

    Parameters
    ----------
    parameters : Tensor of shape (..., 3, m)
        For m components: logits of their weights, their means, and what becomes their
        standard deviations by ``softplus(.) + smallest_sigma``.
    y : Tensor of shape (...)
    smallest_sigma : float
        Keeps a component from collapsing onto one target. The paper's protocol has
        1e-2 for y scaled to [0, 1].

    Returns
    -------
    Tensor of shape (...)
    """
    check_positive("smallest_sigma", smallest_sigma)
    log_weights, means, spreads = _mixture_of(parameters)
    check_shape("y", y, parameters.shape[:-2], because="for these parameters")
    sigmas = F.softplus(spreads) + smallest_sigma
    z = (y.to(means.dtype).unsqueeze(-1) - means) / sigmas  # (..., m)
    log_densities = -(z**2) / 2 - sigmas.log() - math.log(2 * math.pi) / 2
    return -(log_weights + log_densities).logsumexp(dim=-1)


def mdn_mean(parameters: Tensor) -> Tensor:
    """Return the mean of the mixture of `mdn`: (..., 3, m) -> (...)."""
    log_weights, means, _ = _mixture_of(parameters)
    return (log_weights.exp() * means).sum(dim=-1)


class TargetLoss:
    """The histogram loss of plain y: the one path from y over a target to the loss.

    Windows are used where the target has any, and their tables are made once.

    Parameters
    ----------
    target : Target
    bins : Bins
    training_y : Tensor of shape (n,), optional
        Targets that the loss is called with many times. On the CPU, the windows of the
        distinct ones are computed once.
    max_entries : int
        Of the table of these windows; without a table if it would be larger.
    """

    def __init__(
        self,
        target: Target,
        bins: Bins,
        *,
        training_y: Tensor | None = None,
        max_entries: int = MOST_TABULATED,
    ) -> None:
        self.target = target
        self.bins = bins
        self._training_y = training_y
        self._max_entries = max_entries
        self._windows: dict[tuple[torch.dtype, torch.device], Windows | None] = {}

    def __call__(
        self,
        logits: Tensor,
        y: Tensor,
        *,
        reduction: str = "none",
        is_within: bool = False,
    ) -> Tensor:
        """Return the cross-entropy of the samples with their targets.

        Parameters
        ----------
        logits : Tensor of shape (..., k)
            Half precision is evaluated in float32.
        y : Tensor of shape (...), or of its last dimensions
            Networks that are trained as one share their y.
        reduction : {"none", "mean", "sum"}
        is_within : bool
            Whether all y are known to lie within the bins, which need no clipping then.

        Returns
        -------
        Tensor of shape (...), or () if reduced
        """
        compiled = self._compiled_for(logits, y) if is_within else None
        if compiled is not None:
            losses = evaluated_cross_entropy(
                self._plain, compiled, logits, y, reduction
            )
            if losses is not None:
                return losses
        if is_within and not self.bins.has_tails:
            y = y.to(float64_on(y.device))
        else:
            y = clip_to_bins(y, self.bins, self.target.out_of_range)
        logits = at_least_float32(logits)
        windows = self.windows(logits.dtype, y.device)
        if windows is not None:
            return window_cross_entropy(logits, windows(y), reduction)
        probs = self.target.probs(y, self.bins)
        shape = (*y.shape, self.bins.n_bins)
        check_shape("target_probs", probs, shape, because="for y and the bins")
        probs = probs.to(logits.dtype).expand_as(logits)
        return reduced(cross_entropy(logits, probs), reduction)

    def with_gradient(self, logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses of samples and their gradients in the logits.

        Parameters
        ----------
        logits : Tensor of shape (..., k), float32 or float64
        y : Tensor of shape (...), or of its last dimensions

        Returns
        -------
        losses : Tensor of shape (...)
        gradient : Tensor of shape (..., k)
            In memory of its own: softmax minus target.
        """
        y = clip_to_bins(y, self.bins, self.target.out_of_range)
        windows = self.windows(logits.dtype, y.device)
        if windows is not None:
            return window_cross_entropy_with_gradient(logits, windows(y))
        probs = self.target.probs(y, self.bins).to(logits.dtype).expand_as(logits)
        return cross_entropy_with_gradient(logits, probs)

    def _compiled_for(self, logits: Tensor, y: Tensor) -> CompiledGaussian | None:
        """Return the compiled loss if there is one that takes these samples."""
        may_be_compiled = (
            logits.dtype == torch.float32
            and logits.is_cpu
            and y.is_cpu
            and y.shape == logits.shape[:-1]
            and y.dtype.itemsize >= 4  # NumPy and Numba do not know all half precisions
        )
        return self._compiled if may_be_compiled else None

    @functools.cached_property
    def _compiled(self) -> CompiledGaussian | None:
        target = self.target
        if (
            not isinstance(target, GaussianTarget)
            or target.out_of_range == "truncate"
            or not self.bins.is_uniform
            or target.tilts(self.bins)
        ):
            return None
        return compiled_gaussian(self.bins, target.sigma_on(self.bins))

    def _plain(self, logits: Tensor, y: Tensor) -> Tensor:
        """Return the losses in PyTorch alone: (..., k), (...) -> (...)."""
        windows = self.windows(logits.dtype, y.device)
        assert windows is not None  # a Gaussian target
        return window_cross_entropy(logits, windows(y.to(float64_on(y.device))))

    def windows(self, dtype: torch.dtype, device: torch.device) -> Windows | None:
        """Return the windows of the target, made on first use."""
        key = dtype, device
        if key not in self._windows:
            windows = self.target.windows(self.bins, dtype, device)
            # None may be due to a compiler, which must not leave it behind.
            if windows is None or torch.compiler.is_compiling():
                return windows
            if self._training_y is not None:
                windows = self._tabulated(windows, self._training_y)
            self._windows[key] = windows
        return self._windows[key]

    def _tabulated(self, windows: Windows, y: Tensor) -> Windows:
        """Return windows that look up these y, or the same ones if y are too many."""
        if y.device.type != "cpu":  # whether y is in the table would stall a GPU
            return windows
        distinct = clip_to_bins(y, self.bins, self.target.out_of_range).unique()
        n_entries = len(distinct) * windows(distinct[:1]).indices.shape[-1]
        is_worth_it = 0 < n_entries <= self._max_entries
        return TabulatedWindows(windows, distinct) if is_worth_it else windows


class HistogramLoss(nn.Module):
    """The histogram loss between logits and plain numbers: HL-Gauss and its kin.

    Replaces ``nn.MSELoss`` once the last layer has one output per bin. The target
    vectors are made on the fly from y, only over the bins within reach.

    Parameters
    ----------
    bins : Bins, or a sequence of Bins
        With a sequence, one for each of m targets: logits (..., m, k), y (..., m).
    target : {"gaussian", "one_bin", "uniform", "projected"} or callable
        How y becomes a probability vector, see `histreg.targets`; a callable takes
        ``(y, bins)``, y in float64 and clipped if it was to be, and returns
        ``(..., k)``.
    sigma_in_bins : float, default 2.0
        For ``"gaussian"``: its standard deviation in bins. On bins of unequal width
        the Gaussian is over bin coordinates, so it is wide in y where the bins are.
    sigma : float, or a sequence of one per target, optional
        The same in units of y, in place of ``sigma_in_bins``.
    keeps_mean : bool, optional
        Whether each target is tilted to have the mean y (see `targets.with_mean`). By
        default only ``"gaussian"`` on bins of unequal width is, where its mean would
        be far from y. Not for ``"one_bin"``, which cannot be tilted, nor for
        ``"projected"``, which has the mean y already.
    epsilon : float, optional
        For ``"uniform"``: the weight of the uniform part.
    out_of_range : {"clip", "truncate", "error"}
        What happens to a y outside the bins, see `histreg.targets`. Clipped targets
        are counted in ``n_clipped`` and reported by one warning (both only on the CPU
        and outside ``torch.compile``, where reading y costs nothing).
    reduction : {"mean", "sum", "none"}
        ``"mean"`` is the weighted mean if weights are given.

    Notes
    -----
    The loss is finite for every finite y and finite logits. A NaN y is refused where
    reading it costs nothing, and otherwise gives a NaN loss. Bins and sigma are part of
    the ``state_dict`` (as one float64 tensor) but are no parameter or buffer, so that
    ``.half()`` does not round them.

    Examples
    --------
    >>> loss = HistogramLoss(Bins.around(0.0, 100.0))
    >>> logits = torch.zeros(8, 100, requires_grad=True)
    >>> loss(logits, torch.linspace(0.0, 100.0, 8))
    tensor(4.6052, grad_fn=<_WithGradientBackward>)
    """

    def __init__(
        self,
        bins: Bins | Sequence[Bins],
        target: str | TargetFunction = "gaussian",
        *,
        sigma_in_bins: float | None = None,
        sigma: float | Sequence[float] | None = None,
        keeps_mean: bool | None = None,
        epsilon: float | None = None,
        out_of_range: str = "clip",
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        check_choice("reduction", reduction, REDUCTIONS)
        self._bins = checked_bins(bins)
        self.target = target
        self.keeps_mean = keeps_mean
        self.epsilon = epsilon
        self.out_of_range = out_of_range
        self.reduction = reduction
        self.n_clipped = 0
        self._device = torch.device("cpu")
        self._targets = [
            target_of(
                target,
                sigma=value,
                sigma_in_bins=sigma_in_bins,
                keeps_mean=keeps_mean,
                epsilon=epsilon,
                out_of_range=out_of_range,
            )
            for value in self._one_per_target(sigma)
        ]
        self._prepare()

    @property
    def bins(self) -> Bins | tuple[Bins, ...]:
        """The bins, one or one per target."""
        return self._bins

    @property
    def sigma(self) -> float | list[float]:
        """Standard deviation of Gaussian targets in units of y (one per target).

        An error if it was given in bins and these differ in width.
        """
        sigmas = [
            target.sigma_on(bins) if isinstance(target, GaussianTarget) else math.nan
            for target, bins in zip(self._targets, self._bins_tuple, strict=True)
        ]
        return sigmas[0] if isinstance(self.bins, Bins) else sigmas

    @property
    def _bins_tuple(self) -> tuple[Bins, ...]:
        return (self._bins,) if isinstance(self._bins, Bins) else self._bins

    def forward(
        self,
        logits: Tensor,
        y: Tensor,
        weight: Tensor | None = None,
        censored: Tensor | None = None,
        upper: Tensor | None = None,
    ) -> Tensor:
        """Return the loss.

        Parameters
        ----------
        logits : Tensor of shape (..., k), or (..., m, k) for m targets
            Not probabilities: the softmax is taken here.
        y : Tensor of shape (...), or (..., m)
            Exactly the leading shape of the logits: nothing is broadcast.
        weight : Tensor of the shape of y, optional
            Sample weights, not negative and not all zero.
        censored : bool Tensor of the shape of y, optional
            Where True, the target is known only to be greater than y, and its loss is
            minus the log-probability of that, see `survival_loss`.
        upper : Tensor of the shape of y, optional
            Where it is greater than y, the target is known only to lie in (y, upper],
            and its loss is that of `interval_loss`; y may be -inf and upper inf. Where
            it equals y, or is NaN, the target is y. Not together with ``censored``.

        Returns
        -------
        Tensor of shape (), or that of y if ``reduction="none"``
        """
        check_tensor("logits", logits)
        n_bins = self._bins_tuple[0].n_bins
        if logits.dim() == 0 or logits.shape[-1] != n_bins:
            raise InputError(
                f"logits must have {n_bins} entries in the last dimension, one per "
                f"bin, got shape {tuple(logits.shape)}"
            )
        check_shape("y", y, logits.shape[:-1], because="for these logits")
        if weight is not None:
            check_shape("weight", weight, y.shape, because="like y")
            check_weight("weight", weight)
        if censored is not None:
            check_shape("censored", censored, y.shape, because="like y")
            check_bool("censored", censored)
        if upper is not None:
            check_shape("upper", upper, y.shape, because="like y")
            if censored is not None:
                raise InputError("give censored or upper, got both")
        elif censored is not None:
            upper = torch.where(censored, torch.inf, y)
        if isinstance(self.bins, Bins):
            is_plain = weight is None and upper is None
            reduction = self.reduction if is_plain else "none"
            losses = self._losses(0, logits, y, upper, reduction)
            if is_plain:
                return losses
        else:
            if logits.dim() < 2 or logits.shape[-2] != len(self.bins):
                raise InputError(
                    f"logits must have shape (..., {len(self.bins)}, {n_bins}) for "
                    f"{len(self.bins)} targets, got shape {tuple(logits.shape)}"
                )
            parts = []
            for i in range(len(self.bins)):
                end = None if upper is None else upper[..., i]
                parts.append(self._losses(i, logits[..., i, :], y[..., i], end, "none"))
            losses = torch.stack(parts, dim=-1)
        if weight is not None:
            losses = losses * weight.to(losses.dtype)
        if weight is None or self.reduction != "mean":
            return reduced(losses, self.reduction)
        return losses.sum() / weight.to(losses.dtype).sum()

    def rebin(self, bins: Bins | Sequence[Bins]) -> None:
        """Take other bins, as many, in the form of those that are there.

        The smoothing stays as it was given: as many bins wide, or units of y.
        """
        new = replacing_bins(self._bins, bins)
        if new != self._bins:
            self._bins = new
            self._prepare()

    def _losses(
        self,
        i: int,
        logits: Tensor,
        y: Tensor,
        upper: Tensor | None,
        reduction: str,
    ) -> Tensor:
        """Return the loss for the i-th target, per sample if any are censored."""
        bins = self._bins_tuple[i]
        if upper is None:
            is_within = self._look_at(y, bins)
            return self._target_losses[i](
                logits, y, reduction=reduction, is_within=is_within
            )
        y = y if y.is_floating_point() else y.double()
        is_known = upper.isnan() | (upper == y)
        if is_free_to_read(y) and bool((upper < y).any()):
            raise InputError("upper must not be less than y, got one that is")
        # The other rows get values that are finite, and do not count.
        middle = y.new_full((), bins.low + (bins.high - bins.low) / 2)
        known = torch.where(y == -torch.inf, middle, y)
        is_within = self._look_at(known, bins)
        bound = interval_loss(
            logits,
            y.masked_fill(is_known, -torch.inf),
            upper.masked_fill(is_known, torch.inf),
            bins,
        )
        of_known = self._target_losses[i](
            logits, known, reduction=reduction, is_within=is_within
        )
        return torch.where(is_known, of_known, bound)

    def _look_at(self, y: Tensor, bins: Bins) -> bool:
        """Refuse y that is not finite and count y that will be clipped.

        Returns whether all y are known to lie within the bins.
        """
        if not is_free_to_read(y) or y.numel() == 0:
            return False
        if y.requires_grad:
            y = y.detach()
        if not y.is_floating_point():
            y = y.double()
        # One pass over y in the usual case; a NaN makes both extremes NaN.
        lowest, highest = torch.aminmax(y)
        smallest, largest = lowest.item(), highest.item()
        if bins.lowest <= smallest and largest <= bins.highest:
            return True
        check_finite("y", y)
        if self.out_of_range == "clip":
            n_outside = int(((y < bins.lowest) | (y > bins.highest)).sum())
            if n_outside and not self.n_clipped:
                warnings.warn(
                    f"{n_outside} of {y.numel()} targets lie outside the bins "
                    f"[{bins.lowest:g}, {bins.highest:g}] (from {smallest:g} to "
                    f"{largest:g}) and are clipped for the loss; build the bins "
                    "from all training targets; n_clipped keeps the count",
                    stacklevel=6,  # the line that calls the module
                )
            self.n_clipped += n_outside
        return False

    def _prepare(self) -> None:
        """Build the tables of the targets for the present bins and device."""
        self._target_losses = [
            TargetLoss(target, bins)
            for target, bins in zip(self._targets, self._bins_tuple, strict=True)
        ]
        for loss in self._target_losses:
            for dtype in {torch.float32, float64_on(self._device)}:
                loss.windows(dtype, self._device)

    def _one_per_target(
        self, sigma: float | Sequence[float] | None
    ) -> Sequence[float | None]:
        """Return one sigma for each Bins."""
        n_targets = len(self._bins_tuple)
        if sigma is None:
            return [None] * n_targets
        sigmas = as_float64(sigma).reshape(-1).tolist()
        sigmas = sigmas * n_targets if len(sigmas) == 1 else sigmas
        if len(sigmas) != n_targets:
            raise InputError(
                f"sigma must be one number, or one per target ({n_targets}), "
                f"got {sigma=}"
            )
        return sigmas

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        # Follow the module to a device, but not to a dtype.
        module = super()._apply(fn, recurse)
        device = fn(torch.empty(0, device=self._device)).device
        if device != self._device:
            self._device = device
            self._prepare()
        return module

    def get_extra_state(self) -> Tensor:  # (m, k + 7)
        """Return bins, sigma and its unit for each target, float64: the saved state.

        The unit is 1 for bins and 0 for that of y. Targets other than Gaussian have a
        sigma of NaN.
        """
        rows = []
        for target, bins in zip(self._targets, self._bins_tuple, strict=True):
            size, is_in_bins = math.nan, True
            if isinstance(target, GaussianTarget):
                size, is_in_bins = target.size, target.unit == "sigma_in_bins"
            rows.append(torch.cat([bins.state(), as_float64([size, is_in_bins])]))
        return torch.stack(rows)

    def set_extra_state(self, state: Tensor) -> None:
        """Take over saved bins and sigma."""
        state = as_float64(state)
        bins = restored_bins(self.bins, state[..., :-2])
        sigmas = state[:, -2].tolist()
        if (self.target == "gaussian") == any(math.isnan(size) for size in sigmas):
            raise InputError(
                "the saved state must be of the same kind of target, got sigma="
                f"{sigmas} for target={self.target!r}"
            )
        self._bins = bins
        if self.target == "gaussian":
            unit = "sigma_in_bins" if state[0, -1] else "sigma"
            other = "sigma" if state[0, -1] else "sigma_in_bins"
            self._targets = [
                replace(target, **{unit: size, other: None})
                for target, size in zip(self._targets, sigmas, strict=True)
            ]
        self._prepare()

    def extra_repr(self) -> str:
        """Return what print(loss) shows."""
        target = self.target if isinstance(self.target, str) else "callable"
        shown: dict[str, object] = {"bins": self.bins, "target": target}
        gaussians = [
            target for target in self._targets if isinstance(target, GaussianTarget)
        ]
        if gaussians:
            sizes = [target.size for target in gaussians]
            shown[gaussians[0].unit] = sizes[0] if len(sizes) == 1 else sizes
        if target == "uniform":
            shown["epsilon"] = self.epsilon
        shown |= {"out_of_range": self.out_of_range, "reduction": self.reduction}
        return ", ".join(f"{name}={value}" for name, value in shown.items())


def _check_logits_and_y(logits: Tensor, y: Tensor, bins: Bins) -> None:
    check_shape(
        "logits", logits, (*y.shape, bins.n_bins), because="for this y and these bins"
    )


def _share_within(lower: Tensor, upper: Tensor, bins: Bins) -> Tensor:
    """Return the share of each bin in (lower, upper]: (...), (...) -> (..., k).

    In float64, for the density of `Histogram`. End bins count by their tail if they
    have one; without one they stand for all that is beyond.
    """
    borders = bins.borders.to(lower.device, float64_on(lower.device))
    lower = lower.to(borders.dtype).unsqueeze(-1)
    upper = upper.to(borders.dtype).unsqueeze(-1)
    if bins.upper_tail is None:
        lower = lower.clamp(max=borders[-2])
    if bins.lower_tail is None:
        upper = upper.clamp(min=borders[1])
    above_lower = ((borders[1:] - lower) / borders.diff()).clamp(0, 1)  # (..., k)
    above_upper = ((borders[1:] - upper) / borders.diff()).clamp(0, 1)
    share = above_lower - above_upper
    smallest = torch.finfo(borders.dtype).tiny  # for a loss that stays finite
    if bins.lower_tail is not None:
        below = [
            bins.lower_tail.log_survival((borders[1] - y).clamp(min=0)).exp()
            for y in (lower, upper)
        ]
        share = torch.cat([below[1] - below[0], share[..., 1:]], dim=-1)
    if bins.upper_tail is not None:
        above = [
            bins.upper_tail.log_survival((y - borders[-2]).clamp(min=0)).exp()
            for y in (lower, upper)
        ]
        above[1] = above[1].masked_fill(upper == torch.inf, 0.0)
        last = (above[0] - above[1]).clamp(min=0)
        is_beyond = lower >= borders[-2]
        last = torch.where(is_beyond, last.clamp(min=smallest), last)
        share = torch.cat([share[..., :-1], last], dim=-1)
    # An interval narrower than rounding has no share of any bin: its bin gets a little.
    place = torch.searchsorted(borders[1:-1].contiguous(), upper.contiguous())
    own = torch.zeros_like(share).scatter(-1, place, smallest)
    nothing = share.sum(dim=-1, keepdim=True) <= 0
    return torch.where(nothing, own, share)


def _mean_error(logits: Tensor, y: Tensor, bins: Bins) -> Tensor:
    """Return mean - y, both relative to the middle of the bins."""
    probs = at_least_float32(logits).softmax(dim=-1)  # (..., k)
    # On even bins float32 is good to the 1e-7th part of the span; on others a narrow
    # bin may be less than that.
    dtype = probs.dtype if bins.is_uniform else float64_on(probs.device)
    middle = bins.low + (bins.high - bins.low) / 2
    centers = (bins.centers - middle).to(probs.device, dtype)
    y = (y.to(float64_on(y.device)) - middle).to(dtype)
    wide = probs.to(dtype)
    mean = (wide * centers).sum(dim=-1) / wide.sum(dim=-1)
    return (mean - y).to(probs.dtype)


def _mixture_of(parameters: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return log weights, means and raw spreads, each (..., m)."""
    check_tensor("parameters", parameters)
    if parameters.dim() < 2 or parameters.shape[-2] != 3:
        raise InputError(
            "parameters must have shape (..., 3, m): weights, means and spreads of m "
            f"components, got shape {tuple(parameters.shape)}"
        )
    weights, means, spreads = at_least_float32(parameters).unbind(dim=-2)
    return weights.log_softmax(dim=-1), means, spreads
