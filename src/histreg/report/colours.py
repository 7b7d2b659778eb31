"""Colours and marks that differ in grey print and for colour-blind readers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from histreg._axes import BLUE, GREY, ORANGE

__all__ = ["BLACK", "BLUE", "GREEN", "GREY", "ORANGE", "PURPLE", "looks_of"]

GREEN, PURPLE, BLACK = "#3d8c40", "#8b3fa8", "#000000"
LOOKS = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "D"), (BLACK, "v"))
"""A colour and a mark."""
LOOK_OF = {"HL-Gauss": LOOKS[0], "l2": LOOKS[1], "HL-OneBin": LOOKS[2], "l1": LOOKS[3]}
"""Looks of the losses that several figures share."""


def looks_of(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a mark for each name, distinct within a figure."""
    distinct = list(dict.fromkeys(names))
    known = {name: LOOK_OF[name] for name in distinct if name in LOOK_OF}
    free = [look for look in LOOKS if look not in known.values()] or LOOKS
    others = (name for name in distinct if name not in LOOK_OF)
    return known | dict(zip(others, itertools.cycle(free), strict=False))
