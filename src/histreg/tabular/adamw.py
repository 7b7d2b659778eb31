"""AdamW, as torch's fused one computes it, without what surrounds that.

``torch.optim`` imports torch's compiler with the first optimizer of a process, which
takes as long as fitting a small table, and its hooks and checks take longer than a step
of small networks.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

BETAS, EPSILON = (0.9, 0.999), 1e-8


class AdamW:
    """Adam with decoupled weight decay; steps go by the gradients of the parameters.

    Parameters
    ----------
    parameters : iterable of nn.Parameter
    learning_rate : float
    weight_decay : float

    Attributes
    ----------
    learning_rate : float
        May be changed between steps.
    state : dict
        For each parameter that had a gradient, the moments ``"exp_avg"`` and
        ``"exp_avg_sq"`` and the number of steps ``"step"``, as in ``torch.optim``.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        learning_rate: float,
        weight_decay: float,
    ) -> None:
        self.parameters = list(parameters)
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.state: dict[nn.Parameter, dict[str, Tensor]] = {}

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change the parameters that have a gradient."""
        trained: list[Tensor] = []
        gradients, states = [], []
        for parameter in self.parameters:
            if parameter.grad is not None:
                trained.append(parameter)
                gradients.append(parameter.grad)
                states.append(self._state_of(parameter))
        if not trained:
            return
        steps = [state["step"] for state in states]
        torch._foreach_add_(steps, 1.0)
        torch._fused_adamw_(
            trained,
            gradients,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],  # of amsgrad
            steps,
            lr=self.learning_rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=self.weight_decay,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
        )

    def _state_of(self, parameter: nn.Parameter) -> dict[str, Tensor]:
        if parameter not in self.state:
            self.state[parameter] = {
                "step": torch.zeros((), dtype=torch.float32, device=parameter.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return self.state[parameter]
