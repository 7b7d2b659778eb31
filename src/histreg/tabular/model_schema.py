"""The schema of saved models: rules for their description and tensors, as data.

`DESCRIPTION`, `OPTIONS`, `TRAINING` and `HISTORY` are the rules of ``model.json``,
`TENSORS` and `CALIBRATION` those of the file beside it. The tensors of the network
(`BODY`, `READOUT` and `SHARP`) must be those of the network that the options describe,
which `Model.from_state` checks.
"""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from histreg.bins import Bins
from histreg.errors import InputError
from histreg.tabular.atoms import MOST_ATOMS
from histreg.tabular.columns import INSTANT, KINDS, NUMBER_OR_TIME, n_numbers

Holds = Callable[[Any], bool]
TREE_SIZES = ("n_folds", "n_trees", "depth")
FOREST_SIZES = ("n_trees", "n_nodes", "depth")
MOST_DEPTH = 16  # a full tree of that depth has 65,536 leaves
MOST_STEPS = 64  # from a root of a forest to a leaf


class Rule(NamedTuple):
    """A requirement on a value, in words and as a test."""

    expected: str
    holds: Holds
    is_required: bool = True


class TensorRule(NamedTuple):
    """A requirement on a tensor; equal letters of shapes stand for equal sizes."""

    dtype: torch.dtype
    shape: str
    expected: str
    holds: Callable[[Tensor], bool]


def _is_number(value: Any) -> bool:
    # JSON's whole numbers are unbounded; those beyond float64 raise in arithmetic.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max


def _is_whole(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int)


def _is_count(value: Any) -> bool:
    return _is_whole(value) and 0 <= value < 2**63


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_nothing(value: Any) -> bool:
    return value is None


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_optimizer(value: Any) -> bool:
    names = {"learning_rate", "weight_decay"}
    return (
        _is_object(value)
        and set(value) == names
        and all(_is_number(number) and number >= 0 for number in value.values())
    )


def _is_part(value: Any) -> bool:
    sizes = {
        "networks": {"n_points"},
        "linear": {"n_points"},
        "kernel": {"n_points", "n_landmarks"},
        "trees": {"n_points", *TREE_SIZES},
        "forest": {*FOREST_SIZES},
    }
    return (
        _is_object(value)
        and value.get("kind") in sizes
        and set(value) == {"kind", *sizes[value["kind"]]}
        and all(_is_count(value[name]) for name in sizes[value["kind"]])
        and value.get("n_points", 3) >= 3
        and 1
        <= value.get("depth", 1)
        <= (MOST_STEPS if value["kind"] == "forest" else MOST_DEPTH)
    )


def _is(*values: Any) -> Holds:
    return lambda value: any(value is allowed or value == allowed for allowed in values)


def _either(*tests: Holds) -> Holds:
    return lambda value: any(holds(value) for holds in tests)


def _is_list_of(holds: Holds, *, n: int | None = None, unique: bool = False) -> Holds:
    def test(value: Any) -> bool:
        return (
            isinstance(value, list)
            and (n is None or len(value) == n)
            and all(map(holds, value))
            and not (unique and len(set(value)) < len(value))
        )

    return test


def _are_groups(value: Any) -> bool:
    return (
        _is_object(value)
        and set(value) == {"levels", "column"}
        and _is_list_of(_is_text, unique=True)(value["levels"])
        and _either(_is_text, _is_nothing)(value["column"])
    )


_IS_PAIR = _is_list_of(_is_number, n=2)
FLAG = Rule("true or false", _is_flag)
SWITCH = Rule("true, false or a number", _either(_is_flag, _is_number))
TEXT = Rule("text", _is_text)
NUMBER = Rule("a number", _is_number)
NUMBER_OR_AUTO = Rule("a number or 'auto'", _either(_is_number, _is("auto")))
COUNT = Rule("a non-negative whole number", _is_count)
SERIES = Rule(
    "a list of numbers and nulls", _is_list_of(_either(_is_number, _is_nothing))
)

