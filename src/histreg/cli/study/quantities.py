"""Quantities in words: counts and durations."""

from __future__ import annotations


def counted(n: int, singular: str, plural: str = "") -> str:
    """Return a number and a noun, such as ``"1 run"`` and ``"2 runs"``."""
    return f"{n} {singular if n == 1 else plural or singular + 's'}"


def duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
