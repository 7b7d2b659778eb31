"""Functions compiled by Numba, if it is installed: the extra ``histreg[fast]``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def is_installed() -> bool:
    """Whether Numba can be imported."""
    return importlib.util.find_spec("numba") is not None


def is_loaded() -> bool:
    """Whether this process has imported Numba, which takes up to a second."""
    return "numba" in sys.modules


def compiled(function: F, **options: Any) -> F:
    """Return a function on arrays, compiled on its first call.

    Compiling takes a second or more; the result is cached on disk where possible.

    Parameters
    ----------
    function : callable
        In the part of Python that Numba compiles.
    **options
        Of ``numba.njit``.
    """
    import numba

    try:
        return numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no folder that the cache may be written to
        return numba.njit(nogil=True, **options)(function)
