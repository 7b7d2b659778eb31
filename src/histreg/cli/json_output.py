"""JSON output: what a command prints with ``--format json``."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def print_json(document: Any) -> None:
    """Print one JSON document on standard output; NaN and infinity become null."""
    text = json.dumps(_finite(document), ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write(text + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(entry) for entry in value]
    return value
