"""Damages that a store must survive, by name, for every kind of file that it has.

Each takes what a file holds and returns what it holds then; None stands for a folder in
its place. A new damage is tested by being added to one of the dicts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from histreg.study.engine.runs import Run
from histreg.study.engine.store import Store

Damage = Callable[[bytes], "bytes | None"]


def content(text: bytes) -> Damage:
    return lambda _: text


JSON_DAMAGES: dict[str, Damage] = {
    "empty": content(b""),
    "cut short": lambda text: text[: len(text) // 2],
    "null": content(b"null"),
    "empty object": content(b"{}"),
    "list": content(b"[1, 2]"),
    "number": content(b"1e400"),
    "string": content(b'"done"'),
    "zeros": lambda text: bytes(len(text)),
    "no text": content(b"\xff\xfe\xfa\x00\x81"),
    "brackets without end": content(b"[" * 100_000),
    "number of many digits": content(b'{"format": ' + b"9" * 5000 + b"}"),
    "folder": lambda _: None,
}
"""Of any JSON file."""


def changed(part: str, value: Any) -> Damage:
    """Return the damage that gives a part of an object another value."""
    return lambda text: json.dumps(json.loads(text) | {part: value}).encode()


def lacking(part: str) -> Damage:
    """Return the damage that takes a part of an object away."""

    def damage(text: bytes) -> bytes:
        found = json.loads(text)
        del found[part]
        return json.dumps(found).encode()

    return damage


RECORD_PARTS = (
    "key",
    "run",
    "metrics",
    "curves",
    "environment",
    "elapsed_s",
    "finished",
)


RECORD_DAMAGES = (
    JSON_DAMAGES
    | {f"without {part}": lacking(part) for part in RECORD_PARTS}
    | {
        f"{part} is {json.dumps(value)}": changed(part, value)
        for part, value in [
            ("format", "1"),
            ("key", 7),
            ("run", None),
            ("run", "pole"),
            ("metrics", []),
            ("metrics", {"test MAE": "low"}),
            ("metrics", {"test MAE": None}),
            ("curves", 3),
            ("diverged_at", "late"),
            ("diverged_at", True),
            ("data_sha256", 5),
            ("environment", "here"),
            ("elapsed_s", None),
            ("finished", 2026),
        ]
    }
)
PROGRESS_DAMAGES = (
    JSON_DAMAGES
    | {f"without {part}": lacking(part) for part in ("runs", "share", "when")}
    | {
        f"{part} is {json.dumps(value)}": changed(part, value)
        for part, value in [
            ("runs", None),
            ("share", "half"),
            ("share", 7),
            ("share", float("nan")),
            ("when", "now"),
        ]
    }
)

Metadata = "dict[str, str] | None"


def noted(**changes: Any) -> Callable[[dict[str, Any]], Metadata]:
    return lambda notes: {"notes": json.dumps(notes | changes)}


def without(part: str) -> Callable[[dict[str, Any]], Metadata]:
    return lambda notes: {
        "notes": json.dumps({k: v for k, v in notes.items() if k != part})
    }


NOTE_DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no metadata": lambda _: None,
    "no notes": lambda _: {"format": "pt"},
    "notes that are no JSON": lambda _: {"notes": "epoch 2"},
    "notes that are null": lambda _: {"notes": "null"},
    "notes that are a list": lambda _: {"notes": "[2]"},
    "notes that are empty": lambda _: {"notes": "{}"},
    "without format": without("format"),
    "without epoch": without("epoch"),
    "without spent_s": without("spent_s"),
    "epoch in words": noted(epoch="two"),
    "epoch 0": noted(epoch=0),
    "epoch true": noted(epoch=True),
    "epoch 1.5": noted(epoch=1.5),
    "spent_s in words": noted(spent_s="long"),
    "spent_s nan": noted(spent_s=float("nan")),
    "spent_s below 0": noted(spent_s=-1.0),
}
"""Of the notes of a checkpoint, whose tensors stay as they are."""

CHECKPOINT_DAMAGES = {
    **{name: JSON_DAMAGES[name] for name in ("empty", "cut short", "zeros", "folder")},
    "no checkpoint": content(b"\x08" + bytes(7) + b"{}      "),
    **NOTE_DAMAGES,
}
"""Seen without knowing the run."""


def _some_tensor(change: Callable[[Tensor], Tensor | None]) -> Callable[..., None]:
    """Return the damage that changes the first tensor, or takes it away."""

    def damage(tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:  # noqa: ARG001
        name = min(tensors)
        value = change(tensors.pop(name))
        if value is not None:
            tensors[name] = value

    return damage


def _all_tensors(change: Callable[[Tensor], Tensor]) -> Callable[..., None]:
    def damage(tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:  # noqa: ARG001
        tensors |= {name: change(each) for name, each in tensors.items()}

    return damage


def _noted(**changes: Any) -> Callable[..., None]:
    return lambda tensors, notes: notes.update(changes)


MISFITS: dict[str, Callable[[dict[str, Tensor], dict[str, Any]], None]] = {
    "one tensor is absent": _some_tensor(lambda _: None),
    "one tensor is longer": _some_tensor(lambda t: torch.cat([t.flatten()] * 2)),
    "one tensor is empty": _some_tensor(lambda t: t.flatten()[:0]),
    "all tensors are absent": lambda tensors, _: tensors.clear(),
    "all tensors are integers": _all_tensors(lambda t: t.long()),
    "all tensors are double": _all_tensors(lambda t: t.double()),
    "all tensors are one number": _all_tensors(lambda _: torch.ones(1)),
    "epoch beyond the last": _noted(epoch=1000),
}
"""Whole checkpoints that do not fit the run that they are of."""


def damage_file(path: Path, damage: Damage) -> None:
    after = damage(path.read_bytes())
    if after is None:
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(after)


def damage_record(store: Store, run: Run, name: str) -> Path:
    """Damage the record file of a run; return it."""
    (path,) = (store.root / "records").rglob(f"{run.key}.json")
    damage_file(path, RECORD_DAMAGES[name])
    return path


def damage_line(path: Path, run: Run, name: str) -> bytes:
    """Damage the line of a run in a collected file; return what it then is.

    An empty line holds nothing, and a folder is no line: both become half a line.
    """
    before = path.read_bytes().splitlines()
    (i,) = (i for i, line in enumerate(before) if json.loads(line)["key"] == run.key)
    after = RECORD_DAMAGES[name](before[i]) or before[i][:100]
    before[i] = after
    path.write_bytes(b"".join(line + b"\n" for line in before))
    return after


def damage_checkpoint(store: Store, run: Run, name: str) -> Path:
    """Damage the checkpoint of a run; return its file."""
    path = store.checkpoint(run).path
    if name in NOTE_DAMAGES:
        tensors, metadata = _read(path)
        notes = json.loads(metadata["notes"])
        save_file(tensors, path, metadata=NOTE_DAMAGES[name](notes))
    elif name in MISFITS:
        tensors, metadata = _read(path)
        notes = json.loads(metadata["notes"])
        MISFITS[name](tensors, notes)
        save_file(tensors, path, metadata={"notes": json.dumps(notes)})
    else:
        damage_file(path, CHECKPOINT_DAMAGES[name])
    return path


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