DESCRIPTION = {
    "kinds": Rule(
        f"a list of {' or '.join(map(repr, KINDS))}", _is_list_of(_is(*KINDS))
    ),
    "labels": Rule(
        "a list of lists of text without duplicates",
        _is_list_of(_is_list_of(_is_text, unique=True)),
    ),
    "feature_names": Rule(
        "null, or a list of text without duplicates",
        _either(_is_nothing, _is_list_of(_is_text, unique=True)),
    ),
    "is_flat": FLAG,
    "tells_times": FLAG._replace(is_required=False),  # missing in older models
    "has_calendar": FLAG._replace(is_required=False),
    "is_sharp": FLAG,
    "is_calibrated": FLAG,
    "has_own_bins": FLAG,
    "has_backbone": FLAG,
    "n_clipped": COUNT,
    "n_seen": COUNT._replace(is_required=False),  # missing in older models
    "n_growths": COUNT._replace(is_required=False),
    "options": Rule("an object", _is_object),
    "history": Rule("an object", _is_object),
    "notes": Rule("an object", _is_object),
    "blends": Rule(
        "a list of lists of simple models with their sizes",
        _is_list_of(_is_list_of(_is_part)),
        is_required=False,
    ),
    "n_divided": Rule(
        "1, 2, 4 or 8",
        lambda value: _is_count(value) and value in (1, 2, 4, 8),
        is_required=False,  # missing in older models
    ),
    "n_atoms": Rule(
        f"0, or from 2 to {MOST_ATOMS}",
        lambda value: _is_count(value) and value != 1 and value <= MOST_ATOMS,
        is_required=False,  # missing in older models
    ),
    "end_atoms": Rule(
        "two non-negative whole numbers",
        _is_list_of(_is_count, n=2),
        is_required=False,  # missing without such atoms
    ),
    "training": Rule("an object", _is_object, is_required=False),  # of partial_fit
    "calibration_groups": Rule(
        "an object of a list of levels, and a column or null",
        _are_groups,
        is_required=False,
    ),
}
"""Of ``model.json``. Other keys are ignored, since a later version may add some."""

OPTIONS = {
    "hidden_layer_sizes": Rule("a list of whole numbers", _is_list_of(_is_count)),
    "activation": TEXT,
    "dropout": NUMBER,
    "embedding_width": NUMBER_OR_AUTO,
    "n_waves": NUMBER_OR_AUTO._replace(is_required=False),  # missing in older models
    "loss": TEXT,
    "target": TEXT,
    "n_bins": NUMBER,
    "sigma_in_bins": NUMBER,
    "padding_in_sigmas": NUMBER,
    "final_sigma_in_bins": Rule("a number or null", _either(_is_number, _is_nothing)),
    "tails": Rule("text or a pair", _either(_is_text, _is_list_of(_is_text, n=2))),
    "blend_with": Rule(
        "'auto' or a list of text",
        _either(_is_text, _is_list_of(_is_text)),
        is_required=False,
    ),
    "y_range": Rule(
        "null, a pair of numbers, or a list of such pairs",
        _either(_is_nothing, _IS_PAIR, _is_list_of(_IS_PAIR)),
    ),
    "bins_grow": Rule(
        "true, false or 'auto'", _is(True, False, "auto"), is_required=False
    ),
    "n_estimators": NUMBER,
    "learning_rate_init": NUMBER,
    "weight_decay": NUMBER,
    "batch_size": NUMBER_OR_AUTO,
    "max_iter": NUMBER,
    "early_stopping": SWITCH,
    "validation_fraction": NUMBER_OR_AUTO,
    "n_iter_no_change": NUMBER_OR_AUTO,
    "random_state": Rule("a whole number or null", _either(_is_whole, _is_nothing)),
    "verbose": SWITCH,
    "warm_start": SWITCH,
}
"""Types only. `histreg.tabular.options` checks the values."""

TRAINING = {
    "optimizers": Rule(
        "a list of objects of a learning_rate and a weight_decay, two at most",
        _either(*(_is_list_of(_is_optimizer, n=n) for n in range(3))),
    ),
    "has_generator": FLAG,
}

HISTORY = {
    "loss": SERIES,
    "validation_loss": SERIES,
    "validation_error": SERIES,
    "elapsed_s": SERIES,
}


