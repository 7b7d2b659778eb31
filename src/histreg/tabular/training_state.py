"""Training states: the state, besides the weights, that training continues from.

`HistogramRegressor.partial_fit` keeps optimizers and a generator of seeds from call to
call. A model file holds them too, so that a stream continues after saving and loading
as if it had not been interrupted, to the bit. In the file they are

- ``described["training"]``, absent if there is no such state: under
  ``"optimizers"`` a list of ``{"learning_rate": float, "weight_decay": float}``, one
  for each trained part or none, and under ``"has_generator"`` a bool;
- tensors ``optimizer.<i>.<parameter>.<slot>`` for each parameter of part i, and
  ``generator``, see `expected_tensors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from histreg.errors import InputError
from histreg.tabular.adamw import AdamW
from histreg.tabular.model_schema import GENERATOR, OPTIMIZER, check_names
from histreg.tabular.training import Settings, optimizer_of

SLOTS = ("exp_avg", "exp_avg_sq", "step")  # what Adam keeps of a parameter
N_WORDS = 624  # of a Mersenne Twister, which also has a position


class TrainingState(NamedTuple):
    """The state, besides the weights, that training continues from.

    Parameters
    ----------
    optimizers : sequence of AdamW
        From `optimizer_of`, one for each trained part, or none.
    generator : RandomState, optional
        For seeds.
    """

    optimizers: Sequence[AdamW] = ()
    generator: np.random.RandomState | None = None


def describe(
    state: TrainingState, parts: Sequence[nn.Module]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return a state as JSON values and tensors; both may be empty.

    Parameters
    ----------
    state : TrainingState
    parts : sequence of nn.Module
        The modules that the optimizers train, in their order.
    """
    words = _words_of(state.generator)
    if not state.optimizers and words is None:
        return {}, {}
    optimizers, tensors = [], {}
    for i, (optimizer, part) in enumerate(
        zip(state.optimizers, parts[: len(state.optimizers)], strict=True)
    ):
        optimizers.append(
            {
                "learning_rate": optimizer.learning_rate,
                "weight_decay": optimizer.weight_decay,
            }
        )
        for name, parameter in part.named_parameters():
            # A parameter without a gradient so far has no entry, which equals zeros.
            slots = optimizer.state.get(parameter, {})
            for slot in SLOTS:
                zeros = torch.zeros(_shape(slot, parameter), dtype=parameter.dtype)
                tensor = slots.get(slot, zeros).to("cpu", copy=True)
                tensors[f"{OPTIMIZER}{i}.{name}.{slot}"] = tensor.contiguous()
    if words is not None:
        tensors[GENERATOR] = words
    described = {"optimizers": optimizers, "has_generator": words is not None}
    return {"training": described}, tensors


def expected_tensors(
    described: Mapping[str, Any], parts: Sequence[nn.Module]
) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of every tensor of a described state."""
    training = described.get("training", {"optimizers": [], "has_generator": False})
    expected = {
        f"{OPTIMIZER}{i}.{name}.{slot}": _shape(slot, parameter)
        for i, part in enumerate(parts[: len(training["optimizers"])])
        for name, parameter in part.named_parameters()
        for slot in SLOTS
    }
    if training["has_generator"]:
        expected[GENERATOR] = (N_WORDS + 1,)
    return expected


def _check(
    tensors: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]]
) -> None:
    """Raise unless tensors have the names, shapes and values of a state."""
    names = [name for name in tensors if name.startswith((OPTIMIZER, GENERATOR))]
    check_names(expected, names)
    for name, shape in expected.items():
        tensor = tensors[name]
        dtype = torch.int64 if name == GENERATOR else torch.float32
        if (tensor.dtype, tuple(tensor.shape)) != (dtype, shape):
            raise InputError(
                f"{name!r} must be {dtype} of shape {shape}, got {tensor.dtype} of "
                f"shape {tuple(tensor.shape)}"
            )
        if name == GENERATOR:
            holds = bool((tensor >= 0).all() & (tensor < 2**32).all())
            holds = holds and tensor[-1].item() <= N_WORDS
        else:
            holds = bool(tensor.isfinite().all())
            is_moment = name.endswith(f".{SLOTS[0]}")  # which alone may be negative
            holds = holds and (is_moment or bool((tensor >= 0).all()))
        if not holds:
            raise InputError(f"{name!r} must hold numbers of a training state")


def restore(
    described: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    parts: Sequence[nn.Module],
) -> TrainingState:
    """Return the described state; an empty one if the model has none.

    Parameters
    ----------
    described, tensors
        As returned by `describe`; other entries are ignored.
    parts : sequence of nn.Module
        As in `describe`, on their device.
    """
    training = described.get("training")
    if training is None:
        return TrainingState()
    if len(training["optimizers"]) not in (0, len(parts)):
        raise InputError(
            f"'training' must have an optimizer for each of the {len(parts)} trained "
            f"parts, or none, got {len(training['optimizers'])}"
        )
    _check(tensors, expected_tensors(described, parts))
    optimizers = []
    for i, (options, part) in enumerate(
        zip(training["optimizers"], parts[: len(training["optimizers"])], strict=True)
    ):
        optimizer = optimizer_of(part, Settings(**options))
        for name, parameter in part.named_parameters():
            optimizer.state[parameter] = {
                slot: tensors[f"{OPTIMIZER}{i}.{name}.{slot}"].to(
                    parameter.device, copy=True
                )
                for slot in SLOTS
            }
        optimizers.append(optimizer)
    if not training["has_generator"]:
        return TrainingState(optimizers)
    *words, position = tensors[GENERATOR].tolist()
    generator = np.random.RandomState()
    key = np.array(words, dtype=np.uint32)
    generator.set_state(("MT19937", key, position, 0, 0.0))
    return TrainingState(optimizers, generator)


def _shape(slot: str, parameter: nn.Parameter) -> tuple[int, ...]:
    return () if slot == "step" else tuple(parameter.shape)


def _words_of(generator: np.random.RandomState | None) -> Tensor | None:
    """Return the state of a generator as int64, None for one that is not saved.

    Not saved are numpy's global generator, which others use too, and generators other
    than the Mersenne Twister, which are rare.
    """
    if generator is None or generator is np.random.mtrand._rand:
        return None
    state = generator.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return None
    inner = state["state"]
    return torch.tensor([*inner["key"].tolist(), inner["pos"]], dtype=torch.int64)
