"""Method: the description of one way to predict.

Descriptions import PyTorch only when they are used, so that experiments can be listed
without it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from histreg.study.engine.runs import Described

if TYPE_CHECKING:
    from torch import Tensor

    from histreg.study.methods.criteria.criterion import Criterion, Targets


class Method(Described, ABC):
    """One way to predict, in the paper's spelling; its fields are its parameters.

    Subclasses are frozen dataclasses, so that a method can be compared, printed and
    written as JSON.
    """

    is_tuned: ClassVar[bool] = False
    """Whether it comes in several settings, of which the best alone is reported."""

    @property
    def label(self) -> str:
        """The name, with the parameters that are not the default."""
        changed = [
            f"{parameter.name}={getattr(self, parameter.name):g}"
            for parameter in fields(self)  # type: ignore[arg-type]
            if getattr(self, parameter.name) != parameter.default
        ]
        return f"{self.name} ({', '.join(changed)})" if changed else self.name


class NetworkMethod(Method):
    """A method that trains a network.

    A new method defines the number of outputs, the prediction and the loss; autograd
    computes the gradients. Methods that are run often have a `Criterion` of their own,
    with gradients in closed form for many networks at once.
    """

    max_gradient_norm: float = math.inf
    """Beyond which the gradient of all weights together is scaled down."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """How many outputs the network has."""

    @abstractmethod
    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the loss per sample, (b, o) and y (b,) scaled to [0, 1] -> (b,)."""

    @abstractmethod
    def predict(self, outputs: Tensor) -> Tensor:
        """Return predictions on the same scale, (n, o) -> (n,)."""

    @property
    def group(self) -> tuple[object, ...]:
        """What methods must share to be trained by one criterion."""
        return (type(self).__name__, self.n_outputs)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return the criterion of methods of one group."""
        from histreg.study.methods.criteria.criterion import ByAutograd

        return ByAutograd(methods, targets)
