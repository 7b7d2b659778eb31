"""Model files: a folder with a description in JSON and a file of tensors.

``model.json`` names the file of tensors and its SHA-256, and is written last, so that a
reader finds a complete model or none, also while one is being replaced. What it must
contain is in `histreg.tabular.model_schema`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as bytes_of_tensors
from torch import Tensor

from histreg._files import atomic_write, locked
from histreg._names import MODEL_JSON
from histreg.errors import InputError, WriteError


class Format(NamedTuple):
    """What a folder holds, and in which version of its layout."""

    name: str
    version: int


MODEL = Format("histreg model", 2)
WEIGHTS = re.compile(r"weights-[0-9a-f]{16}\.safetensors")
MAX_BYTES = 2**26  # of the description, 64 MiB: a million labels are a third of it
MAX_DEPTH = 100  # of nested objects and lists
MAX_SENTENCE = 600  # characters of an error message, which may quote the file
TOO_DEEP = f"objects and lists must be nested at most {MAX_DEPTH} levels deep"


def save(
    folder: Path,
    described: dict[str, Any],
    tensors: dict[str, Tensor],
    format: Format = MODEL,
) -> None:
    """Write a model into a folder, created if missing; replace a model in it.

    Of the files already there, only the weights of the replaced model are removed,
    whatever its format and version.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"path must be a folder to save a model in, got file {folder}")
    data = bytes_of_tensors(tensors)
    digest = hashlib.sha256(data).hexdigest()
    name = f"weights-{digest[:16]}.safetensors"
    described = {
        "format": format.name,
        "version": format.version,
        "weights": name,
        "sha256": digest,
        **described,
    }
    text = _text_of(described)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"{folder} cannot be created: {error.strerror}") from error
    with locked(folder):
        replaced = _weights_named_in(folder)
        with (
            atomic_write(folder / MODEL_JSON) as description,
            atomic_write(folder / name) as path,
        ):
            path.write_bytes(data)
            description.write_text(text, encoding="utf-8")
        # By now the weights are in place, and after them the description.
        if replaced is not None and replaced != name:
            (folder / replaced).unlink(missing_ok=True)


def to_bytes(described: dict[str, Any], tensors: dict[str, Tensor]) -> list[bytes]:
    """Return a model as its description and its tensors, each as bytes."""
    return [_text_of(described).encode(), bytes_of_tensors(tensors)]


