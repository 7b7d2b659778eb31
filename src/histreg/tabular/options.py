"""Options of the regressor: which values are allowed, which go together, as JSON.

Functions take the `HistogramRegressor` whose constructor stored them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from histreg._checks import (
    check_choice,
    check_count,
    check_fraction,
    check_positive,
    check_real,
)
from histreg._names import LOSSES, ON_NUMBERS, SPACINGS
from histreg.bins import checked_bins
from histreg.errors import InputError
from histreg.tabular.networks import ACTIVATIONS
from histreg.tails import checked_kinds
from histreg.targets import TARGETS

if TYPE_CHECKING:
    from histreg.tabular.regressor import HistogramRegressor

# The network is built from these; they cannot change while it is trained further.
STRUCTURE = (
    "hidden_layer_sizes",
    "activation",
    "embedding_width",
    "n_waves",
    "loss",
    "target",
    "n_bins",
    "sigma_in_bins",
    "padding_in_sigmas",
    "final_sigma_in_bins",
    "bins",
    "tails",
    "y_range",
    "n_estimators",
    "backbone",
)
SIMPLE_MODELS = ("linear", "kernel", "trees", "forest")
NOT_SAVED = ("backbone", "callback", "bins", "device")


def check_options(options: HistogramRegressor) -> None:
    """Raise unless every option has an allowed value, before any work is done."""
    check_choice("loss", options.loss, LOSSES)
    check_choice("activation", options.activation, ACTIVATIONS)
    if not callable(options.target):
        check_choice("target", options.target, TARGETS)
    if isinstance(options.bins, str):
        check_choice("bins", options.bins, SPACINGS)
    elif options.bins is None or isinstance(options.bins, (int, float)):
        raise TypeError(
            "bins must be a name such as 'auto', or Bins (their number is n_bins), "
            f"got bins={options.bins!r}"
        )
    else:
        checked_bins(options.bins)
    tail_kinds(options)
    if options.bins_grow not in (True, False, "auto"):
        raise InputError(
            "bins_grow must be True, False or 'auto', "
            f"got bins_grow={options.bins_grow!r}"
        )
    for size in layer_sizes(options.hidden_layer_sizes):
        check_count("hidden_layer_sizes", size, at_least=1)
    if options.embedding_width != "auto":
        check_count("embedding_width", options.embedding_width, at_least=0)  # type: ignore[arg-type]
    if options.n_waves != "auto":
        check_count("n_waves", options.n_waves, at_least=0)  # type: ignore[arg-type]
    check_count("n_estimators", options.n_estimators, at_least=1)
    check_count("max_iter", options.max_iter, at_least=1)
    if options.n_iter_no_change != "auto":
        check_count("n_iter_no_change", options.n_iter_no_change, at_least=1)  # type: ignore[arg-type]
    if options.batch_size != "auto":
        check_count("batch_size", options.batch_size, at_least=1)  # type: ignore[arg-type]
    check_positive("learning_rate_init", options.learning_rate_init)
    check_positive("sigma_in_bins", options.sigma_in_bins)
    if options.final_sigma_in_bins is not None:
        check_positive("final_sigma_in_bins", options.final_sigma_in_bins)
    if options.validation_fraction != "auto":  # else it depends on the rows
        check_fraction("validation_fraction", options.validation_fraction)  # type: ignore[arg-type]
    check_real("dropout", options.dropout)
    check_real("weight_decay", options.weight_decay)
    check_real("padding_in_sigmas", options.padding_in_sigmas)
    blended_models(options)
    device_of(options.device)
    if options.callback is not None and not callable(options.callback):
        raise TypeError(f"callback must be callable, got {options.callback!r}")
    if not 0 <= options.dropout < 1:
        raise InputError(f"dropout must lie in [0, 1), got dropout={options.dropout}")
    if not 0 <= options.weight_decay < math.inf:
        raise InputError(
            "weight_decay must be finite and not negative, "
            f"got weight_decay={options.weight_decay}"
        )


def structure_of(options: HistogramRegressor) -> dict[str, Any]:
    """Return the options that the network is built from."""
    return {name: getattr(options, name) for name in STRUCTURE}


def check_structure(options: HistogramRegressor, fitted: dict[str, Any]) -> None:
    """Raise if an option differs from the one that the network was built from."""
    for name, value in fitted.items():
        now = getattr(options, name)
        if now is not value and now != value:
            raise InputError(
                f"{name} must stay {value!r}, as it was in fit, to continue training, "
                f"got {name}={now!r}"
            )


def blended_models(options: HistogramRegressor) -> tuple[str, ...]:
    """Return the names of the simple models that networks are mixed with."""
    given = options.blend_with
    if isinstance(given, str) and given == "auto":
        return SIMPLE_MODELS if options.loss == "histogram" else ()
    names = tuple(given) if isinstance(given, list | tuple) else (None,)
    # Not by sets, since an entry may have no hash.
    if any(name not in SIMPLE_MODELS or names.count(name) > 1 for name in names):
        raise InputError(
            "blend_with must be 'auto', or a list of 'linear', 'kernel', 'trees' and "
            f"'forest', each once at most, which may be empty, got blend_with={given!r}"
        )
    if names and options.loss in ON_NUMBERS:
        raise InputError(
            "blend_with needs a loss that predicts a distribution, got "
            f"loss={options.loss!r}"
        )
    return names


def layer_sizes(given: Any) -> tuple[int, ...]:
    """Return the sizes of hidden layers as a tuple; one number is one layer."""
    return tuple(given) if np.iterable(given) else (given,)


def device_of(name: str) -> torch.device:
    """Return the device of a name; ``"auto"`` is a CUDA device if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, TypeError) as error:
        raise InputError(
            f"device must be 'auto' or available in this PyTorch, got device={name!r}"
        ) from error


