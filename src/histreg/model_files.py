"""Model files: a folder with what JSON can say and the tensors beside it.

``model.json`` names the file of tensors and its SHA-256, and is written last, so that a
reader meets a whole model or none, also while one is being replaced.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as bytes_of_tensors
from torch import Tensor

from histreg.errors import InputError
from histreg.files import whole

FORMAT = "histreg model"
VERSION = 2
DESCRIPTION = "model.json"


def save(folder: Path, described: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a model into a folder, made if missing; replace one that is there."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"path must be a folder to save a model in, got file {folder}")
    data = bytes_of_tensors(tensors)
    digest = hashlib.sha256(data).hexdigest()
    name = f"weights-{digest[:16]}.safetensors"
    described = {
        "format": FORMAT,
        "version": VERSION,
        "weights": name,
        "sha256": digest,
        **described,
    }
    described["checksum"] = _checksum(described)
    text = json.dumps(described, indent=1, allow_nan=False)
    folder.mkdir(parents=True, exist_ok=True)
    with whole(folder / name) as path:
        path.write_bytes(data)
    with whole(folder / DESCRIPTION) as path:
        path.write_text(text, encoding="utf-8")
    for old in folder.glob("weights-*.safetensors"):
        if old.name != name:
            old.unlink()


def load(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the description and the tensors of a model, or refuse in one sentence."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise InputError(f"path must be a folder with a {DESCRIPTION}, got {folder}")
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is damaged: it is no JSON ({error})") from error
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise InputError(f"{path} must describe a {FORMAT}, and does not")
    if described.get("version") != VERSION:
        raise InputError(
            f"{path} must be of version {VERSION}, which this histreg reads, "
            f"got version {described.get('version')}"
        )
    if described.pop("checksum", None) != _checksum(described):
        raise InputError(f"{path} is damaged: its checksum is not that of its content")
    weights = folder / described["weights"]
    if not weights.is_file():
        raise InputError(
            f"{path} is damaged: there is no file {described['weights']!r} beside it"
        )
    data = weights.read_bytes()
    if hashlib.sha256(data).hexdigest() != described["sha256"]:
        raise InputError(
            f"{weights} is damaged: its checksum is not the one in {DESCRIPTION}"
        )
    return described, tensors_from_bytes(data)


def _checksum(described: dict[str, Any]) -> str:
    """Return the SHA-256 of what is described, however the JSON is laid out."""
    text = json.dumps(described, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
