"""Damages of a saved model whose checksums are right: by another tool, or by malice.

``apply(damage, folder)`` damages the model in a folder, which must be `sound_model()`:
tests and fuzzers share the registry `DAMAGES`. The format is written out here once
more, so that the files of today stay readable.
"""

import copy
import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load, save

from histreg import HistogramRegressor

Described = dict[str, Any]
Tensors = dict[str, torch.Tensor]
Damage = Callable[[Described, Tensors], None]
FileDamage = Callable[[Path], None]


def sound_table(n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns of numbers, one with gaps, one constant, and of labels; and y."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n, 3))
    y = 3 * numbers[:, 0] + rng.normal(size=n)
    numbers[::5, 1] = np.nan
    numbers[:, 2] = 7
    table = pd.DataFrame(numbers, columns=["a", "b", "c"])
    return table.assign(d=np.where(numbers[:, 0] > 0, "up", "down")), y


def sound_model(**options: Any) -> HistogramRegressor:
    """Return a small calibrated ensemble with everything that a file can hold."""
    table, y = sound_table()
    chosen = {"hidden_layer_sizes": (4, 4), "n_bins": 20, "n_estimators": 2}
    model = HistogramRegressor(
        **{**chosen, "max_iter": 2, "random_state": 0, **options}
    ).fit(table, y)
    model.notes_ = {"unit": ["euro", {"since": 2002}]}
    return model if options.get("loss") in ("l1", "l2") else model.calibrate(table, y)


def read(folder: Path) -> tuple[Described, Tensors]:
    """Return what the files of a model say, without any check."""
    described = json.loads((folder / "model.json").read_text())
    return described, load((folder / described["weights"]).read_bytes())


def write(folder: Path, described: Described, tensors: Tensors | bytes) -> None:
    """Write files with right checksums, whatever they say."""
    data = tensors if isinstance(tensors, bytes) else save(tensors)
    digest = hashlib.sha256(data).hexdigest()
    described = {**described}
    described.pop("checksum", None)
    if described.get("weights") and described.get("sha256"):
        for old in folder.glob("weights-*.safetensors"):
            old.unlink()
    name = f"weights-{digest[:16]}.safetensors"
    (folder / name).write_bytes(data)
    for key, value in (("weights", name), ("sha256", digest)):
        if not str(described.get(key, "")).startswith("damaged:"):
            described[key] = value
        else:
            described[key] = described[key].removeprefix("damaged:")
    write_description(folder, json.dumps(described))


def write_description(folder: Path, text: str, checksum: str | None = None) -> None:
    """Write JSON, with the checksum of what it says put in front."""
    if checksum is None:
        said = json.dumps(json.loads(text), sort_keys=True)
        checksum = hashlib.sha256(said.encode()).hexdigest()
    (folder / "model.json").write_text(f'{{"checksum": "{checksum}", {text[1:]}')


def apply(damage: str, folder: Path) -> None:
    """Damage the model in a folder."""
    if damage in FILE_DAMAGES:
        FILE_DAMAGES[damage](folder)
        return
    described, tensors = read(folder)
    DAMAGES[damage](described, tensors)
    write(folder, described, tensors)


def put(*keys: str, to: Any) -> Damage:
    """Return what gives a key of the description another value."""

    def damage(described: Described, _: Tensors) -> None:
        for key in keys[:-1]:
            described = described[key]
        described[keys[-1]] = copy.deepcopy(to)

    return damage


def drop(*keys: str) -> Damage:
    """Return what leaves out a key of the description."""

    def damage(described: Described, _: Tensors) -> None:
        for key in keys[:-1]:
            described = described[key]
        del described[keys[-1]]

    return damage


def tensor(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Damage:
    """Return what changes a tensor."""

    def damage(_: Described, tensors: Tensors) -> None:
        tensors[name] = change(tensors[name].clone()).contiguous()

    return damage


def entry(value: float, *index: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return what changes one entry of a tensor, the first unless told."""

    def change(given: torch.Tensor) -> torch.Tensor:
        given[index or (0,) * given.ndim] = value
        return given

    return change


def no_tensor(name: str) -> Damage:
    """Return what leaves out a tensor."""

    def damage(_: Described, tensors: Tensors) -> None:
        del tensors[name]

    return damage


def more_tensor(name: str) -> Damage:
    """Return what adds a tensor that nobody asked for."""

    def damage(_: Described, tensors: Tensors) -> None:
        tensors[name] = torch.zeros(3)

    return damage


def both(*damages: Damage) -> Damage:
    """Return several damages as one."""

    def damage(described: Described, tensors: Tensors) -> None:
        for each in damages:
            each(described, tensors)

    return damage


def repeated_target(described: Described, tensors: Tensors) -> None:
    """Say two targets, of a model whose predictions have no dimension for them."""
    assert described["is_flat"]
    for name in ("bins", "center", "scale"):
        tensors[name] = tensors[name].repeat_interleave(2, dim=0)


NESTED: Any = []
for _ in range(150):
    NESTED = [NESTED]

NO_TRUTH = [None, 1, 0.0, "true", [], {}]
NO_COUNT = [None, -1, 1.5, "3", True, [], {}, 2**70]
NO_NUMBER = [None, "3", True, [], {}, [3], 10**400]
NO_TEXT = [None, 3, True, [], ["relu"], {"relu": 1}, "", "Relu", "x" * 10**6]

# What each key must not be; "?" stands for one that is missing.
WRONG: dict[tuple[str, ...], list[Any]] = {
    ("version",): [None, 1, 3, 2.0, "2", True, [2], {}, 10**400],
    ("format",): [None, "other", 3, [], {}],
    ("kinds",): [
        None,
        "number",
        3,
        {},
        [],
        ["number"],
        ["number"] * 4,
        ["label"] * 4,
        ["number", "number", "number", "colour"],
        [1, 2, 3, 4],
        [["number"], ["number"], ["number"], ["label"]],
        ["number", "number", "number", "label", "number"],
        ["number"] * 10**5,
    ],
    ("labels",): [
        None,
        "down",
        {},
        [],
        [None],
        ["down"],
        [["down", "down"]],
        [["down", 3]],
        [["down", None]],
        [["down"]],
        [["down", "up", "left"]],
        [["down", "up"], ["down", "up"]],
        [["down", ["up"]]],
        [["down", "up"]] * 10**5,
        [[str(i) for i in range(10**5)]],
    ],
    ("feature_names",): [
        "abcd",
        3,
        {},
        [],
        ["a", "b", "c"],
        ["a", "b", "c", "c"],
        ["a", "b", "c", 4],
        ["a", "b", "c", None],
        ["a", "b", "c", ["d"]],
        ["a", "b", "c", "d", "e"],
    ],
    ("is_flat",): NO_TRUTH,
    ("tells_times",): NO_TRUTH,
    ("has_calendar",): NO_TRUTH,
    ("is_sharp",): [*NO_TRUTH, False],
    ("is_calibrated",): [*NO_TRUTH, False],
    ("has_own_bins",): NO_TRUTH,
    ("has_backbone",): [*NO_TRUTH, True],
    ("n_seen",): NO_COUNT,
    ("n_clipped",): NO_COUNT,
    ("n_growths",): NO_COUNT,
    ("options",): [None, 3, [], {}, "", {"loss": "l2"}],
    ("history",): [None, 3, [], {}, "", {"loss": []}],
    ("notes",): [None, 3, [], "", NESTED, {"deep": NESTED}],
    ("options", "hidden_layer_sizes"): [
        None,
        4,
        "4",
        {},
        [],
        [4],
        [4, 5],
        [4, 0],
        [4, -1],
        [4, 4.5],
        [4, "4"],
        [4, None],
        [4, [4]],
        [4, 2**40],
        [2**62, 2**62],
        [4, 10**30],
        [4] * 10**6,
    ],
    ("options", "activation"): NO_TEXT,
    ("options", "loss"): [*NO_TEXT, "l2", "mdn", "l3"],
    ("options", "target"): [*NO_TEXT, "callable"],
    ("options", "dropout"): [*NO_NUMBER, 1, -0.1, 1e308],
    ("options", "embedding_width"): [
        *[None, "3", True, [], {}, "Auto", -1, 7, 1.5],
        *[2**40, 2**62, 10**30, 1e308, 10**400],
    ],
    ("options", "n_waves"): [
        *[None, "3", True, [], {}, "Auto", -1, 1, 7, 1.5],
        *[2**40, 2**62, 10**30, 1e308, 10**400],
    ],
    ("options", "n_bins"): NO_NUMBER,
    ("options", "sigma_in_bins"): [*NO_NUMBER, 0, -1],
    ("options", "padding_in_sigmas"): NO_NUMBER,
    ("options", "final_sigma_in_bins"): [*NO_NUMBER[1:], 0, -1],
    ("options", "tails"): [
        *[None, 3, True, {}, [], "Clip", "", ["clip"], ["clip", "clip", "clip"]],
        *[["clip", 3], ["clip", None], ["clip", "thick"], [["clip"], "clip"]],
    ],
    ("options", "y_range"): [
        *[3, "", {}, [3], [1, 2, 3], [None, 1], ["0", "1"], [[0, 1], 2]],
        *[[[0, 1, 2]], [0, True], [0, 10**400]],
    ],
    ("options", "bins_grow"): [None, "yes", 3, [], {}, 0.5],
    ("options", "n_estimators"): [
        *[*NO_NUMBER, 0, -1, 1, 3, 1.5, 100_000],
        *[2**62, 10**30, 1e308],
    ],
    ("options", "learning_rate_init"): [*NO_NUMBER, 0, -1],
    ("options", "weight_decay"): [*NO_NUMBER, -1],
    ("options", "batch_size"): [None, "3", True, [], {}, 0, -1, 1.5, 10**400],
    ("options", "max_iter"): [*NO_NUMBER, 0, 1.5],
    ("options", "early_stopping"): [None, "yes", [], {}],
    ("options", "validation_fraction"): [*NO_NUMBER, 0, 1],
    ("options", "n_iter_no_change"): [*NO_NUMBER, 0, 1.5],
    ("options", "random_state"): ["0", True, 1.5, [], {}, 10**400],
    ("options", "verbose"): [None, "yes", [], {}],
    ("options", "warm_start"): [None, "yes", [], {}],
    ("options", "unheard_of"): [None, 3],
    ("options", "bins"): ["auto", [0, 1, 2]],
    ("options", "device"): ["cpu"],
    ("options", "backbone"): ["Linear"],
    ("options", "callback"): ["print"],
    ("history", "loss"): [None, 3, {}, "", [], [1.0, "2"], [1.0, [2]], [1.0] * 3],
    ("history", "validation_loss"): [None, 3, {}, "", [], [1.0, "2"], [True, 2.0]],
    ("history", "validation_error"): [None, 3, {}, "", [], [1.0, "2"]],
    ("history", "elapsed_s"): [None, 3, {}, "", [], [1.0, "2"], [1.0, 10**400]],
    # The first two are right unless they are said to be damaged, see `write`.
    ("weights",): [
        f"damaged:{name}"
        for name in (
            *("", ".", "..", "model.json", "../weights-0123456789abcdef.safetensors"),
            *("/etc/passwd", "weights-0123456789abcdef.safetensors", "weights-*"),
            "weights-0123456789abcdef.safetensors/../model.json",
            *("weights-0123456789abcdef.safetensors\n", "a\0b", "x" * 10**5),
        )
    ],
    ("sha256",): ["damaged:", "damaged:" + "0" * 64],
}
OPTIONAL = {
    *(("tells_times",), ("has_calendar",), ("n_seen",), ("n_growths",)),
    ("options", "bins_grow"),
}
ADDED = {
    ("options", name)
    for name in ("unheard_of", "bins", "device", "backbone", "callback")
}

NAN, INF = float("nan"), float("inf")
LAYER = "network.body.layers.0.weight"
TENSOR_NAMES = [
    *("bins", "center", "scale", "scaling.kept", "scaling.flagged", "scaling.knots"),
    *("scaling.scores", "calibration.logits", "calibration.y", LAYER),
    *("network.body.layers.1.bias", "network.body.label_embedding.tables.0"),
    *("network.readout.weight", "network.readout.bias", "sharp.weight", "sharp.bias"),
]
FLOATS = [name for name in TENSOR_NAMES if name[8:] not in ("kept", "flagged")]
SHAPES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "is longer": lambda t: torch.cat([t, t[-1:]]),
    "is shorter": lambda t: t[:-1],
    "is empty": lambda t: t[:0],
    "has another dimension": lambda t: t.unsqueeze(-1),
    "is flat": lambda t: t.flatten()[0],
    "is float16": lambda t: t.half(),
    "is int32": lambda t: t.nan_to_num().int(),
    "is complex": lambda t: t.to(torch.complex64),
    "is bool": lambda t: t != 0,
}
VALUES: dict[str, Damage] = {
    "bins fall": tensor("bins", lambda t: t.flip(-1)),
    "bins repeat": tensor("bins", lambda t: entry(float(t[0, 1]), 0, 2)(t)),
    "bins end elsewhere than their tail": tensor("bins", entry(1.0, 0, -4)),
    "a tail has no mean": tensor(
        "bins", lambda t: entry(1.5, 0, -1)(entry(1.0, 0, -2)(t))
    ),
    "a tail has a shape alone": tensor("bins", entry(0.5, 0, -1)),
    "a tail has a negative scale": tensor("bins", entry(-1.0, 0, -2)),
    "bins beyond float64": tensor(
        "bins", lambda t: entry(1.7e308, 0, 20)(entry(-1.7e308, 0, 0)(t))
    ),
    "scale is zero": tensor("scale", torch.zeros_like),
    "scale is negative": tensor("scale", torch.neg),
    "knots fall": tensor("scaling.knots", lambda t: t.flip(-1)),
    "one knot": both(
        tensor("scaling.knots", lambda t: t[:, :1]),
        tensor("scaling.scores", lambda t: t[:, :1]),
    ),
    "no knot": both(
        tensor("scaling.knots", lambda t: t[:, :0]),
        tensor("scaling.scores", lambda t: t[:, :0]),
    ),
    "a column is kept twice": tensor("scaling.kept", lambda t: entry(int(t[1]))(t)),
    "a column beyond the last is kept": tensor("scaling.kept", entry(3)),
    "a column before the first is kept": tensor("scaling.kept", entry(-1)),
    "a column beyond the last is flagged": tensor("scaling.flagged", entry(2**62)),
    "a column before the first is flagged": tensor("scaling.flagged", entry(-(2**62))),
    "a column is flagged twice": tensor("scaling.flagged", lambda t: t.repeat(2)),
    "a row of calibration has no bin": tensor(
        "calibration.logits", lambda t: t.index_fill(0, torch.tensor([1]), -INF)
    ),
    "calibration has no row": both(
        tensor("calibration.logits", lambda t: t[:0]),
        tensor("calibration.y", lambda t: t[:0]),
    ),
    "two targets in a flat model": repeated_target,
    "no target": both(
        *(tensor(name, lambda t: t[:0]) for name in ("bins", "center", "scale"))
    ),
    "a tensor of the network too many": more_tensor("network.extra"),
    "a tensor of the body too many": more_tensor("network.body.layers.2.weight"),
    "a tensor of the readout too many": more_tensor("sharp.extra"),
    "a tensor too many": more_tensor("extra"),
    "a tensor without a name": more_tensor(""),
    "no tensors": lambda _, tensors: tensors.clear(),
}

DAMAGES: dict[str, Damage] = {
    **{
        f"{'.'.join(keys)} is {str(value)[:40]!r} ({i})": put(*keys, to=value)
        for keys, values in WRONG.items()
        for i, value in enumerate(values)
    },
    **{
        f"no {'.'.join(keys)}": drop(*keys)
        for keys in WRONG
        if keys not in OPTIONAL | ADDED | {("weights",), ("sha256",)}
    },
    **{f"no tensor {name}": no_tensor(name) for name in TENSOR_NAMES},
    **{
        f"tensor {name} {what}": tensor(name, change)
        for name in TENSOR_NAMES
        for what, change in SHAPES.items()
    },
    **{
        f"tensor {name} has {value}": tensor(name, entry(value))
        for name in FLOATS
        for value in (NAN, INF, -INF)
        if (name, value) != ("calibration.logits", -INF)  # what a bin without mass has
    },
    **VALUES,
}


def as_text(change: Callable[[str], str], checksum: str | None = None) -> FileDamage:
    """Return what changes the text of a description, and gives it a checksum."""

    def damage(folder: Path) -> None:
        described = json.loads((folder / "model.json").read_text())
        described.pop("checksum")
        write_description(folder, change(json.dumps(described)), checksum)

    return damage


def as_bytes(change: Callable[[bytes], bytes]) -> FileDamage:
    """Return what changes the bytes of the weights, with right checksums."""

    def damage(folder: Path) -> None:
        described = json.loads((folder / "model.json").read_text())
        write(folder, described, change((folder / described["weights"]).read_bytes()))

    return damage


def with_header(change: Callable[[dict[str, Any]], None]) -> FileDamage:
    """Return what changes the header of the weights, with right checksums."""

    def changed(data: bytes) -> bytes:
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        change(header)
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data[8 + length :]

    return as_bytes(changed)


def header_says(name: str, **changes: Any) -> FileDamage:
    """Return what says something else of a tensor than it is."""
    return with_header(lambda header: header[name].update(changes))


FILE_DAMAGES: dict[str, FileDamage] = {
    "deep lists": as_text(
        lambda text: text[:-1] + ', "x": ' + "[" * 10**5 + "]" * 10**5 + "}", "0" * 64
    ),
    "deep objects": as_text(
        lambda text: text[:-1] + ', "x": ' + '{"a":' * 10**5 + "1" + "}" * 10**5 + "}",
        "0" * 64,
    ),
    "a description of 65 MiB": as_text(lambda text: text + " " * (65 * 2**20)),
    "a number beyond float64": as_text(
        lambda text: text.replace('"n_clipped": 0', '"n_clipped": 1e999'), "0" * 64
    ),
    "NaN in JSON": as_text(
        lambda text: text.replace('"n_clipped": 0', '"n_clipped": NaN'), "0" * 64
    ),
    "a number of 5,000 digits": as_text(
        lambda text: text.replace('"n_clipped": 0', f'"n_clipped": {"9" * 5000}'),
        "0" * 64,
    ),
    "a key twice": as_text(lambda text: text[:-1] + ', "is_flat": true}'),
    "a checksum twice": as_text(lambda text: text[:-1] + ', "checksum": "a"}', "a"),
    "no text": lambda folder: (folder / "model.json").write_bytes(b"\xff\xfe\x00"),
    "an empty description": lambda folder: (folder / "model.json").write_bytes(b""),
    "a list for a description": lambda folder: (folder / "model.json").write_text("[]"),
    "a null for a description": lambda folder: (folder / "model.json").write_text("0"),
    "weights are a folder": lambda folder: [
        (path.unlink(), path.mkdir()) for path in folder.glob("weights-*")
    ],
    "weights are empty": as_bytes(lambda _: b""),
    "weights are cut short": as_bytes(lambda data: data[:-1]),
    "weights are too long": as_bytes(lambda data: data + b"\0"),
    "weights have a long header": as_bytes(lambda d: struct.pack("<Q", 2**60) + d[8:]),
    "weights have no header": as_bytes(lambda d: struct.pack("<Q", 0) + d[8:]),
    "weights have an odd header": as_bytes(lambda d: d[:8] + b"[" + d[9:]),
    "a type that PyTorch has not": header_says("center", dtype="F8_E8M0", shape=[8]),
    "a type that nobody has": header_says("center", dtype="F80"),
    "a shape beyond the data": header_says("center", shape=[2**40]),
    "a negative shape": header_says("center", shape=[-1]),
    "many dimensions": header_says("center", shape=[1] * 10**4),
    "overlapping tensors": header_says("center", data_offsets=[0, 8]),
    "an empty tensor of a huge shape": with_header(
        lambda header: header.update(
            huge={"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}
        )
    ),
    "an empty tensor of a shape beyond 64 bits": with_header(
        lambda header: header.update(
            huge={"dtype": "F32", "shape": [2**63, 0], "data_offsets": [0, 0]}
        )
    ),
}