def tail_kinds(options: HistogramRegressor) -> tuple[str, str]:
    """Return the kinds of the lower and the upper tail."""
    tails = checked_kinds(options.tails)
    if tails == ("clip", "clip"):
        return tails
    if options.y_range is not None:
        raise InputError(
            "tails cannot be combined with y_range, which bounds y, got "
            f"tails={options.tails!r} and y_range={options.y_range!r}"
        )
    if not isinstance(options.bins, str):
        raise InputError(
            "tails cannot be combined with explicit bins; use Bins.with_tails instead, "
            f"got tails={options.tails!r} and bins={options.bins!r}"
        )
    if options.bins_grow is True:
        raise InputError(
            "tails cannot be combined with bins_grow=True: bins with tails do not "
            f"grow, got tails={options.tails!r}"
        )
    return tails


def json_options(
    options: HistogramRegressor, structure: dict[str, Any]
) -> dict[str, Any]:
    """Return all options that are not code, as JSON has them.

    Parameters
    ----------
    options : HistogramRegressor
    structure : dict
        What the network was built from, which may have been set otherwise since.
    """
    described: dict[str, Any] = options.get_params(deep=False) | structure
    for name in NOT_SAVED:
        del described[name]
    if callable(described["target"]):
        raise InputError(
            "a model with a callable target cannot be saved, because code is not "
            f"saved; use a target with a name, got target={described['target']!r}"
        )
    sizes = layer_sizes(described["hidden_layer_sizes"])
    described["hidden_layer_sizes"] = [int(size) for size in sizes]
    if not isinstance(described["tails"], str):
        described["tails"] = list(described["tails"])
    if not isinstance(described["blend_with"], str):
        described["blend_with"] = list(described["blend_with"])
    if described["y_range"] is not None:
        described["y_range"] = np.asarray(described["y_range"], dtype=float).tolist()
    seed = options.random_state
    is_seed = isinstance(seed, int | np.integer)
    described["random_state"] = int(seed) if is_seed else None  # type: ignore[arg-type]
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in described.items()
    }


def options_from_json(described: dict[str, Any]) -> dict[str, Any]:
    """Return options for the constructor; lists of JSON become tuples."""
    return {"n_waves": 0} | {  # missing in older models, which have none
        name: tuple(value) if isinstance(value, list) else value
        for name, value in described.items()
    }