def _is_finite(tensor: Tensor) -> bool:
    return bool(tensor.isfinite().all())


def _is_unique(tensor: Tensor) -> bool:
    return len(tensor.unique()) == len(tensor)


TENSORS = {
    "bins": TensorRule(torch.float64, "m b", "finite", _is_finite),
    "center": TensorRule(torch.float64, "m", "finite", _is_finite),
    "scale": TensorRule(
        torch.float64,
        "m",
        "finite and positive",
        lambda scale: _is_finite(scale) and bool((scale > 0).all()),
    ),
    "scaling.kept": TensorRule(torch.int64, "p", "free of duplicates", _is_unique),
    "scaling.flagged": TensorRule(torch.int64, "q", "free of duplicates", _is_unique),
    "scaling.knots": TensorRule(
        torch.float64,
        "p s",
        "finite and non-decreasing",
        lambda knots: _is_finite(knots) and bool((knots.diff(dim=1) >= 0).all()),
    ),
    "scaling.scores": TensorRule(torch.float64, "p s", "finite", _is_finite),
}
"""Sizes: m targets, b numbers of bins, p and q columns, s knots of a column."""

CALIBRATION = {
    "calibration.logits": TensorRule(
        torch.float64,
        "n m k",
        "finite, or -inf but not for all bins of a row",
        lambda logits: bool(logits.amax(dim=-1).isfinite().all()),
    ),
    "calibration.y": TensorRule(torch.float64, "n m", "finite", _is_finite),
}
"""Sizes: n rows, m targets, k bins, divided as for the predictions."""

GROUPS = {
    "calibration.groups": TensorRule(
        torch.int64, "n", "non-negative", lambda codes: bool((codes >= 0).all())
    )
}
"""Of a calibration by groups of rows."""

MIN_SIZES = {"m": 1, "n": 1, "s": 2, "b": 7}
"""At least one target, one row, two knots, and two bins with their tails."""
BODY, READOUT, SHARP = "network.body.", "network.readout.", "sharp."
BLEND = "blend."
OPTIMIZER, GENERATOR = "optimizer.", "generator"
"""Prefixes of all other tensors: those of the network, and of the training state, see
`histreg.tabular.training_state`."""


def check_description(described: Any) -> None:
    """Raise unless a description follows `DESCRIPTION` and is consistent."""
    _check_object(described, DESCRIPTION)
    options = described["options"]
    unknown = sorted(options.keys() - OPTIONS.keys())
    if unknown:
        raise InputError(
            f"unknown option {reprlib.repr(unknown[0])}; the model may come from a "
            "later version of histreg"
        )
    _check_object(options, OPTIONS, " in 'options'")
    if "training" in described:
        _check_object(described["training"], TRAINING, " in 'training'")
    history = described["history"]
    _check_object(history, HISTORY, " in 'history'")
    if "calibration_groups" in described and not described["is_calibrated"]:
        raise InputError("'calibration_groups' must be missing without a calibration")
    lengths = {len(history[name]) for name in HISTORY}
    if len(lengths) > 1:
        raise InputError(
            f"'history' must have lists of one length, got {sorted(lengths)}"
        )
    kinds, labels = described["kinds"], described["labels"]
    if len(labels) != kinds.count("label"):
        raise InputError(
            f"'labels' must have a list for each of the {kinds.count('label')} columns "
            f"of labels in 'kinds', got {len(labels)}"
        )
    names = described["feature_names"]
    if names is not None and len(names) != len(kinds):
        raise InputError(
            f"'feature_names' must have a name for each of the {len(kinds)} columns in "
            f"'kinds', got {len(names)}"
        )
    groups = described.get("calibration_groups")
    if groups is not None and groups["column"] is not None:
        known = names or [f"x{i}" for i in range(len(kinds))]
        if groups["column"] not in known:
            raise InputError(
                "'column' in 'calibration_groups' must be one of 'feature_names', got "
                f"{reprlib.repr(groups['column'])}"
            )


