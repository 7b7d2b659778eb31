"""Method: the description of a prediction method.

Methods import PyTorch only when they are used, so that experiments can be listed
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
    """A prediction method, named as in the paper; its fields are its parameters.

    Subclasses are frozen dataclasses, so that a method can be compared, printed and
    written as JSON.
    """

    is_tuned: ClassVar[bool] = False
    """Whether it is run in several settings, and only the best is reported."""

    @property
    def label(self) -> str:
        """The name, followed by the parameters that differ from the default."""
        changed = [
            f"{parameter.name}={getattr(self, parameter.name):g}"
            for parameter in fields(self)  # type: ignore[arg-type]
            if getattr(self, parameter.name) != parameter.default
        ]
        return f"{self.name} ({', '.join(changed)})" if changed else self.name


class NetworkMethod(Method):
    """A method that trains a network.

    A new method defines the number of outputs, the prediction and the loss; autograd
    computes the gradients. Methods that are run often have their own `Criterion`, with
    gradients in closed form for many networks at once.
    """

    max_gradient_norm: float = math.inf
    """Gradients (of all weights together) with a larger norm are scaled down to it."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of outputs of the network."""

    @abstractmethod
    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the loss per sample: (b, o), y (b,) scaled to [0, 1] -> (b,)."""

    @abstractmethod
    def predict(self, outputs: Tensor) -> Tensor:
        """Return predictions on the scale [0, 1]: (n, o) -> (n,)."""

    @property
    def group(self) -> tuple[object, ...]:
        """Methods with equal groups can be trained together by one criterion."""
        return (type(self).__name__, self.n_outputs)

    @classmethod
    def criterion(cls, methods: Sequence[Any], targets: Targets) -> Criterion:
        """Return the criterion for methods of one group."""
        from histreg.study.methods.criteria.criterion import ByAutograd

        return ByAutograd(methods, targets)
