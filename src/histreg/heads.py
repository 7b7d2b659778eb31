"""Heads: features in, one prediction type out."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from histreg._checks import check_count
from histreg._tensors import as_float64, float64_on
from histreg.bins import Bins, checked_bins, replacing_bins, restored_bins
from histreg.distribution import Histogram
from histreg.errors import InputError

BEYOND = 0.005  # of the mass, beyond an old end when bins are exchanged
MOST_MOVED = 0.25  # what that may add to a mean, in widths of the bins with mass
BEYOND_UNSEEN = 0.01  # of the end bin's density, where the mass is not known
FITTING_STEPS = 30


class HistogramHead(nn.Module):
    """A linear layer with one output per bin, in place of ``nn.Linear(d, 1)``.

    Parameters
    ----------
    in_features : int
        d, the width of the features.
    bins : Bins, or a sequence of Bins
        A sequence gives several targets at once, each with its own bins (of equal
        number).
    n_targets : int, optional
        Several targets that share one Bins, for example the steps of a forecast.
    bias : bool
    zero_init : bool
        Start from a uniform density, so that the untrained head predicts the middle
        of the bins whatever the features.
    device, dtype
        As in ``nn.Linear``.

    Notes
    -----
    The bins are part of the ``state_dict``, as a float64 tensor.

    For a forecast of h steps, features (b, h, d) of each step give logits (b, h, k) by
    weights that the steps share; one vector (b, d) for the whole window gives logits of
    the same shape with ``n_targets=h``, by weights of each step's own. Either way y is
    (b, h).

    Examples
    --------
    >>> head = HistogramHead(16, Bins.uniform(0.0, 10.0, 50), zero_init=True)
    >>> features = torch.randn(8, 16)
    >>> head(features).shape, head.distribution(features).mean[0].item()
    (torch.Size([8, 50]), 5.0)
    """

    def __init__(
        self,
        in_features: int,
        bins: Bins | Sequence[Bins],
        *,
        n_targets: int | None = None,
        bias: bool = True,
        zero_init: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_count("in_features", in_features, at_least=1)
        self.bins = checked_bins(bins)
        if n_targets is not None:
            check_count("n_targets", n_targets, at_least=1)
            if not isinstance(self.bins, Bins):
                raise InputError(
                    "n_targets goes with one Bins that the targets share, got "
                    f"{n_targets=} and {len(self.bins)} Bins"
                )
        elif not isinstance(self.bins, Bins):
            n_targets = len(self.bins)
        self.n_targets = n_targets
        self.n_bins = self._each_bins[0].n_bins
        self.linear = nn.Linear(
            in_features, (n_targets or 1) * self.n_bins, bias, device, dtype
        )
        if zero_init:
            self._start_uniform()

    @property
    def _each_bins(self) -> tuple[Bins, ...]:
        return (self.bins,) if isinstance(self.bins, Bins) else self.bins

    def forward(self, features: Tensor) -> Tensor:
        """Return logits.

        Parameters
        ----------
        features : Tensor of shape (..., d)

        Returns
        -------
        Tensor of shape (..., k), or (..., m, k) for m targets
        """
        logits = self.linear(features)
        if self.n_targets is None:
            return logits
        return logits.unflatten(-1, (self.n_targets, self.n_bins))

    def distribution(self, features: Tensor) -> Histogram | tuple[Histogram, ...]:
        """Return the predicted distribution of each sample.

        Parameters
        ----------
        features : Tensor of shape (..., d)
            Not logits: of those, ``Histogram(head.bins, logits=logits)``.

        Returns
        -------
        Histogram
            Of batch shape (...), or (..., m) for m targets that share their bins.
        tuple of m Histograms
            Of batch shape (...) each, for targets with their own bins.
        """
        logits = self(features)
        if isinstance(self.bins, Bins):
            return Histogram(self.bins, logits=logits)
        return tuple(
            Histogram(bins, logits=logits[..., i, :])
            for i, bins in enumerate(self.bins)
        )

    @torch.no_grad()
    def rebin(
        self, bins: Bins | Sequence[Bins], features: Tensor | None = None
    ) -> None:
        """Move to other bins in place, as many, and predict what was predicted.

        The log density over y is linear in the features; each new bin takes its
        average over the old bins it covers. A Gaussian stays a Gaussian of the same
        mean that way, and weights stay weights, so that an optimiser goes on with
        them. Beyond the old ends the density is that of the end bin, less by a factor
        of 100, and where bins become wider, by the square of how much.

        With ``features`` of some samples, the weights are then fitted to what was
        predicted for these: to the differences of the CDF at the new borders, and
        0.5 % beyond each end that moves, or as much less as keeps a mean from moving
        by more than a quarter of the width of the bins in which the mass lies.

        Parameters
        ----------
        bins : Bins, or a sequence of Bins
            In the form and number of those that are there; the same ones change
            nothing. `Bins.grown` makes some that reach further. The loss has to
            follow: `HistogramLoss.rebin`.
        features : Tensor of shape (..., d), optional
            Of some samples, such as the next batch. Give them where densities are not
            smooth, or where bins grow more than once: end bins that y has not come to
            yet are nearly empty, a hundredth of that is less with each growth, and to
            learn it back takes long.

        Examples
        --------
        >>> head = HistogramHead(16, Bins.uniform(0.0, 10.0, 50))
        >>> head.rebin(head.bins.grown(torch.tensor([5.0, 35.0])))
        >>> head.bins
        Bins(n_bins=50, low=0, high=40, width=0.8)
        """
        new = replacing_bins(self.bins, bins)
        if new == self.bins:
            return
        each_new = (new,) if isinstance(new, Bins) else new
        if any(bins.has_tails for bins in (*self._each_bins, *each_new)):
            raise InputError(f"rebin needs bins without tails, got {self.bins}, {new}")
        if self.linear.bias is None:
            raise InputError(
                "rebin needs bias=True: a density beyond the old bins is no matter of "
                "the features"
            )
        if features is not None:
            features = features.detach().flatten(0, -2)
        n_sharing = (self.n_targets or 1) // len(each_new)
        weights = self.linear.weight.view(len(each_new), n_sharing, self.n_bins, -1)
        biases = self.linear.bias.view(len(each_new), n_sharing, self.n_bins)
        for i, (old, wanted) in enumerate(zip(self._each_bins, each_new, strict=True)):
            rebin_readout(weights[i].mT, biases[i], old, wanted, features)
        self.bins = new

    def _start_uniform(self) -> None:
        nn.init.zeros_(self.linear.weight)
        uneven = [bins for bins in self._each_bins if not bins.is_uniform]
        if self.linear.bias is None:
            if uneven:
                raise InputError(
                    "zero_init needs bias=True for bins of uneven widths: equal logits "
                    f"are no uniform density on {uneven[0]}"
                )
            return
        # Equal density: probability in proportion to the width.
        start = torch.stack(
            [(bins.widths / bins.widths.mean()).log() for bins in self._each_bins]
        )  # (1 or m, k)
        with torch.no_grad():
            self.linear.bias.view(-1, self.n_bins).copy_(start)

    def get_extra_state(self) -> Tensor:  # (1 or m, k + 5)
        """Return the bins as float64 numbers: the saved state."""
        return torch.stack([bins.state() for bins in self._each_bins])

    def set_extra_state(self, state: Tensor) -> None:
        """Take over saved bins."""
        self.bins = restored_bins(self.bins, as_float64(state))

    def extra_repr(self) -> str:
        """Return what print(head) shows."""
        return f"bins={self.bins}, n_targets={self.n_targets}"


def rebin_readout(
    weight: Tensor, bias: Tensor, old: Bins, new: Bins, features: Tensor | None = None
) -> None:
    """Let a linear layer, in place, give logits over other bins: as many, as dense.

    See `HistogramHead.rebin`.

    Parameters
    ----------
    weight : Tensor of shape (..., d, k)
    bias : Tensor of shape (..., k)
    old, new : Bins
    features : Tensor of shape (n, d) or (..., n, d), optional
    """
    matrix = old.averaging_over(new)  # (k, k)
    shift = new.widths.log() - matrix @ old.widths.log()
    wide = float64_on(weight.device)
    matrix, shift = matrix.to(weight.device, wide), shift.to(weight.device, wide)
    old_weight, old_bias = weight.to(wide), bias.to(wide)
    new_weight = old_weight @ matrix.T
    new_bias = old_bias @ matrix.T + shift
    ends = _beyond(old, new)
    is_beyond = (ends[0] | ends[1]).to(weight.device)  # (k,)
    if features is None or not features.numel():
        for end, first in zip(ends, (-1, 0), strict=True):
            if end.any():
                widening = new.widths[end] / new.widths[end][first]
                factor = BEYOND_UNSEEN / widening.clamp(min=1) ** 2
                new_bias[..., end] += factor.log().to(new_bias)
    else:
        features = features.detach().to(wide)
        logits = features @ old_weight + old_bias.unsqueeze(-2)  # (..., n, k)
        probs = Histogram(old, logits=logits).rebinned(new).probs
        if is_beyond.any():
            predicted = Histogram(new, probs=probs.flatten(0, -2).mean(0))
            beyond = _shares_beyond(old, predicted).to(probs)
            probs = (1 - beyond.sum()) * probs + beyond
            # A plane through the log masses within, so that it is little for every row;
            # the end bin's weights would give much of it to a few.
            logits = features @ new_weight + new_bias.unsqueeze(-2)
            slope, start = _plane(features, logits[..., ~is_beyond].logsumexp(-1))
            new_weight[..., is_beyond] = slope.unsqueeze(-1)
            new_bias[..., is_beyond] = start.unsqueeze(-1) + beyond[is_beyond].log()
        new_weight, new_bias = _fitted(new_weight, new_bias, features, probs)
    weight.copy_(new_weight)
    bias.copy_(new_bias)


def _beyond(old: Bins, new: Bins) -> tuple[Tensor, Tensor]:  # (k,) each
    """Return which new bins lie below the old ones, and which above them.

    By their centers; but that around the middle of the old ones holds what they had,
    however wide it is.
    """
    middle = old.low + (old.high - old.low) / 2
    below = (new.centers < old.low) & (new.borders[1:] <= middle)
    above = (new.centers > old.high) & (new.borders[:-1] > middle)
    return below, above


def _shares_beyond(old: Bins, predicted: Histogram) -> Tensor:  # (k,)
    """Return what part of the mass each new bin beyond the old ends gets, float64.

    In proportion to 1 / distance from what is predicted over the new bins, so that each
    moves its mean by as much: a mass that is little among even bins would be all of the
    mean where a bin is a thousand times as wide. In all `BEYOND` at each end, if that
    moves the mean by no more than it may.
    """
    new, mean = predicted.bins, predicted.mean.item()
    log_widths = new.widths.log().to(predicted.probs)
    most_moved = MOST_MOVED * (predicted.probs * log_widths).sum().exp().item()
    shares = torch.zeros(new.n_bins, dtype=torch.float64)
    for beyond in _beyond(old, new):
        if beyond.any():
            parts = 1 / (new.centers[beyond] - mean).abs()
            moved = min(BEYOND / parts.sum().item(), most_moved / len(parts))
            shares[beyond] = moved * parts
    return shares


def _plane(features: Tensor, height: Tensor) -> tuple[Tensor, Tensor]:
    """Return slope (..., d) and start (...) near heights (..., n) over features."""
    center, middle = features.mean(-2, keepdim=True), height.mean(-1, keepdim=True)
    spread = features - center  # (..., n, d)
    products = spread.mT @ spread
    # A thousandth of their variance: features may be more than rows, or all alike.
    ridge = 1e-3 * products.diagonal(dim1=-2, dim2=-1).mean(-1) + 1e-12
    eye = torch.eye(features.shape[-1], dtype=spread.dtype, device=spread.device)
    moments = spread.mT @ (height - middle).unsqueeze(-1)
    slope = torch.linalg.solve(products + ridge[..., None, None] * eye, moments)
    start = middle.squeeze(-1) - (center @ slope)[..., 0, 0]
    return slope.squeeze(-1), start


def _fitted(
    weight: Tensor, bias: Tensor, features: Tensor, probs: Tensor
) -> tuple[Tensor, Tensor]:
    """Return a readout of these features (..., n, d) nearer to probs (..., n, k)."""
    parameters = [each.clone().requires_grad_() for each in (weight, bias)]
    optimizer = torch.optim.LBFGS(
        parameters, max_iter=FITTING_STEPS, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = features @ parameters[0] + parameters[1].unsqueeze(-2)
        found = -(probs * logits.log_softmax(-1)).sum(-1).mean(-1).sum()
        found.backward()
        return found

    with torch.enable_grad():
        optimizer.step(loss)
    return parameters[0].detach(), parameters[1].detach()
