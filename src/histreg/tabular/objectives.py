"""Objectives: the meaning of a network's outputs, and the loss it is trained with.

An objective joins three things that must agree: how many outputs a target takes, the
loss per sample, and how outputs are read as a prediction. Outputs are those of a
stack, (M, n, m, o): M models, n rows, m targets, o outputs each; a prediction is that
of the whole stack, the equal mixture of its models.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from histreg import losses
from histreg._checks import check_choice
from histreg._names import LOSSES, ON_NUMBERS
from histreg._tensors import as_float64
from histreg.bins import Bins
from histreg.distribution import Histogram
from histreg.errors import InputError, NoDistributionError
from histreg.tabular.border_scores import BorderScore
from histreg.tabular.training_rows import interval_of
from histreg.targets import Target, TargetFunction, target_of

N_COMPONENTS = 5  # of the mixture density network, as in the paper


class Objective(ABC):
    """Outputs, loss and reading of one way to predict y.

    Parameters
    ----------
    bins : sequence of m Bins
        The bins of predicted distributions; losses on one number ignore them.
    center, scale : Tensors of shape (m,)
        Mean and scale by which y is standardised for losses on numbers.
    """

    n_outputs: int
    has_gradient = False
    """Whether the gradient of its loss is known without autograd."""

    def __init__(self, bins: Sequence[Bins], center: Tensor, scale: Tensor) -> None:
        self.bins = tuple(bins)
        self.center = center
        self.scale = scale

    def loss(
        self, outputs: Tensor, y: Tensor, other_end: Tensor | None = None
    ) -> Tensor:
        """Return one loss per model and sample, averaged over the targets.

        Parameters
        ----------
        outputs : Tensor of shape (M, n, m, o)
        y : Tensor of shape (n, m), float64
        other_end : Tensor of shape (n, m), float64, optional
            Of censored targets, see `TrainingRows`; for the losses in `ON_BOUNDS`.

        Returns
        -------
        Tensor of shape (M, n)
        """
        by_target = [
            self._loss(outputs[:, :, i], y[:, i], i) for i in range(y.shape[1])
        ]
        if other_end is not None:
            lower, upper = interval_of(y, other_end)
            for i, known in enumerate(by_target):
                ends = lower[:, i], upper[:, i]
                bound = self._bound_loss(outputs[:, :, i], *ends, i)
                by_target[i] = torch.where(other_end[:, i].isnan(), known, bound)
        if len(by_target) == 1:
            return by_target[0]
        return torch.stack(by_target).mean(dim=0)

    def loss_with_gradient(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return `loss` and the gradient of each sample's: (M, n), (M, n, m, o).

        Only of objectives that `has_gradient`, and of known targets.
        """
        raise NotImplementedError

    def prepared_for(self, y: Tensor) -> Objective:  # noqa: ARG002
        """Return the same objective, to be called many times with rows of y (n, m)."""
        return self

    def error(
        self, outputs: Tensor, y: Tensor, other_end: Tensor | None = None
    ) -> Tensor:
        """Return the absolute error of each model's mean, averaged over the targets.

        The error of a censored target is how far the mean lies outside the interval
        that it is known to lie in, the least that it can be.

        Parameters
        ----------
        outputs : Tensor of shape (M, n, m, o)
        y : Tensor of shape (n, m), float64
        other_end : Tensor of shape (n, m), float64, optional

        Returns
        -------
        Tensor of shape (M, n), in units of y, on the CPU
        """
        y = y.cpu()
        means = torch.stack([self.mean(one.unsqueeze(0)) for one in outputs.cpu()])
        errors = means - y
        if other_end is not None:
            other_end = other_end.cpu()
            lower, upper = interval_of(y, other_end)
            outside = (lower - means).clamp(min=0) + (means - upper).clamp(min=0)
            errors = torch.where(other_end.isnan(), errors, outside)
        return errors.abs().mean(dim=-1)

    def score(
        self, outputs: Tensor, y: Tensor, other_end: Tensor | None = None
    ) -> Tensor:
        """Return what epochs are judged by, with the signature of `loss`: the loss."""
        return self.loss(outputs, y, other_end)

    def _standard(self, y: Tensor, i: int) -> Tensor:
        return (y - self.center[i].item()) / self.scale[i].item()

    @abstractmethod
    def _loss(self, outputs: Tensor, y: Tensor, i: int) -> Tensor:
        """Return the loss on the i-th target: (M, n, o), (n,) -> (M, n)."""

    def _bound_loss(
        self,
        outputs: Tensor,  # noqa: ARG002
        lower: Tensor,  # noqa: ARG002
        upper: Tensor,  # noqa: ARG002
        i: int,  # noqa: ARG002
    ) -> Tensor:
        """Return the loss on intervals of the i-th target: (M, n, o), (n,) -> (M, n).

        Objectives without a likelihood raise an InputError.
        """
        raise InputError(f'censored targets need loss="{ON_BOUNDS[0]}"')

    @abstractmethod
    def mean(self, outputs: Tensor) -> Tensor:
        """Return the mean of the stack's mixture: (M, n, m, o) -> (n, m) float64."""

    def distribution(self, outputs: Tensor, i: int) -> Histogram:  # noqa: ARG002
        """Return the mixture for the i-th target: (M, n, m, o) -> batch shape (n,).

        Refused by objectives on one number, which have none.
        """
        raise NoDistributionError(
            "a distribution needs a loss that predicts one, such as loss="
            '"histogram"; l2 and l1 predict one number'
        )


