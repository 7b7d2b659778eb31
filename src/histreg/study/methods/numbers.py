"""Methods with one output: l2, l1, and l2 with noise or clipped gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import histreg
from histreg.study.methods.method import NetworkMethod

if TYPE_CHECKING:
    from torch import Tensor

    from histreg.study.methods.criteria.criterion import Criterion, Targets


class OnNumber(NetworkMethod):
    """One linear output that predicts y scaled to [0, 1]."""

    noise_sd: float = 0.0

    @property
    def n_outputs(self) -> int:
        """One."""
        return 1

    def predict(self, outputs: Tensor) -> Tensor:
        """Return the output."""
        return outputs[..., 0]


@dataclass(frozen=True)
class L2(OnNumber):
    """The squared error."""

    name: ClassVar[str] = "l2"

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return squared errors."""
        return histreg.losses.l2(outputs[..., 0], y)

    @property
    def group(self) -> tuple[object, ...]:
        """All variants of l2 are trained together."""
        return ("l2",)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return squared errors in closed form."""
        from histreg.study.methods.criteria.numbers import SquaredErrors

        return SquaredErrors(methods, targets)


@dataclass(frozen=True)
class L2Noise(L2):
    """The squared error against targets with fresh Gaussian noise at each step.

    Parameters
    ----------
    noise_sd : float
        Standard deviation of the noise, for y scaled to [0, 1].
    """

    name: ClassVar[str] = "l2+Noise"
    is_tuned: ClassVar[bool] = True
    noise_sd: float = field()  # required, unlike in other methods


@dataclass(frozen=True)
class L2Clipping(L2):
    """The squared error, with the norm of the whole gradient clipped."""

    name: ClassVar[str] = "l2+Clipping"
    is_tuned: ClassVar[bool] = True
    max_gradient_norm: float = field()


@dataclass(frozen=True)
class L1(OnNumber):
    """The absolute error."""

    name: ClassVar[str] = "l1"

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return absolute errors."""
        return histreg.losses.l1(outputs[..., 0], y)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return absolute errors in closed form."""
        from histreg.study.methods.criteria.numbers import AbsoluteErrors

        return AbsoluteErrors(methods, targets)