def from_bytes(saved: list[bytes]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the model that `to_bytes` wrote; raise if it is damaged."""
    try:
        text, data = saved
        return json.loads(text), tensors_from_bytes(data)
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(_one_line(str(error))) from error


def load(
    folder: Path, format: Format = MODEL
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the description and the tensors of a model; raise if it is damaged."""
    try:
        described, data = _read(folder, format)
    except _WeightsMissingError:
        # The model may have been replaced after its description was read; it cannot be
        # while this lock is held.
        with locked(folder, shared=True):
            described, data = _read(folder, format)
    weights = folder / described["weights"]
    if hashlib.sha256(data).hexdigest() != described.get("sha256"):
        raise InputError(
            f"{weights} is damaged: its checksum is not the one in {MODEL_JSON}"
        )
    try:
        return described, tensors_from_bytes(data)
    except (SafetensorError, KeyError, TypeError, RuntimeError) as error:
        # KeyError: a dtype that PyTorch does not have; the last two: sizes beyond 64
        # bits.
        raise InputError(
            f"{weights} is damaged: its tensors cannot be read "
            f"({_one_line(str(error))})"
        ) from error


@contextmanager
def errors_prefixed(prefix: str) -> Iterator[None]:
    """Put a prefix such as ``"a.json is damaged"`` before the message of InputErrors.

    A TypeError becomes an InputError: a value of the wrong type makes a file invalid.
    """
    try:
        yield
    except (InputError, TypeError) as error:
        raise InputError(f"{prefix}: {_one_line(str(error))}") from error


class _WeightsMissingError(InputError):
    """A description names weights that are not there."""


def _read(folder: Path, format: Format) -> tuple[dict[str, Any], bytes]:
    """Return the description, and the bytes of the file of weights that it names."""
    path = folder / MODEL_JSON
    if not path.is_file():
        raise InputError(f"path must be a folder with a {MODEL_JSON}, got {folder}")
    described = _description_of(path, format)
    weights = folder / described["weights"]
    try:
        if weights.is_file():
            return described, weights.read_bytes()
    except FileNotFoundError:
        pass  # removed in between
    except OSError as error:
        raise InputError(f"{weights} cannot be read: {error.strerror}") from error
    raise _WeightsMissingError(
        f"{path} is damaged: there is no file {weights.name!r} beside it"
    )


def _description_of(path: Path, format: Format | None) -> dict[str, Any]:
    """Return a description; raise unless it is of a format (any if None), undamaged."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise InputError(
            f"{path} must have at most {MAX_BYTES:,} bytes to be a description"
        )
    try:
        described = json.loads(
            data.decode(),
            parse_constant=_finite,
            parse_float=_finite,
            object_pairs_hook=_object,
        )
    except ValueError as error:
        raise InputError(
            f"{path} is damaged: it is not valid JSON ({_one_line(str(error))})"
        ) from error
    except RecursionError as error:
        raise InputError(f"{path} is damaged: {TOO_DEEP}") from error
    if not isinstance(described, dict):
        raise InputError(f"{path} does not describe a model")
    if format is not None:
        _check_format(path, described, format)
    with errors_prefixed(f"{path} is damaged"):
        _check_depth(described)
    checksum = described.pop("checksum", None)
    if checksum is None or checksum != _checksum(described):
        raise InputError(f"{path} is damaged: its checksum is not that of its content")
    name = described.get("weights")
    if not isinstance(name, str) or not WEIGHTS.fullmatch(name):
        raise InputError(
            f"{path} is damaged: 'weights' must be a name such as "
            f"weights-0123456789abcdef.safetensors, got {_one_line(repr(name))}"
        )
    return described


def _check_format(path: Path, described: dict[str, Any], format: Format) -> None:
    if described.get("format") != format.name:
        raise InputError(f"{path} does not describe a {format.name}")
    version = described.get("version")
    if type(version) is not int or version != format.version:
        raise InputError(
            f"{path} must be of version {format.version}, which this histreg reads, "
            f"got version {_one_line(repr(version))}"
        )


def _weights_named_in(folder: Path) -> str | None:
    """Return the name of the weights of the model in a folder, if there is one."""
    path = folder / MODEL_JSON
    if path.is_file():
        with suppress(InputError):
            name: str = _description_of(path, None)["weights"]
            return name
    return None


def _text_of(described: dict[str, Any]) -> str:
    """Return a description as JSON with its checksum, if `load` would accept it."""
    try:
        # As it will be read: keys become text, tuples lists.
        described = json.loads(
            json.dumps(described, allow_nan=False), object_pairs_hook=_object
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the model cannot be saved: notes_ and options must be JSON ({error})"
        ) from error
    except RecursionError as error:
        raise InputError(f"the model cannot be saved: {TOO_DEEP}") from error
    with errors_prefixed("the model cannot be saved"):
        _check_depth(described)
    text = json.dumps({**described, "checksum": _checksum(described)}, indent=1)
    if len(text.encode()) > MAX_BYTES:
        raise InputError(
            f"the model cannot be saved: notes_, labels and names must take at most "
            f"{MAX_BYTES:,} bytes as JSON"
        )
    return text


def _check_depth(described: dict[str, Any]) -> None:
    layer: list[Any] = [described]
    for _ in range(MAX_DEPTH + 1):
        layer = [
            child
            for value in layer
            if isinstance(value, dict | list | tuple)
            for child in (value.values() if isinstance(value, dict) else value)
        ]
    if layer:
        raise InputError(TOO_DEEP)


def _checksum(described: dict[str, Any]) -> str:
    """Return the SHA-256 of a description, independent of the layout of its JSON."""
    text = json.dumps(described, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raise on duplicate keys."""
    described = dict(pairs)
    if len(described) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return described


def _one_line(sentence: str) -> str:
    """Return a sentence in one line of bounded length."""
    line = " ".join(sentence[: 4 * MAX_SENTENCE].split())
    return line if len(line) <= MAX_SENTENCE else f"{line[:MAX_SENTENCE]}..."
