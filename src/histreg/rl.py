r"""Value learning: critics that predict returns as histograms.

A critic is a `HistogramHead` with one target per action, or one in all. There are two
ways to learn from a transition:

- **a scalar target**: ``y = bootstrapped(rewards, values, discounts)`` and
  ``HistogramLoss(bins)(logits, y)``. With ``target="gaussian"`` this is HL-Gauss as in
  "Stop Regressing" (Farebrother et al., 2024), with ``target="projected"`` two-hot.
- **a distribution**: ``target_probs = backup(next_values, rewards, discounts)`` and
  ``losses.histogram_loss(logits, target_probs)``: C51 (Bellemare et al., 2017).

``discounts`` holds one number per transition: gamma, 0 where the episode **terminated**
(the next state has no value), and gamma where it was merely **truncated** (the next
state has a value, but was not seen). `n_step` computes both for several steps.

No function broadcasts, and no target carries a gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from histreg import targets
from histreg._checks import (
    check_bool,
    check_count,
    check_finite,
    check_positive,
    check_shape,
    check_tensor,
)
from histreg._tensors import float64_on, is_free_to_read
from histreg.bins import Bins, check_bins
from histreg.distribution import Histogram
from histreg.errors import InputError
from histreg.heads import HistogramHead
from histreg.losses import HistogramLoss

__all__ = [
    "Steps",
    "backup",
    "bootstrapped",
    "grow",
    "minimum",
    "n_step",
    "soft_update",
    "symexp",
    "symexp_bins",
    "symlog",
    "taken",
]


def bootstrapped(rewards: Tensor, values: Tensor, discounts: Tensor) -> Tensor:
    r"""Return scalar targets, :math:`y = r + \gamma v`, for `HistogramLoss`.

    Parameters
    ----------
    rewards, values, discounts : Tensors of shape (...)
        All of the same shape: ``(n, 1)`` against ``(n,)`` raises an error instead of
        giving n x n targets. A value whose discount is 0 is not used, so it may be NaN
        or infinite.

    Returns
    -------
    Tensor of shape (...)
        In the dtype of the values, float32 for half precision and torch's default for
        integers, without a gradient.

    Examples
    --------
    >>> ended = torch.tensor([False, True])
    >>> bootstrapped(torch.ones(2), torch.tensor([5.0, 7.0]), 0.9 * ~ended)
    tensor([5.5000, 1.0000])
    """
    check_tensor("values", values)
    _check_transitions(rewards, discounts, values.shape, "like the values")
    values = values.to(_float_dtype(values))
    rewards, discounts = rewards.to(values), discounts.to(values)
    later = (discounts * values).masked_fill(discounts == 0, 0)
    return (rewards + later).detach()


class Steps(NamedTuple):
    """Several steps as one: the result of `n_step`."""

    rewards: Tensor
    """(...), the discounted sum of the rewards."""
    discounts: Tensor
    """(...), of the value of the state after the last step; 0 if it terminated."""
    last: Tensor
    """(...), int64, the index of that step: its next state is the one to evaluate."""


def n_step(
    rewards: Tensor,
    discounts: Tensor,
    *,
    terminated: Tensor,
    truncated: Tensor | None = None,
) -> Steps:
    r"""Return n consecutive steps as one transition.

    .. math:: r = \sum_{j \le l} \Big(\prod_{i < j} \gamma_i\Big) r_j, \quad
              \gamma = \prod_{i \le l} \gamma_i

    with l = ``last``, the first step that terminated or was truncated, or the n-th.
    Later rewards belong to another episode and are not counted.

    Parameters
    ----------
    rewards : Tensor of shape (..., n)
    discounts : Tensor of shape (..., n)
        Gamma of each step: ``torch.full_like(rewards, 0.99)`` if all are the same.
    terminated : bool Tensor of shape (..., n)
        Whether the step ended the episode: there is no value after it.
    truncated : bool Tensor of shape (..., n), optional
        Whether the episode was cut off after the step: the value of its next state
        counts (in Gymnasium's vector environments that is ``final_obs``).

    Returns
    -------
    Steps
        ``rewards``, ``discounts`` and ``last``, each of shape (...); the first two in
        the dtype of the rewards, float32 for half precision and torch's default for
        integers.

    Examples
    --------
    >>> ended = torch.tensor([False, True, False])
    >>> n_step(torch.ones(3), torch.full((3,), 0.5), terminated=ended)
    Steps(rewards=tensor(1.5000), discounts=tensor(0.), last=tensor(1))
    """
    check_tensor("rewards", rewards)
    if rewards.dim() == 0 or rewards.shape[-1] == 0:
        raise InputError(
            "rewards must have at least one step in the last dimension, got shape "
            f"{tuple(rewards.shape)}"
        )
    _check_transitions(rewards, discounts, rewards.shape, "like the rewards")
    check_tensor("terminated", terminated)
    truncated = torch.zeros_like(terminated) if truncated is None else truncated
    for name, ended in {"terminated": terminated, "truncated": truncated}.items():
        check_shape(name, ended, rewards.shape, because="like the rewards")
        check_bool(name, ended)
    ended = (terminated | truncated).to(torch.int64)
    counts = ended.cumsum(dim=-1) - ended == 0  # (..., n), no end before the step
    last = counts.sum(dim=-1) - 1  # (...)
    wide = float64_on(rewards.device)
    after = discounts.to(wide).cumprod(dim=-1)  # (..., n), product up to each step
    before = torch.cat([torch.ones_like(after[..., :1]), after[..., :-1]], dim=-1)
    total = (before * rewards.to(wide)).where(counts, 0).sum(dim=-1)
    at_last = last.unsqueeze(-1)
    discount = after.gather(-1, at_last).squeeze(-1)
    discount = discount.where(~terminated.gather(-1, at_last).squeeze(-1), 0)
    dtype = _float_dtype(rewards)
    return Steps(total.to(dtype), discount.to(dtype), last)


def backup(
    next_values: Histogram,
    rewards: Tensor,
    discounts: Tensor,
    *,
    bins: Bins | None = None,
    target: str = "projected",
    sigma_in_bins: float | None = None,
    sigma: float | None = None,
    keeps_mean: bool | None = None,
) -> Tensor:
    r"""Return the distributional Bellman backup: the histogram of r + gamma Z.

    The mass of each center c of Z moves to :math:`r + \gamma c` and becomes a target
    over the bins there, as that of a plain y does:

    .. math:: p = \sum_j h_j \; \text{target}(r + \gamma c_j)

    Parameters
    ----------
    next_values : Histogram of batch shape (...)
        Z, the predicted returns of the next states. Mix or choose several critics
        first (`Histogram.mixture`, `minimum`).
    rewards, discounts : Tensors of shape (...)
        See the module. Where the discount is 0 the result is the target of the reward,
        even if the prediction for the next state is NaN.
    bins : Bins, optional
        Those of the result, of any number and widths; the bins of ``next_values`` if
        not given.
    target : {"projected", "gaussian", "one_bin"}
        ``"projected"`` splits each mass between the two nearest centers (C51) and keeps
        the mean. ``"gaussian"`` smooths it as HL-Gauss does. Smoothing adds up: where
        each backup adds a variance of sigma², what is learnt has up to
        sigma² / (1 - gamma²), seven sigmas at gamma = 0.99.
    sigma_in_bins, sigma, keeps_mean
        For ``"gaussian"``, as in `HistogramLoss`.

    Returns
    -------
    Tensor of shape (..., k)
        Target probabilities for `losses.histogram_loss`, without a gradient.

    Notes
    -----
    Mass beyond the ends is moved to the end bins, and the mean with it; see `grow`. The
    mean is kept otherwise: by ``"projected"`` up to rounding between the first and the
    last center, by ``"gaussian"`` on even bins up to the mass of the Gaussian beyond
    them, and up to rounding with ``keeps_mean=True`` (the default on uneven bins).

    Examples
    --------
    >>> z = Histogram(Bins.uniform(-0.5, 3.5, 4), probs=torch.tensor([0, 0.5, 0.5, 0]))
    >>> backup(z, torch.tensor(1.0), torch.tensor(0.5))
    tensor([0.0000, 0.2500, 0.7500, 0.0000])
    """
    if not isinstance(next_values, Histogram):
        raise TypeError(
            "next_values must be a Histogram (Histogram(bins, logits=...) makes one), "
            f"got {type(next_values).__name__}"
        )
    bins = next_values.bins if bins is None else bins
    check_bins(bins)
    shape = next_values.batch_shape
    _check_transitions(rewards, discounts, shape, "like the batch of next_values")
    kind = targets.target_of(
        target, sigma=sigma, sigma_in_bins=sigma_in_bins, keeps_mean=keeps_mean
    )
    with torch.no_grad():
        probs = next_values.probs  # (..., j), j bins of Z
        wide = float64_on(probs.device)
        rewards, discounts = (
            part.to(probs.device, wide) for part in (rewards, discounts)
        )
        centers = next_values.bins.centers.to(probs.device, wide)
        # Where the discount is 0 all centers meet at the reward: one has all the mass.
        is_over = (discounts == 0).unsqueeze(-1)
        probs = probs.where(~is_over, torch.eye(1, len(centers))[0].to(probs))
        y = rewards.unsqueeze(-1) + discounts.unsqueeze(-1) * centers  # (..., j)
        y = y.clamp(bins.low, bins.high)
        windows = kind.windows(bins, probs.dtype, probs.device)
        if windows is None:
            dense = kind.probs(y, bins).to(probs.dtype)  # (..., j, k)
            return (probs.unsqueeze(-2) @ dense).squeeze(-2)
        indices, parts = windows(y)  # (..., j, m): bins that each center reaches
        mass = parts.clamp(min=0) * probs.unsqueeze(-1)
        result = mass.new_zeros(*shape, bins.n_bins)
        return result.scatter_add(-1, indices.flatten(-2), mass.flatten(-2))


def minimum(histograms: Sequence[Histogram]) -> Histogram:
    """Return, for each sample, the histogram with the smallest mean of several critics.

    The clipped target of double critics (TD3, SAC) for distributions. The average
    distribution is `Histogram.mixture`; both take critics on the same bins.

    Parameters
    ----------
    histograms : sequence of Histogram, with equal bins and batch shapes
        Of equal means the first is taken.

    Returns
    -------
    Histogram
        Of the same batch shape.

    Examples
    --------
    >>> bins = Bins([0.0, 1.0, 2.0])
    >>> first, second = torch.eye(2)[[0, 1]], torch.eye(2)[[1, 1]]
    >>> minimum([Histogram(bins, probs=probs) for probs in (first, second)]).mean
    tensor([0.5000, 1.5000])
    """
    first = Histogram.mixture(histograms)  # checks that they belong together
    means = torch.stack([h.mean for h in histograms])  # (m, ...)
    probs = torch.stack([h.probs for h in histograms])  # (m, ..., k)
    index = means.argmin(dim=0)[None, ..., None].expand_as(probs[:1])
    chosen = probs.gather(0, index).squeeze(0)
    return Histogram(first.bins, probs=chosen, validate_args=False)


def taken(logits: Tensor, actions: Tensor) -> Tensor:
    """Return the logits of the actions that were taken: (..., a, k), (...) -> (..., k).

    Parameters
    ----------
    logits : Tensor of shape (..., a, k)
        Those of a head with one target per action.
    actions : Tensor of shape (...)
        Integers of any size, from 0 to a - 1.

    Examples
    --------
    >>> logits = torch.arange(12.0).view(2, 3, 2)
    >>> taken(logits, torch.tensor([0, 2]))
    tensor([[ 0.,  1.],
            [10., 11.]])
    """
    check_tensor("logits", logits)
    if logits.dim() < 2:
        raise InputError(
            "logits must have shape (..., a, k), actions and bins last, got shape "
            f"{tuple(logits.shape)}"
        )
    check_shape("actions", actions, logits.shape[:-2], because="for these logits")
    if actions.dtype == torch.bool or actions.is_floating_point():
        raise TypeError(
            f"actions must hold integers, got {actions.dtype}; use actions.long()"
        )
    index = actions.long()[..., None, None].expand(*actions.shape, 1, logits.shape[-1])
    return logits.gather(-2, index).squeeze(-2)


def grow(
    y: Tensor,
    heads: Sequence[HistogramHead],
    criteria: Iterable[HistogramLoss] = (),
    *,
    features: Sequence[Tensor] | None = None,
    padding_in_bins: float = 6.0,
) -> bool:
    """Move all heads and losses to bins that reach around y; see `Bins.grown`.

    For returns whose range is not known. The heads of the network that learns, of its
    target network and of all critics of an ensemble move together. Otherwise their
    logits stand for different y: `soft_update` would average unrelated bins.

    Parameters
    ----------
    y : Tensor of shape (...)
        Scalar targets of the next step, or ``rewards + discounts * value`` for the
        largest and smallest value that a distributional backup should keep.
    heads : sequence of HistogramHead
        With the same bins.
    criteria : iterable of HistogramLoss
        Losses that take the logits of these heads.
    features : sequence of Tensors of shape (..., d), optional
        For each head the features of some states, to which its predictions are fitted
        after growth; see `HistogramHead.rebin`.
    padding_in_bins : float
        Room to keep beyond y on each side, in bins. Bins reach much further than y if
        it is a large part of them.

    Returns
    -------
    bool
        Whether the bins have changed.

    Notes
    -----
    Parameters stay the same tensors, so an optimiser continues. Its averages of past
    gradients (Adam's two moments, momentum) stay where they were, and belong to bins
    that now lie elsewhere until they have decayed. To forget them, clear
    ``optimizer.state[p]`` of the parameters of the heads.

    Examples
    --------
    >>> online, target = (HistogramHead(8, Bins.uniform(0, 1, 51)) for _ in range(2))
    >>> loss = HistogramLoss(online.bins)
    >>> grow(torch.tensor([0.5, 30.0]), [online, target], [loss])
    True
    >>> online.bins == target.bins == loss.bins
    True
    """
    heads = list(heads)
    if not heads:
        raise InputError("heads must hold at least one HistogramHead, got none")
    if features is not None and len(features) != len(heads):
        raise InputError(
            "features must hold one Tensor for each of the "
            f"{len(heads)} heads, got {len(features)}"
        )
    bins = heads[0].bins
    if not isinstance(bins, Bins):
        raise InputError(
            f"grow needs heads with a single Bins, got {len(bins)} Bins in one head"
        )
    criteria = list(criteria)
    for other in (*heads, *criteria):
        if other.bins != bins:
            raise InputError(
                f"heads and criteria must have the same bins, got {bins} and "
                f"{other.bins}"
            )
    if any(head.linear.bias is None for head in heads):  # before one of them moves
        raise InputError("grow needs heads with bias=True, got one without")
    new = bins.grown(y, padding_in_bins=padding_in_bins)
    if new == bins:
        return False
    for i, head in enumerate(heads):
        head.rebin(new, None if features is None else features[i])
    for criterion in criteria:
        criterion.rebin(new)
    return True


@torch.no_grad()
def soft_update(target: nn.Module, source: nn.Module, rate: float) -> None:
    """Move the parameters of a target network towards those of its source.

    ``target = (1 - rate) * target + rate * source``; buffers are copied. An error,
    before anything moves, if the bins of two heads differ (their logits stand for
    different y), or the shapes of two parameters or buffers.

    Parameters
    ----------
    target, source : nn.Module
        Of the same structure.
    rate : float in [0, 1]

    Examples
    --------
    >>> online, target = (HistogramHead(8, Bins.uniform(0, 1, 51)) for _ in range(2))
    >>> soft_update(target, online, 0.005)
    """
    if not 0 <= rate <= 1:
        raise InputError(f"rate must lie in [0, 1], got {rate=}")
    nets = target, source
    tensors = [[*net.parameters(), *net.buffers()] for net in nets]
    shapes = [[tuple(part.shape) for part in parts] for parts in tensors]
    if shapes[0] != shapes[1]:
        raise InputError(
            "target and source must have parameters and buffers of the same shapes, "
            f"got {shapes[0]} and {shapes[1]}"
        )
    heads = ([m for m in net.modules() if isinstance(m, HistogramHead)] for net in nets)
    for one, other in zip(*heads, strict=True):
        if one.bins != other.bins:
            raise InputError(
                "target and source must have the same bins (rl.grow moves both), got "
                f"{one.bins} and {other.bins}"
            )
    for parameter, new in zip(target.parameters(), source.parameters(), strict=True):
        parameter.lerp_(new, rate)
    for buffer, value in zip(target.buffers(), source.buffers(), strict=True):
        buffer.copy_(value)


def symlog(y: Tensor) -> Tensor:
    """Return sign(y) log(1 + abs(y)): (...) -> (...)."""
    return y.sign() * y.abs().log1p()


def symexp(t: Tensor) -> Tensor:
    """Return sign(t) (exp(abs(t)) - 1), the inverse of `symlog`: (...) -> (...)."""
    return t.sign() * t.abs().expm1()


def symexp_bins(n_bins: int = 255, *, limit: float = 20.0) -> Bins:
    """Return bins that are even in symlog(y), as in DreamerV3: returns of any size.

    With ``HistogramLoss(bins, target="projected")`` this is symexp two-hot. Targets are
    split, and the mean is taken, in units of y. So the mean of 0 and 100 with equal
    mass is 50; ``symexp`` of the mean of ``symlog`` would be 9.05.

    Parameters
    ----------
    n_bins : int
        An odd number has one bin around zero.
    limit : float
        The bins reach from ``symexp(-limit)`` to ``symexp(limit)``: to 4.9e8 on each
        side by default, with widths from 0.16 around zero to a seventh of y far away.

    Examples
    --------
    >>> bins = symexp_bins()
    >>> two_hot = HistogramLoss(bins, target="projected")
    >>> y = torch.tensor([-3.0, 250.0])
    >>> Histogram(bins, probs=targets.projected(y, bins)).mean
    tensor([ -3., 250.])
    """
    check_count("n_bins", n_bins, at_least=2)
    check_positive("limit", limit)
    if limit > 700:
        raise InputError(
            f"limit must be at most 700, where exp overflows, got {limit=}"
        )
    steps = torch.arange(-n_bins, n_bins + 1, 2, dtype=torch.float64)
    return Bins(symexp(steps * (limit / n_bins)))  # symmetric to the last digit


def _float_dtype(tensor: Tensor) -> torch.dtype:
    """Return the dtype of returns: float32 for half precision, a default for integers.

    float16 ends at 65,504 and resolves a return of 1,000 to 0.5.
    """
    if not tensor.is_floating_point():
        return torch.get_default_dtype()
    return torch.promote_types(tensor.dtype, torch.float32)


def _check_transitions(
    rewards: Tensor, discounts: Tensor, shape: Sequence[int], because: str
) -> None:
    check_shape("rewards", rewards, shape, because=because)
    check_shape("discounts", discounts, shape, because=because)
    check_finite("rewards", rewards)
    check_finite("discounts", discounts)
    if is_free_to_read(discounts) and not bool((discounts >= 0).all()):
        raise InputError(
            "discounts must not be negative, got a minimum of "
            f"{discounts.min().item():g}"
        )