class OnHistogram(Objective):
    """Objectives whose outputs are logits over the bins."""

    def __init__(self, bins: Sequence[Bins], center: Tensor, scale: Tensor) -> None:
        super().__init__(bins, center, scale)
        self.n_outputs = self.bins[0].n_bins

    def mean(self, outputs: Tensor) -> Tensor:
        """Return the mean of the mixture."""
        means = [self.distribution(outputs, i).mean for i in range(outputs.shape[2])]
        return torch.stack(means, dim=-1)

    def distribution(self, outputs: Tensor, i: int) -> Histogram:
        """Return the average of the M histograms."""
        log_probs = outputs[:, :, i].to(torch.float64).log_softmax(dim=-1)  # (M, n, k)
        # In logs, so that no small probability is rounded to zero.
        return Histogram(self.bins[i], logits=log_probs.logsumexp(dim=0))


class AgainstTarget(OnHistogram):
    """Logits against the target of y."""

    def __init__(
        self, bins: Sequence[Bins], center: Tensor, scale: Tensor, *, target: Target
    ) -> None:
        super().__init__(bins, center, scale)
        self.target = target


class ByCrossEntropy(AgainstTarget):
    """The histogram loss."""

    has_gradient = True

    def __init__(
        self, bins: Sequence[Bins], center: Tensor, scale: Tensor, *, target: Target
    ) -> None:
        super().__init__(bins, center, scale, target=target)
        self._target_losses = [losses.TargetLoss(target, one) for one in self.bins]
        self._border_scores = [
            BorderScore(one.standardised(center[i].item(), scale[i].item()))
            for i, one in enumerate(self.bins)
        ]

    def prepared_for(self, y: Tensor) -> ByCrossEntropy:
        """Return an objective with the targets of y (n, m) computed once.

        They belong to this training, not to the objective that models keep.
        """
        prepared = copy.copy(self)
        prepared._target_losses = [
            losses.TargetLoss(
                self.target,
                bins,
                training_y=column,
                max_entries=losses.MOST_TABULATED // len(self.bins),
            )
            for bins, column in zip(self.bins, y.T, strict=True)
        ]
        return prepared

    def _loss(self, outputs: Tensor, y: Tensor, i: int) -> Tensor:
        return self._target_losses[i](outputs, y)

    def loss_with_gradient(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return `loss` and the gradient of each sample's: (M, n), (M, n, m, o)."""
        by_target = [
            loss.with_gradient(outputs[:, :, i], y[:, i])
            for i, loss in enumerate(self._target_losses)
        ]
        if len(by_target) == 1:
            [(of_samples, gradient)] = by_target
            return of_samples, gradient.unsqueeze(2)
        of_targets, gradients = zip(*by_target, strict=True)
        whole = torch.stack(gradients, dim=2).div_(len(gradients))
        return torch.stack(of_targets).mean(dim=0), whole

    def score(
        self, outputs: Tensor, y: Tensor, other_end: Tensor | None = None
    ) -> Tensor:
        """Return what epochs are judged by: the CRPS of the standardised y.

        All targets are judged by the loss if some are censored.
        """
        if other_end is not None:
            return self.loss(outputs, y, other_end)
        by_target = [
            of_target(outputs[:, :, i].softmax(dim=-1), self._standard(y[:, i], i))
            for i, of_target in enumerate(self._border_scores)
        ]
        return torch.stack(by_target).mean(dim=0)

    def _bound_loss(
        self, outputs: Tensor, lower: Tensor, upper: Tensor, i: int
    ) -> Tensor:
        lower, upper = (end.expand(outputs.shape[:-1]) for end in (lower, upper))
        return losses.interval_loss(outputs, lower, upper, self.bins[i])


class ByBrierScore(AgainstTarget):
    """The squared distance of the probabilities."""

    def _loss(self, outputs: Tensor, y: Tensor, i: int) -> Tensor:
        probs = self.target.probs(y, self.bins[i]).to(outputs.dtype)  # (n, k)
        return losses.brier(outputs, probs.expand_as(outputs))


class AgainstNumber(OnHistogram):
    """Logits against the standardised y itself: losses on the mean, or the CRPS."""

    def __init__(
        self,
        bins: Sequence[Bins],
        center: Tensor,
        scale: Tensor,
        *,
        loss: Callable[[Tensor, Tensor, Bins], Tensor],
    ) -> None:
        super().__init__(bins, center, scale)
        self.loss_per_sample = loss
        self.standard_bins = [
            own_bins.standardised(center[i].item(), scale[i].item())
            for i, own_bins in enumerate(bins)
        ]

    def _loss(self, outputs: Tensor, y: Tensor, i: int) -> Tensor:
        standard = self._standard(y, i).expand(outputs.shape[:-1])
        return self.loss_per_sample(outputs, standard, self.standard_bins[i])


class OnNumber(Objective):
    """One output against the standardised y: the squared or the absolute error."""

    n_outputs = 1

    def __init__(
        self,
        bins: Sequence[Bins],
        center: Tensor,
        scale: Tensor,
        *,
        loss: Callable[[Tensor, Tensor], Tensor],
    ) -> None:
        super().__init__(bins, center, scale)
        self.loss_per_sample = loss

    def _loss(self, outputs: Tensor, y: Tensor, i: int) -> Tensor:
        predicted = outputs[..., 0]
        standard = self._standard(y, i).to(outputs.dtype)
        return self.loss_per_sample(predicted, standard.expand_as(predicted))

    def mean(self, outputs: Tensor) -> Tensor:
        """Return the average of the M numbers."""
        return self.center + outputs[..., 0].to(torch.float64).mean(0) * self.scale


class OnMixture(Objective):
    """A mixture of Gaussians of the standardised y by likelihood: the paper's MDN."""

    n_outputs = 3 * N_COMPONENTS
    smallest_sigma = 1e-2

    def _loss(self, outputs: Tensor, y: Tensor, i: int) -> Tensor:
        standard = self._standard(y, i).to(outputs.dtype)
        return losses.mdn(
            outputs.unflatten(-1, (3, -1)),
            standard.expand(outputs.shape[:-1]),
            smallest_sigma=self.smallest_sigma,
        )

    def mean(self, outputs: Tensor) -> Tensor:
        """Return the mean of the mixtures."""
        means = losses.mdn_mean(outputs.to(torch.float64).unflatten(-1, (3, -1)))
        return self.center + means.mean(dim=0) * self.scale

    def distribution(self, outputs: Tensor, i: int) -> Histogram:
        """Return the mixture's mass in each bin, the tails in the end bins."""
        parameters = outputs[:, :, i].to(torch.float64).unflatten(-1, (3, -1))
        weights, means, spreads = parameters.unbind(dim=-2)  # each (M, n, 5)
        sigmas = F.softplus(spreads) + self.smallest_sigma
        inner = (self.bins[i].borders[1:-1] - self.center[i]) / self.scale[i]
        z = (inner[:, None] - means[..., None, :]) / sigmas[..., None, :]
        below = torch.special.ndtr(z) * weights.softmax(dim=-1)[..., None, :]
        cdf = below.sum(dim=-1).mean(dim=0)  # (n, k - 1)
        cdf = F.pad(F.pad(cdf, (1, 0)), (0, 1), value=1.0)
        return Histogram(self.bins[i], probs=cdf.diff(dim=-1).clamp(min=0))


LEAST_RELATIVE_SPREAD = 64 * torch.finfo(torch.float64).eps  # of y that is not constant
ON_TARGETS = ("brier", "histogram")  # losses against the target of y
ON_BOUNDS = ("histogram",)  # losses that support censored targets
UNIFORM_EPSILON = 0.1  # the weight of the uniform part of target="uniform"


def target_for(target: str | TargetFunction, sigma_in_bins: float) -> Target:
    """Return the target of the regressor's options.

    Parameters
    ----------
    target : {"gaussian", "one_bin", "uniform", "projected"} or callable
    sigma_in_bins : float
        For ``"gaussian"``; ignored by other targets.
    """
    if target == "gaussian":
        return target_of(target, sigma_in_bins=sigma_in_bins)
    return target_of(target, epsilon=UNIFORM_EPSILON if target == "uniform" else None)


def center_and_scale(y: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of each column of y (n, m), float64.

    The scale of a constant column, up to rounding, is 1.
    """
    y = as_float64(y)
    low, high = y.amin(dim=0), y.amax(dim=0)
    # Relative to the range, so that no square leaves float64.
    span = high - low
    varies = span > LEAST_RELATIVE_SPREAD * torch.maximum(-low, high).abs()
    unit = torch.where(varies & (span > 0), span, torch.ones_like(span))
    place = (y - low) / unit  # (n, m), within [0, 1]
    center = low + place.mean(dim=0) * unit
    scale = place.std(dim=0, correction=0) * unit
    return center, torch.where(varies & (scale > 0), scale, torch.ones_like(scale))


def objective_of(
    loss: str,
    bins: Sequence[Bins],
    center: Tensor,
    scale: Tensor,
    target: Target | None = None,
) -> Objective:
    """Return the objective of a loss by its name.

    Parameters
    ----------
    loss : str
        One of `LOSSES`.
    bins, center, scale
        See `Objective`.
    target : Target, optional
        For losses in `ON_TARGETS`, which need it.
    """
    check_choice("loss", loss, LOSSES)
    learnt = (bins, center, scale)
    if loss in ON_TARGETS:
        if target is None:
            raise InputError(f'loss="{loss}" needs a target, got None')
        kind = ByCrossEntropy if loss == "histogram" else ByBrierScore
        return kind(*learnt, target=target)
    if loss in ON_NUMBERS:
        return OnNumber(*learnt, loss=getattr(losses, loss))
    if loss == "mdn":
        return OnMixture(*learnt)
    return AgainstNumber(*learnt, loss=getattr(losses, loss))
