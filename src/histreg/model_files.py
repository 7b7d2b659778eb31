"""Model files: a folder with what JSON can say and the tensors beside it.

``model.json`` names the file of tensors and its SHA-256, and is written last, so that a
reader meets a whole model or none, also while one is being replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as bytes_of_tensors
from torch import Tensor

FORMAT = "histreg model"
VERSION = 1
DESCRIPTION = "model.json"


def save(folder: Path, described: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a model into a folder, made if missing; replace one that is there."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"path must be a folder to save a model in, got file {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    data = bytes_of_tensors(tensors)
    digest = hashlib.sha256(data).hexdigest()
    weights = folder / f"weights-{digest[:16]}.safetensors"
    _write_whole(weights, data)
    described = {
        "format": FORMAT,
        "version": VERSION,
        "weights": weights.name,
        "sha256": digest,
        **described,
    }
    text = json.dumps(described, indent=1, allow_nan=False)
    _write_whole(folder / DESCRIPTION, text.encode())
    for old in folder.glob("weights-*.safetensors"):
        if old != weights:
            old.unlink()


def load(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the description and the tensors of a model, or refuse in one sentence."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise ValueError(f"path must be a folder with a {DESCRIPTION}, got {folder}")
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: it is no JSON ({error})") from error
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise ValueError(f"{path} must describe a {FORMAT}, and does not")
    if described.get("version") != VERSION:
        raise ValueError(
            f"{path} must be of version {VERSION}, which this histreg reads, "
            f"got version {described.get('version')}"
        )
    name = str(described.get("weights"))
    weights = folder / name
    if Path(name).name != name or not weights.is_file():
        raise ValueError(f"{path} is damaged: there is no file {name!r} beside it")
    data = weights.read_bytes()
    if hashlib.sha256(data).hexdigest() != described.get("sha256"):
        raise ValueError(
            f"{weights} is damaged: its checksum is not the one in {DESCRIPTION}"
        )
    try:
        return described, tensors_from_bytes(data)
    except SafetensorError as error:
        raise ValueError(f"{weights} is damaged: {error}") from error


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file that is whole or absent, whatever happens."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