def kinds_in(described: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kinds of a model's columns, those of older versions included."""
    older = {}
    if not described.get("tells_times", False):  # missing in older models
        older["number"] = NUMBER_OR_TIME
    if not described.get("has_calendar", False):
        older["time"] = INSTANT
    return tuple(older.get(kind, kind) for kind in described["kinds"])


def check_tensors(described: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Raise unless tensors follow `TENSORS` and agree with their description.

    Parameters
    ----------
    described : mapping
        Already checked by `check_description`.
    tensors : mapping of Tensors
        Those of the network are not checked here.
    """
    rules = TENSORS | (CALIBRATION if described["is_calibrated"] else {})
    groups = described.get("calibration_groups")
    if groups is not None:
        rules |= GROUPS
    others = (
        *(BODY, READOUT, *((SHARP,) if described["is_sharp"] else ())),
        *((BLEND,) if "blends" in described else ()),
        *((OPTIMIZER, GENERATOR) if "training" in described else ()),
    )
    check_names(rules, [name for name in tensors if not name.startswith(others)])
    sizes: dict[str, int] = {}
    for name, rule in rules.items():
        tensor = tensors[name]
        letters = rule.shape.split()
        if tensor.dtype != rule.dtype or tensor.ndim != len(letters):
            raise InputError(
                f"{name!r} must be {rule.dtype} of {len(letters)} dimensions, got "
                f"{tensor.dtype} of shape {reprlib.repr(tuple(tensor.shape))}"
            )
        for i, (letter, size) in enumerate(zip(letters, tensor.shape, strict=True)):
            expected = sizes.setdefault(letter, max(size, MIN_SIZES.get(letter, 0)))
            if size != expected:
                raise InputError(
                    f"{name!r} must have size {expected} in dimension {i}, got shape "
                    f"{tuple(tensor.shape)}"
                )
        if not rule.holds(tensor):
            raise InputError(f"{name!r} must be {rule.expected}")
        if name == "bins":
            sizes["k"] = _checked_bins(tensor) * described.get("n_divided", 1)
            if described.get("n_atoms", 0):
                sizes["k"] = 2 * described["n_atoms"] + 1
            for n_bins in described.get("end_atoms", ()):
                sizes["k"] += 3 - n_bins if n_bins else 0
    n_inputs = n_numbers(kinds_in(described))
    for name in ("scaling.kept", "scaling.flagged"):
        if not bool(((tensors[name] >= 0) & (tensors[name] < n_inputs)).all()):
            raise InputError(
                f"{name!r} must hold indices from 0 to {n_inputs - 1}, of the numbers "
                "of the columns in 'kinds'"
            )
    if groups is not None:
        n_groups = len(groups["levels"])
        if not bool((tensors["calibration.groups"] < n_groups).all()):
            raise InputError(
                f"'calibration.groups' must hold numbers below {n_groups}, the number "
                "of levels in 'calibration_groups'"
            )
    if described["is_flat"] and sizes["m"] != 1:
        raise InputError(
            f"'bins' must be of one target because 'is_flat' is true, got {sizes['m']}"
        )


def check_names(expected: Mapping[str, Any], names: list[str]) -> None:
    """Raise unless the names of tensors are the expected ones, in any order."""
    missing = sorted(expected.keys() - set(names))
    if missing:
        raise InputError(f"tensor {missing[0]!r} is missing")
    unknown = sorted(set(names) - expected.keys())
    if unknown:
        raise InputError(
            f"unexpected tensor {reprlib.repr(unknown[0])}, which the model in "
            "model.json does not have"
        )


def _check_object(value: Any, rules: Mapping[str, Rule], where: str = "") -> None:
    """Raise unless each value of an object follows the rule of its key."""
    for name, rule in rules.items():
        if name not in value:
            if rule.is_required:
                raise InputError(f"{name!r} is missing{where}")
        elif not rule.holds(value[name]):
            raise InputError(
                f"{name!r} must be {rule.expected}, got {reprlib.repr(value[name])}"
            )


def _checked_bins(states: Tensor) -> int:  # (m, k + 5)
    """Return the number of bins, k; raise unless these are states of bins."""
    n_bins = 0
    for state in states:
        bins = Bins.from_state(state)
        if not torch.equal(bins.state(), state):
            raise InputError("'bins' must have the end borders that their tails imply")
        n_bins = bins.n_bins
    return n_bins
