"""Heads: features in, one prediction type out."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from histreg._checks import check_count
from histreg._rebinning import rebin_readout
from histreg._tensors import as_float64
from histreg.bins import Bins, checked_bins, replacing_bins, restored_bins
from histreg.distribution import Histogram
from histreg.errors import InputError


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
